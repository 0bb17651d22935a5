use serde_json::{Value, json};

use super::*;

fn job(spec: Value) -> Value {
    let mut object = json!({
        "metadata": { "name": "a", "uid": "u-1" },
        "spec": { "template": { "spec": {
            "restartPolicy": "Never",
            "containers": [{ "name": "main", "image": "registry.invalid/app:1" }]
        } } }
    });
    json_patch::merge(&mut object["spec"], &spec);
    create(&object)
}

fn create(sent: &Value) -> Value {
    let mut object = sent.clone();
    Job.default(&mut object);
    Job.prepare_create(&mut object);
    Job.complete_create(&mut object, sent);
    object
}

fn faults(object: &Value) -> Vec<String> {
    let mut faults = Faults::default();
    Job.validate(object, &mut faults);
    faults.iter().map(ToString::to_string).collect()
}

fn change(new: &Value, old: &Value, part: Part) -> Vec<String> {
    let mut faults = Faults::default();
    Job.validate_update(new, old, part, &mut faults);
    faults.iter().map(|fault| fault.field.clone()).collect()
}

#[test]
fn the_selector_is_made_from_the_uid() {
    let object = job(json!({}));
    assert_eq!(object["spec"]["selector"], json!({ "matchLabels": { CONTROLLER_UID: "u-1" } }));
    let labels = json!({
        CONTROLLER_UID: "u-1", LEGACY_CONTROLLER_UID: "u-1", JOB_NAME: "a", LEGACY_JOB_NAME: "a"
    });
    assert_eq!(object["spec"]["template"]["metadata"]["labels"], labels);
    assert_eq!(object["metadata"]["labels"], labels);
    assert_eq!(faults(&object), Vec::<String>::new());
}

#[test]
fn labels_that_come_from_the_template_are_those_it_gets_too() {
    let labels = json!({ "t": "1" });
    let mut sent = json!({
        "metadata": { "name": "a", "uid": "u-1" }, "spec": { "template": { "metadata": { "labels": labels } } }
    });
    let shared = create(&sent);
    assert_eq!(shared["metadata"]["labels"], shared["spec"]["template"]["metadata"]["labels"]);
    assert_eq!(shared["metadata"]["labels"][JOB_NAME], "a");
    sent["metadata"]["labels"] = labels.clone();
    assert_eq!(create(&sent)["metadata"]["labels"], labels);
}

#[test]
fn a_selector_of_ones_own_must_be_asked_for() {
    let own = json!({ "selector": { "matchLabels": { "app": "a" } } });
    let found = faults(&job(own.clone()));
    assert!(found[0].ends_with("`selector` not auto-generated"), "{found:?}");
    let mut asked = own;
    asked["manualSelector"] = true.into();
    asked["template"] = json!({ "metadata": { "labels": { "app": "a" } } });
    assert_eq!(faults(&job(asked)), Vec::<String>::new());
}

#[test]
fn pods_of_a_job_must_be_able_to_end() {
    let policy = |policy: &str| json!({ "template": { "spec": { "restartPolicy": policy } } });
    let path = "spec.template.spec.restartPolicy";
    let expected = format!("{path}: Required value: valid values: \"OnFailure\", \"Never\"");
    assert_eq!(faults(&job(policy("Always"))), [expected]);
    let mut ignoring = policy("OnFailure");
    let rule = json!({ "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget" }] });
    ignoring["podFailurePolicy"] = json!({ "rules": [rule] });
    assert!(faults(&job(ignoring))[0].starts_with(path));
}

#[test]
fn the_template_stays_unless_the_job_is_at_rest() {
    let old = job(json!({}));
    let with = |old: &Value, pointer: &str, value: Value| {
        let mut new = old.clone();
        *new.pointer_mut(pointer).unwrap() = value;
        new
    };
    let image = "/spec/template/spec/containers/0/image";
    let resources = "/spec/template/spec/containers/0/resources";
    let limits = json!({ "limits": { "cpu": "1" } });
    assert_eq!(change(&with(&old, image, json!("b:1")), &old, Part::Main), ["spec.template"]);
    assert_eq!(change(&with(&old, resources, limits.clone()), &old, Part::Main), ["spec.template"]);
    let resting = job(json!({ "suspend": true }));
    assert_eq!(change(&with(&resting, image, json!("b:1")), &resting, Part::Main), ["spec.template.spec"]);
    let mut moved = with(&resting, resources, limits);
    moved["spec"]["template"]["spec"]["nodeSelector"] = json!({ "zone": "a" });
    moved["spec"]["template"]["spec"]["affinity"] = json!({ "nodeAffinity": {} });
    assert_eq!(change(&moved, &resting, Part::Main), Vec::<String>::new());
}

#[test]
fn an_end_is_complete_and_final() {
    let old = job(json!({}));
    let condition = |kind: &str| json!({ "type": kind, "status": "True" });
    let mut new = old.clone();
    new["status"] = json!({ "conditions": [condition("Complete")], "active": 1 });
    let fields = change(&new, &old, Part::Status);
    let expected = ["status.conditions", "status.completionTime", "status.startTime", "status.active"];
    assert_eq!(fields, expected);
    new["status"] = json!({
        "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
        "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:10Z", "succeeded": 1
    });
    assert_eq!(change(&new, &old, Part::Status), Vec::<String>::new());
    let fields = change(&old, &new, Part::Status);
    assert!(
        fields.contains(&"status.conditions".to_owned()) && fields.contains(&"status.succeeded".to_owned())
    );
}

#[test]
fn lists_of_indexes_are_counted() {
    assert_eq!(spec::count_indexes("", 3), Ok(0));
    assert_eq!(spec::count_indexes("1,3-5,7", 8), Ok(5));
    for wrong in ["3", "2-1", "1,1", "x", "1-2-3", "-1", "1,"] {
        assert!(spec::count_indexes(wrong, 3).is_err(), "{wrong}");
    }
}

#[test]
fn cells_tell_how_far_a_job_is() {
    let mut object = job(json!({ "parallelism": 2 }));
    let now: Timestamp = "2026-01-01T00:01:30Z".parse().unwrap();
    object["status"] = json!({ "succeeded": 1, "startTime": "2026-01-01T00:00:00Z" });
    let cells = Job.cells(&object, now);
    assert_eq!(json!(cells[1..4]), json!(["Running", "1/1 of 2", "90s"]));
    object["spec"]["completions"] = 3.into();
    object["status"]["completionTime"] = "2026-01-01T00:00:10Z".into();
    object["status"]["conditions"] = json!([{ "type": "Complete", "status": "True" }]);
    assert_eq!(json!(Job.cells(&object, now)[1..4]), json!(["Complete", "1/3", "10s"]));
}
