use serde_json::{Value, json};

use super::*;

fn autoscaler(spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": { "name": "a" },
        "spec": { "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" }, "maxReplicas": 5 }
    });
    json_patch::merge(&mut object["spec"], &spec);
    HorizontalPodAutoscaler.default(&mut object);
    object
}

fn faults(object: &Value) -> Vec<String> {
    let mut faults = Faults::default();
    HorizontalPodAutoscaler.validate(object, &mut faults);
    faults.iter().map(ToString::to_string).collect()
}

fn all_metrics() -> Value {
    let target = json!({ "type": "AverageValue", "averageValue": "1k" });
    json!([
        { "type": "Pods", "pods": { "metric": { "name": "rps" }, "target": target } },
        { "type": "External", "external": {
            "metric": { "name": "queue", "selector": { "matchLabels": { "q": "a" } } },
            "target": { "type": "Value", "value": "30" }
        } },
        { "type": "Object", "object": {
            "describedObject": { "apiVersion": "v1", "kind": "Service", "name": "web" },
            "metric": { "name": "hits" }, "target": { "type": "Value", "value": "10" }
        } },
        { "type": "ContainerResource", "containerResource": {
            "name": "memory", "container": "main", "target": { "type": "Utilization", "averageUtilization": 50 }
        } },
        { "type": "Resource", "resource": {
            "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 70 }
        } }
    ])
}

#[test]
fn bounds_and_targets_are_checked() {
    assert_eq!(faults(&autoscaler(json!({ "metrics": all_metrics() }))), Vec::<String>::new());
    let found = faults(&autoscaler(json!({ "minReplicas": 9, "scaleTargetRef": { "apiVersion": "v1" } })));
    let expected = [
        "spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`",
        "spec.scaleTargetRef.apiVersion: Invalid value: \"v1\": apiVersion must specify API group",
    ];
    assert_eq!(found, expected);
    let wrong = json!([{ "type": "Pods", "resource": { "name": "cpu" } }]);
    let found = faults(&autoscaler(json!({ "metrics": wrong })));
    let expected = [
        "spec.metrics[0].pods: Required value: must populate information for the given metric source",
        "spec.metrics[0].resource: Forbidden: must populate the given metric source only",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_trip_through_the_older_version_loses_nothing() {
    let behavior =
        json!({ "scaleUp": { "policies": [{ "type": "Pods", "value": 1, "periodSeconds": 60 }] } });
    let mut object = autoscaler(json!({ "metrics": all_metrics(), "behavior": behavior }));
    object["metadata"]["annotations"] = json!({ "mine": "yes" });
    let now = json!({ "averageUtilization": 12, "averageValue": "120m" });
    object["status"] = json!({
        "desiredReplicas": 2, "currentReplicas": 1,
        "currentMetrics": [{ "type": "Resource", "resource": { "name": "cpu", "current": now } }],
        "conditions": [{ "type": "AbleToScale", "status": "True" }]
    });
    let old = to_v1(&object);
    assert_eq!(old["apiVersion"], "autoscaling/v1");
    assert_eq!(old["spec"]["targetCPUUtilizationPercentage"], 70);
    assert_eq!(old["status"]["currentCPUUtilizationPercentage"], 12);
    assert!(old["spec"].get("metrics").is_none() && old["spec"].get("behavior").is_none());
    assert_eq!(from_v1(&old), object);
}

#[test]
fn the_older_version_has_annotations_as_upstream_writes_them() {
    let behavior = json!({ "scaleUp": { "selectPolicy": "Min" } });
    let object = autoscaler(json!({ "metrics": [all_metrics()[0]], "behavior": behavior }));
    let annotations = &to_v1(&object)["metadata"]["annotations"];
    let metrics = r#"[{"pods":{"metricName":"rps","targetAverageValue":"1k"},"type":"Pods"}]"#;
    assert_eq!(annotations["autoscaling.alpha.kubernetes.io/metrics"], metrics);
    let behavior = annotations["autoscaling.alpha.kubernetes.io/behavior"].as_str().unwrap();
    assert!(behavior.contains(r#""SelectPolicy":"Min""#), "{behavior}");
}

#[test]
fn the_older_version_alone_says_enough() {
    let old = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
        "metadata": { "name": "a", "annotations": { "autoscaling.alpha.kubernetes.io/metrics": "nonsense" } },
        "spec": { "maxReplicas": 3, "targetCPUUtilizationPercentage": 50 }
    });
    let object = from_v1(&old);
    assert_eq!(object["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 50);
    assert_eq!(object["metadata"], json!({ "name": "a" }));
}

#[test]
fn cells_show_two_metrics_at_most() {
    let mut object = autoscaler(json!({}));
    let cell = |object: &Value| HorizontalPodAutoscaler.cells(object, Timestamp::UNIX_EPOCH)[2].clone();
    assert_eq!(cell(&object), "cpu: <unknown>/80%");
    let now = json!({ "averageUtilization": 12 });
    object["status"]["currentMetrics"] =
        json!([{ "type": "Resource", "resource": { "name": "cpu", "current": now } }]);
    assert_eq!(cell(&object), "cpu: 12%/80%");
    assert_eq!(
        cell(&autoscaler(json!({ "metrics": all_metrics() }))),
        "<unknown>/1k, <unknown>/30 + 3 more..."
    );
}
