//! What the schema makes of an object: refused, pruned, or filled with defaults.

use anneal_harness::{PatchKind, eventually};
use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{object, of_spec};
use crate::{Cx, Kind, definitions::name_of, fixtures::has_cause};

pub(super) async fn wrong_types_name_their_fields(cx: Cx) -> Result<()> {
    let schema = of_spec(json!({
        "integer": { "type": "integer" },
        "number": { "type": "number" },
        "boolean": { "type": "boolean" },
        "string": { "type": "string" },
        "list": { "type": "array", "items": { "type": "integer" } },
        "map": { "type": "object", "additionalProperties": { "type": "string" } },
        "deep": { "type": "object", "properties": { "string": { "type": "string" } } }
    }));
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    let wrong = json!({
        "integer": "1", "number": "1", "boolean": "true", "string": 1,
        "list": [1, "2"], "map": { "key": true }, "deep": { "string": [] }
    });
    let status = things.create(object("a", wrong)).await?.refused(422, "Invalid")?;
    for field in ["integer", "number", "boolean", "string", "list[1]", "map.key", "deep.string"] {
        has_cause(&status, &format!("spec.{field}"), "FieldValueTypeInvalid")?;
    }
    for (field, value) in
        [("integer", json!(1.5)), ("list", json!({})), ("map", json!([])), ("deep", json!(1))]
    {
        let status = things.create(object("a", json!({ field: value }))).await?.refused(422, "Invalid")?;
        has_cause(&status, &format!("spec.{field}"), "FieldValueTypeInvalid")?;
    }
    let status = things.create(object("a", json!("text"))).await?.refused(422, "Invalid")?;
    has_cause(&status, "spec", "FieldValueTypeInvalid")?;
    // A number without a fraction is an integer, and an integer is a number.
    things.create(object("a", json!({ "integer": 1.0, "number": 1 }))).await?.is(201)?;
    Ok(())
}

pub(super) async fn whole_numbers_are_written_without_a_fraction(cx: Cx) -> Result<()> {
    let schema = of_spec(json!({
        "integer": { "type": "integer" },
        "number": { "type": "number" },
        "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true }
    }));
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    let with_fractions = json!({ "integer": 5.0, "number": 2.0, "free": { "list": [1.0, 1.5, -3.0] } });
    let whole = json!({ "integer": 5, "number": 2, "free": { "list": [1, 1.5, -3] } });
    let made = things.create(object("a", with_fractions.clone())).await?.is(201)?;
    ensure!(things.get("a").await?.ok()?["spec"] == whole, "{made}");
    // And so they are nothing that managers disagree about.
    things.apply("b", "one", object("b", whole.clone())).await?.is(201)?;
    let applied = things.apply("b", "two", object("b", with_fractions)).await?.ok()?;
    ensure!(applied["spec"] == whole, "{applied}");
    Ok(())
}

fn bounded() -> Value {
    let mut schema = of_spec(json!({
        "must": { "type": "string" },
        "enum": { "type": "string", "enum": ["A", "B"] },
        "range": { "type": "integer", "minimum": 1, "maximum": 5 },
        "below": { "type": "number", "maximum": 5, "exclusiveMaximum": true },
        "step": { "type": "integer", "multipleOf": 3 },
        "small": { "type": "integer", "format": "int32" },
        "text": { "type": "string", "minLength": 2, "maxLength": 4 },
        "pattern": { "type": "string", "pattern": "a+" },
        "list": { "type": "array", "minItems": 1, "maxItems": 2, "items": { "type": "integer" } },
        "map": {
            "type": "object", "minProperties": 1, "maxProperties": 2,
            "additionalProperties": { "type": "string" }
        },
        "time": { "type": "string", "format": "date-time" },
        "deep": { "type": "object", "required": ["inner"], "properties": { "inner": { "type": "string" } } }
    }));
    schema["properties"]["spec"]["required"] = json!(["must"]);
    schema
}

pub(super) async fn each_bound_is_enforced_and_inclusive(cx: Cx) -> Result<()> {
    let things = cx.objects(&cx.install_crd("Thing", bounded(), json!({})).await?);
    let (invalid, too_many) = ("FieldValueInvalid", "FieldValueTooMany");
    let wrong = [
        ("enum", json!("C"), "FieldValueNotSupported"),
        ("range", json!(0), invalid),
        ("range", json!(6), invalid),
        ("below", json!(5), invalid),
        ("step", json!(4), invalid),
        ("text", json!("a"), invalid),
        ("text", json!("abcde"), "FieldValueTooLong"),
        ("pattern", json!("b"), invalid),
        ("list", json!([]), invalid),
        ("list", json!([1, 2, 3]), too_many),
        ("map", json!({}), invalid),
        ("map", json!({ "a": "1", "b": "2", "c": "3" }), too_many),
        ("time", json!("yesterday"), "FieldValueTypeInvalid"),
    ];
    for (field, value, reason) in wrong {
        let body = object("a", json!({ "must": "", field: value }));
        let status = things.create(body).await?.refused(422, "Invalid")?;
        has_cause(&status, &format!("spec.{field}"), reason)?;
    }
    let status = things.create(object("a", json!({ "deep": {} }))).await?.refused(422, "Invalid")?;
    has_cause(&status, "spec.must", "FieldValueRequired")?;
    has_cause(&status, "spec.deep.inner", "FieldValueRequired")?;
    let beyond = object("a", json!({ "must": "", "small": 2_147_483_648_u32 }));
    things.create(beyond).await?.refused(422, "Invalid")?;

    let at_the_bounds = [
        json!({ "must": "", "enum": "B", "range": 1, "below": 4.99, "step": 6, "small": i32::MAX }),
        // Length counts characters, not bytes, and a pattern may match anywhere.
        json!({ "must": "", "range": 5, "text": "äöüß", "pattern": "bab", "list": [1], "map": { "a": "1" } }),
        json!({ "must": "", "list": [1, 2], "time": "2026-01-02T03:04:05+01:00", "deep": { "inner": "" } }),
    ];
    for (index, spec) in at_the_bounds.into_iter().enumerate() {
        let thing = things.create(object(&format!("good-{index}"), spec.clone())).await?.is(201)?;
        ensure!(thing["spec"] == spec, "{thing}");
    }
    // No spec, no required fields of it.
    things.create(json!({ "metadata": { "name": "bare" } })).await?.is(201)?;
    Ok(())
}

pub(super) async fn all_faults_are_named_at_once(cx: Cx) -> Result<()> {
    let things = cx.objects(&cx.install_crd("Thing", bounded(), json!({})).await?);
    let wrong =
        json!({ "enum": "C", "range": 0, "step": "x", "text": "a", "list": [], "map": {}, "deep": {} });
    let faults = [
        ("FieldValueRequired", "spec.must"),
        ("FieldValueRequired", "spec.deep.inner"),
        ("FieldValueNotSupported", "spec.enum"),
        ("FieldValueTypeInvalid", "spec.step"),
        ("FieldValueInvalid", "spec.range"),
        ("FieldValueInvalid", "spec.text"),
        ("FieldValueInvalid", "spec.list"),
        ("FieldValueInvalid", "spec.map"),
    ];
    let created = things.create(object("a", wrong.clone())).await?.refused(422, "Invalid")?;
    ensure!(created["details"]["name"] == "a" && created["details"]["kind"] == "Thing", "{created}");
    things.create(object("a", json!({ "must": "" }))).await?.is(201)?;
    let mut patch = wrong;
    patch["must"] = Value::Null;
    let patched = things.merge("a", json!({ "spec": patch })).await?.refused(422, "Invalid")?;
    for (reason, field) in faults {
        has_cause(&created, field, reason)?;
        has_cause(&patched, field, reason)?;
    }
    ensure!(things.get("a").await?.ok()?["spec"] == json!({ "must": "" }));
    Ok(())
}

pub(super) async fn any_of_one_of_and_not_are_checked(cx: Cx) -> Result<()> {
    let schema = of_spec(json!({
        "any": { "type": "integer", "anyOf": [{ "minimum": 100 }, { "maximum": 10 }] },
        "one": {
            "type": "object",
            "properties": { "a": { "type": "string" }, "b": { "type": "string" } },
            "oneOf": [{ "required": ["a"] }, { "required": ["b"] }]
        },
        "all": { "type": "integer", "allOf": [{ "minimum": 2 }, { "multipleOf": 2 }] },
        "not": { "type": "string", "not": { "enum": ["bad"] } }
    }));
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    let wrong = [
        json!({ "any": 50 }),
        json!({ "one": {} }),
        json!({ "one": { "a": "", "b": "" } }),
        json!({ "all": 3 }),
        json!({ "all": 0 }),
        json!({ "not": "bad" }),
    ];
    for spec in wrong {
        things.create(object("a", spec)).await?.refused(422, "Invalid")?;
    }
    let good = [
        json!({ "any": 5, "one": { "a": "" }, "all": 2, "not": "good" }),
        json!({ "any": 100, "one": { "b": "" } }),
    ];
    for (index, spec) in good.into_iter().enumerate() {
        things.create(object(&format!("good-{index}"), spec)).await?.is(201)?;
    }
    Ok(())
}

pub(super) async fn duplicates_are_refused_in_sets_and_maps(cx: Cx) -> Result<()> {
    let port = json!({
        "type": "object",
        "required": ["number"],
        "properties": {
            "number": { "type": "integer" },
            "protocol": { "type": "string", "default": "TCP" },
            "name": { "type": "string" }
        }
    });
    let schema = of_spec(json!({
        "set": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
        "ports": {
            "type": "array", "items": port,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["number", "protocol"]
        }
    }));
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    // The second port is the first once the default has been filled in.
    let wrong = json!({
        "set": ["a", "b", "a"],
        "ports": [{ "number": 1, "protocol": "TCP", "name": "a" }, { "number": 1, "name": "b" }]
    });
    let status = things.create(object("a", wrong)).await?.refused(422, "Invalid")?;
    has_cause(&status, "spec.set[2]", "FieldValueDuplicate")?;
    has_cause(&status, "spec.ports[1]", "FieldValueDuplicate")?;
    let good = json!({ "set": ["a", "b"], "ports": [{ "number": 1 }, { "number": 1, "protocol": "UDP" }] });
    things.create(object("a", good)).await?.is(201)?;
    Ok(())
}

pub(super) async fn unknown_fields_are_pruned(cx: Cx) -> Result<()> {
    let schema = of_spec(json!({
        "known": { "type": "string" },
        "deep": { "type": "object", "properties": { "known": { "type": "string" } } },
        "list": {
            "type": "array",
            "items": { "type": "object", "properties": { "known": { "type": "string" } } }
        },
        "map": {
            "type": "object",
            "additionalProperties": { "type": "object", "properties": { "known": { "type": "string" } } }
        }
    }));
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    let (both, known) = (json!({ "known": "1", "other": "2" }), json!({ "known": "1" }));
    let mut body = object(
        "a",
        json!({ "known": "1", "other": [1], "deep": both, "list": [both], "map": { "x": both } }),
    );
    body["other"] = json!({ "at": "the root" });
    body["metadata"]["other"] = 1.into();
    let created = things.create(body).await?.is(201)?;
    let spec = json!({ "known": "1", "deep": known, "list": [known], "map": { "x": known } });
    ensure!(created["spec"] == spec && created["other"].is_null(), "{created}");
    ensure!(created["metadata"]["other"].is_null(), "{created}");

    let patched = things.merge("a", json!({ "spec": { "other": 1, "deep": { "other": 1 } } })).await?.ok()?;
    ensure!(patched["spec"] == spec, "{patched}");
    let same = (&patched["metadata"]["resourceVersion"], &patched["metadata"]["generation"]);
    ensure!(
        same == (&created["metadata"]["resourceVersion"], &created["metadata"]["generation"]),
        "nothing was written: {patched}"
    );
    Ok(())
}

pub(super) async fn unknown_fields_are_kept_where_the_schema_says_so(cx: Cx) -> Result<()> {
    let schema = of_spec(json!({
        "free": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": { "closed": { "type": "object", "properties": { "known": { "type": "string" } } } }
        },
        "anything": { "x-kubernetes-preserve-unknown-fields": true }
    }));
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    for (index, value) in
        [json!([1, { "a": [null, 1.5] }]), json!("text"), json!({ "a": { "b": 1 } })].iter().enumerate()
    {
        let spec = json!({
            "free": { "other": { "deep": [1] }, "closed": { "known": "1", "other": "2" } },
            "anything": value
        });
        let name = format!("a-{index}");
        things.create(object(&name, spec)).await?.is(201)?;
        let kept = json!({
            "free": { "other": { "deep": [1] }, "closed": { "known": "1" } },
            "anything": value
        });
        let thing = things.get(&name).await?.ok()?;
        ensure!(thing["spec"] == kept, "{thing}");
    }
    // Free is the inside only: it must still be an object.
    let status = things.create(object("b", json!({ "free": "text" }))).await?.refused(422, "Invalid")?;
    has_cause(&status, "spec.free", "FieldValueTypeInvalid")
}

pub(super) async fn embedded_resources_are_checked_and_pruned(cx: Cx) -> Result<()> {
    let schema = of_spec(json!({
        "template": {
            "type": "object",
            "x-kubernetes-embedded-resource": true,
            "properties": { "data": { "type": "object", "additionalProperties": { "type": "string" } } }
        }
    }));
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    let template = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "b" }, "other": 1,
        "metadata": { "name": "x", "labels": { "a": "b" }, "other": 1 }
    });
    let thing = things.create(object("a", json!({ "template": template }))).await?.is(201)?;
    let kept = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "b" },
        "metadata": { "name": "x", "labels": { "a": "b" } }
    });
    ensure!(thing["spec"]["template"] == kept, "{thing}");
    let status =
        things.create(object("b", json!({ "template": { "data": {} } }))).await?.refused(422, "Invalid")?;
    has_cause(&status, "spec.template.apiVersion", "FieldValueRequired")?;
    has_cause(&status, "spec.template.kind", "FieldValueRequired")?;
    let mut labelled = template;
    labelled["metadata"]["labels"] = json!({ "a b": "" });
    let status =
        things.create(object("b", json!({ "template": labelled }))).await?.refused(422, "Invalid")?;
    has_cause(&status, "spec.template.metadata.labels", "FieldValueInvalid")
}

pub(super) async fn int_or_string_takes_both_and_no_more(cx: Cx) -> Result<()> {
    let schema = of_spec(json!({ "port": { "x-kubernetes-int-or-string": true } }));
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    for (name, port) in [("number", json!(80)), ("text", json!("http"))] {
        things.create(object(name, json!({ "port": port }))).await?.is(201)?;
        ensure!(things.get(name).await?.ok()?["spec"]["port"] == port);
    }
    for port in [json!(1.5), json!(true), json!({}), json!([])] {
        let status = things.create(object("b", json!({ "port": port }))).await?.refused(422, "Invalid")?;
        has_cause(&status, "spec.port", "FieldValueTypeInvalid")?;
    }
    Ok(())
}

fn with_defaults() -> Value {
    let inner = json!({ "type": "object", "properties": { "size": { "type": "integer", "default": 3 } } });
    let mut given = inner.clone();
    given["default"] = json!({});
    of_spec(json!({
        "mode": { "type": "string", "default": "fast" },
        "off": { "type": "boolean", "default": false },
        "absent": inner,
        "given": given,
        "list": { "type": "array", "items": inner },
        "map": { "type": "object", "additionalProperties": inner }
    }))
}

pub(super) async fn defaults_fill_what_is_absent(cx: Cx) -> Result<()> {
    let things = cx.objects(&cx.install_crd("Thing", with_defaults(), json!({})).await?);
    let created = things.create(object("a", json!({}))).await?.is(201)?;
    let plain = json!({ "mode": "fast", "off": false, "given": { "size": 3 } });
    ensure!(created["spec"] == plain, "{created}");

    let replaced = json!({
        "mode": "slow", "off": true, "absent": {}, "given": { "size": 1 }, "list": [{}, { "size": 2 }],
        "map": { "x": {} }
    });
    let mut body = created.clone();
    body["spec"] = replaced.clone();
    let thing = things.update("a", &body).await?.ok()?;
    let mut filled = replaced;
    filled["absent"] = json!({ "size": 3 });
    filled["list"][0] = json!({ "size": 3 });
    filled["map"]["x"] = json!({ "size": 3 });
    ensure!(thing["spec"] == filled, "{thing}");

    // Taking a value away brings the default back.
    let nothing =
        json!({ "mode": null, "off": null, "absent": null, "given": null, "list": null, "map": null });
    let thing = things.merge("a", json!({ "spec": nothing })).await?.ok()?;
    ensure!(thing["spec"] == plain, "{thing}");
    // There is no default for the spec itself, so none inside it either.
    let bare = things.create(json!({ "metadata": { "name": "bare" } })).await?.is(201)?;
    ensure!(bare["spec"].is_null(), "{bare}");
    Ok(())
}

pub(super) async fn defaults_reach_objects_stored_before(cx: Cx) -> Result<()> {
    let kind = cx.install_crd("Thing", of_spec(json!({ "old": { "type": "string" } })), json!({})).await?;
    let things = cx.objects(&kind);
    let before = things.create(object("a", json!({ "old": "1" }))).await?.is(201)?;
    change_schema(&cx, &kind, &json!({ "new": { "type": "string", "default": "2" } })).await?;
    let now = eventually("the default in the stored object", async || {
        let thing = things.get("a").await?.ok()?;
        Ok((thing["spec"]["new"] == "2").then_some(thing))
    })
    .await?;
    ensure!(now["spec"] == json!({ "old": "1", "new": "2" }), "{now}");
    ensure!(now["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"], "{now}");
    // A list may have to wait (429) until the server has read the objects anew.
    let list = eventually("the list", async || {
        let reply = things.list("").await?;
        Ok((reply.status != 429).then_some(reply))
    })
    .await?
    .ok()?;
    ensure!(list["items"][0]["spec"]["new"] == "2", "{list}");
    Ok(())
}

pub(super) async fn null_gives_way_unless_nullable(cx: Cx) -> Result<()> {
    let mut schema = of_spec(json!({
        "must": { "type": "string" },
        "plain": { "type": "string" },
        "default": { "type": "string", "default": "d" },
        "nullable": { "type": "string", "nullable": true },
        "both": { "type": "string", "nullable": true, "default": "d" }
    }));
    schema["properties"]["spec"]["required"] = json!(["must"]);
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    let nulls = json!({ "must": "", "plain": null, "default": null, "nullable": null, "both": null });
    things.create(object("a", nulls)).await?.is(201)?;
    let thing = things.get("a").await?.ok()?;
    let kept = json!({ "must": "", "default": "d", "nullable": null, "both": null });
    ensure!(thing["spec"] == kept, "{thing}");
    let status = things.create(object("b", json!({ "must": null }))).await?.refused(422, "Invalid")?;
    has_cause(&status, "spec.must", "FieldValueRequired")
}

pub(super) async fn metadata_is_checked_as_everywhere(cx: Cx) -> Result<()> {
    let kind = cx.install_crd("Thing", of_spec(json!({})), json!({})).await?;
    let things = cx.objects(&kind);
    let wrong = json!({
        "metadata": { "name": "Not_A_Name", "labels": { "a b": "" }, "annotations": { "-": "" } }
    });
    let status = things.create(wrong).await?.refused(422, "Invalid")?;
    for field in ["metadata.name", "metadata.labels", "metadata.annotations"] {
        has_cause(&status, field, "FieldValueInvalid")?;
    }
    let label = json!({ "metadata": { "name": "a", "labels": { "a": 1 } } });
    things.create(label).await?.refused(400, "BadRequest")?;
    let version = kind.api_version.replace("/v1", "/v2");
    let of_version = json!({ "apiVersion": version, "metadata": { "name": "a" } });
    things.create(of_version).await?.refused(400, "BadRequest")?;
    let of_kind = json!({ "kind": "Other", "metadata": { "name": "a" } });
    let status = things.create(of_kind).await?.refused(422, "Invalid")?;
    has_cause(&status, "kind", "FieldValueInvalid")?;

    let thing = things.create(object("a.b", json!({}))).await?.is(201)?;
    ensure!(thing["metadata"]["generation"] == 1, "{thing}");
    let status = things.create(object("a.b", json!({}))).await?.refused(409, "AlreadyExists")?;
    ensure!(status["details"]["kind"] == kind.plural, "{status}");
    things.get("b").await?.refused(404, "NotFound")?;
    let list = things.list("").await?.ok()?;
    ensure!(list["kind"] == "ThingList" && list["apiVersion"] == kind.api_version, "{list}");
    Ok(())
}

pub(super) async fn a_stricter_schema_judges_later_writes(cx: Cx) -> Result<()> {
    let kind = cx.install_crd("Thing", of_spec(json!({ "size": { "type": "integer" } })), json!({})).await?;
    let things = cx.objects(&kind);
    things.create(object("a", json!({ "size": 9 }))).await?.is(201)?;
    change_schema(&cx, &kind, &json!({ "size": { "maximum": 5 } })).await?;
    let status = eventually("the new schema to count", async || {
        let reply = things.create_with("?dryRun=All", object("b", json!({ "size": 9 }))).await?;
        Ok((reply.status != 201).then_some(reply))
    })
    .await?
    .refused(422, "Invalid")?;
    has_cause(&status, "spec.size", "FieldValueInvalid")?;
    // What is stored stays readable, and a new fault in it is still refused.
    ensure!(things.get("a").await?.ok()?["spec"]["size"] == 9);
    things.merge("a", json!({ "spec": { "size": 10 } })).await?.refused(422, "Invalid")?;
    things.merge("a", json!({ "spec": { "size": 5 } })).await?.ok()?;
    Ok(())
}

pub(super) async fn what_did_not_change_is_not_judged_again(cx: Cx) -> Result<()> {
    let number = json!({ "type": "integer" });
    let properties = json!({ "size": number, "even": number, "free": { "type": "string" } });
    let kind = cx.install_crd("Thing", of_spec(properties), json!({})).await?;
    let things = cx.objects(&kind);
    things.create(object("a", json!({ "size": 9, "even": 1 }))).await?.is(201)?;
    let rules = json!([{ "rule": "self % 2 == 0" }]);
    let stricter = json!({ "size": { "maximum": 5 }, "even": { "x-kubernetes-validations": rules } });
    change_schema(&cx, &kind, &stricter).await?;
    eventually("the new schema to count", async || {
        let reply = things.create_with("?dryRun=All", object("b", json!({ "size": 9 }))).await?;
        Ok((reply.status == 422).then_some(()))
    })
    .await?;
    // Whoever changes one field need not repair the others.
    let changed = things.merge("a", json!({ "spec": { "free": "x" } })).await?.is(200)?;
    ensure!(changed["spec"] == json!({ "size": 9, "even": 1, "free": "x" }), "{changed}");
    let worse =
        things.merge("a", json!({ "spec": { "size": 8, "even": 3 } })).await?.refused(422, "Invalid")?;
    has_cause(&worse, "spec.size", "FieldValueInvalid")?;
    has_cause(&worse, "spec.even", "FieldValueInvalid")
}

pub(super) async fn strict_requests_name_unknown_fields(cx: Cx) -> Result<()> {
    let schema = of_spec(json!({
        "known": { "type": "string" },
        "deep": { "type": "object", "properties": { "known": { "type": "string" } } }
    }));
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    let unknown = object("a", json!({ "other": 1, "deep": { "stray": 1 } }));
    let reply = things.create_with("?fieldValidation=Strict", unknown.clone()).await?;
    let status = reply.refused(400, "BadRequest")?;
    let message = status["message"].as_str().unwrap_or_default();
    ensure!(message.contains("spec.other") && message.contains("spec.deep.stray"), "{status}");
    let reply = things.create_with("?fieldValidation=Warn", unknown).await?;
    ensure!(reply.status == 201, "{reply}");
    let warnings: Vec<_> = reply.headers.get_all("warning").iter().filter_map(|w| w.to_str().ok()).collect();
    for field in ["spec.other", "spec.deep.stray"] {
        ensure!(warnings.iter().any(|warning| warning.contains(field)), "{field}: {warnings:?}");
    }
    let patch = json!({ "spec": { "other": 1 } });
    things.merge("a?fieldValidation=Strict", patch).await?.refused(422, "Invalid")?;
    Ok(())
}

pub(super) async fn applied_lists_merge_as_the_schema_says(cx: Cx) -> Result<()> {
    let port = json!({
        "type": "object",
        "required": ["name"],
        "properties": { "name": { "type": "string" }, "port": { "type": "integer" } }
    });
    let schema = of_spec(json!({
        "ports": {
            "type": "array", "items": port,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]
        },
        "set": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } },
        "plain": { "type": "array", "items": { "type": "string" } },
        "map": { "type": "object", "additionalProperties": { "type": "string" } }
    }));
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    let of = |name: &str, port: i32| {
        let ports = json!([{ "name": name, "port": port }]);
        json!({ "spec": { "ports": ports, "set": [name], "map": { name: name } } })
    };
    let mut first = of("a", 1);
    first["spec"]["plain"] = json!(["a"]);
    things.apply("x", "first", first.clone()).await?.is(201)?;
    let thing = things.apply("x", "second", of("b", 2)).await?.ok()?;
    let both = json!({
        "ports": [{ "name": "a", "port": 1 }, { "name": "b", "port": 2 }],
        "set": ["a", "b"],
        "map": { "a": "a", "b": "b" },
        "plain": ["a"]
    });
    ensure!(thing["spec"] == both, "{thing}");
    // A list of no declared kind belongs to one manager as a whole.
    let rival = json!({ "spec": { "plain": ["b"] } });
    things.apply("x", "third", rival).await?.refused(409, "Conflict")?;
    things.apply("x", "third", of("a", 9)).await?.refused(409, "Conflict")?;
    let thing = things.apply("x", "first", json!({ "spec": {} })).await?.ok()?;
    ensure!(thing["spec"] == of("b", 2)["spec"], "{thing}");
    Ok(())
}

pub(super) async fn strategic_patches_are_not_understood(cx: Cx) -> Result<()> {
    let schema = of_spec(json!({ "list": { "type": "array", "items": { "type": "string" } } }));
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    things.create(object("a", json!({ "list": ["a"] }))).await?.is(201)?;
    let patch = json!({ "spec": { "list": ["b"] } });
    things.patch("a", PatchKind::Strategic, &patch).await?.refused(415, "UnsupportedMediaType")?;
    let patch = json!([{ "op": "add", "path": "/spec/list/0", "value": "b" }]);
    let thing = things.patch("a", PatchKind::Json, &patch).await?.ok()?;
    ensure!(thing["spec"]["list"] == json!(["b", "a"]), "{thing}");
    Ok(())
}

/// Adds to the properties of the spec.
async fn change_schema(cx: &Cx, kind: &Kind, properties: &Value) -> Result<()> {
    let (definitions, name) = (cx.objects(&Kind::CRD), name_of(kind));
    let definition = definitions.get(&name).await?.ok()?;
    let mut versions = definition["spec"]["versions"].clone();
    let spec = &mut versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
    for (field, schema) in properties.as_object().into_iter().flatten() {
        for (key, value) in schema.as_object().into_iter().flatten() {
            spec[field][key] = value.clone();
        }
    }
    definitions.merge(&name, json!({ "spec": { "versions": versions } })).await?.ok()?;
    Ok(())
}
