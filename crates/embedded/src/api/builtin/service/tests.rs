use super::*;

fn created(spec: Value) -> Value {
    let mut service = json!({ "metadata": { "name": "a" }, "spec": spec });
    Service.default(&mut service);
    Service.prepare_create(&mut service);
    settle_families(&mut service, None, &mut Faults::default());
    if needs_address(&service) {
        set_address(&mut service, "10.0.0.1");
    }
    for (nth, index) in missing_node_ports(&service).into_iter().enumerate() {
        set_node_port(&mut service, index, 30_000 + u16::try_from(nth).unwrap());
    }
    service
}

fn updated(spec: Value, old: &Value) -> (Value, Vec<(String, &'static str)>) {
    let mut service = json!({ "metadata": { "name": "a" }, "spec": spec });
    Service.default(&mut service);
    Service.prepare_update(&mut service, old, Part::Main);
    let mut faults = Faults::default();
    settle_families(&mut service, Some(old), &mut faults);
    Service.validate(&service, &mut faults);
    Service.validate_update(&service, old, Part::Main, &mut faults);
    (service, faults.iter().map(|fault| (fault.field.clone(), fault.reason)).collect())
}

fn causes(spec: Value) -> Vec<(String, &'static str)> {
    let mut faults = Faults::default();
    Service.validate(&created(spec), &mut faults);
    faults.iter().map(|fault| (fault.field.clone(), fault.reason)).collect()
}

#[test]
fn every_fault_is_named_at_once() {
    let ports =
        json!([{ "port": 0, "name": "a" }, { "port": 80 }, { "port": 81, "name": "a", "protocol": "IP" }]);
    let found = causes(json!({ "ports": ports, "sessionAffinity": "Perhaps" }));
    for (field, reason) in [
        ("spec.ports[0].port", "FieldValueInvalid"),
        ("spec.ports[1].name", "FieldValueRequired"),
        ("spec.ports[2].name", "FieldValueDuplicate"),
        ("spec.ports[2].protocol", "FieldValueNotSupported"),
        ("spec.sessionAffinity", "FieldValueNotSupported"),
    ] {
        assert!(found.contains(&(field.to_owned(), reason)), "no {reason} for {field}: {found:?}");
    }
}

#[test]
fn every_type_is_sound_as_it_is_filled_in() {
    for spec in [
        json!({ "ports": [{ "port": 80 }] }),
        json!({ "clusterIP": "None" }),
        json!({ "clusterIP": "None", "selector": { "a": "b" } }),
        json!({ "type": "NodePort", "ports": [{ "port": 80 }] }),
        json!({ "type": "LoadBalancer", "ports": [{ "port": 80, "targetPort": "http" }] }),
        json!({ "type": "ExternalName", "externalName": "a.example." }),
        json!({ "ports": [{ "port": 80 }], "externalIPs": ["192.0.2.1"] }),
    ] {
        assert!(causes(spec.clone()).is_empty(), "{spec}: {:?}", causes(spec.clone()));
    }
    assert_eq!(causes(json!({})), [("spec.ports".to_owned(), "FieldValueRequired")]);
}

#[test]
fn who_does_not_know_the_address_does_not_lose_it() {
    let old = created(json!({ "type": "NodePort", "ports": [{ "port": 80 }] }));
    let (new, faults) = updated(json!({ "type": "NodePort", "ports": [{ "port": 81 }] }), &old);
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(new["spec"]["clusterIPs"], json!(["10.0.0.1"]));
    assert_eq!(new["spec"]["ports"][0]["nodePort"], 30_000);
    assert!(!needs_address(&new) && missing_node_ports(&new).is_empty());
}

#[test]
fn an_address_stays() {
    let old = created(json!({ "ports": [{ "port": 80 }] }));
    for (one, all) in
        [("None", json!(["None"])), ("10.0.0.2", json!(["10.0.0.2"])), ("10.0.0.2", Value::Null)]
    {
        let mut spec = old["spec"].clone();
        spec["clusterIP"] = one.into();
        if !all.is_null() {
            spec["clusterIPs"] = all;
        }
        let (_, faults) = updated(spec, &old);
        assert_eq!(faults, [("spec.clusterIPs[0]".to_owned(), "FieldValueInvalid")]);
    }
}

#[test]
fn a_change_of_type_drops_what_was_allocated() {
    let old = created(json!({ "type": "LoadBalancer", "ports": [{ "port": 80 }] }));
    let mut spec = old["spec"].clone();
    spec["type"] = "ClusterIP".into();
    let (new, faults) = updated(spec.clone(), &old);
    assert!(faults.is_empty(), "{faults:?}");
    assert_eq!(new["spec"]["ports"][0].get("nodePort"), None);
    assert_eq!(new["spec"].get("externalTrafficPolicy"), None);
    spec["type"] = "ExternalName".into();
    spec["externalName"] = "a.example".into();
    let (new, faults) = updated(spec, &old);
    assert!(faults.is_empty(), "{faults:?}");
    assert!(addresses(&new).next().is_none() && !needs_address(&new));
}

#[test]
fn a_table_shows_how_to_reach_it() {
    let row = |spec: Value| {
        let mut cells = Service.cells(&created(spec), Timestamp::UNIX_EPOCH);
        cells.remove(5);
        json!(cells)
    };
    let ports = json!([{ "name": "a", "port": 80 }, { "name": "b", "port": 53, "protocol": "UDP" }]);
    assert_eq!(
        row(json!({ "ports": ports, "selector": { "b": "c", "a": "b" } })),
        json!(["a", "ClusterIP", "10.0.0.1", "<none>", "80/TCP,53/UDP", "a=b,b=c"])
    );
    assert_eq!(
        row(json!({ "type": "LoadBalancer", "ports": ports, "externalIPs": ["192.0.2.1"] })),
        json!(["a", "LoadBalancer", "10.0.0.1", "192.0.2.1", "80:30000/TCP,53:30001/UDP", "<none>"])
    );
    assert_eq!(
        row(json!({ "type": "ExternalName", "externalName": "b.example" })),
        json!(["a", "ExternalName", "<none>", "b.example", "<none>", "<none>"])
    );
}
