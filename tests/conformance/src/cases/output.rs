//! Forms an answer can take: Table, PartialObjectMetadata, YAML, gzip, Status.

use anneal_harness::{Needs, PatchKind};
use anyhow::{Result, ensure};
use http::Method;
use serde_json::{Value, json};

use crate::{
    Case, Cx, Kind, Objects,
    case::cases,
    fixtures::{config_map, pod},
};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            table_of_config_maps_has_cells_and_metadata,
            table_of_pods_sums_up_their_containers,
            tables_have_the_columns_people_know,
            table_of_a_custom_resource_has_its_printer_columns,
            table_carries_as_much_of_the_objects_as_asked,
            table_comes_in_pages,
            table_watch_describes_its_columns_once,
            first_acceptable_form_is_chosen,
            metadata_alone_of_an_object,
            metadata_alone_of_a_list,
            metadata_alone_of_a_watch,
            metadata_of_a_list_is_not_that_of_an_object,
            unacceptable_form_is_refused,
            yaml_goes_in_and_out,
            refusal_comes_in_yaml_too,
            large_answer_is_compressed_on_request,
            pretty_answer_has_lines,
            not_found_names_group_kind_and_name,
            wrong_method_is_not_allowed,
            unknown_path_is_not_found,
            body_that_is_not_the_kind_is_a_bad_request,
            unknown_media_type_of_a_body_is_unsupported,
        ],
    ]
}

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
/// Leaves out what controllers put into the namespace.
const MINE: &str = "labelSelector=mine%3Dyes";

async fn table_of_config_maps_has_cells_and_metadata(cx: Cx) -> Result<()> {
    create_two(&cx).await?;
    let maps = accepting(&cx, TABLE, &Kind::CONFIG_MAP);
    let table = maps.list(&format!("?{MINE}")).await?.is(200)?;
    ensure!(table["kind"] == "Table" && table["apiVersion"] == "meta.k8s.io/v1", "{table}");
    ensure!(columns(&table) == ["Name", "Data", "Age"], "{table}");
    ensure!(table["metadata"]["resourceVersion"].is_string(), "{table}");
    let rows = table["rows"].as_array().cloned().unwrap_or_default();
    ensure!(rows.len() == 2, "{table}");
    for (row, name) in rows.iter().zip(["a", "b"]) {
        ensure!(row["cells"][0] == name && row["cells"][1] == 1 && row["cells"][2].is_string(), "{row}");
        let object = &row["object"];
        ensure!(object["kind"] == "PartialObjectMetadata", "{row}");
        ensure!(object["apiVersion"] == "meta.k8s.io/v1", "{row}");
        ensure!(object["metadata"]["name"] == name && object.get("data").is_none(), "{row}");
    }
    // One object is a table of one row.
    let table = maps.get("a").await?.is(200)?;
    ensure!(table["rows"].as_array().is_some_and(|rows| rows.len() == 1), "{table}");
    maps.get("none").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn table_of_pods_sums_up_their_containers(cx: Cx) -> Result<()> {
    let pods = cx.objects(&Kind::POD);
    let mut body = pod("a");
    let image = "registry.invalid/app:1";
    body["spec"]["containers"] =
        json!([{ "name": "main", "image": image }, { "name": "side", "image": image }]);
    pods.create(body).await?.is(201)?;
    let tables = accepting(&cx, TABLE, &Kind::POD);
    let table = tables.get("a").await?.is(200)?;
    let cells = without_age(&table);
    let none = json!("<none>");
    ensure!(cells == json!(["a", "0/2", "Pending", "0", none, none, none, none]), "{table}");
    let container = |name: &str, ready: bool, restarts: u32, state: Value| {
        json!({ "name": name, "ready": ready, "restartCount": restarts, "state": state, "image": image,
            "imageID": "" })
    };
    let status = json!({ "status": { "phase": "Running", "podIP": "192.0.2.7", "podIPs": [{ "ip": "192.0.2.7" }],
        "containerStatuses": [
            container("main", false, 3, json!({ "waiting": { "reason": "CrashLoopBackOff" } })),
            container("side", true, 1, json!({ "running": {} }))
        ]
    } });
    pods.patch("a/status", PatchKind::Merge, &status).await?.is(200)?;
    let table = tables.get("a").await?.is(200)?;
    let cells = without_age(&table);
    ensure!(cells == json!(["a", "1/2", "CrashLoopBackOff", "4", "192.0.2.7", none, none, none]), "{table}");
    Ok(())
}

async fn tables_have_the_columns_people_know(cx: Cx) -> Result<()> {
    // A star marks those that only a wide table shows.
    for (kind, expected) in [
        (
            Kind::POD,
            vec![
                "Name",
                "Ready",
                "Status",
                "Restarts",
                "Age",
                "IP*",
                "Node*",
                "Nominated Node*",
                "Readiness Gates*",
            ],
        ),
        (Kind::SECRET, vec!["Name", "Type", "Data", "Age"]),
        (Kind::SERVICE, vec!["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector*"]),
        (Kind::NAMESPACE, vec!["Name", "Status", "Age"]),
        (
            Kind::DEPLOYMENT,
            vec!["Name", "Ready", "Up-to-date", "Available", "Age", "Containers*", "Images*", "Selector*"],
        ),
        (
            Kind::REPLICA_SET,
            vec!["Name", "Desired", "Current", "Ready", "Age", "Containers*", "Images*", "Selector*"],
        ),
        (
            Kind::JOB,
            vec!["Name", "Status", "Completions", "Duration", "Age", "Containers*", "Images*", "Selector*"],
        ),
        (Kind::LEASE, vec!["Name", "Holder", "Age"]),
        (Kind::ENDPOINT_SLICE, vec!["Name", "AddressType", "Ports", "Endpoints", "Age"]),
        (
            Kind::DISRUPTION_BUDGET,
            vec!["Name", "Min Available", "Max Unavailable", "Allowed Disruptions", "Age"],
        ),
        (Kind::CRD, vec!["Name", "Created At"]),
    ] {
        let table = accepting(&cx, TABLE, &kind).list("?limit=1").await?.is(200)?;
        ensure!(columns(&table) == expected, "{}: {:?}", kind.kind, columns(&table));
    }
    Ok(())
}

async fn table_of_a_custom_resource_has_its_printer_columns(cx: Cx) -> Result<()> {
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let columns_of = json!({ "additionalPrinterColumns": [
        { "name": "Teeth", "type": "integer", "jsonPath": ".spec.teeth", "description": "how many" },
        { "name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status" },
        { "name": "Made", "type": "date", "jsonPath": ".metadata.creationTimestamp", "priority": 1 }
    ] });
    let kind = cx.install_crd("Gear", schema.clone(), columns_of).await?;
    let conditions = json!([{ "type": "Other", "status": "False" }, { "type": "Ready", "status": "True" }]);
    let gears = cx.objects(&kind);
    for body in [
        json!({ "metadata": { "name": "a" }, "spec": { "teeth": 7 }, "status": { "conditions": conditions } }),
        json!({ "metadata": { "name": "b" } }),
    ] {
        gears.create(body).await?.is(201)?;
    }
    let table = accepting(&cx, TABLE, &kind).list("").await?.is(200)?;
    ensure!(columns(&table) == ["Name", "Teeth", "Ready", "Made*"], "{table}");
    let teeth = &table["columnDefinitions"][1];
    ensure!(teeth["type"] == "integer" && teeth["description"] == "how many", "{table}");
    let cells = |row: usize| &table["rows"][row]["cells"];
    ensure!(cells(0)[0] == "a" && cells(0)[1] == 7 && cells(0)[2] == "True", "{table}");
    ensure!(cells(0)[3].is_string(), "{table}");
    ensure!(cells(1)[0] == "b" && cells(1)[1].is_null() && cells(1)[2].is_null(), "{table}");
    let plain = cx.install_crd("Plain", schema, json!({})).await?;
    let table = accepting(&cx, TABLE, &plain).list("").await?.is(200)?;
    ensure!(columns(&table) == ["Name", "Age"], "{table}");
    Ok(())
}

async fn table_carries_as_much_of_the_objects_as_asked(cx: Cx) -> Result<()> {
    create_two(&cx).await?;
    let maps = accepting(&cx, TABLE, &Kind::CONFIG_MAP);
    let none = maps.get("a?includeObject=None").await?.is(200)?;
    ensure!(none["rows"][0]["object"].is_null() && none["rows"][0]["cells"][0] == "a", "{none}");
    let metadata = maps.get("a?includeObject=Metadata").await?.is(200)?;
    ensure!(metadata["rows"][0]["object"]["kind"] == "PartialObjectMetadata", "{metadata}");
    let whole = maps.list(&format!("?{MINE}&includeObject=Object")).await?.is(200)?;
    let object = &whole["rows"][0]["object"];
    ensure!(object["kind"] == "ConfigMap" && object["data"]["key"] == "1", "{whole}");
    maps.get("a?includeObject=Everything").await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn table_comes_in_pages(cx: Cx) -> Result<()> {
    for name in ["a", "b"] {
        cx.objects(&Kind::SECRET).create(json!({ "metadata": { "name": name } })).await?.is(201)?;
    }
    let secrets = accepting(&cx, TABLE, &Kind::SECRET);
    let first = secrets.list("?limit=1").await?.is(200)?;
    let next = first["metadata"]["continue"].as_str().unwrap_or_default();
    ensure!(first["rows"][0]["cells"][0] == "a" && !next.is_empty(), "{first}");
    ensure!(first["metadata"]["remainingItemCount"] == 1, "{first}");
    let second = secrets.list(&format!("?limit=1&continue={next}")).await?.is(200)?;
    ensure!(second["rows"][0]["cells"][0] == "b", "{second}");
    ensure!(second["metadata"].get("continue").is_none(), "{second}");
    ensure!(columns(&second) == columns(&first), "{second}");
    Ok(())
}

async fn table_watch_describes_its_columns_once(cx: Cx) -> Result<()> {
    create_two(&cx).await?;
    let mut watch = accepting(&cx, TABLE, &Kind::CONFIG_MAP).watch(MINE).await?;
    let first = watch.next().await?;
    ensure!(first.kind == "ADDED" && first.object["kind"] == "Table", "{first:?}");
    ensure!(columns(&first.object) == ["Name", "Data", "Age"], "{first:?}");
    ensure!(first.object["rows"].as_array().is_some_and(|rows| rows.len() == 1), "{first:?}");
    let second = watch.next().await?;
    ensure!(second.object["columnDefinitions"].is_null(), "{second:?}");
    cx.objects(&Kind::CONFIG_MAP).delete("a").await?.is(200)?;
    let third = watch.next().await?;
    ensure!(third.kind == "DELETED" && third.object["rows"][0]["cells"][0] == "a", "{third:?}");
    Ok(())
}

async fn first_acceptable_form_is_chosen(cx: Cx) -> Result<()> {
    create_two(&cx).await?;
    // What kubectl sends, what it would send to a newer server, and what controllers send.
    for (accept, kind) in [
        (format!("{TABLE},application/json"), "Table"),
        ("application/json;as=Table;v=v99;g=meta.k8s.io,application/json".to_owned(), "ConfigMap"),
        ("text/html,application/json".to_owned(), "ConfigMap"),
        ("*/*".to_owned(), "ConfigMap"),
    ] {
        let reply = accepting(&cx, &accept, &Kind::CONFIG_MAP).get("a").await?;
        ensure!(reply.is(200)?["kind"] == kind, "{accept}: {reply}");
        ensure!(reply.header("content-type") == "application/json", "{:?}", reply.headers);
    }
    // Custom resources have no protobuf form, which is no reason to refuse.
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let kind = cx.install_crd("Plain", schema, json!({})).await?;
    let accept = "application/vnd.kubernetes.protobuf,application/json";
    let reply = accepting(&cx, accept, &kind).list("").await?;
    ensure!(reply.is(200)?["kind"] == "PlainList", "{reply}");
    Ok(())
}

async fn metadata_alone_of_an_object(cx: Cx) -> Result<()> {
    create_two(&cx).await?;
    let whole = cx.objects(&Kind::CONFIG_MAP).get("a").await?.ok()?;
    let maps = accepting(&cx, METADATA, &Kind::CONFIG_MAP);
    let partial = maps.get("a").await?.is(200)?;
    let expected = json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": whole["metadata"]
    });
    ensure!(partial == expected, "{partial}");
    // Controllers that keep only metadata also write that way.
    let partial = maps.merge("a", json!({ "metadata": { "labels": { "new": "1" } } })).await?.is(200)?;
    ensure!(partial["kind"] == "PartialObjectMetadata" && partial.get("data").is_none(), "{partial}");
    ensure!(partial["metadata"]["labels"]["new"] == "1", "{partial}");
    Ok(())
}

async fn metadata_alone_of_a_list(cx: Cx) -> Result<()> {
    create_two(&cx).await?;
    let maps = accepting(&cx, METADATA_LIST, &Kind::CONFIG_MAP);
    let list = maps.list(&format!("?{MINE}&limit=1")).await?.is(200)?;
    ensure!(list["kind"] == "PartialObjectMetadataList", "{list}");
    ensure!(list["apiVersion"] == "meta.k8s.io/v1", "{list}");
    ensure!(list["metadata"]["continue"].is_string(), "{list}");
    let item = &list["items"][0];
    ensure!(item["kind"] == "PartialObjectMetadata" && item["apiVersion"] == "meta.k8s.io/v1", "{item}");
    ensure!(item["metadata"]["name"] == "a" && item.get("data").is_none(), "{item}");
    Ok(())
}

async fn metadata_alone_of_a_watch(cx: Cx) -> Result<()> {
    create_two(&cx).await?;
    let mut watch = accepting(&cx, METADATA, &Kind::CONFIG_MAP).watch(MINE).await?;
    for name in ["a", "b"] {
        let object = watch.expect("ADDED", name).await?.object;
        ensure!(object["kind"] == "PartialObjectMetadata" && object.get("data").is_none(), "{object}");
    }
    cx.objects(&Kind::CONFIG_MAP).delete("b").await?.is(200)?;
    let object = watch.expect("DELETED", "b").await?.object;
    ensure!(object["kind"] == "PartialObjectMetadata" && object.get("data").is_none(), "{object}");
    Ok(())
}

async fn metadata_of_a_list_is_not_that_of_an_object(cx: Cx) -> Result<()> {
    create_two(&cx).await?;
    accepting(&cx, METADATA, &Kind::CONFIG_MAP).list("").await?.refused(406, "NotAcceptable")?;
    accepting(&cx, METADATA_LIST, &Kind::CONFIG_MAP).get("a").await?.refused(406, "NotAcceptable")?;
    Ok(())
}

async fn unacceptable_form_is_refused(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    for accept in ["text/html", "application/json;as=Nonsense;v=v1;g=meta.k8s.io"] {
        let maps = accepting(&cx, accept, &Kind::CONFIG_MAP);
        maps.get("a").await?.refused(406, "NotAcceptable")?;
        maps.create(config_map("b", "1")).await?.refused(406, "NotAcceptable")?;
    }
    maps.get("b").await?.refused(404, "NotFound")?;
    Ok(())
}

async fn yaml_goes_in_and_out(cx: Cx) -> Result<()> {
    let http = cx.http.with_header("accept", "application/yaml");
    let path = cx.objects(&Kind::CONFIG_MAP).path().to_owned();
    let body = "# a comment\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  key: |\n    two\n    lines\n";
    let reply = http.send(Method::POST, &path, Some("application/yaml"), body.into()).await?;
    ensure!(reply.status == 201 && reply.header("content-type") == "application/yaml", "{reply}");
    let mut map: Value = serde_saphyr::from_str(&reply.text())?;
    ensure!(map["data"]["key"] == "two\nlines\n" && map["metadata"]["uid"].is_string(), "{map}");
    ensure!(cx.http.get(&format!("{path}/a")).await?.ok()? == map);
    map["data"]["key"] = "2".into();
    let body = serde_saphyr::to_string(&map)?;
    let reply = http.send(Method::PUT, &format!("{path}/a"), Some("application/yaml"), body.into()).await?;
    ensure!(reply.status == 200, "{reply}");
    // A number's digits in quotation marks stay a string.
    let map: Value = serde_saphyr::from_str(&http.get(&format!("{path}/a")).await?.text())?;
    ensure!(map["data"] == json!({ "key": "2" }), "{map}");
    Ok(())
}

async fn refusal_comes_in_yaml_too(cx: Cx) -> Result<()> {
    let reply = accepting(&cx, "application/yaml", &Kind::CONFIG_MAP).get("none").await?;
    ensure!(reply.status == 404 && reply.header("content-type") == "application/yaml", "{reply}");
    let status: Value = serde_saphyr::from_str(&reply.text())?;
    ensure!(status["kind"] == "Status" && status["reason"] == "NotFound", "{status}");
    Ok(())
}

async fn large_answer_is_compressed_on_request(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    maps.create(config_map("small", "1")).await?.is(201)?;
    maps.create(config_map("large", &"x".repeat(500_000))).await?.is(201)?;
    let http = cx.http.with_header("accept-encoding", "gzip");
    let compressing = cx.objects_as(&http, &Kind::CONFIG_MAP);
    for path in ["large", ""] {
        let reply = compressing.get(path).await?;
        ensure!(reply.status == 200 && reply.header("content-encoding") == "gzip", "{:?}", reply.headers);
        ensure!(reply.bytes.starts_with(&[0x1f, 0x8b]) && reply.bytes.len() < 100_000);
    }
    let small = compressing.get("small").await?;
    ensure!(small.header("content-encoding").is_empty() && small.is(200)?["data"]["key"] == "1");
    let large = maps.get("large").await?;
    ensure!(large.header("content-encoding").is_empty() && large.bytes.len() > 500_000);
    Ok(())
}

async fn pretty_answer_has_lines(cx: Cx) -> Result<()> {
    let http = cx.http.with_header("user-agent", "tool/1");
    let maps = cx.objects_as(&http, &Kind::CONFIG_MAP);
    maps.create(config_map("a", "1")).await?.is(201)?;
    let (plain, pretty) = (maps.get("a").await?, maps.get("a?pretty=true").await?);
    ensure!(plain.text().trim_end().lines().count() == 1, "{plain}");
    ensure!(pretty.text().starts_with("{\n  \"") && pretty.ok()? == plain.ok()?, "{pretty}");
    Ok(())
}

async fn not_found_names_group_kind_and_name(cx: Cx) -> Result<()> {
    let status = cx.objects(&Kind::DEPLOYMENT).get("none").await?.refused(404, "NotFound")?;
    let expected = json!({ "name": "none", "group": "apps", "kind": "deployments" });
    ensure!(status["details"] == expected, "{status}");
    let status = cx.objects(&Kind::CONFIG_MAP).get("none").await?.refused(404, "NotFound")?;
    ensure!(status["details"] == json!({ "name": "none", "kind": "configmaps" }), "{status}");
    Ok(())
}

async fn wrong_method_is_not_allowed(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
    maps.create(body.clone()).await?.is(201)?;
    cx.http.post(&format!("{}/a", maps.path()), &body).await?.refused(405, "MethodNotAllowed")?;
    cx.http.put(maps.path(), &body).await?.refused(405, "MethodNotAllowed")?;
    let binding = cx.objects(&Kind::POD).get("a/binding").await?;
    binding.refused(405, "MethodNotAllowed")?;
    Ok(())
}

async fn unknown_path_is_not_found(cx: Cx) -> Result<()> {
    let namespace = &cx.namespace;
    for path in [
        "/api/v1/nothings".to_owned(),
        format!("/api/v1/namespaces/{namespace}/nothings"),
        format!("/api/v1/namespaces/{namespace}/configmaps/a/nothing"),
        format!("/apis/apps/v99/namespaces/{namespace}/deployments"),
        format!("/apis/nothing.example.com/v1/namespaces/{namespace}/deployments"),
        "/nothing".to_owned(),
    ] {
        let reply = cx.http.get(&path).await?;
        ensure!(reply.status == 404, "{reply}");
    }
    Ok(())
}

async fn body_that_is_not_the_kind_is_a_bad_request(cx: Cx) -> Result<()> {
    let path = cx.objects(&Kind::CONFIG_MAP).path().to_owned();
    for body in [
        r#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}"#,
        r#"{"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}}"#,
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": 5}}"#,
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}"#,
        "",
    ] {
        let reply = cx.http.send(Method::POST, &path, Some("application/json"), body.into()).await?;
        reply.refused(400, "BadRequest")?;
    }
    Ok(())
}

async fn unknown_media_type_of_a_body_is_unsupported(cx: Cx) -> Result<()> {
    let maps = cx.objects(&Kind::CONFIG_MAP);
    let body = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}"#;
    let reply = cx.http.send(Method::POST, maps.path(), Some("text/plain"), body.into()).await?;
    reply.refused(415, "UnsupportedMediaType")?;
    maps.get("a").await?.refused(404, "NotFound")?;
    // A client that says nothing means JSON.
    cx.http.send(Method::POST, maps.path(), None, body.into()).await?.is(201)?;
    Ok(())
}

fn accepting(cx: &Cx, accept: &str, kind: &Kind) -> Objects {
    cx.objects_as(&cx.http.with_header("accept", accept), kind)
}

async fn create_two(cx: &Cx) -> Result<()> {
    for name in ["a", "b"] {
        let mut body = config_map(name, "1");
        body["metadata"]["labels"] = json!({ "mine": "yes" });
        cx.objects(&Kind::CONFIG_MAP).create(body).await?.is(201)?;
    }
    Ok(())
}

/// The names of a table's columns, with a star if they are only for wide tables.
fn columns(table: &Value) -> Vec<String> {
    let definitions = table["columnDefinitions"].as_array().cloned().unwrap_or_default();
    let name = |column: &Value| {
        let wide = if column["priority"] == 0 { "" } else { "*" };
        format!("{}{wide}", column["name"].as_str().unwrap_or_default())
    };
    definitions.iter().map(name).collect()
}

/// The cells of a table's first row but for the age.
fn without_age(table: &Value) -> Value {
    let age = columns(table).iter().position(|column| column == "Age");
    let cells = table["rows"][0]["cells"].as_array().cloned().unwrap_or_default();
    cells.into_iter().enumerate().filter(|(at, _)| Some(*at) != age).map(|(_, cell)| cell).collect()
}
