use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{api::wire, schema::bundled};

/// A body and its JSON, as Kubernetes' own code writes them.
macro_rules! golden {
    ($($name:literal),*) => {
        [$((
            $name,
            include_bytes!(concat!("golden/", $name, ".pb")),
            include_str!(concat!("golden/", $name, ".json")),
        )),*]
    };
}

const GOLDEN: [(&str, &[u8], &str); 16] = golden!(
    "configmap",
    "customresourcedefinition",
    "deleteoptions",
    "deployment",
    "event",
    "eviction",
    "ingress",
    "job",
    "lease",
    "pod",
    "role",
    "scale",
    "secret",
    "service",
    "subjectaccessreview",
    "tokenrequest"
);

fn read(body: &[u8]) -> Result<Value> {
    decode_protobuf(body).map(|decoded| decoded.value)
}

fn refusal(body: &[u8]) -> (u16, String) {
    let error = read(body).expect_err("it must be refused");
    (error.code.as_u16(), error.message)
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A field of bytes.
fn field(number: u64, content: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn number(number: u64, value: u64) -> Vec<u8> {
    [varint(number << 3), varint(value)].concat()
}

fn body(api_version: &str, kind: &str, message: &[u8]) -> Vec<u8> {
    let named = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [MAGIC, &field(1, &named), &field(2, message)].concat()
}

#[test]
fn bodies_of_go_programs_are_read_as_go_would_print_them() {
    for (name, body, json) in GOLDEN {
        let expected: Value = serde_json::from_str(json).expect(name);
        let content_type = "application/vnd.kubernetes.protobuf; charset=utf-8";
        let decoded = wire::decode(Some(content_type), body).expect(name);
        assert_eq!(
            serde_json::to_string_pretty(&decoded.value).ok(),
            serde_json::to_string_pretty(&expected).ok(),
            "{name}"
        );
        assert!(decoded.value == expected && decoded.duplicates.is_empty(), "{name}");
    }
}

#[test]
fn every_served_kind_has_a_message() {
    let served: Vec<_> = bundled().kinds().collect();
    for (api_version, kind) in &served {
        assert!(table().kind(api_version, kind).is_some(), "{api_version} {kind}");
        let empty = read(&body(api_version, kind, &[])).expect("an empty message must be read");
        assert_eq!((&empty["apiVersion"], &empty["kind"]), (&json!(api_version), &json!(kind)));
    }
    assert_eq!(table().kinds().count(), served.len() + 1);
}

#[test]
fn custom_resources_have_no_protobuf_form() {
    let (_, bytes, _) = GOLDEN[0];
    let error = wire::decode_custom(Some("application/vnd.kubernetes.protobuf"), bytes)
        .expect_err("it must be refused");
    assert_eq!(error.code.as_u16(), 415);
    assert!(error.message.ends_with("include: application/json, application/yaml"), "{}", error.message);
    assert_eq!(
        refusal(&body("example.com/v1", "Thing", &[])),
        (400, "no kind \"Thing\" is registered for version \"example.com/v1\"".to_owned())
    );
    assert_eq!(refusal(&body("", "v1/Pod", &[])).0, 400);
}

#[test]
fn unknown_fields_are_passed_over() {
    let group =
        [varint(99 << 3 | 3), varint(1 << 3 | 3), number(7, 1), varint(1 << 3 | 4), varint(99 << 3 | 4)];
    let strange =
        [number(98, 300), field(97, b"x"), [varint(96 << 3 | 5), vec![0; 4]].concat(), group.concat()]
            .concat();
    let meta = field(1, &[strange.clone(), field(1, b"a"), strange.clone()].concat());
    let value =
        read(&body("v1", "ConfigMap", &[strange.clone(), meta, strange].concat())).expect("it must be read");
    assert_eq!(value, json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } }));
}

#[test]
fn pieces_of_a_message_are_put_together_and_the_last_scalar_counts() {
    let meta = |content: &[u8]| field(1, content);
    let label = |value: &[u8]| field(11, &[field(1, b"k"), field(2, value)].concat());
    let pieces = [
        meta(&field(1, b"a")),
        meta(&field(3, b"b")),
        meta(&field(1, b"c")),
        meta(&label(b"1")),
        meta(&label(b"2")),
    ];
    let value = read(&body("v1", "ConfigMap", &pieces.concat())).expect("it must be read");
    assert_eq!(value["metadata"], json!({ "name": "c", "namespace": "b", "labels": { "k": "2" } }));
}

#[test]
fn numbers_can_be_packed() {
    // The groups of a pod's security context.
    let groups = [number(4, 0), field(4, &[varint(1), varint(300)].concat())].concat();
    let value = read(&body("v1", "Pod", &field(2, &field(14, &groups)))).expect("it must be read");
    assert_eq!(value["spec"]["securityContext"]["supplementalGroups"], json!([0, 1, 300]));
}

#[test]
fn malformed_bodies_are_told_as_upstream_tells_them() {
    let said = |message: &[u8]| {
        let (code, words) = refusal(&body("apps/v1", "Deployment", message));
        let words = words.strip_prefix("Deployment in version \"v1\" cannot be handled as a Deployment: ");
        (code, words.unwrap_or_default().to_owned())
    };
    for (message, words) in [
        (number(1, 1), "proto: wrong wireType = 0 for field metadata"),
        (vec![0x0a], "unexpected EOF"),
        (vec![0x0a, 5, 1], "unexpected EOF"),
        (vec![0xff; 11], "proto: integer overflow"),
        ([vec![0x0a], varint(u64::MAX)].concat(), "proto: negative length found during unmarshaling"),
        (vec![0x0c], "proto: wiretype end group for non-group"),
        (vec![0x0f], "proto: illegal wireType 7"),
        (vec![0x00, 0x00], "proto: illegal tag 0 (wire type 0)"),
    ] {
        assert_eq!(said(&message), (400, words.to_owned()));
    }
    for (bytes, words) in [
        (&b""[..], "empty data"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\0", "empty body"),
        (b"k8s\0\x0a\0", "Object 'Kind' is missing"),
        (b"k8s\0\x0a", "unexpected EOF"),
    ] {
        assert_eq!(refusal(bytes), (400, format!("the object provided is unrecognized: {words}")));
    }
}

#[test]
fn times_that_json_cannot_say_are_refused() {
    let with = |seconds: i64| {
        let time = field(8, &number(1, seconds as u64));
        read(&body("v1", "ConfigMap", &field(1, &time)))
            .map(|value| value["metadata"]["creationTimestamp"].clone())
    };
    assert_eq!(with(0).ok(), Some(json!("1970-01-01T00:00:00Z")));
    assert_eq!(with(-62_135_596_800).ok(), Some(Value::Null));
    assert_eq!(with(-62_135_596_799).ok(), Some(json!("0001-01-01T00:00:01Z")));
    for seconds in [i64::MIN, i64::MAX, -62_135_596_801, 253_402_300_800] {
        assert_eq!(with(seconds).expect_err("it must be refused").code.as_u16(), 400, "{seconds}");
    }
}

#[test]
fn depth_and_memory_are_bounded() {
    // A schema inside of a schema, in its field `not`.
    let definition = |depth: usize, innermost: &[u8]| {
        let schema = (0..depth).fold(innermost.to_vec(), |inner, _| field(28, &inner));
        let version = field(7, &field(4, &field(1, &schema)));
        body("apiextensions.k8s.io/v1", "CustomResourceDefinition", &field(2, &version))
    };
    assert!(read(&definition(90, &[])).is_ok());
    let too_deep = (400, "the body is nested more than 100 levels deep".to_owned());
    assert_eq!(refusal(&definition(100, &[])), too_deep);
    // The same for JSON that stands in a schema.
    let default = |depth: usize| field(8, &field(1, &[vec![b'['; depth], vec![b']'; depth]].concat()));
    assert!(read(&definition(40, &default(40))).is_ok());
    assert_eq!(refusal(&definition(40, &default(80))), too_deep);
    assert_eq!(refusal(&definition(1, &field(8, &field(1, b"{")))).0, 400);
    // Empty containers take two bytes on the wire and much more in memory.
    let containers = [0x12, 0].repeat(1_000_000);
    assert_eq!(refusal(&body("v1", "Pod", &field(2, &containers))).0, 413);
    // Nor can pieces be put together for ever.
    let mut pieces = Vec::new();
    for _ in 0..80 {
        pieces = [field(28, &[]), field(28, &pieces)].concat();
    }
    assert!(read(&definition(1, &pieces)).is_ok());
    let crowd = [field(28, &[]), field(28, &field(4, &vec![b'x'; 2_900_000]))].concat();
    let nested = (0..80).fold(crowd, |inner, _| [field(28, &[]), field(28, &inner)].concat());
    assert_eq!(refusal(&definition(1, &nested)).0, 413);
}

proptest! {
    #[test]
    fn any_mutation_is_read_or_refused(
        sample in 0..GOLDEN.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..6),
    ) {
        let mut bytes = GOLDEN[sample].1.to_vec();
        for (at, byte, what) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at),
            }
        }
        if let Err(error) = read(&bytes) {
            prop_assert!(matches!(error.code.as_u16(), 400 | 413));
        }
    }

    #[test]
    fn any_message_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        for kind in ["Pod", "Secret", "Event"] {
            let _ = read(&body("v1", kind, &bytes));
        }
        let _ = read(&[MAGIC, &bytes].concat());
    }
}
