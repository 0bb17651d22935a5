use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn query(text: &str) -> Query {
    Query::parse(text)
}

/// Code, and the field and reason of each cause.
fn refusal<T: std::fmt::Debug>(result: Result<T>) -> (u16, Vec<(String, String)>) {
    let error = result.expect_err("it must be refused");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let causes = error.details["causes"].as_array().cloned().unwrap_or_default();
    let causes = causes.iter().map(|cause| (text(&cause["field"]), text(&cause["reason"]))).collect();
    (error.code.as_u16(), causes)
}

#[test]
fn parameters_are_decoded_and_malformed_pairs_left_out() {
    let query = query("a=1&a=2&b=x%20y+z%C3%BC&bad=%zz&c;d=1&e&%");
    assert_eq!(query.all("a").collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(query.first("b"), Some("x y zü"));
    assert_eq!((query.first("bad"), query.first("d"), query.first("e")), (None, None, Some("")));
}

#[test]
fn switches_are_on_unless_they_say_no() {
    let query = query("a=&b=0&c=False&d=no&e=1");
    let switches = ["a", "b", "c", "d", "e", "f"].map(|name| query.switch(name));
    assert_eq!(switches, [Some(true), Some(false), Some(false), Some(true), Some(true), None]);
}

#[test]
fn malformed_numbers_and_versions_are_bad_requests() {
    for text in [
        "limit=abc",
        "limit=",
        "limit=9223372036854775808",
        "timeoutSeconds=abc",
        "resourceVersion=abc",
        "resourceVersion=-1",
        "resourceVersion=%2B1",
        "labelSelector=a%20b",
        "fieldSelector=a",
        "continue=nonsense",
    ] {
        assert_eq!(refusal(ListOptions::parse(&query(text))), (400, vec![]), "{text}");
    }
    let error = ListOptions::parse(&query("limit=abc")).expect_err("it must be refused");
    assert_eq!(error.message, "strconv.ParseInt: parsing \"abc\": invalid syntax");
}

#[test]
fn version_match_must_make_sense() {
    let page = ContinueToken { revision: Some(7), namespace: "ns".into(), name: "a".into() }.encode();
    for (text, field, reason) in [
        ("resourceVersionMatch=Exact", "resourceVersionMatch", "FieldValueForbidden"),
        ("resourceVersionMatch=Exact&resourceVersion=0", "resourceVersionMatch", "FieldValueForbidden"),
        ("resourceVersionMatch=Newest&resourceVersion=1", "resourceVersionMatch", "FieldValueNotSupported"),
        ("sendInitialEvents=true", "sendInitialEvents", "FieldValueForbidden"),
        ("watch=true&sendInitialEvents=true", "resourceVersionMatch", "FieldValueForbidden"),
        ("watch=true&resourceVersionMatch=NotOlderThan", "resourceVersionMatch", "FieldValueForbidden"),
    ] {
        let (code, causes) = refusal(ListOptions::parse(&query(text)));
        assert_eq!((code, causes.first()), (422, Some(&(field.to_owned(), reason.to_owned()))), "{text}");
    }
    let text = format!("continue={page}&resourceVersion=5");
    assert_eq!(refusal(ListOptions::parse(&query(&text))), (400, vec![]));
    let text = format!("continue={page}&resourceVersion=0&limit=5");
    let options = ListOptions::parse(&query(&text)).expect("version 0 goes with a token");
    assert_eq!((options.limit, options.next.and_then(|token| token.revision)), (Some(5), Some(7)));
}

#[test]
fn watch_without_a_version_begins_with_what_is_there() {
    for (text, expected) in [
        ("watch=1", Some(true)),
        ("watch=1&resourceVersion=0", Some(true)),
        ("watch=1&resourceVersion=5", None),
        ("watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", Some(false)),
        ("", None),
    ] {
        let options = ListOptions::parse(&query(text)).expect(text);
        assert_eq!(options.initial_events, expected, "{text}");
    }
}

#[test]
fn writes_refuse_what_upstream_refuses() {
    let long = format!("fieldManager={}", "m".repeat(129));
    for (text, write, field, reason) in [
        ("dryRun=Some", Write::Create, "dryRun", "FieldValueNotSupported"),
        ("dryRun=All&dryRun=Some", Write::Update, "dryRun", "FieldValueNotSupported"),
        ("fieldValidation=strict", Write::Create, "fieldValidation", "FieldValueNotSupported"),
        (&long, Write::Create, "fieldManager", "FieldValueTooLong"),
        ("fieldManager=a%07b", Write::Patch, "fieldManager", "FieldValueInvalid"),
        ("force=true", Write::Patch, "force", "FieldValueForbidden"),
        ("force=true", Write::Apply, "fieldManager", "FieldValueRequired"),
    ] {
        let expected = (422, vec![(field.to_owned(), reason.to_owned())]);
        assert_eq!(refusal(WriteOptions::parse(&query(text), write)), expected, "{text}");
    }
    let text = "fieldManager=it%27s+m%C3%BC&force=1&dryRun=All&fieldValidation=Strict";
    let options = WriteOptions::parse(&query(text), Write::Apply).expect("the options must be valid");
    assert!(options.force && options.dry_run && options.field_validation == FieldValidation::Strict);
    assert_eq!(options.manager("tool/1"), "it's mü");
}

#[test]
fn manager_comes_from_the_user_agent_if_nobody_is_named() {
    let options = WriteOptions::default();
    assert_eq!(options.manager("tool/1.2 (linux/amd64) other/3"), "tool");
    assert_eq!(options.manager(&"ü".repeat(100)).len(), 128);
}

#[test]
fn body_of_a_delete_counts_alone() {
    let parse = |query: &str, body: &str| DeleteOptions::parse(&Query::parse(query), None, body.as_bytes());
    let body = json!({ "kind": "DeleteOptions", "apiVersion": "apps/v1", "propagationPolicy": "Orphan",
        "preconditions": { "uid": "u" }, "unknown": 1, "dryRun": ["All"], "gracePeriodSeconds": null });
    let options = parse("gracePeriodSeconds=5", &body.to_string()).expect("the options must be valid");
    assert_eq!((options.grace_period_seconds, options.propagation), (None, Some(Propagation::Orphan)));
    assert!(options.dry_run && options.preconditions.uid.as_deref() == Some("u"));
    let text = "gracePeriodSeconds=-5&uid=u&resourceVersion=7&orphanDependents=false";
    let options = parse(text, "").expect("the options must be valid");
    assert_eq!((options.grace_period_seconds, options.orphan_dependents), (Some(-5), Some(false)));
    assert_eq!(options.preconditions.resource_version.as_deref(), Some("7"));
}

#[test]
fn deletes_refuse_what_upstream_refuses() {
    let parse = |query: &str, body: &str| DeleteOptions::parse(&Query::parse(query), None, body.as_bytes());
    for body in [
        r#"{"gracePeriodSeconds":"5"}"#,
        r#"{"gracePeriodSeconds":"#,
        r#"{"kind":"Pod"}"#,
        "[]",
        r#"{"dryRun":"All"}"#,
    ] {
        assert_eq!(refusal(parse("", body)), (400, vec![]), "{body}");
    }
    let cause = |reason: &str| (422, vec![("propagationPolicy".to_owned(), reason.to_owned())]);
    assert_eq!(refusal(parse("propagationPolicy=Sideways", "")), cause("FieldValueNotSupported"));
    let both = r#"{"propagationPolicy":"Orphan","orphanDependents":true}"#;
    assert_eq!(refusal(parse("", both)), cause("FieldValueInvalid"));
}

#[test]
fn people_get_lines() {
    assert!(query("pretty=true").pretty("tool/1") && query("").pretty("curl/8"));
    assert!(!query("").pretty("kubectl/1") && !query("pretty=0").pretty("curl/8"));
}

proptest! {
    #[test]
    fn tokens_survive_the_journey(
        revision in proptest::option::of(1..i64::MAX as u64),
        namespace in "([a-z][a-z0-9-]{0,20})?",
        name in "[a-z:][a-zA-Z0-9.:-]{0,60}",
    ) {
        let token = ContinueToken { revision, namespace, name };
        prop_assert_eq!(ContinueToken::decode(&token.encode()).expect("our own token"), token);
    }

    #[test]
    fn any_query_is_read_or_refused(text in "[a-zA-Z0-9%&=;+,()!.]{0,60}") {
        let query = Query::parse(&text);
        let _ = ListOptions::parse(&query);
        let _ = DeleteOptions::parse(&query, None, b"");
        let _ = WriteOptions::parse(&query, Write::Apply);
    }

    #[test]
    fn any_token_is_read_or_refused(text in "[A-Za-z0-9_-]{0,60}", json in "\\PC{0,60}") {
        use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
        let _ = ContinueToken::decode(&text);
        let _ = ContinueToken::decode(&URL_SAFE_NO_PAD.encode(json));
    }
}

#[test]
fn the_manager_is_the_one_named_or_the_program_that_asks() {
    let manager = |named: &str, agent: &str| {
        WriteOptions { field_manager: named.to_owned(), ..WriteOptions::default() }.manager(agent)
    };
    assert_eq!(manager("me", "kubectl/v1"), "me");
    assert_eq!(manager("", "kubectl/v1.36 (linux)"), "kubectl");
    assert_eq!(manager("", "a\u{7}\tb/1"), "ab");
    assert_eq!(manager("", &"é".repeat(100)).len(), 128);
}
