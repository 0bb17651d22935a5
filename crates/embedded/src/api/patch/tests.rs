use proptest::prelude::*;
use serde_json::{Value, json};

use super::{PatchKind, apply};
use crate::schema;

fn patched(kind: PatchKind, live: &Value, body: &Value) -> Result<Value, u16> {
    apply(kind, schema::builtin("v1", "Pod"), live, body).map_err(|error| error.code.as_u16())
}

fn json_patched(live: &Value, operation: Value) -> Result<Value, u16> {
    patched(PatchKind::Json, live, &json!([operation]))
}

fn merged(live: &Value, patch: &Value) -> Result<Value, u16> {
    patched(PatchKind::Strategic, live, patch)
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

fn pod() -> Value {
    json!({ "metadata": { "labels": { "x": "1" }, "finalizers": ["a/x", "a/y"] }, "spec": { "containers": [
        { "name": "main", "image": "app:1", "env": [{ "name": "X", "value": "1" }], "args": ["a"] },
        { "name": "side", "image": "side:1" }
    ] } })
}

#[test]
fn json_patch_follows_upstream_where_it_departs_from_the_standard() {
    let live = json!({ "a": { "x": 1 }, "l": [1, 2, 3] });
    let replaced = json_patched(&live, json!({ "op": "replace", "path": "/a/new", "value": 2 })).unwrap();
    assert_eq!(replaced["a"], json!({ "x": 1, "new": 2 }));
    let removed = json_patched(&live, json!({ "op": "remove", "path": "/l/-1" })).unwrap();
    assert_eq!(removed["l"], json!([1, 2]));
    let added = json_patched(&live, json!({ "op": "add", "path": "/l/-1", "value": 4 })).unwrap();
    assert_eq!(added["l"], json!([1, 2, 3, 4]));
    let tested = json_patched(&live, json!({ "op": "test", "path": "/a/none", "value": null }));
    assert_eq!(tested, Ok(live.clone()));
    let added = json_patched(&live, json!({ "op": "add", "path": "/a/none" })).unwrap();
    assert_eq!(added["a"]["none"], Value::Null);
}

/// It would take minutes to carry out.
#[test]
fn json_patch_cannot_shift_a_large_list_forever() {
    let live = json!({ "l": vec![1; 500_000] });
    for operation in
        [json!({ "op": "remove", "path": "/l/0" }), json!({ "op": "move", "from": "/l/0", "path": "/l/-" })]
    {
        assert_eq!(
            patched(PatchKind::Json, &live, &vec![operation.clone(); 9_000].into()),
            Err(422),
            "{operation}"
        );
        assert!(patched(PatchKind::Json, &live, &vec![operation; 10].into()).is_ok());
    }
    let append = json!({ "op": "add", "path": "/l/-", "value": 1 });
    let appended = patched(PatchKind::Json, &live, &vec![append; 9_000].into()).unwrap();
    assert_eq!(appended["l"].as_array().map(Vec::len), Some(509_000));
}

#[test]
fn json_patch_that_cannot_be_carried_out_is_unprocessable_and_a_malformed_one_is_bad() {
    let live = json!({ "a": { "x": 1 }, "l": [1] });
    for operation in [
        json!({ "op": "remove", "path": "/a/none" }),
        json!({ "op": "remove", "path": "" }),
        json!({ "op": "remove", "path": "/l/-2" }),
        json!({ "op": "replace", "path": "/l/7", "value": 1 }),
        json!({ "op": "test", "path": "/a/x", "value": 2 }),
        json!({ "op": "move", "from": "/a/none", "path": "/b" }),
        json!({ "op": "move", "from": "/a", "path": "/a/b" }),
        json!({ "op": "copy", "path": "/b" }),
        json!({ "op": "add", "path": "/none/x", "value": 1 }),
        json!({ "op": "mangle", "path": "/a" }),
        json!({ "op": "add" }),
        json!({}),
    ] {
        assert_eq!(json_patched(&live, operation.clone()), Err(422), "{operation}");
    }
    for body in
        [json!({}), json!([1]), json!([{ "op": 1 }]), json!([{ "op": "add", "path": 1 }]), json!(null)]
    {
        assert_eq!(patched(PatchKind::Json, &live, &body), Err(400), "{body}");
    }
    for kind in [PatchKind::Merge, PatchKind::Strategic] {
        assert_eq!(patched(kind, &live, &json!([])), Err(400));
        assert_eq!(patched(kind, &live, &Value::Null), Err(400));
    }
}

#[test]
fn json_patch_is_bounded_in_operations_copies_and_depth() {
    let live = json!({ "a": {} });
    let test = json!({ "op": "test", "path": "/a", "value": {} });
    assert_eq!(patched(PatchKind::Json, &live, &json!(vec![&test; 10_000])), Ok(live.clone()));
    assert_eq!(patched(PatchKind::Json, &live, &json!(vec![test; 10_001])), Err(413));
    let doubling = vec![json!({ "op": "copy", "from": "/a", "path": "/a/b" }); 40];
    let wide: Vec<_> =
        (0..40).map(|n| json!({ "op": "copy", "from": "/a", "path": format!("/a/b{n}") })).collect();
    assert_eq!(patched(PatchKind::Json, &json!({ "a": { "x": 1 } }), &json!(wide)), Err(422));
    assert!(patched(PatchKind::Json, &live, &json!(doubling)).is_ok());
    let deeper: Vec<_> = (0..3000)
        .flat_map(|_| {
            [
                json!({ "op": "add", "path": "/n", "value": {} }),
                json!({ "op": "move", "from": "/a", "path": "/n/a" }),
                json!({ "op": "move", "from": "/n", "path": "/a" }),
            ]
        })
        .collect();
    assert_eq!(patched(PatchKind::Json, &live, &json!(deeper)), Err(422));
}

#[test]
fn strategic_merge_goes_into_lists_by_their_key() {
    let patch = json!({ "spec": { "containers": [
        { "name": "new", "image": "new:1" },
        { "name": "main", "image": "app:2", "env": [{ "name": "Y", "value": "2" }], "args": ["b"] }
    ] } });
    let new = merged(&pod(), &patch).unwrap();
    let containers = &new["spec"]["containers"];
    assert_eq!(names(containers), ["new", "main", "side"]);
    assert_eq!(containers[1]["image"], "app:2");
    assert_eq!(names(&containers[1]["env"]), ["Y", "X"]);
    // Without a merge strategy a list is replaced.
    assert_eq!(containers[1]["args"], json!(["b"]));
}

#[test]
fn items_only_the_live_list_has_stay_before_those_they_preceded() {
    let patch = json!({ "spec": { "containers": [{ "name": "side", "image": "side:2" }] } });
    let new = merged(&pod(), &patch).unwrap();
    assert_eq!(names(&new["spec"]["containers"]), ["main", "side"]);
}

#[test]
fn directives_delete_replace_and_retain() {
    let containers = |items: Value| json!({ "spec": { "containers": items } });
    let deleted = merged(&pod(), &containers(json!([{ "name": "side", "$patch": "delete" }]))).unwrap();
    assert_eq!(names(&deleted["spec"]["containers"]), ["main"]);
    let items = json!([{ "name": "new" }, { "$patch": "replace" }]);
    assert_eq!(names(&merged(&pod(), &containers(items)).unwrap()["spec"]["containers"]), ["new"]);
    let labels = json!({ "metadata": { "labels": { "$patch": "replace", "z": "1" } } });
    assert_eq!(merged(&pod(), &labels).unwrap()["metadata"]["labels"], json!({ "z": "1" }));
    let labels = json!({ "metadata": { "labels": { "$patch": "delete" } } });
    assert_eq!(merged(&pod(), &labels).unwrap()["metadata"]["labels"], json!({}));
    let retained = json!({ "metadata": { "$retainKeys": ["labels"], "labels": { "z": "1" } } });
    assert_eq!(merged(&pod(), &retained).unwrap()["metadata"], json!({ "labels": { "x": "1", "z": "1" } }));
    let finalizers =
        json!({ "metadata": { "$deleteFromPrimitiveList/finalizers": ["a/x"], "finalizers": ["a/z"] } });
    let new = merged(&pod(), &finalizers).unwrap();
    assert_eq!(new["metadata"]["finalizers"], json!(["a/z", "a/y"]));
    let order = json!({ "spec": {
        "$setElementOrder/containers": [{ "name": "side" }, { "name": "new" }, { "name": "main" }],
        "containers": [{ "name": "new" }]
    } });
    assert_eq!(names(&merged(&pod(), &order).unwrap()["spec"]["containers"]), ["side", "new", "main"]);
}

#[test]
fn directives_in_new_values_are_carried_out_not_kept() {
    let live = json!({ "spec": {} });
    let patch = json!({ "spec": { "containers": [{ "name": "a", "env": null }, { "name": "b", "$patch": "delete" }] } });
    assert_eq!(merged(&live, &patch).unwrap()["spec"], json!({ "containers": [{ "name": "a" }] }));
}

#[test]
fn malformed_directives_are_refused() {
    for (patch, code) in [
        (json!({ "spec": { "containers": [{ "image": "x" }] } }), 422),
        (json!({ "spec": { "containers": ["x"] } }), 422),
        (json!({ "spec": { "containers": [{ "name": "main", "$patch": "mangle" }] } }), 422),
        (json!({ "spec": { "$patch": "merge" } }), 422),
        (json!({ "metadata": { "$retainKeys": ["x"], "labels": {} } }), 400),
        (json!({ "metadata": { "$retainKeys": "x" } }), 400),
        (json!({ "spec": { "$setElementOrder/containers": "x" } }), 400),
        (json!({ "spec": { "$setElementOrder": [] } }), 400),
        (json!({ "metadata": { "$deleteFromPrimitiveList": [] } }), 400),
        (
            json!({ "spec": { "$setElementOrder/containers": [{ "name": "side" }], "containers": [{ "name": "new" }] } }),
            422,
        ),
    ] {
        assert_eq!(merged(&pod(), &patch), Err(code), "{patch}");
    }
}

/// Values made of the words that patches and pods are made of, so that many of them mean something.
fn words(names: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        prop::sample::select(names).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(names), inner, 0..4).prop_map(|fields| fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

const NAMES: &[&str] = &[
    "metadata",
    "spec",
    "containers",
    "env",
    "name",
    "ports",
    "finalizers",
    "labels",
    "main",
    "$patch",
    "delete",
    "replace",
    "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
    "op",
    "path",
    "add",
    "copy",
    "from",
    "value",
    "/spec/containers/-1",
    "/spec",
    "",
];

proptest! {
    #[test]
    fn no_patch_panics(live in words(NAMES), patch in words(NAMES)) {
        for kind in [PatchKind::Json, PatchKind::Merge, PatchKind::Strategic] {
            let _ = patched(kind, &live, &patch);
            let _ = patched(kind, &pod(), &json!({ "spec": patch }));
            let _ = patched(kind, &live, &json!([patch]));
        }
    }

    #[test]
    fn an_object_merged_into_itself_is_itself(name in "[a-c]", value in "[0-9]") {
        let mut live = pod();
        live["metadata"]["labels"][name] = value.into();
        prop_assert_eq!(merged(&live, &live).unwrap(), live.clone());
        prop_assert_eq!(patched(PatchKind::Merge, &live, &live).unwrap(), live);
    }
}
