//! Event: something that happened to an object. Kept once, in the form of the core group, and served by two groups:
//! `v1`, which asks for little, and `events.k8s.io/v1`, which has other names for some fields and asks for more.
//!
//! A request to the newer group is turned into the core form (`from_events_v1`), judged by [`NewEvent`], kept, and
//! turned back (`to_events_v1`) in the answer. Faults go by the names of the core form, as they do upstream.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::forms::text;
use crate::api::{
    behaviour::{Behaviour, Column, Part, column, wide},
    fault::{Faults, Path},
    object::{default, is_empty, name, namespace, since},
    valid,
};

/// An event as the core group judges it.
pub struct Event;

/// An event as `events.k8s.io` judges it; like all here it works on the core form.
pub struct NewEvent;

/// Fields with other names: those of the core form, those of `events.k8s.io`.
const RENAMED: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// What field selectors know of the object that an event is about.
const SUBJECT: [(&str, &str, &str); 7] = [
    ("kind", "involvedObject.kind", "regarding.kind"),
    ("namespace", "involvedObject.namespace", "regarding.namespace"),
    ("name", "involvedObject.name", "regarding.name"),
    ("uid", "involvedObject.uid", "regarding.uid"),
    ("apiVersion", "involvedObject.apiVersion", "regarding.apiVersion"),
    ("resourceVersion", "involvedObject.resourceVersion", "regarding.resourceVersion"),
    ("fieldPath", "involvedObject.fieldPath", "regarding.fieldPath"),
];

const COLUMNS: &[Column] = &[
    column("Last Seen", "string", "The time at which the most recent occurrence of this event was recorded."),
    column("Type", "string", "Type of this event (Normal, Warning), new types could be added in the future"),
    column("Reason", "string", "The reason for the transition into the object's current status."),
    column("Object", "string", "The object that this event is about."),
    wide("Subobject", "string", "The part of the object that this event is about."),
    wide("Source", "string", "The component reporting this event."),
    column("Message", "string", "A human-readable description of the status of this operation."),
    wide("First Seen", "string", "The time at which the event was first recorded."),
    wide("Count", "string", "The number of times this event has occurred."),
    Column {
        name: "Name",
        kind: "string",
        format: "name",
        description: "Name must be unique within a namespace.",
        priority: 1,
    },
];

impl Behaviour for Event {
    fn default(&self, object: &mut Value) {
        default(object, "involvedObject", json!({}));
        default(object, "source", json!({}));
        for field in ["reportingComponent", "reportingInstance"] {
            default(object, field, "");
        }
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        validate_basics(object, "reportingComponent", faults);
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn fields(&self, object: &Value) -> Vec<(&'static str, String)> {
        let mut fields: Vec<_> = SUBJECT
            .iter()
            .map(|(field, label, _)| (*label, text(&object["involvedObject"], field).to_owned()))
            .collect();
        let reporter = text(object, "reportingComponent");
        let source = text(&object["source"], "component");
        fields.extend([
            ("reason", text(object, "reason").to_owned()),
            ("reportingComponent", reporter.to_owned()),
            ("source", if source.is_empty() { reporter } else { source }.to_owned()),
            ("type", text(object, "type").to_owned()),
        ]);
        fields
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(object, now)
    }
}

impl Behaviour for NewEvent {
    fn default(&self, object: &mut Value) {
        Event.default(object);
    }

    fn validate(&self, object: &Value, faults: &mut Faults) {
        validate_basics(object, "reportingController", faults);
    }

    fn validate_create(&self, object: &Value, faults: &mut Faults) {
        validate_series(object, faults);
        if is_empty(&object["eventTime"]) {
            faults.required(&Path::new("eventTime"), "");
        }
        let kind = text(object, "type");
        if kind != "Normal" && kind != "Warning" {
            faults.invalid_text(&Path::new("type"), "", format!("has invalid value: {kind}"));
        }
        for field in ["firstTimestamp", "lastTimestamp", "count", "source"] {
            let value = &object[field];
            let set = if field == "source" {
                !text(value, "component").is_empty() || !text(value, "host").is_empty()
            } else {
                !is_empty(value)
            };
            if set {
                faults.invalid_text(&Path::new(field), "", "needs to be unset");
            }
        }
    }

    fn validate_update(&self, new: &Value, old: &Value, _part: Part, faults: &mut Faults) {
        if new["series"] != old["series"] {
            validate_series(new, faults);
        }
        for field in [
            "involvedObject",
            "reason",
            "message",
            "source",
            "firstTimestamp",
            "lastTimestamp",
            "count",
            "type",
            "eventTime",
            "action",
            "related",
            "reportingInstance",
        ] {
            fixed(new, old, field, field, faults);
        }
        fixed(new, old, "reportingComponent", "reportingController", faults);
    }

    fn create_on_update(&self) -> bool {
        true
    }

    fn fields(&self, object: &Value) -> Vec<(&'static str, String)> {
        let mut fields: Vec<_> = SUBJECT
            .iter()
            .map(|(field, _, label)| (*label, text(&object["involvedObject"], field).to_owned()))
            .collect();
        fields.extend([
            ("reason", text(object, "reason").to_owned()),
            ("reportingController", text(object, "reportingComponent").to_owned()),
            ("type", text(object, "type").to_owned()),
        ]);
        fields
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(object, now)
    }
}

/// The form of `events.k8s.io/v1`.
pub fn to_events_v1(core: &Value) -> Value {
    let mut event = core.clone();
    if let Some(fields) = event.as_object_mut() {
        for (old, new) in RENAMED {
            if let Some(value) = fields.remove(old) {
                fields.insert(new.to_owned(), value);
            }
        }
        // The newer group does not write what is empty.
        for field in ["reportingController", "reportingInstance", "note", "deprecatedCount"] {
            if fields.get(field).is_some_and(is_empty) {
                fields.remove(field);
            }
        }
        fields.insert("apiVersion".to_owned(), "events.k8s.io/v1".into());
    }
    event
}

/// The core form of what came in as `events.k8s.io/v1`.
pub fn from_events_v1(new: &Value) -> Value {
    let mut event = new.clone();
    if let Some(fields) = event.as_object_mut() {
        for (old, new) in RENAMED {
            if let Some(value) = fields.remove(new) {
                fields.insert(old.to_owned(), value);
            }
        }
        fields.insert("apiVersion".to_owned(), "v1".into());
    }
    event
}

/// What both groups ask for. An event with an `eventTime` is one of the newer sort, whoever sent it.
fn validate_basics(object: &Value, reporter: &str, faults: &mut Faults) {
    let (own, subject) = (namespace(object), text(&object["involvedObject"], "namespace"));
    let dated = !is_empty(&object["eventTime"]);
    let fits = match (subject, dated) {
        ("", false) => own.is_empty() || own == "default",
        ("", true) => own == "default" || own == "kube-system",
        (subject, false) => own == subject,
        (_, true) => true,
    };
    if !fits {
        let path = Path::new("involvedObject.namespace");
        faults.invalid_text(&path, subject, "does not match event.namespace");
    }
    if !dated {
        return;
    }
    let component = text(object, "reportingComponent");
    if component.is_empty() {
        faults.required(&Path::new(reporter), "");
    }
    if let Some(fault) = valid::qualified_name(component) {
        faults.invalid_text(&Path::new(reporter), component, fault);
    }
    for (field, most, needed) in [
        ("reportingInstance", 128, true),
        ("action", 128, true),
        ("reason", 128, true),
        ("message", 1024, false),
    ] {
        let value = text(object, field);
        if needed && value.is_empty() {
            faults.required(&Path::new(field), "");
        }
        if value.len() > most {
            faults.invalid_text(&Path::new(field), "", format!("can have at most {most} characters"));
        }
    }
}

fn validate_series(object: &Value, faults: &mut Faults) {
    let series = &object["series"];
    if series.is_null() {
        return;
    }
    if series["count"].as_i64().unwrap_or_default() < 2 {
        faults.invalid_text(&Path::new("series.count"), "", "should be at least 2");
    }
    if is_empty(&series["lastObservedTime"]) {
        faults.required(&Path::new("series.lastObservedTime"), "");
    }
}

fn fixed(new: &Value, old: &Value, field: &str, named: &str, faults: &mut Faults) {
    let (new, old) = (&new[field], &old[field]);
    if !(is_empty(new) && is_empty(old)) {
        valid::immutable(new, old, &Path::new(named), faults);
    }
}

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let ago = |value: &Value| since(value.as_str().unwrap_or_default(), now);
    let first = if is_empty(&object["firstTimestamp"]) {
        ago(&object["eventTime"])
    } else {
        ago(&object["firstTimestamp"])
    };
    let series = &object["series"];
    let last = if !series.is_null() {
        ago(&series["lastObservedTime"])
    } else if is_empty(&object["lastTimestamp"]) {
        first.clone()
    } else {
        ago(&object["lastTimestamp"])
    };
    let count = if series.is_null() { &object["count"] } else { &series["count"] };
    let count = match count.as_i64().unwrap_or_default() {
        0 if series.is_null() => 1,
        count => count,
    };
    let subject = &object["involvedObject"];
    let kind = text(subject, "kind").to_lowercase();
    let target = match text(subject, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    vec![
        last.into(),
        text(object, "type").into(),
        text(object, "reason").into(),
        target.into(),
        text(subject, "fieldPath").into(),
        reporter(object).into(),
        text(object, "message").trim().into(),
        first.into(),
        count.into(),
        name(object).into(),
    ]
}

/// `kubelet, node-1`
fn reporter(object: &Value) -> String {
    let either = |source: &str, field: &str| match text(&object["source"], source) {
        "" => text(object, field).to_owned(),
        value => value.to_owned(),
    };
    let component = either("component", "reportingComponent");
    match either("host", "reportingInstance") {
        host if host.is_empty() => component,
        host => format!("{component}, {host}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_event() -> Value {
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": { "name": "a", "namespace": "here" },
            "eventTime": "2026-01-02T03:04:05.123456Z",
            "reportingController": "anneal.dev/test", "reportingInstance": "test-1",
            "action": "Testing", "reason": "Because", "type": "Normal", "note": "hello",
            "regarding": { "kind": "Pod", "name": "web", "namespace": "here" },
            "series": { "count": 4, "lastObservedTime": "2026-01-02T03:05:05.000001Z" }
        })
    }

    fn fields(judge: &dyn Behaviour, event: &Value) -> Vec<String> {
        let mut event = from_events_v1(event);
        judge.default(&mut event);
        let mut faults = Faults::default();
        judge.validate(&event, &mut faults);
        judge.validate_create(&event, &mut faults);
        faults.iter().map(|fault| fault.field.clone()).collect()
    }

    #[test]
    fn the_two_forms_say_the_same() {
        let mut core = from_events_v1(&new_event());
        assert_eq!(core["apiVersion"], "v1");
        assert_eq!(core["message"], "hello");
        assert_eq!(core["involvedObject"]["name"], "web");
        Event.default(&mut core);
        let mut back = to_events_v1(&core);
        assert_eq!(back["deprecatedSource"], json!({}));
        back.as_object_mut().unwrap().remove("deprecatedSource");
        assert_eq!(back, new_event());
    }

    #[test]
    fn a_new_event_must_be_whole() {
        assert!(fields(&NewEvent, &new_event()).is_empty());
        for field in ["reportingController", "reportingInstance", "action", "reason", "eventTime", "type"] {
            let mut event = new_event();
            event[field] = Value::Null;
            assert!(fields(&NewEvent, &event).contains(&field.to_owned()), "{field}");
        }
        for (field, named, most) in [("note", "message", 1024), ("action", "action", 128)] {
            let mut event = new_event();
            event[field] = "x".repeat(most).into();
            assert!(fields(&NewEvent, &event).is_empty());
            event[field] = "x".repeat(most + 1).into();
            assert_eq!(fields(&NewEvent, &event), [named]);
        }
        let mut event = new_event();
        event["deprecatedCount"] = 2.into();
        event["deprecatedSource"] = json!({ "component": "a" });
        assert_eq!(fields(&NewEvent, &event), ["count", "source"]);
    }

    #[test]
    fn a_core_event_lives_where_its_object_does() {
        let event = |own: &str, subject: Value| {
            let event =
                json!({ "metadata": { "namespace": own }, "involvedObject": { "namespace": subject } });
            let mut faults = Faults::default();
            Event.validate(&event, &mut faults);
            faults.is_empty()
        };
        assert!(event("here", json!("here")) && event("default", Value::Null));
        assert!(!event("here", json!("there")) && !event("here", Value::Null));
    }

    #[test]
    fn only_the_series_of_a_new_event_changes() {
        let old = from_events_v1(&new_event());
        let changes = |field: &str, value: Value| {
            let mut new = new_event();
            new[field] = value;
            let mut faults = Faults::default();
            NewEvent.validate_update(&from_events_v1(&new), &old, Part::Main, &mut faults);
            !faults.is_empty()
        };
        for field in ["note", "reason", "action", "type", "reportingController", "eventTime"] {
            assert!(changes(field, json!("other")), "{field}");
        }
        assert!(!changes("series", json!({ "count": 5, "lastObservedTime": "2026-01-02T03:06:05.000002Z" })));
        assert!(changes("series", json!({ "count": 1, "lastObservedTime": "2026-01-02T03:06:05.000002Z" })));
    }

    #[test]
    fn a_table_tells_when_and_how_often() {
        let now = "2026-01-02T03:10:05Z".parse().unwrap();
        let cells = Event.cells(&from_events_v1(&new_event()), now);
        let expected = json!([
            "4m59s",
            "Normal",
            "Because",
            "pod/web",
            "",
            "anneal.dev/test, test-1",
            "hello",
            "5m59s",
            4,
            "a"
        ]);
        assert_eq!(json!(cells), expected);
    }
}
