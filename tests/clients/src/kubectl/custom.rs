//! A kind that somebody else defines: schema, CEL rules, columns, subresources.

use anyhow::{Result, ensure};

use super::{
    Check, Session, checks,
    session::{has, row, same},
};

pub(super) const CHECKS: &[Check] = checks!("custom":
    API => [
        definition_is_established_and_lists_its_columns,
        defaults_fill_in_and_unknown_fields_are_refused,
        schema_faults_name_field_and_bound,
        rules_speak_in_their_own_words,
        transition_rules_hold_on_change,
        scale_and_status_are_apart,
        apply_and_edit_work_without_a_merge_key,
        explain_shows_descriptions,
        deleting_the_definition_takes_the_objects_along,
    ],
);

/// The definition of a Kite in a group of the session's own.
fn definition(session: &Session) -> String {
    let group = group(session);
    format!(
        r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: kites.{group}}}
spec:
  group: {group}
  scope: Namespaced
  names: {{kind: Kite, plural: kites, singular: kite, categories: [toys]}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {{}}
      scale: {{specReplicasPath: .spec.tails, statusReplicasPath: .status.tails}}
    additionalPrinterColumns:
    - {{name: Colour, type: string, jsonPath: .spec.colour}}
    - {{name: Flying, type: string, jsonPath: '.status.conditions[?(@.type=="Flying")].status'}}
    - {{name: Metres, type: integer, jsonPath: .spec.line, priority: 1}}
    schema:
      openAPIV3Schema:
        type: object
        description: A Kite is flown on a line.
        required: [spec]
        properties:
          spec:
            type: object
            required: [colour]
            x-kubernetes-validations:
            - {{rule: '!has(self.tails) || self.tails * 2 <= self.line', message: each tail takes two metres of line}}
            properties:
              colour:
                type: string
                description: What it looks like from below.
                enum: [red, green, blue]
              line:
                type: integer
                description: Metres of line.
                default: 20
                minimum: 1
                maximum: 100
              tails: {{type: integer, minimum: 0}}
              serial:
                type: string
                pattern: '^[A-Z]{{2}}[0-9]+$'
                x-kubernetes-validations:
                - rule: self == oldSelf
                  message: a serial number is for life
          status:
            type: object
            properties:
              tails: {{type: integer}}
              conditions:
                type: array
                items:
                  type: object
                  required: [type, status]
                  properties: {{type: {{type: string}}, status: {{type: string}}}}
"#
    )
}

fn group(session: &Session) -> String {
    format!("{}.clients.anneal.dev", session.namespace)
}

fn kite(session: &Session, name: &str, spec: &str) -> String {
    format!("{{apiVersion: {}/v1, kind: Kite, metadata: {{name: {name}}}, spec: {spec}}}", group(session))
}

/// Runs a check with the definition installed and takes it away afterwards.
fn with_kites(session: &Session, check: impl FnOnce(&str) -> Result<()>) -> Result<()> {
    let kites = format!("kites.{}", group(session));
    let said = session.ok_with("create -f -", &definition(session))?;
    same(&said, &format!("customresourcedefinition.apiextensions.k8s.io/{kites} created"))?;
    let checked = session
        .ok(&format!("wait crd {kites} --for=condition=Established --timeout=30s"))
        // Established is said a moment before the kind is served.
        .and_then(|_| session.until(&format!("get {kites} -o name"), ""))
        .and_then(|()| check(&kites));
    let removed = session.run(&format!("delete crd {kites} --ignore-not-found"), "")?;
    checked?;
    ensure!(removed.code == 0, "{removed}");
    Ok(())
}

fn definition_is_established_and_lists_its_columns(session: &Session) -> Result<()> {
    with_kites(session, |kites| {
        let said = session.ok_with("apply -f -", &kite(session, "a", "{colour: red, line: 40}"))?;
        same(&said, &format!("kite.{}/a created", group(session)))?;
        let table = session.ok(&format!("get {kites}"))?;
        ensure!(row(&table, "NAME")? == ["NAME", "COLOUR", "FLYING"], "{table}");
        ensure!(row(&table, "a")?[..2] == ["a", "red"], "{table}");
        let wide = session.ok(&format!("get {kites} -o wide"))?;
        ensure!(row(&wide, "NAME")? == ["NAME", "COLOUR", "FLYING", "METRES"], "{wide}");
        has(&session.ok(&format!("describe {kites} a"))?, &["Colour:  red", "Line:    40"])
    })
}

fn defaults_fill_in_and_unknown_fields_are_refused(session: &Session) -> Result<()> {
    with_kites(session, |kites| {
        session.ok_with("create -f -", &kite(session, "a", "{colour: red}"))?;
        same(&session.value(&format!("{kites} a"), ".spec.line")?, "20")?;
        let refusal = session.fails_with("create -f -", &kite(session, "b", "{colour: red, bow: big}"))?;
        has(&refusal, &["strict decoding error: unknown field \"spec.bow\""])
    })
}

fn schema_faults_name_field_and_bound(session: &Session) -> Result<()> {
    with_kites(session, |_| {
        let refused = |spec: &str| session.fails_with("create -f -", &kite(session, "a", spec));
        let refusal = refused("{colour: pink}")?;
        has(&refusal, &["The Kite \"a\" is invalid", "spec.colour: Unsupported value: \"pink\""])?;
        has(&refusal, &[r#"supported values: "red", "green", "blue""#])?;
        has(&refused("{}")?, &["spec.colour: Required value"])?;
        has(&refused("{colour: red, line: 500}")?, &["spec.line", "should be less than or equal to 100"])?;
        has(&refused("{colour: red, line: long}")?, &["spec.line", "must be of type integer: \"string\""])?;
        has(&refused("{colour: red, serial: x}")?, &["spec.serial", "should match '^[A-Z]{2}[0-9]+$'"])
    })
}

fn rules_speak_in_their_own_words(session: &Session) -> Result<()> {
    with_kites(session, |kites| {
        let manifest = kite(session, "a", "{colour: red, line: 10, tails: 6}");
        let refusal = session.fails_with("create -f -", &manifest)?;
        has(
            &refusal,
            &["The Kite \"a\" is invalid: spec: Invalid value", "each tail takes two metres of line"],
        )?;
        session.ok_with("create -f -", &kite(session, "a", "{colour: red, line: 10, tails: 5}"))?;
        let refusal =
            session.fails(&format!(r#"patch {kites} a --type=merge -p {{"spec":{{"line":9}}}}"#))?;
        has(&refusal, &["each tail takes two metres of line"])
    })
}

fn transition_rules_hold_on_change(session: &Session) -> Result<()> {
    with_kites(session, |kites| {
        session.ok_with("apply -f -", &kite(session, "a", "{colour: red, serial: AB1}"))?;
        let refusal = session.fails_with("apply -f -", &kite(session, "a", "{colour: red, serial: AB2}"))?;
        has(&refusal, &["spec.serial: Invalid value", "a serial number is for life"])?;
        same(&session.value(&format!("{kites} a"), ".spec.serial")?, "AB1")
    })
}

fn scale_and_status_are_apart(session: &Session) -> Result<()> {
    with_kites(session, |kites| {
        session.ok_with("create -f -", &kite(session, "a", "{colour: red, tails: 1}"))?;
        same(
            &session.ok(&format!("scale {kites} a --replicas=3"))?,
            &format!("kite.{}/a scaled", group(session)),
        )?;
        same(&session.value(&format!("{kites} a"), ".spec.tails")?, "3")?;
        let status = r#"{"spec":{"tails":9},"status":{"conditions":[{"type":"Flying","status":"True"}]}}"#;
        let wait = session.start(&format!("wait {kites} a --for=condition=Flying --timeout=30s"))?;
        session.ok(&format!("patch {kites} a --subresource=status --type=merge -p {status}"))?;
        wait.expect(&["condition met"])?;
        same(&session.value(&format!("{kites} a"), ".spec.tails")?, "3")?;
        let table = session.ok(&format!("get {kites} a"))?;
        ensure!(row(&table, "a")? == ["a", "red", "True"], "{table}");
        Ok(())
    })
}

fn apply_and_edit_work_without_a_merge_key(session: &Session) -> Result<()> {
    with_kites(session, |kites| {
        let name = format!("kite.{}/a", group(session));
        let manifest = kite(session, "a", "{colour: red, line: 40}");
        session.ok_with("apply -f -", &manifest)?;
        same(&session.ok_with("apply -f -", &manifest)?, &format!("{name} unchanged"))?;
        let said = session.edit(&format!("edit {kites} a"), "colour: red", "colour: blue")?;
        ensure!(said.code == 0, "{said}");
        same(&said.stdout, &format!("{name} edited"))?;
        session.ok_with("apply --server-side --force-conflicts -f -", &manifest)?;
        same(&session.value(&format!("{kites} a"), ".spec.colour")?, "red")
    })
}

fn explain_shows_descriptions(session: &Session) -> Result<()> {
    with_kites(session, |kites| {
        // What is explained follows what is served after a moment.
        session.until_has(&format!("explain {kites}"), "A Kite is flown on a line.")?;
        let page = session.ok(&format!("explain {kites}.spec"))?;
        has(
            &page,
            &["  colour\t<string> -required-", "enum: red, green, blue", "What it looks like from below."],
        )?;
        has(&page, &["  line\t<integer>", "Metres of line."])
    })
}

fn deleting_the_definition_takes_the_objects_along(session: &Session) -> Result<()> {
    with_kites(session, |kites| {
        session.ok_with("create -f -", &kite(session, "a", "{colour: red}"))?;
        let said = session.run(&format!("delete crd {kites} --timeout=30s"), "")?;
        ensure!(said.code == 0, "{said}");
        let refusal = session.fails(&format!("get {kites}"))?;
        has(&refusal, &["the server doesn't have a resource type \"kites\""])
    })
}
