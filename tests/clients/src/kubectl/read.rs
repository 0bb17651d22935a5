//! Looking at objects: tables, YAML, selectors, columns.

use anyhow::{Result, ensure};

use super::{
    Check, Session, checks,
    session::{has, row, same},
};

pub(super) const CHECKS: &[Check] = checks!("read":
    API => [
        get_shows_a_table,
        get_shows_labels_as_columns,
        get_wide_shows_more_columns,
        get_yaml_hides_managed_fields_until_asked,
        get_selects_by_label_and_field,
        get_picks_and_sorts_by_path,
        get_takes_several_kinds_at_once,
        get_looks_into_all_namespaces,
        get_pages_without_losing_rows,
        get_says_when_there_is_nothing,
        events_are_found_by_what_they_are_about,
        raw_paths_are_reached,
    ],
);

fn get_shows_a_table(session: &Session) -> Result<()> {
    session.ok("create configmap colours --from-literal=sky=blue --from-literal=grass=green")?;
    let table = session.ok("get configmap colours")?;
    ensure!(row(&table, "NAME")? == ["NAME", "DATA", "AGE"], "{table}");
    ensure!(row(&table, "colours")?[..2] == ["colours", "2"], "{table}");
    let plain = session.ok("get cm colours --no-headers")?;
    ensure!(plain.lines().count() == 1, "{plain}");
    same(&session.ok("get cm/colours -o name")?, "configmap/colours")
}

fn get_shows_labels_as_columns(session: &Session) -> Result<()> {
    session.ok("create configmap colours")?;
    session.ok("label configmap colours tier=front")?;
    let table = session.ok("get configmap colours --show-labels")?;
    ensure!(row(&table, "colours")?.last() == Some(&"tier=front"), "{table}");
    let table = session.ok("get configmap colours -L tier")?;
    ensure!(row(&table, "NAME")?.last() == Some(&"TIER"), "{table}");
    ensure!(row(&table, "colours")?.last() == Some(&"front"), "{table}");
    Ok(())
}

fn get_wide_shows_more_columns(session: &Session) -> Result<()> {
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=0")?;
    let table = session.ok("get deployment web")?;
    ensure!(row(&table, "NAME")? == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"], "{table}");
    ensure!(row(&table, "web")?[1] == "0/0", "{table}");
    let wide = session.ok("get deployment web -o wide")?;
    has(&wide, &["CONTAINERS", "IMAGES", "SELECTOR"])?;
    ensure!(row(&wide, "web")?[5..] == ["web", "registry.invalid/web:1", "app=web"], "{wide}");
    Ok(())
}

fn get_yaml_hides_managed_fields_until_asked(session: &Session) -> Result<()> {
    session.ok("create configmap colours --from-literal=sky=blue")?;
    let yaml = session.ok("get configmap colours -o yaml")?;
    has(&yaml, &["apiVersion: v1\n", "\nkind: ConfigMap\n", "data:\n  sky: blue\n", "  uid: "])?;
    ensure!(!yaml.contains("managedFields"), "{yaml}");
    let all = session.ok("get configmap colours -o yaml --show-managed-fields")?;
    has(&all, &["managedFields:", "manager: kubectl-create", "operation: Update", "f:sky: {}"])?;
    let list = session.ok("get configmap -o yaml -l app=none")?;
    has(&list, &["items: []", "kind: List"])
}

fn get_selects_by_label_and_field(session: &Session) -> Result<()> {
    for (name, tier) in [("a", "front"), ("b", "back"), ("c", "front")] {
        session.ok(&format!("create configmap {name}"))?;
        session.ok(&format!("label configmap {name} tier={tier}"))?;
    }
    same(&session.ok("get cm -l tier=front -o name")?, "configmap/a\nconfigmap/c")?;
    same(&session.ok("get cm -l tier,tier!=front -o name")?, "configmap/b")?;
    same(&session.ok("get cm -l tier=front --field-selector metadata.name!=a -o name")?, "configmap/c")?;
    let refusal = session.fails("get cm --field-selector data.sky=blue")?;
    has(&refusal, &["Error from server (BadRequest)", "\"data.sky\" is not a known field selector"])
}

fn get_picks_and_sorts_by_path(session: &Session) -> Result<()> {
    for (name, value) in [("a", "3"), ("b", "1"), ("c", "2")] {
        session.ok(&format!("create configmap {name} --from-literal=order={value}"))?;
        session.ok(&format!("label configmap {name} ours=yes"))?;
    }
    same(&session.value("cm b", ".data.order")?, "1")?;
    let sorted = session.ok("get cm -l ours=yes --sort-by=.data.order -o name")?;
    same(&sorted, "configmap/b\nconfigmap/c\nconfigmap/a")?;
    let table = session.ok("get cm b -o custom-columns=WHO:.metadata.name,ORDER:.data.order")?;
    ensure!(row(&table, "WHO")? == ["WHO", "ORDER"] && row(&table, "b")? == ["b", "1"], "{table}");
    Ok(())
}

fn get_takes_several_kinds_at_once(session: &Session) -> Result<()> {
    session.ok("create configmap colours")?;
    session.ok("create secret generic words --from-literal=pass=word")?;
    let names = session.ok("get configmap/colours secret/words -o name")?;
    same(&names, "configmap/colours\nsecret/words")?;
    session.ok("create deployment web --image=registry.invalid/web:1 --replicas=0")?;
    session.ok("create service clusterip web --tcp=80")?;
    let all = session.ok("get all")?;
    has(&all, &["service/web", "deployment.apps/web"])?;
    ensure!(!all.contains("colours"), "{all}");
    Ok(())
}

fn get_looks_into_all_namespaces(session: &Session) -> Result<()> {
    session.ok("create secret generic words --from-literal=pass=word")?;
    let table = session.ok("get secrets --all-namespaces --field-selector metadata.name=words")?;
    ensure!(row(&table, "NAMESPACE")?[..2] == ["NAMESPACE", "NAME"], "{table}");
    let cells = row(&table, &session.namespace)?;
    ensure!(cells[1..4] == ["words", "Opaque", "1"], "{table}");
    Ok(())
}

fn get_pages_without_losing_rows(session: &Session) -> Result<()> {
    let many: String = (0..7)
        .map(|n| {
            format!("---\napiVersion: v1\nkind: Secret\nmetadata: {{name: s{n}, labels: {{ours: 'yes'}}}}\n")
        })
        .collect();
    session.ok_with("create -f -", &many)?;
    let names = session.ok("get secrets -l ours=yes --chunk-size=3 -o name")?;
    same(&names, &(0..7).map(|n| format!("secret/s{n}")).collect::<Vec<_>>().join("\n"))?;
    let table = session.ok("get secrets -l ours=yes --chunk-size=3")?;
    ensure!(table.lines().count() == 8, "{table}");
    Ok(())
}

fn get_says_when_there_is_nothing(session: &Session) -> Result<()> {
    let said = session.run("get deployments", "")?;
    ensure!(said.code == 0 && said.stdout.is_empty(), "{said}");
    same(&said.stderr, &format!("No resources found in {} namespace.", session.namespace))?;
    same(&session.ok("get deployments -o name")?, "")?;
    same(&session.ok("get deployment web --ignore-not-found")?, "")
}

fn events_are_found_by_what_they_are_about(session: &Session) -> Result<()> {
    let namespace = &session.namespace;
    let event = |name: &str, about: &str, kind: &str, reason: &str| {
        format!(
            "---\napiVersion: v1\nkind: Event\nmetadata: {{name: {name}}}\ntype: {kind}\nreason: {reason}\n\
             message: {reason} of {about}\ncount: 1\n\
             firstTimestamp: 2026-01-01T00:00:00Z\nlastTimestamp: 2026-01-01T00:00:00Z\n\
             involvedObject: {{apiVersion: v1, kind: ConfigMap, namespace: {namespace}, name: {about}}}\n"
        )
    };
    let events = event("one", "a", "Warning", "Torn")
        + &event("two", "a", "Normal", "Sewn")
        + &event("three", "b", "Warning", "Lost");
    session.ok_with("create -f -", &events)?;
    let table = session.ok("get events --field-selector involvedObject.name=a,type=Warning")?;
    has(&table, &["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE", "configmap/a", "Torn of a"])?;
    ensure!(table.lines().count() == 2, "{table}");
    let names = session.ok("get events --field-selector involvedObject.name=a -o name")?;
    ensure!(names.lines().count() == 2, "{names}");
    let names =
        session.ok("get events --field-selector reason=Lost,involvedObject.kind=ConfigMap -o name")?;
    same(&names, "event/three")?;
    let table = session.ok("events --for configmap/a --types=Normal")?;
    has(&table, &["Sewn of a"])?;
    ensure!(!table.contains("Torn"), "{table}");
    Ok(())
}

fn raw_paths_are_reached(session: &Session) -> Result<()> {
    session.ok("create configmap colours --from-literal=sky=blue")?;
    let path = format!("/api/v1/namespaces/{}/configmaps", session.namespace);
    has(&session.ok(&format!("get --raw {path}/colours"))?, &[r#""sky":"blue""#, r#""kind":"ConfigMap""#])?;
    same(&session.ok("get --raw /readyz")?, "ok")?;
    has(&session.ok("get --raw /version")?, &["gitVersion", "major"])?;
    has(&session.fails(&format!("get --raw {path}/none"))?, &["NotFound"])?;
    let body = r#"{"metadata":{"name":"more"},"data":{"a":"b"}}"#;
    has(&session.ok_with(&format!("create --raw {path} -f -"), body)?, &[r#""name":"more""#])?;
    has(&session.ok(&format!("delete --raw {path}/more"))?, &[r#""status":"Success""#])
}
