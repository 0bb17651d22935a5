use super::*;

fn pod(spec: Value) -> Value {
    let mut pod = json!({ "metadata": { "name": "a" }, "spec": spec });
    if pod["spec"]["containers"].is_null() {
        pod["spec"]["containers"] = json!([{ "name": "main", "image": "app:1" }]);
    }
    Pod.default(&mut pod);
    pod_admission(&mut pod, &json!({}), "abcde").unwrap();
    Pod.prepare_create(&mut pod);
    pod
}

fn faults(new: &Value, old: &Value, part: Part) -> Vec<(String, &'static str)> {
    let mut faults = Faults::default();
    if part == Part::Main {
        Pod.validate(new, &mut faults);
    }
    Pod.validate_update(new, old, part, &mut faults);
    faults.iter().map(|fault| (fault.field.clone(), fault.reason)).collect()
}

#[test]
fn quality_of_service_follows_requests_and_limits() {
    let all = json!({ "cpu": "100m", "memory": "64Mi" });
    for (resources, class) in [
        (json!({}), "BestEffort"),
        (json!({ "requests": { "cpu": "100m" } }), "Burstable"),
        (json!({ "requests": { "cpu": "50m", "memory": "64Mi" }, "limits": all }), "Burstable"),
        (json!({ "limits": { "cpu": "1" } }), "Burstable"),
        (json!({ "limits": all }), "Guaranteed"),
        (json!({ "requests": { "cpu": "0.1", "memory": "65536Ki" }, "limits": all }), "Guaranteed"),
    ] {
        let made = pod(json!({ "containers": [{ "name": "a", "image": "b", "resources": resources }] }));
        assert_eq!(made["status"]["qosClass"], class, "{resources}");
    }
}

#[test]
fn the_spec_stays_but_for_the_image() {
    let old = pod(json!({}));
    for (pointer, field, value) in [
        ("/spec", "restartPolicy", json!("Never")),
        ("/spec", "nodeName", json!("here")),
        ("/spec", "hostNetwork", json!(true)),
        ("/spec/containers/0", "command", json!(["true"])),
        ("/spec/containers/0", "env", json!([{ "name": "a", "value": "b" }])),
    ] {
        let mut new = old.clone();
        new.pointer_mut(pointer).unwrap()[field] = value;
        assert_eq!(faults(&new, &old, Part::Main), [("spec".to_owned(), "FieldValueForbidden")], "{field}");
    }
    let mut new = old.clone();
    new["spec"]["containers"][0]["image"] = "app:2".into();
    // What is empty says nothing.
    new["spec"]["containers"][0]["env"] = json!([]);
    assert!(faults(&new, &old, Part::Main).is_empty());
}

#[test]
fn a_deadline_shrinks_and_tolerations_are_added() {
    let old = pod(json!({ "activeDeadlineSeconds": 60 }));
    let mut new = old.clone();
    new["spec"]["activeDeadlineSeconds"] = 30.into();
    let tolerations = new["spec"]["tolerations"].as_array_mut().unwrap();
    tolerations[0]["tolerationSeconds"] = 5.into();
    tolerations.push(json!({ "key": "a", "operator": "Exists" }));
    assert!(faults(&new, &old, Part::Main).is_empty());
    new["spec"]["tolerations"] = json!([]);
    new["spec"]["activeDeadlineSeconds"] = 60.into();
    assert_eq!(faults(&new, &old, Part::Main), [("spec.tolerations".to_owned(), "FieldValueForbidden")]);
    new["spec"]["activeDeadlineSeconds"] = 61.into();
    let found = faults(&new, &old, Part::Main);
    assert_eq!(found, [("spec.activeDeadlineSeconds".to_owned(), "FieldValueInvalid")]);
}

#[test]
fn gates_are_taken_away_and_meanwhile_the_choice_of_nodes_narrows() {
    let old = pod(json!({ "schedulingGates": [{ "name": "a.b/c" }, { "name": "a.b/d" }] }));
    assert_eq!(old["status"]["conditions"][0]["reason"], "SchedulingGated");
    let mut new = old.clone();
    new["spec"]["schedulingGates"] = json!([{ "name": "a.b/d" }]);
    new["spec"]["nodeSelector"] = json!({ "zone": "z" });
    assert!(faults(&new, &old, Part::Main).is_empty());
    new["spec"]["schedulingGates"] = json!([{ "name": "a.b/e" }]);
    let found = faults(&new, &old, Part::Main);
    assert_eq!(found, [("spec.schedulingGates[0].name".to_owned(), "FieldValueForbidden")]);
}

#[test]
fn the_status_keeps_what_nodes_forget() {
    let mut old = pod(json!({}));
    old["metadata"]["ownerReferences"] = json!([{ "name": "owner" }]);
    let mut new = json!({
        "metadata": { "name": "a", "labels": { "b": "c" } },
        "status": { "phase": "Running", "podIP": "192.0.2.7" }
    });
    Pod.default(&mut new);
    Pod.prepare_update(&mut new, &old, Part::Status);
    assert_eq!(new["status"]["qosClass"], "BestEffort");
    assert_eq!(new["status"]["podIPs"], json!([{ "ip": "192.0.2.7" }]));
    assert_eq!(new["spec"], old["spec"]);
    // Labels may come this way, owners may not.
    assert_eq!(new["metadata"]["labels"], json!({ "b": "c" }));
    assert_eq!(new["metadata"]["ownerReferences"], old["metadata"]["ownerReferences"]);
}

#[test]
fn what_ended_for_good_stays_ended() {
    for (policy, code, allowed) in
        [("Never", 1, false), ("OnFailure", 0, false), ("OnFailure", 1, true), ("Always", 0, true)]
    {
        let mut old = pod(json!({ "restartPolicy": policy }));
        old["status"]["containerStatuses"] =
            json!([{ "name": "main", "state": { "terminated": { "exitCode": code } } }]);
        let mut new = old.clone();
        new["status"]["containerStatuses"][0]["state"] = json!({ "running": {} });
        assert_eq!(faults(&new, &old, Part::Status).is_empty(), allowed, "{policy} {code}");
    }
}

#[test]
fn ephemeral_containers_are_added_and_stay() {
    let old = pod(json!({}));
    let with = |containers: Value| json!({ "spec": { "ephemeralContainers": containers } });
    let change = |new: Value, old: &Value| {
        let mut faults = Faults::default();
        let result = change_ephemeral_containers(&new, old, &mut faults);
        (result, faults.iter().map(|fault| fault.field.clone()).collect::<Vec<_>>())
    };
    let (added, found) = change(with(json!([{ "name": "look", "image": "b" }])), &old);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(added["spec"]["ephemeralContainers"][0]["imagePullPolicy"], "Always");
    assert_eq!(change(with(json!([])), &added).1, ["spec.ephemeralContainers"]);
    assert_eq!(
        change(with(json!([{ "name": "look", "image": "c" }])), &added).1,
        ["spec.ephemeralContainers"]
    );
    let probed = json!([{ "name": "look", "image": "b", "ports": [{ "containerPort": 80 }] }]);
    assert_eq!(change(with(probed), &old).1, ["spec.ephemeralContainers[0].ports"]);
}

#[test]
fn the_token_comes_along_unless_it_is_declined() {
    let made = |spec: Value, account: Value| {
        let mut pod = json!({ "metadata": { "name": "a" }, "spec": spec });
        Pod.default(&mut pod);
        pod_admission(&mut pod, &account, "abcde").map(|()| pod)
    };
    let containers = json!([{ "name": "a", "image": "b" }]);
    let pod =
        made(json!({ "containers": containers }), json!({ "imagePullSecrets": [{ "name": "s" }] })).unwrap();
    assert_eq!(pod["spec"]["volumes"][0]["name"], "kube-api-access-abcde");
    assert_eq!(pod["spec"]["imagePullSecrets"], json!([{ "name": "s" }]));
    let shy = json!({ "automountServiceAccountToken": false });
    assert!(made(json!({ "containers": containers }), shy.clone()).unwrap()["spec"]["volumes"].is_null());
    let bold = json!({ "containers": containers, "automountServiceAccountToken": true });
    assert!(!made(bold, shy).unwrap()["spec"]["volumes"].is_null());
    for spec in [json!({ "priorityClassName": "none" }), json!({ "priority": 5 })] {
        assert!(made(spec, json!({})).is_err());
    }
}
