use super::*;

fn schema() -> Schema {
    Schema::parse(include_str!("../../../schema.graphql")).expect("our own schema")
}

fn root() -> Value {
    json!({
        "version": "1",
        "syncStatus": "SYNCED",
        "daemonStatus": { "uptimeSecs": 5, "peers": [{ "host": "a", "peerId": "1" }, { "host": "b", "peerId": "2" }] },
        "bestChain": [{ "stateHash": "x" }, { "stateHash": "y" }],
        "getPeers": { "$error": "no peers" },
    })
}

fn ask(query: &str, variables: Value) -> Answer {
    let request = Request { query, operation: None, variables: &variables, introspection: true };
    execute(&schema(), &root(), &request)
}

fn data(query: &str) -> Value {
    match ask(query, Value::Null) {
        Answer::Response(answer) => answer,
        other => panic!("{query}: {other:?}"),
    }
}

#[test]
fn fields_aliases_and_fragments_are_answered() {
    let query = "query Q { s: syncStatus daemonStatus { ...F peers { peerId } } ... on query { version } }
                 fragment F on DaemonStatus { uptimeSecs peers { host __typename } }";
    let peers = json!([
        { "host": "a", "__typename": "Peer", "peerId": "1" },
        { "host": "b", "__typename": "Peer", "peerId": "2" },
    ]);
    let expected = json!({ "data": {
        "s": "SYNCED", "daemonStatus": { "uptimeSecs": 5, "peers": peers }, "version": "1",
    } });
    assert_eq!(data(query), expected);
}

#[test]
fn arguments_variables_and_directives_count() {
    let query = "query Q($n: Int = 1, $no: Boolean!) { bestChain(maxLength: $n) { stateHash } version @skip(if: $no) }";
    let last = json!({ "data": { "bestChain": [{ "stateHash": "y" }] } });
    assert_eq!(ask(query, json!({ "no": true })), Answer::Response(last));
    let none = json!({ "data": { "bestChain": [], "version": "1" } });
    assert_eq!(ask(query, json!({ "n": 0, "no": false })), Answer::Response(none));
    let found = data(r#"{ block(stateHash: "x") { stateHash } }"#);
    assert_eq!(found, json!({ "data": { "block": { "stateHash": "x" } } }));
}

#[test]
fn data_survive_beside_errors() {
    let answer = data("{ version getPeers { host } }");
    let error = json!([{ "message": "no peers", "path": ["getPeers"] }]);
    assert_eq!(answer, json!({ "errors": error, "data": { "version": "1", "getPeers": null } }));
}

#[test]
fn faults_of_a_query_are_told() {
    for (query, message) in [
        ("{ nonsense }", "Field 'nonsense' is not defined on type 'query'"),
        ("{ daemonStatus }", "Field of type 'DaemonStatus' must have a selection of subfields"),
        ("{ version { a } }", "Field of type 'String' has no subfields"),
        ("{ version(a: 1) }", "Argument 'a' is not defined on field 'version'"),
        ("{ ...F }", "Fragment 'F' is not defined"),
        ("query A { version } query B { version }", "Operation name is required"),
        ("mutation { version }", "Schema is not configured for mutations"),
    ] {
        assert_eq!(data(query), json!({ "errors": [{ "message": message }], "data": null }), "{query}");
    }
    assert_eq!(ask("subscription { newBlock { stateHash } }", Value::Null), Answer::Subscription);
    assert!(matches!(ask("{ version", Value::Null), Answer::Syntax(_)));
}

#[test]
fn no_query_can_keep_us_busy() {
    let cycle = "{ ...A } fragment A on query { ...B } fragment B on query { ...A }";
    assert_eq!(data(cycle)["errors"][0]["message"], "The query is nested too deeply");
    let mut doubling = String::from("{ ...F0 }");
    for number in 0..40 {
        doubling += &format!(" fragment F{number} on query {{ ...F{0} ...F{0} }}", number + 1);
    }
    doubling += " fragment F40 on query { version }";
    assert_eq!(data(&doubling)["errors"][0]["message"], "The answer would have too many fields");
    for open in ["{ daemonStatus ", "{ a(b: [", "[", "((((", "{ __schema { types { fields { type "] {
        let deep = open.repeat(5000);
        assert!(matches!(ask(&deep, Value::Null), Answer::Syntax(_)), "{open}");
    }
    assert!(matches!(ask(&"{ version } ".repeat(50_000), Value::Null), Answer::Syntax(_)));
}

#[test]
fn the_schema_tells_of_itself() {
    let answer = data(
        r#"{ __schema { queryType { name } types { name kind } } __type(name: "Peer") { fields { name type { kind ofType { name } } } } }"#,
    );
    let types = answer["data"]["__schema"]["types"].as_array().expect("types");
    assert_eq!(answer["data"]["__schema"]["queryType"]["name"], "query");
    assert!(types.contains(&json!({ "name": "SyncStatus", "kind": "ENUM" })));
    let host = json!({ "name": "host", "type": { "kind": "NON_NULL", "ofType": { "name": "String" } } });
    assert_eq!(answer["data"]["__type"]["fields"][0], host);
    let request = Request {
        query: "{ __schema { queryType { name } } }",
        operation: None,
        variables: &Value::Null,
        introspection: false,
    };
    let refused = json!({ "errors": [{ "message": "Introspection is disabled" }], "data": null });
    assert_eq!(execute(&schema(), &root(), &request), Answer::Response(refused));
}
