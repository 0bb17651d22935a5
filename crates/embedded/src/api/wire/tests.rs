use std::io::Read;

use bytes::Bytes;
use flate2::read::GzDecoder;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn refusal<T: std::fmt::Debug>(result: crate::api::error::Result<T>) -> (u16, String) {
    let error = result.expect_err("it must be refused");
    (error.code.as_u16(), error.message)
}

#[test]
fn body_is_read_as_its_type_says() {
    let expected = json!({ "a": [1, -2, 0.5, true, null, "x"] });
    let body = br#"{"a": [1, -2, 0.5, true, null, "x"]}"#;
    for content_type in [None, Some(""), Some("application/json"), Some("Application/JSON; charset=utf-8")] {
        assert_eq!(decode(content_type, body).expect("JSON must be read").value, expected);
    }
    let body = b"# words\na:\n- 1\n- -2\n- 0.5\n- true\n- null\n- x\n";
    assert_eq!(decode(Some("application/yaml"), body).expect("YAML must be read").value, expected);
    for content_type in ["text/plain", "nonsense"] {
        let (code, message) = refusal(decode(Some(content_type), body));
        assert!(code == 415 && message.starts_with("the body of the request was in an unknown format"));
    }
}

#[test]
fn keys_that_occur_twice_are_told_and_the_last_counts() {
    let body = br#"{"spec":{"ports":[{"port":1},{"port":2,"port":3}],"x":1,"x":2},"spec2":0,"spec2":1}"#;
    let decoded = decode_json(body).expect("it must be read");
    assert_eq!(
        decoded.duplicates,
        ["duplicate field \"spec.ports[1].port\"", "duplicate field \"spec.x\"", "duplicate field \"spec2\""]
    );
    assert_eq!(
        decoded.value,
        json!({ "spec": { "ports": [{ "port": 1 }, { "port": 3 }], "x": 2 }, "spec2": 1 })
    );
    let decoded = decode_yaml(b"data:\n  k: 1\n  k: 2\n").expect("it must be read");
    assert_eq!(decoded.duplicates, ["line 3: key \"k\" already set in map"]);
    assert_eq!(decoded.value, json!({ "data": { "k": 2 } }));
}

#[test]
fn yaml_is_read_as_people_write_it_for_kubernetes() {
    let body = b"mode: 0644\nyes: 1\non: yes\ntext: \"0644\"\nday: 2001-01-01\nbase: &b {x: 1}\nmore:\n  <<: *b\n  y: 2\n1: one\n";
    let value = decode_yaml(body).expect("it must be read").value;
    assert_eq!(value["mode"], 420);
    assert_eq!(value["text"], "0644");
    assert_eq!(value["day"], "2001-01-01");
    assert_eq!(value["more"], json!({ "x": 1, "y": 2 }));
    assert_eq!(value["1"], "one");
}

#[test]
fn malformed_bodies_are_bad_requests() {
    for body in ["", "{", "{\"a\":1} x", "{\"a\":1e999}", "\u{feff}{}", "[1,]"] {
        assert_eq!(refusal(decode_json(body.as_bytes())).0, 400, "{body}");
    }
    assert_eq!(refusal(decode_json(b"{\"a\":\"\xff\"}")).0, 400);
    assert_eq!(refusal(decode_json(&[0x1f, 0x8b, 8, 0])).0, 400);
    for body in ["a: [", "a: *b", "a: 1\n---\nb: 2\n", "a: .nan", "a: \u{0}"] {
        assert_eq!(refusal(decode_yaml(body.as_bytes())).0, 400, "{body}");
    }
    assert_eq!(refusal(decode_yaml(b"a: \xff")).0, 400);
}

#[test]
fn depth_size_and_memory_are_bounded() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(decode_json(nested(MAX_DEPTH).as_bytes()).is_ok());
    for depth in [MAX_DEPTH + 1, 1_000_000] {
        let (code, message) = refusal(decode_json(nested(depth).as_bytes()));
        assert_eq!((code, message.as_str()), (400, "the body is nested more than 100 levels deep"));
    }
    assert_eq!(refusal(decode_yaml(nested(1_000_000).as_bytes())).0, 400);
    let steps =
        |depth: usize| (0..depth).map(|level| format!("{}a:\n", " ".repeat(level))).collect::<String>();
    assert!(decode_yaml(steps(64).as_bytes()).is_ok());
    assert_eq!(refusal(decode_yaml(steps(1000).as_bytes())).0, 400);
    assert!(decode_yaml(format!("{{\"a\":{}}}", nested(MAX_DEPTH - 1)).as_bytes()).is_ok());
    assert_eq!(refusal(decode_json(&vec![b' '; MAX_BODY + 1])).0, 413);
    let crowd = format!("[{}1]", "{\"a\":1},".repeat(MAX_BODY / 8 - 1));
    assert_eq!(refusal(decode_json(crowd.as_bytes())).0, 413);
}

#[test]
fn aliases_do_not_explode() {
    let mut laughs = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, before) in ('b'..='i').zip('a'..='h') {
        let list = vec![format!("*{before}"); 10].join(", ");
        laughs.push_str(&format!("{name}: &{name} [{list}]\n"));
    }
    assert_eq!(refusal(decode_yaml(laughs.as_bytes())).0, 400);
    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1_000_000), vec!["*a"; 900].join(", "));
    assert!(matches!(refusal(decode_yaml(long.as_bytes())).0, 400 | 413));
}

#[test]
fn numbers_keep_their_value() {
    let body = br#"[9223372036854775807, -9223372036854775808, 18446744073709551615, 18446744073709551616, 1.0, 1e3]"#;
    let value = decode_json(body).expect("it must be read").value;
    let expected = json!([i64::MAX, i64::MIN, u64::MAX, 18446744073709551616.0, 1.0, 1000.0]);
    assert_eq!(value, expected);
}

#[test]
fn patches_are_known_by_their_media_type() {
    let of = |text, strategic| PatchType::of(Some(text), strategic);
    assert_eq!(of("application/apply-patch+yaml; charset=utf-8", false).ok(), Some(PatchType::Apply));
    assert_eq!(of("application/strategic-merge-patch+json", true).ok(), Some(PatchType::Strategic));
    assert_eq!(
        refusal(of("application/strategic-merge-patch+json", false)),
        (
            415,
            "the body of the request was in an unknown format - accepted media types include: \
             application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
                .to_owned()
        )
    );
}

#[test]
fn first_acceptable_form_is_chosen() {
    const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let json = Format::default();
    let yaml = Format { encoding: Encoding::Yaml, ..json };
    let form = |form| Format { form, ..json };
    for (accept, expected) in [
        ("", json),
        ("*/*", json),
        ("*", json),
        ("application/*", json),
        ("application/json", json),
        ("application/yaml", yaml),
        ("application/vnd.kubernetes.protobuf,application/json", json),
        ("application/vnd.kubernetes.protobuf, */*", json),
        ("application/json;q=0.5,application/yaml", yaml),
        ("text/html, application/json", json),
        (TABLE, form(Form::Table("v1"))),
        (
            &format!("{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"),
            form(Form::Table("v1")),
        ),
        ("application/json;as=Table;v=v99;g=meta.k8s.io,application/json", json),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", form(Form::Metadata("v1"))),
        ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", form(Form::MetadataList("v1"))),
        ("application/json;stream=watch", json),
        ("application/json;pretty=1", Format { pretty: true, ..json }),
    ] {
        assert_eq!(negotiate(Some(accept), Offers::Objects).expect(accept), expected, "{accept}");
    }
    for accept in [
        "text/html",
        "application/vnd.kubernetes.protobuf",
        "application/json;as=Nonsense;v=v1;g=meta.k8s.io",
        "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io",
        "application/json;stream=other",
        "application/yaml;stream=watch",
    ] {
        let expected = "only the following media types are accepted: application/json, application/yaml";
        assert_eq!(refusal(negotiate(Some(accept), Offers::Objects)), (406, expected.to_owned()), "{accept}");
    }
    assert_eq!(refusal(negotiate_watch(Some("application/yaml"))).0, 406);
    assert_eq!(Format::of_refusal(Some("text/html")), json);
    assert_eq!(Format::of_refusal(Some("application/yaml;as=Table;v=v1;g=meta.k8s.io")), yaml);
}

#[test]
fn discovery_comes_at_once_to_whoever_can_read_it() {
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                  application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    let format = negotiate(Some(accept), Offers::Discovery).expect("it must be acceptable");
    assert_eq!(format.form, Form::Discovery);
    assert_eq!(format.content_type(), "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    let plain = negotiate(Some("application/json"), Offers::Discovery).expect("it must be acceptable");
    assert_eq!(plain.form, Form::Object);
}

#[test]
fn encoded_objects_are_spliced_and_not_parsed() {
    let object = Bytes::from_static(br#"{"metadata":{}}"#);
    let typed = Encoded::typed(&type_head("v1", "Pod"), &object);
    assert_eq!(typed.size(), typed.clone().join().len());
    assert_eq!(&typed.join()[..], br#"{"apiVersion":"v1","kind":"Pod","metadata":{}}"#);
    let meta = ListMeta { resource_version: "7".into(), next: "abc".into(), remaining_item_count: Some(3) };
    let expected = json!({ "resourceVersion": "7", "continue": "abc", "remainingItemCount": 3 });
    assert_eq!(json!(meta), expected);
}

#[test]
fn events_are_lines_and_large_objects_are_not_copied() {
    let small: Vec<Bytes> = event_frames("ADDED", Bytes::from_static(b"{\"a\":1}").into()).collect();
    assert_eq!(small, [&b"{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n"[..]]);
    let large = Bytes::from(json!({ "a": "x".repeat(100_000) }).to_string());
    let typed = Encoded::typed(&type_head("v1", "Pod"), &large);
    let frames: Vec<Bytes> = event_frames("ADDED", typed).collect();
    assert_eq!(frames[1].as_ptr(), large[1..].as_ptr());
    let line: Value = serde_json::from_slice(&frames.concat()).expect("a line must be JSON");
    assert_eq!((&line["type"], &line["object"]["kind"]), (&json!("ADDED"), &json!("Pod")));
}

#[test]
fn large_answers_are_compressed_for_those_who_can_read_them() {
    let large = vec![b'x'; 128 * 1024 + 1];
    assert!(compress(&large, None).is_none() && compress(&large, Some("br, deflate")).is_none());
    assert!(compress(&large[1..], Some("gzip")).is_none());
    let small = compress(&large, Some("br, gzip")).expect("it must be compressed");
    let mut back = Vec::new();
    GzDecoder::new(&small[..]).read_to_end(&mut back).expect("it must be gzip");
    assert!(back == large && small.len() < 10_000);
}

/// Any value, and texts that YAML could take for something else.
fn value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "\\PC{0,12}",
        "[ \\n\\t#:&*!|>'\"%@`{},?a-]{0,12}",
        "[0-9.eE_+oxb:-]{0,8}",
        prop::sample::select(vec![
            "yes", "No", "null", "~", "true", "0644", "1e3", ".inf", "=", "<<", "---", "- a"
        ])
        .prop_map(str::to_owned),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(text.clone(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn values_survive_json_and_yaml(value in value()) {
        for encoding in [Encoding::Json, Encoding::Yaml] {
            let format = Format { encoding, ..Format::default() };
            let bytes = encode(&value, format).expect("a value must be encoded");
            let decoded = decode(Some(format.content_type()), &bytes);
            prop_assert_eq!(decoded.map(|decoded| decoded.value).ok(), Some(value.clone()), "{:?}", bytes);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60), text in "[{}\\[\\]:,\"0-9a&*!<~\\n -]{0,40}") {
        for body in [bytes.as_slice(), text.as_bytes()] {
            let _ = decode_json(body);
            let _ = decode_yaml(body);
        }
    }

    #[test]
    fn any_accept_header_is_read_or_refused(text in "[a-z/*;,=q0-9. ]{0,60}") {
        for offers in [Offers::Objects, Offers::Discovery, Offers::Plain] {
            let _ = negotiate(Some(&text), offers);
        }
    }
}
