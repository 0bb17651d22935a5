//! Rules in CEL beside the schema.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{ensure_message, object, of_spec};
use crate::{Cx, Kind, definitions::definition, fixtures::has_cause};

pub(super) async fn rules_judge_fields_objects_lists_and_maps(cx: Cx) -> Result<()> {
    let mut schema = of_spec(json!({
        "even": { "type": "integer", "x-kubernetes-validations": [rule("self % 2 == 0", "must be even")] },
        "min": { "type": "integer" },
        "max": { "type": "integer" },
        "list": {
            "type": "array",
            "maxItems": 10,
            "items": { "type": "string", "maxLength": 20 },
            "x-kubernetes-validations": [
                rule("self.all(item, item != 'bad')", "no bad items"),
                rule("self.exists(item, item == 'main')", "needs main"),
                rule("size(self) < 4", "at most three")
            ]
        },
        "items": {
            "type": "array",
            "maxItems": 10,
            "items": {
                "type": "object",
                "properties": { "port": { "type": "integer" } },
                "x-kubernetes-validations": [rule("self.port > 0", "needs a port")]
            }
        },
        "map": {
            "type": "object",
            "maxProperties": 10,
            "additionalProperties": { "type": "string", "maxLength": 20 },
            "x-kubernetes-validations": [
                rule("'owner' in self", "needs an owner"),
                rule("self.all(key, self[key] != '')", "no empty values")
            ]
        },
        "class": {
            "type": "object",
            "properties": { "default": { "type": "boolean" }, "a-b": { "type": "string" } },
            // Words of CEL and characters that it does not know are escaped.
            "x-kubernetes-validations": [
                rule("self.default || self.a__dash__b == 'x'", "neither default nor x")
            ]
        }
    }));
    schema["properties"]["spec"]["x-kubernetes-validations"] =
        json!([rule("!has(self.min) || !has(self.max) || self.min <= self.max", "min above max")]);
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    let wrong = [
        (json!({ "even": 3 }), "spec.even", "must be even"),
        (json!({ "min": 2, "max": 1 }), "spec", "min above max"),
        (json!({ "list": ["main", "bad"] }), "spec.list", "no bad items"),
        (json!({ "list": ["other"] }), "spec.list", "needs main"),
        (json!({ "list": ["main", "a", "b", "c"] }), "spec.list", "at most three"),
        (json!({ "items": [{ "port": 1 }, { "port": 0 }] }), "spec.items[1]", "needs a port"),
        (json!({ "map": { "other": "x" } }), "spec.map", "needs an owner"),
        (json!({ "map": { "owner": "" } }), "spec.map", "no empty values"),
        (json!({ "class": { "default": false, "a-b": "y" } }), "spec.class", "neither default nor x"),
    ];
    for (spec, field, message) in &wrong {
        let status = things.create(object("a", spec.clone())).await?.refused(422, "Invalid")?;
        has_cause(&status, field, "FieldValueInvalid")?;
        ensure_message(&status, field, message)?;
    }
    let status =
        things.create(object("a", json!({ "even": 1, "min": 2, "max": 1, "list": ["bad"] }))).await?;
    let status = status.refused(422, "Invalid")?;
    for message in ["must be even", "min above max", "no bad items", "needs main"] {
        ensure!(status["message"].as_str().is_some_and(|all| all.contains(message)), "{message}: {status}");
    }
    let good = json!({
        "even": 2, "min": 1, "max": 1, "list": ["main", "a"], "items": [{ "port": 1 }],
        "map": { "owner": "me" }, "class": { "default": false, "a-b": "x" }
    });
    things.create(object("a", good)).await?.is(201)?;
    let status = things.merge("a", json!({ "spec": { "max": 0 } })).await?.refused(422, "Invalid")?;
    ensure_message(&status, "spec", "min above max")
}

pub(super) async fn rules_know_strings_times_and_quantities(cx: Cx) -> Result<()> {
    let string = |expression: &str| {
        let rules = json!([rule(expression, "wrong")]);
        json!({ "type": "string", "maxLength": 50, "x-kubernetes-validations": rules })
    };
    let mut time = string("self > timestamp('2026-01-01T00:00:00Z')");
    time["format"] = "date-time".into();
    let schema = of_spec(json!({
        "starts": string("self.startsWith('a') && self.endsWith('z')"),
        "matches": string("self.matches('^[a-c]+$')"),
        "size": string("self.size() == 3"),
        "split": string("self.split(',').exists(part, part.trim() == 'x')"),
        "find": string("self.find('[0-9]+') == '42'"),
        "lower": string("self == self.lowerAscii()"),
        "quantity": string("isQuantity(self) && quantity(self).isLessThan(quantity('2Gi'))"),
        "time": time,
        "duration": string("duration(self) <= duration('1h')"),
        "url": string("isURL(self) && url(self).getScheme() == 'https'"),
        "ip": string("isIP(self) && ip(self).family() == 4"),
        "portOrName": {
            "x-kubernetes-int-or-string": true,
            "x-kubernetes-validations": [rule("type(self) == int ? self > 0 : self == 'http'", "wrong")]
        }
    }));
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    let values = [
        ("starts", json!("abz"), json!("abc")),
        ("matches", json!("abc"), json!("abd")),
        ("size", json!("äöü"), json!("ab")),
        ("split", json!("a, x"), json!("a,y")),
        ("find", json!("a42b"), json!("a4b")),
        ("lower", json!("abc"), json!("aBc")),
        ("quantity", json!("1500Mi"), json!("2Gi")),
        ("time", json!("2026-01-01T00:00:01Z"), json!("2026-01-01T01:00:00+01:00")),
        ("duration", json!("60m"), json!("61m")),
        ("url", json!("https://a.example/b"), json!("http://a.example/b")),
        ("ip", json!("10.0.0.1"), json!("::1")),
        ("portOrName", json!(1), json!(0)),
        ("portOrName", json!("http"), json!("https")),
    ];
    for (field, good, wrong) in values {
        let reply = things.create_with("?dryRun=All", object("a", json!({ field: good }))).await?;
        ensure!(reply.status == 201, "{field}: {reply}");
        let reply = things.create_with("?dryRun=All", object("a", json!({ field: wrong }))).await?;
        ensure_message(&reply.refused(422, "Invalid")?, &format!("spec.{field}"), "wrong")?;
    }
    Ok(())
}

pub(super) async fn rules_say_why_in_their_own_words(cx: Cx) -> Result<()> {
    let mut schema = of_spec(json!({
        "color": { "type": "string", "maxLength": 10 },
        "size": { "type": "integer" },
        "owner": { "type": "string", "maxLength": 10 },
        "bare": { "type": "integer", "x-kubernetes-validations": [{ "rule": "self == 1" }] }
    }));
    schema["properties"]["spec"]["x-kubernetes-validations"] = json!([
        {
            "rule": "self.color != 'red'",
            "message": "not shown",
            "messageExpression": "'color ' + self.color + ' is taken'",
            "fieldPath": ".color"
        },
        {
            "rule": "self.size < 100 || has(self.owner)",
            "message": "big ones need an owner",
            "reason": "FieldValueRequired",
            "fieldPath": ".owner"
        },
        {
            "rule": "!has(self.owner) || self.owner != 'root'",
            "message": "not for root",
            "reason": "FieldValueForbidden"
        }
    ]);
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    let spec = json!({ "color": "red", "size": 100, "bare": 2 });
    let status = things.create(object("a", spec)).await?.refused(422, "Invalid")?;
    has_cause(&status, "spec.color", "FieldValueInvalid")?;
    ensure_message(&status, "spec.color", "color red is taken")?;
    has_cause(&status, "spec.owner", "FieldValueRequired")?;
    ensure_message(&status, "spec.owner", "big ones need an owner")?;
    // Without a message the rule itself tells what is wrong.
    ensure_message(&status, "spec.bare", "self == 1")?;
    let spec = json!({ "color": "blue", "size": 1, "owner": "root" });
    let status = things.create(object("a", spec)).await?.refused(422, "Invalid")?;
    has_cause(&status, "spec", "FieldValueForbidden")
}

pub(super) async fn a_failing_rule_refuses(cx: Cx) -> Result<()> {
    let schema = of_spec(json!({
        "list": {
            "type": "array", "maxItems": 5, "items": { "type": "integer" },
            "x-kubernetes-validations": [rule("self[1] > 0", "second must be positive")]
        }
    }));
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    let status = things.create(object("a", json!({ "list": [1] }))).await?.refused(422, "Invalid")?;
    has_cause(&status, "spec.list", "FieldValueInvalid")?;
    things.create(object("a", json!({ "list": [0, 1] }))).await?.is(201)?;
    Ok(())
}

pub(super) async fn rules_on_absent_fields_do_not_run(cx: Cx) -> Result<()> {
    let mut schema = of_spec(json!({
        "optional": {
            "type": "object",
            "properties": { "size": { "type": "integer" } },
            "x-kubernetes-validations": [rule("has(self.size) && self.size > 0", "needs a size")]
        },
        "filled": {
            "type": "integer",
            "default": 1,
            "x-kubernetes-validations": [rule("self > 0", "must be positive")]
        }
    }));
    schema["properties"]["spec"]["x-kubernetes-validations"] =
        json!([rule("has(self.filled) && !has(self.unset)", "a default counts as there")]);
    schema["properties"]["spec"]["properties"]["unset"] = json!({ "type": "string" });
    // A default that its own rule refuses would break every object.
    let mut broken = schema.clone();
    broken["properties"]["spec"]["properties"]["filled"]["default"] = 0.into();
    let reply = cx.objects(&Kind::CRD).create(definition(&cx, "Thing", broken)).await?;
    reply.refused(422, "Invalid")?;

    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    things.create(object("a", json!({}))).await?.is(201)?;
    let status = things.create(object("b", json!({ "optional": {} }))).await?.refused(422, "Invalid")?;
    ensure_message(&status, "spec.optional", "needs a size")?;
    let status = things.create(object("b", json!({ "unset": "" }))).await?.refused(422, "Invalid")?;
    ensure_message(&status, "spec", "a default counts as there")
}

pub(super) async fn transition_rules_judge_updates_only(cx: Cx) -> Result<()> {
    let mut schema = of_spec(json!({
        "fixed": { "type": "string", "x-kubernetes-validations": [rule("self == oldSelf", "never changes")] },
        "grows": { "type": "integer", "x-kubernetes-validations": [rule("self >= oldSelf", "only grows")] },
        "once": {
            "type": "string",
            "x-kubernetes-validations": [{
                "rule": "oldSelf.hasValue() || self == 'new'",
                "message": "starts as new",
                "optionalOldSelf": true
            }]
        },
        "ports": {
            "type": "array", "maxItems": 5,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": { "type": "string", "maxLength": 10 },
                    "port": {
                        "type": "integer",
                        "x-kubernetes-validations": [rule("self == oldSelf", "port stays")]
                    }
                }
            }
        }
    }));
    schema["properties"]["spec"]["x-kubernetes-validations"] =
        json!([rule("!has(oldSelf.fixed) || has(self.fixed)", "once set stays set")]);
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    let spec = json!({
        "fixed": "a", "grows": 2, "once": "new",
        "ports": [{ "name": "a", "port": 1 }, { "name": "b", "port": 2 }]
    });
    things.create(object("a", spec)).await?.is(201)?;
    let wrong = [
        (json!({ "fixed": "b" }), "spec.fixed", "never changes"),
        (json!({ "fixed": null }), "spec", "once set stays set"),
        (json!({ "grows": 1 }), "spec.grows", "only grows"),
        // Items of a map are matched by key, wherever they stand.
        (json!({ "ports": [{ "name": "b", "port": 3 }] }), "spec.ports[0].port", "port stays"),
    ];
    for (spec, field, message) in wrong {
        let status = things.merge("a", json!({ "spec": spec })).await?.refused(422, "Invalid")?;
        ensure_message(&status, field, message)?;
    }
    let ports = json!([{ "name": "b", "port": 2 }, { "name": "c", "port": 9 }]);
    let spec = json!({ "grows": 3, "once": "old", "ports": ports });
    things.merge("a", json!({ "spec": spec })).await?.ok()?;
    let status = things.create(object("b", json!({ "once": "old" }))).await?.refused(422, "Invalid")?;
    ensure_message(&status, "spec.once", "starts as new")
}

pub(super) async fn a_rule_at_the_root_sees_the_name(cx: Cx) -> Result<()> {
    let mut schema = of_spec(json!({ "kind": { "type": "string" } }));
    schema["x-kubernetes-validations"] = json!([
        rule("self.metadata.name.startsWith('team-')", "name must say the team"),
        rule("!has(self.spec) || self.spec.kind == self.kind", "kinds differ")
    ]);
    let things = cx.objects(&cx.install_crd("Thing", schema, json!({})).await?);
    let status = things.create(object("a", json!({ "kind": "Other" }))).await?.refused(422, "Invalid")?;
    let message = status["message"].as_str().unwrap_or_default();
    ensure!(message.contains("name must say the team") && message.contains("kinds differ"), "{status}");
    things.create(object("team-a", json!({ "kind": "Thing" }))).await?.is(201)?;
    let generated = json!({ "metadata": { "generateName": "team-" } });
    things.create(generated).await?.is(201)?;
    Ok(())
}

pub(super) async fn rules_judge_the_status_too(cx: Cx) -> Result<()> {
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": { "type": "object", "properties": { "max": { "type": "integer" } } },
            "status": {
                "type": "object",
                "properties": { "used": { "type": "integer" } },
                "x-kubernetes-validations": [
                    rule("!has(oldSelf.used) || self.used >= oldSelf.used", "used only grows")
                ]
            }
        },
        "x-kubernetes-validations": [
            rule("self.?status.?used.orValue(0) <= self.spec.max", "above max")
        ]
    });
    let things =
        cx.objects(&cx.install_crd("Thing", schema, json!({ "subresources": { "status": {} } })).await?);
    things.create(object("a", json!({ "max": 5 }))).await?.is(201)?;
    let used = |count: i32| json!({ "status": { "used": count } });
    let status = things.merge("a/status", used(6)).await?.refused(422, "Invalid")?;
    ensure!(status["message"].as_str().is_some_and(|text| text.contains("above max")), "{status}");
    things.merge("a/status", used(4)).await?.ok()?;
    let status = things.merge("a/status", used(3)).await?.refused(422, "Invalid")?;
    ensure_message(&status, "status", "used only grows")?;
    // A spec that the status no longer fits is refused as well.
    things.merge("a", json!({ "spec": { "max": 3 } })).await?.refused(422, "Invalid")?;
    Ok(())
}

pub(super) async fn rules_that_do_not_compile_are_refused(cx: Cx) -> Result<()> {
    let rules = [
        (json!({ "rule": "self.size >" }), "rule"),
        (json!({ "rule": "self.nowhere == 1" }), "rule"),
        (json!({ "rule": "self.size == 'text'" }), "rule"),
        (json!({ "rule": "self.size" }), "rule"),
        (json!({ "rule": "nosuch(self)" }), "rule"),
        (json!({ "rule": "true", "messageExpression": "1 + 1" }), "messageExpression"),
        (json!({ "rule": "true", "fieldPath": ".nowhere" }), "fieldPath"),
    ];
    let definitions = cx.objects(&Kind::CRD);
    for (rule, part) in rules {
        let mut schema = of_spec(json!({ "size": { "type": "integer" } }));
        schema["properties"]["spec"]["x-kubernetes-validations"] = json!([rule]);
        let reply = definitions.create(definition(&cx, "Thing", schema)).await?;
        let status = reply.refused(422, "Invalid")?;
        let field = &status["details"]["causes"][0]["field"];
        let place = format!("properties[spec].x-kubernetes-validations[0].{part}");
        ensure!(field.as_str().is_some_and(|field| field.ends_with(&place)), "{rule}: {status}");
        has_cause(&status, field.as_str().unwrap_or_default(), "FieldValueInvalid")?;
    }
    // The old value of a list item that nothing identifies cannot be known.
    let schema = of_spec(json!({
        "list": {
            "type": "array", "maxItems": 2,
            "items": { "type": "integer", "x-kubernetes-validations": [rule("self == oldSelf", "")] }
        }
    }));
    definitions.create(definition(&cx, "Thing", schema)).await?.refused(422, "Invalid")?;
    Ok(())
}

pub(super) async fn rules_that_may_cost_too_much_are_refused(cx: Cx) -> Result<()> {
    let costly = rule("self.all(a, self.all(b, a == b || a.contains(b)))", "");
    let mut list =
        json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-validations": [costly] });
    let definitions = cx.objects(&Kind::CRD);
    let unbounded = definition(&cx, "Thing", of_spec(json!({ "list": list })));
    let status = definitions.create(unbounded).await?.refused(422, "Invalid")?;
    let cause = &status["details"]["causes"][0];
    let field = cause["field"].as_str().unwrap_or_default();
    ensure!(
        cause["reason"] == "FieldValueForbidden" && field.ends_with("x-kubernetes-validations[0].rule"),
        "{status}"
    );
    // Bounds on what it walks make the same rule cheap enough.
    list["maxItems"] = 10.into();
    list["items"]["maxLength"] = 10.into();
    let bounded = definition(&cx, "Thing", of_spec(json!({ "list": list })));
    definitions.create_with("?dryRun=All", bounded).await?.is(201)?;
    Ok(())
}

fn rule(rule: &str, message: &str) -> Value {
    if message.is_empty() { json!({ "rule": rule }) } else { json!({ "rule": rule, "message": message }) }
}
