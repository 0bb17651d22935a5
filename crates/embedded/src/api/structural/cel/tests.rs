use serde_json::{Value, json};

use super::Rules;
use crate::{
    api::{
        crd::tree_of,
        fault::{Faults, Path},
    },
    schema::Tree,
};

/// An object whose spec has these properties and rules.
fn tree(properties: Value, rules: Value) -> Tree {
    let spec = json!({ "type": "object", "properties": properties, "x-kubernetes-validations": rules });
    tree_of(&json!({ "type": "object", "properties": { "spec": spec } }))
}

fn compiled(tree: &Tree) -> (Rules, Faults) {
    let mut faults = Faults::default();
    let rules = Rules::compile(tree.root().expect("a root"), &Path::new("schema"), &mut faults);
    (rules, faults)
}

fn judge(tree: &Tree, object: &Value, old: Option<&Value>) -> Vec<(String, String)> {
    let (rules, faults) = compiled(tree);
    assert!(faults.is_empty(), "{faults}");
    let mut faults = Faults::default();
    rules.check(tree.root().expect("a root"), object, old, &mut faults);
    faults.iter().map(|fault| (fault.field.clone(), fault.message.clone())).collect()
}

/// What a rule on the spec says about it.
fn asked(properties: Value, rule: &str, spec: Value) -> Vec<(String, String)> {
    judge(&tree(properties, json!([{ "rule": rule }])), &json!({ "spec": spec }), None)
}

fn properties() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "size": { "type": "integer" },
        "float": { "type": "number" },
        "name": text,
        "short": { "type": "string", "maxLength": 20 },
        "nullable": { "type": "string", "nullable": true },
        "names": { "type": "array", "items": text },
        "few": { "type": "array", "maxItems": 10, "items": { "type": "string", "maxLength": 20 } },
        "numbers": { "type": "array", "maxItems": 10, "items": { "type": "integer" } },
        "map": { "type": "object", "additionalProperties": { "type": "integer" } },
        "any": { "x-kubernetes-preserve-unknown-fields": true },
        "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": { "k": text } },
        "port": { "x-kubernetes-int-or-string": true },
        "time": { "type": "string", "format": "date-time" },
        "a-b": text,
        "namespace": text
    })
}

#[test]
fn rules_that_upstream_takes_are_taken() {
    let rules = [
        "self.free.k == 'a'",
        "self.names.all(k, k == 'x')",
        "self.map.all(k, self.map[k] > 1)",
        "self.name.matches('a+')",
        "self.port == 5",
        "self.port == true",
        "self.float > 1",
        "self == null",
        "oldSelf.size == 1",
        "has(self.map.foo)",
        "type(self.size) == int",
        "self.names[0] == 'a'",
        "'a' in self.map",
        "self.size in [1, 2]",
        "self.names.exists(i, v, i == 0)",
        "self.?name.orValue('') == ''",
        "self.name.replace('a', 'b') == ''",
        "'%d'.format([1]) == '1'",
        "optional.of(1).hasValue()",
        "sets.contains([1], [1])",
        "self.name.substring(1) == ''",
        "self == oldSelf",
        "dyn(self.size) == 'a'",
        "{'a': 1}.a == 1",
        "self.names == ['a']",
        "size(self.name) > 1",
        "int(self.name) > 1",
        "isIP(self.name)",
        "self.size / 2 == 1",
        "self.nullable != ''",
        "self.names.exists_one(x, x == '')",
        "self.names.slice(0, 1) == []",
        "self.names.first().hasValue()",
        "self.a__dash__b == self.__namespace__",
        "!has(self.size) || self.size > 0 && self.size < 10 || self.size != 5",
        "self.time > timestamp('2026-01-01T00:00:00Z') + duration('1h')",
        "self.numbers.map(x, x * 2).filter(x, x > 2).sum() < 100",
        "self.few.all(x, self.few.exists_one(y, x == y))",
        "self.few.isSorted() && self.few.min() < self.few.max()",
    ];
    for rule in rules {
        let (_, faults) = compiled(&tree(properties(), json!([{ "rule": rule }])));
        assert!(faults.is_empty(), "{rule}: {faults}");
    }
}

#[test]
fn rules_that_upstream_refuses_are_refused() {
    let rules = [
        ("self.size >", "Syntax error"),
        ("self.nowhere == 1", "ERROR: <input>:1:5: undefined field 'nowhere'"),
        ("self.size == 'text'", "found no matching overload for '_==_' applied to '(int, string)'"),
        ("self.size", "cel expression must evaluate to a bool"),
        ("nosuch(self)", "undeclared reference to 'nosuch' (in container '')"),
        ("other == 1", "undeclared reference to 'other' (in container '')"),
        ("self.any == 1", "undefined field 'any'"),
        ("self.free.z == 'a'", "undefined field 'z'"),
        ("self.name.matches('(')", "invalid matches argument"),
        ("self.nullable == null", "found no matching overload for '_==_' applied to '(string, null)'"),
        ("self.size + 1.0 > 2.0", "found no matching overload for '_+_' applied to '(int, double)'"),
        ("self.size == 1u", "'(int, uint)'"),
        ("[1, 'a'].size() == 2", "expected type 'int' but found 'string'"),
        ("self.metadata", "undefined field 'metadata'"),
        ("self.names.sum() == 1", "found no matching overload for 'sum' applied to 'list(string).()'"),
        ("cel.bind(x, self.size, x > 1)", "undeclared reference"),
        ("authorizer.path('x')", "undeclared reference to 'authorizer'"),
        ("!self.size", "found no matching overload for '!_' applied to '(int)'"),
        ("self.size ? true : false", "'_?_:_'"),
        ("true ? true : 1", "'_?_:_'"),
        ("has(self.any)", "undefined field 'any'"),
        ("has(self)", "invalid argument to has() macro"),
        ("self.names.existsOne(x, x == '')", "undeclared reference to"),
        ("self.name < 5", "'_<_'"),
        ("self.namespace == ''", "undefined field"),
        ("duration('soon') < duration('1h')", "invalid duration argument"),
        ("self.size.all(x, true)", "cannot be range of a comprehension"),
        ("self.few.all(x, x)", "expected type 'bool'"),
    ];
    for (rule, words) in rules {
        let (_, faults) = compiled(&tree(properties(), json!([{ "rule": rule }])));
        let first = faults.iter().next().unwrap_or_else(|| panic!("{rule} was taken"));
        assert!(first.message.contains(words), "{rule}: {faults}");
        assert_eq!(first.field, "schema.properties[spec].x-kubernetes-validations[0].rule");
        assert_eq!(first.reason, "FieldValueInvalid");
    }
    let rule = json!([{ "rule": "true", "messageExpression": "1 + 1" }]);
    let (_, faults) = compiled(&tree(properties(), rule));
    assert!(faults.iter().any(|fault| fault.field.ends_with("[0].messageExpression")), "{faults}");
}

#[test]
fn rules_that_may_cost_too_much_are_refused_as_upstream_does() {
    let dear = [
        ("self.names.map(x, x + 'a').size() == 1", "more than 100x"),
        ("self.names.isSorted()", "more than 100x"),
        ("self.names.join() == ''", "more than 100x"),
        ("self.names.all(x, self.names.all(y, x == y))", "more than 100x"),
        ("self.names.filter(x, x.startsWith('a')).size() < 3", "1.6x"),
        ("self.names.transformList(i, v, v) == []", "1.363"),
        ("self.names.sort() == []", "more than 100x"),
        ("self.names.all(a, self.names.all(b, a == b || a.contains(b)))", "more than 100x"),
    ];
    for (rule, factor) in dear {
        let (_, faults) = compiled(&tree(properties(), json!([{ "rule": rule }])));
        let first = faults.iter().next().unwrap_or_else(|| panic!("{rule} was taken"));
        assert!(
            first.message.contains(&format!("estimated rule cost exceeds budget by factor of {factor}")),
            "{rule}: {faults}"
        );
        assert_eq!(first.reason, "FieldValueForbidden");
    }
    let (_, faults) = compiled(&tree(
        properties(),
        json!([{ "rule": "self.few.all(a, self.few.all(b, a == b || a.contains(b)))" }]),
    ));
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn rules_judge_fields_objects_lists_and_maps() {
    let rule = |rule: &str, message: &str| json!({ "rule": rule, "message": message });
    let properties = json!({
        "even": { "type": "integer", "x-kubernetes-validations": [rule("self % 2 == 0", "must be even")] },
        "min": { "type": "integer" },
        "max": { "type": "integer" },
        "list": {
            "type": "array", "maxItems": 10, "items": { "type": "string", "maxLength": 20 },
            "x-kubernetes-validations": [
                rule("self.all(item, item != 'bad')", "no bad items"),
                rule("self.exists(item, item == 'main')", "needs main"),
                rule("size(self) < 4", "at most three"),
                rule("self[1] != 'second'", "second")
            ]
        },
        "items": { "type": "array", "maxItems": 10, "items": {
            "type": "object", "properties": { "port": { "type": "integer" } },
            "x-kubernetes-validations": [rule("self.port > 0", "needs a port")]
        } },
        "map": {
            "type": "object", "maxProperties": 10, "additionalProperties": {
                "type": "string", "maxLength": 20, "x-kubernetes-validations": [rule("self != 'no'", "not no")]
            },
            "x-kubernetes-validations": [
                rule("'owner' in self", "needs an owner"), rule("self.all(key, self[key] != '')", "no empty values")
            ]
        }
    });
    let tree = tree(
        properties,
        json!([rule("!has(self.min) || !has(self.max) || self.min <= self.max", "min above max")]),
    );
    let wrong = [
        (json!({ "even": 3 }), "spec.even", "Invalid value: 3: must be even"),
        (json!({ "min": 2, "max": 1 }), "spec", "Invalid value: min above max"),
        (json!({ "list": ["main", "bad"] }), "spec.list", "Invalid value: no bad items"),
        (json!({ "list": ["other", "x"] }), "spec.list", "Invalid value: needs main"),
        (json!({ "list": ["main", "a", "b", "c"] }), "spec.list", "Invalid value: at most three"),
        (
            json!({ "list": ["main"] }),
            "spec.list",
            "Invalid value: \"array\": index out of bounds: 1 evaluating rule: second",
        ),
        (json!({ "items": [{ "port": 1 }, { "port": 0 }] }), "spec.items[1]", "Invalid value: needs a port"),
        (json!({ "map": { "other": "x" } }), "spec.map", "Invalid value: needs an owner"),
        (json!({ "map": { "owner": "" } }), "spec.map", "Invalid value: no empty values"),
        (json!({ "map": { "owner": "no" } }), "spec.map[owner]", "Invalid value: \"no\": not no"),
    ];
    for (spec, field, message) in wrong {
        let found = judge(&tree, &json!({ "spec": spec }), None);
        assert_eq!(found, [(field.to_owned(), message.to_owned())]);
    }
    let good = json!({ "even": 2, "min": 1, "max": 1, "list": ["main", "a"], "items": [{ "port": 1 }], "map": { "owner": "me" } });
    assert_eq!(judge(&tree, &json!({ "spec": good }), None), []);
}

#[test]
fn rules_know_strings_times_and_quantities() {
    let string = |rule: &str| json!({ "type": "string", "maxLength": 50, "x-kubernetes-validations": [{ "rule": rule, "message": "wrong" }] });
    let mut time = string("self > timestamp('2026-01-01T00:00:00Z')");
    time["format"] = "date-time".into();
    let port = json!({
        "x-kubernetes-int-or-string": true,
        "x-kubernetes-validations": [{ "rule": "type(self) == int ? self > 0 : self == 'http'", "message": "wrong" }]
    });
    let tree = tree(
        json!({
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
            "cidr": string("isCIDR(self) && cidr('10.0.0.0/8').containsCIDR(self)"),
            "replace": string("self.replace('a', 'b', 1) == 'ba'"),
            "substring": string("self.substring(1, 3) == 'äö' && self.indexOf('ö') == 2 && self.charAt(0) == 'a'"),
            "format": string("'%s-%d-%.1f'.format([self, 5, 0.5]) == 'a-5-0.5'"),
            "year": string("timestamp(self).getFullYear() == 2026 && timestamp(self).getMonth() == 0"),
            "port": port
        }),
        json!([]),
    );
    let values = [
        ("starts", json!("abz"), json!("abc")),
        ("matches", json!("abc"), json!("abd")),
        ("size", json!("äöü"), json!("ab")),
        ("split", json!("a, x"), json!("a,y")),
        ("find", json!("a42b"), json!("a4b")),
        ("lower", json!("abc"), json!("aBc")),
        ("quantity", json!("1500Mi"), json!("2Gi")),
        ("quantity", json!("1"), json!("lots")),
        ("time", json!("2026-01-01T00:00:01Z"), json!("2026-01-01T01:00:00+01:00")),
        ("duration", json!("60m"), json!("61m")),
        ("url", json!("https://a.example/b"), json!("http://a.example/b")),
        ("ip", json!("10.0.0.1"), json!("::1")),
        ("cidr", json!("10.1.0.0/16"), json!("11.0.0.0/16")),
        ("replace", json!("aa"), json!("ab")),
        ("substring", json!("aäöü"), json!("aöäü")),
        ("format", json!("a"), json!("b")),
        ("year", json!("2026-01-31T23:59:59Z"), json!("2026-02-01T00:00:00Z")),
        ("port", json!(1), json!(0)),
        ("port", json!("http"), json!("https")),
    ];
    for (field, good, wrong) in values {
        assert_eq!(judge(&tree, &json!({ "spec": { field: good } }), None), [], "{field}");
        let found = judge(&tree, &json!({ "spec": { field: wrong } }), None);
        assert!(
            found.iter().any(|(at, message)| *at == format!("spec.{field}") && message.contains("wrong")),
            "{field}: {found:?}"
        );
    }
}

#[test]
fn rules_say_why_in_their_own_words() {
    let rules = json!([
        { "rule": "self.short != 'red'", "message": "not shown",
          "messageExpression": "'color ' + self.short + ' is taken'", "fieldPath": ".short" },
        { "rule": "self.size < 100 || has(self.name)", "message": "big ones need a name",
          "reason": "FieldValueRequired", "fieldPath": ".name" },
        { "rule": "self.size != 1", "message": "not one", "reason": "FieldValueForbidden", "fieldPath": ".map['x']" },
        { "rule": "self.size != 2" }
    ]);
    let tree = tree(properties(), rules);
    let said = |spec: Value| judge(&tree, &json!({ "spec": spec }), None);
    assert_eq!(
        said(json!({ "short": "red", "size": 100 })),
        [
            ("spec.short".to_owned(), "Invalid value: color red is taken".to_owned()),
            ("spec.name".to_owned(), "Required value: big ones need a name".to_owned()),
        ]
    );
    assert_eq!(
        said(json!({ "short": "", "size": 1 })),
        [("spec.map[x]".to_owned(), "Forbidden: not one".to_owned())]
    );
    assert_eq!(
        said(json!({ "short": "", "size": 2 })),
        [("spec".to_owned(), "Invalid value: failed rule: self.size != 2".to_owned())]
    );
}

#[test]
fn transition_rules_judge_updates_only() {
    let rule = |rule: &str| json!([{ "rule": rule, "message": "no" }]);
    let tree = tree(
        json!({
            "fixed": { "type": "string", "x-kubernetes-validations": rule("self == oldSelf") },
            "once": { "type": "string", "x-kubernetes-validations": [
                { "rule": "oldSelf.hasValue() || self == 'new'", "message": "no", "optionalOldSelf": true }
            ] },
            "ports": {
                "type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": { "type": "object", "properties": {
                    "name": { "type": "string", "maxLength": 10 },
                    "port": { "type": "integer", "x-kubernetes-validations": rule("self == oldSelf") }
                } }
            },
            "positive": { "type": "integer", "x-kubernetes-validations": rule("self > 0") }
        }),
        rule("!has(oldSelf.fixed) || has(self.fixed)"),
    );
    let object = |spec: Value| json!({ "spec": spec });
    let fields = |new: Value, old: Option<Value>| -> Vec<String> {
        let old = old.map(object);
        judge(&tree, &object(new), old.as_ref()).into_iter().map(|(field, _)| field).collect()
    };
    let old = json!({ "fixed": "a", "once": "new", "ports": [{ "name": "a", "port": 1 }, { "name": "b", "port": 2 }], "positive": -1 });
    assert_eq!(fields(json!({ "fixed": "b" }), None), Vec::<String>::new());
    assert_eq!(fields(json!({ "fixed": "b" }), Some(old.clone())), ["spec.fixed"]);
    assert_eq!(fields(json!({}), Some(old.clone())), ["spec"]);
    assert_eq!(
        fields(json!({ "fixed": "a", "ports": [{ "name": "b", "port": 3 }] }), Some(old.clone())),
        ["spec.ports[0].port"]
    );
    assert_eq!(
        fields(
            json!({ "fixed": "a", "ports": [{ "name": "b", "port": 2 }, { "name": "c", "port": 3 }] }),
            Some(old.clone())
        ),
        Vec::<String>::new()
    );
    assert_eq!(fields(json!({ "once": "old" }), None), ["spec.once"]);
    assert_eq!(fields(json!({ "fixed": "a", "once": "old" }), Some(old.clone())), Vec::<String>::new());
    // What was wrong before may stay, not become wrong in another way.
    assert_eq!(fields(json!({ "fixed": "a", "positive": -1 }), Some(old.clone())), Vec::<String>::new());
    assert_eq!(fields(json!({ "fixed": "a", "positive": -2 }), Some(old)), ["spec.positive"]);
}

#[test]
fn the_old_value_of_an_item_without_identity_is_unknown() {
    let items = json!({ "type": "integer", "x-kubernetes-validations": [{ "rule": "self == oldSelf" }] });
    let (_, faults) =
        compiled(&tree(json!({ "list": { "type": "array", "maxItems": 2, "items": items } }), json!([])));
    assert!(faults.to_string().contains("oldSelf cannot be used on the uncorrelatable portion"), "{faults}");
}

#[test]
fn a_rule_at_the_root_sees_names_and_parts_that_may_be_absent() {
    let tree = tree_of(&json!({
        "type": "object",
        "properties": {
            "spec": { "type": "object", "properties": { "max": { "type": "integer" } } },
            "status": { "type": "object", "properties": { "used": { "type": "integer" } } }
        },
        "x-kubernetes-validations": [
            { "rule": "self.metadata.name.startsWith('team-')", "message": "team" },
            { "rule": "self.?status.?used.orValue(0) <= self.spec.max", "message": "above max" }
        ]
    }));
    let object = |name: &str, used: Value| json!({ "metadata": { "name": name }, "spec": { "max": 5 }, "status": { "used": used } });
    assert_eq!(judge(&tree, &object("team-a", json!(5)), None), []);
    assert_eq!(judge(&tree, &object("a", json!(6)), None).len(), 2);
    let bare = json!({ "metadata": { "name": "team-a" }, "spec": { "max": 0 } });
    assert_eq!(judge(&tree, &bare, None), []);
    assert_eq!(judge(&tree, &bare, None), []);
}

#[test]
fn one_side_decides_even_if_the_other_fails() {
    let ask = |rule: &str| asked(properties(), rule, json!({ "numbers": [0, 1, 2] }));
    assert_eq!(ask("self.numbers[9] > 0 || self.numbers[1] == 1"), []);
    assert_eq!(ask("!(self.numbers[9] > 0 && self.numbers[1] == 2)"), []);
    assert_eq!(ask("self.numbers.exists(x, 2 / x == 2)"), []);
    assert!(ask("self.numbers.all(x, 2 / x > 0)")[0].1.contains("division by zero"));
    assert!(ask("self.numbers[9] > 0 || self.numbers[1] == 2")[0].1.contains("index out of bounds: 9"));
    assert!(ask("self.size > 0")[0].1.contains("no such key: size"));
    assert!(ask("9223372036854775807 + self.numbers[1] > 0")[0].1.contains("integer overflow"));
}

#[test]
fn lists_and_optionals_do_as_they_say() {
    let rules = [
        "self.numbers.map(x, x * 2) == [0, 2, 4]",
        "self.numbers.filter(x, x > 0).size() == 2",
        "self.numbers.map(x, x > 0, x + 1) == [2, 3]",
        "self.numbers.sum() == 3 && self.numbers.max() == 2 && self.numbers.indexOf(2) == 2",
        "[3, 1, 2].sort() == [1, 2, 3] && [1, 1].distinct() == [1] && [1, 2].reverse() == [2, 1]",
        "[[1], [2]].flatten() == [1, 2] && lists.range(2) == [0, 1]",
        "sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1], [1, 2])",
        "self.numbers.exists_one(x, x == 1) && self.numbers.all(i, v, i == v)",
        "self.numbers.transformList(i, v, i + v) == [0, 2, 4]",
        "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
        "!self.?size.hasValue() && self.numbers[?9].orValue(7) == 7",
        "optional.of(1).optMap(x, x + 1).value() == 2",
        "self.numbers + [3] == [0, 1, 2, 3] && 1.0 == 1.0 && self.numbers[0] == 0",
        "'a,b'.split(',').join('-') == 'a-b' && 'abc'.findAll('[ab]') == ['a', 'b']",
        "string(1) + string(true) + string(1.5) == '1true1.5' && int('7') == 7 && double('1.5') == 1.5",
        "quantity('1').add(quantity('500m')).compareTo(quantity('1500m')) == 0",
    ];
    for rule in rules {
        assert_eq!(asked(properties(), rule, json!({ "numbers": [0, 1, 2] })), [], "{rule}");
    }
}

#[test]
fn hostile_rules_end_within_their_budget() {
    let properties = json!({ "s": { "type": "string", "maxLength": 100_000 } });
    let object = json!({ "spec": { "s": "a".repeat(90_000) } });
    // Even if the estimate had let them through: what is made is paid for before it is there.
    for rule in ["self.s.replace('a', self.s).replace('a', self.s).size() > 0", "self.s.matches(self.s)"] {
        let tree = tree(properties.clone(), json!([{ "rule": rule }]));
        let (rules, refused) = compiled(&tree);
        assert!(!refused.is_empty(), "{rule}");
        let mut faults = Faults::default();
        rules.check(tree.root().expect("a root"), &object, None, &mut faults);
        assert!(faults.to_string().contains("cost limit exceeded"), "{rule}: {faults}");
    }
    let deep = format!("{}self.s == ''{}", "(".repeat(200), ")".repeat(200));
    for rule in [deep, format!("1{} > 0", "+1".repeat(4000)), "a".repeat(9000)] {
        assert!(!compiled(&tree(properties.clone(), json!([{ "rule": rule }]))).1.is_empty());
    }
}

#[test]
fn the_deepest_rule_that_is_taken_runs_on_a_small_stack() {
    let inner = "[1].all(x, [x].exists(y, (y > 0 ? y : -y) >= 0 && ".repeat(8);
    let rule = format!("{inner}true{}", "))".repeat(8));
    assert_eq!(asked(properties(), &rule, json!({ "numbers": [1] })), []);
    let deepest = (1..).take_while(|n| super::parse::parse(&nested(*n)).is_ok()).last().expect("some depth");
    assert_eq!(asked(properties(), &nested(deepest), json!({ "numbers": [1] })), []);
}

fn nested(depth: usize) -> String {
    format!("{}true{}", "[1].all(x, ".repeat(depth), ")".repeat(depth))
}
