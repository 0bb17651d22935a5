//! The status of a definition: which of its names it got, and whether it is served.
//!
//! Names are first come, first served within a group. A definition keeps the names it has; one whose names are
//! taken waits until they are free.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::super::object;

/// Computes the status of a definition beside the others that exist. Deciding again changes nothing.
pub fn establish<'a>(crd: &Value, others: impl IntoIterator<Item = &'a Value>, now: Timestamp) -> Value {
    let (group, name) = (&crd["spec"]["group"], object::name(crd));
    let rivals =
        others.into_iter().filter(|other| &other["spec"]["group"] == group && object::name(other) != name);
    let taken = Taken::by(rivals);
    let (requested, accepted) = (&crd["spec"]["names"], &crd["status"]["acceptedNames"]);
    let (names, conflict) = accept(requested, accepted, &taken);

    let mut conditions = Conditions { list: object::items(crd, "/status/conditions").to_vec(), now };
    match &conflict {
        Some((reason, message)) => conditions.set("NamesAccepted", "False", reason, message),
        None => conditions.set("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
    }
    let established = conditions.is("Established", "True");
    match (established, conflict.is_none()) {
        // What is served stays served, whatever names it asks for now.
        (true, _) => {}
        (false, true) => conditions.set(
            "Established",
            "True",
            "InitialNamesAccepted",
            "the initial names have been accepted",
        ),
        (false, false) => {
            conditions.set("Established", "False", "NotAccepted", "not all names are accepted");
        }
    }
    json!({
        "acceptedNames": names,
        "conditions": conditions.list,
        "storedVersions": stored_versions(crd),
    })
}

/// The versions that objects may be stored in: those of before, and the one that is stored now.
pub fn stored_versions(crd: &Value) -> Vec<Value> {
    let mut stored = object::items(crd, "/status/storedVersions").to_vec();
    let storage = object::items(crd, "/spec/versions").iter().filter(|version| version["storage"] == true);
    for version in storage {
        if !stored.contains(&version["name"]) {
            stored.push(version["name"].clone());
        }
    }
    stored
}

/// What other definitions of the group hold.
struct Taken {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl Taken {
    fn by<'a>(others: impl Iterator<Item = &'a Value>) -> Self {
        let mut taken = Self { resources: BTreeSet::new(), kinds: BTreeSet::new() };
        for other in others {
            let names = &other["status"]["acceptedNames"];
            let text = |field: &str| names[field].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
            taken.resources.extend(text("plural"));
            taken.resources.extend(text("singular"));
            let short = names["shortNames"].as_array().into_iter().flatten();
            taken.resources.extend(short.filter_map(Value::as_str).map(str::to_owned));
            taken.kinds.extend(text("kind"));
            taken.kinds.extend(text("listKind"));
        }
        taken
    }
}

type Conflict = (&'static str, String);

/// The names a definition gets, and the last conflict if it does not get all.
fn accept(requested: &Value, accepted: &Value, taken: &Taken) -> (Value, Option<Conflict>) {
    let mut names = accepted.as_object().cloned().unwrap_or_else(Map::new);
    let mut conflict = None;
    let single = [
        ("plural", "PluralConflict", &taken.resources),
        ("singular", "SingularConflict", &taken.resources),
        ("kind", "KindConflict", &taken.kinds),
        ("listKind", "ListKindConflict", &taken.kinds),
    ];
    for (field, reason, used) in single {
        let name = requested[field].as_str().unwrap_or_default();
        if accepted[field] != requested[field] && used.contains(name) {
            conflict = Some((reason, format!("{name:?} is already in use")));
        } else {
            set(&mut names, field, &requested[field]);
        }
        if field == "singular"
            && let Some(message) = short_names(requested, accepted, taken, &mut names)
        {
            conflict = Some(("ShortNamesConflict", message));
        }
    }
    set(&mut names, "categories", &requested["categories"]);
    // These two are printed even while there are none.
    for field in ["kind", "plural"] {
        names.entry(field).or_insert_with(|| "".into());
    }
    (Value::Object(names), conflict)
}

fn short_names(
    requested: &Value,
    accepted: &Value,
    taken: &Taken,
    names: &mut Map<String, Value>,
) -> Option<String> {
    let ours = |name: &Value| accepted["shortNames"].as_array().is_some_and(|names| names.contains(name));
    let wanted = requested["shortNames"].as_array().into_iter().flatten().filter(|name| !ours(name));
    let clashes: Vec<String> = wanted
        .filter_map(Value::as_str)
        .filter(|name| taken.resources.contains(*name))
        .map(|name| format!("{name:?} is already in use"))
        .collect();
    match clashes.as_slice() {
        [] => {
            set(names, "shortNames", &requested["shortNames"]);
            None
        }
        [one] => Some(one.clone()),
        many => Some(format!("[{}]", many.join(", "))),
    }
}

fn set(names: &mut Map<String, Value>, field: &str, value: &Value) {
    if value.is_null() {
        names.remove(field);
    } else {
        names.insert(field.to_owned(), value.clone());
    }
}

struct Conditions {
    list: Vec<Value>,
    now: Timestamp,
}

impl Conditions {
    fn is(&self, kind: &str, status: &str) -> bool {
        self.list.iter().any(|condition| condition["type"] == kind && condition["status"] == status)
    }

    /// Sets a condition; its time moves only with its status.
    fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let mut condition = json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": object::timestamp(self.now),
        });
        match self.list.iter_mut().find(|condition| condition["type"] == kind) {
            Some(old) => {
                if old["status"] == condition["status"] {
                    condition["lastTransitionTime"] = old["lastTransitionTime"].clone();
                }
                *old = condition;
            }
            None => self.list.push(condition),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::establish;

    fn crd(plural: &str, kind: &str, short: &[&str]) -> Value {
        json!({
            "metadata": { "name": format!("{plural}.a.example") },
            "spec": {
                "group": "a.example",
                "names": {
                    "plural": plural, "singular": plural, "kind": kind, "listKind": format!("{kind}List"),
                    "shortNames": short
                },
                "versions": [{ "name": "v1", "storage": true }]
            }
        })
    }

    fn is(status: &Value, kind: &str, wanted: &str) -> bool {
        let conditions = status["conditions"].as_array().expect("conditions");
        conditions.iter().any(|condition| condition["type"] == kind && condition["status"] == wanted)
    }

    #[test]
    fn free_names_are_accepted_and_taken_ones_are_not() {
        let now = Timestamp::UNIX_EPOCH;
        let mut first = crd("things", "Thing", &["th"]);
        first["status"] = establish(&first, [], now);
        assert!(is(&first["status"], "NamesAccepted", "True") && is(&first["status"], "Established", "True"));
        assert_eq!(first["status"]["acceptedNames"], first["spec"]["names"]);
        assert_eq!(first["status"]["storedVersions"], json!(["v1"]));

        for second in [crd("others", "Thing", &[]), crd("others", "Other", &["th"]), crd("th", "Other", &[])]
        {
            let status = establish(&second, [&first], now);
            assert!(is(&status, "NamesAccepted", "False") && is(&status, "Established", "False"), "{status}");
            let mut second = second;
            second["status"] = status;
            // The names are free once the first has gone.
            let status = establish(&second, [&second], now);
            assert!(is(&status, "NamesAccepted", "True") && is(&status, "Established", "True"), "{status}");
        }
        let again = establish(&first, [&first], Timestamp::MAX);
        assert_eq!(again, first["status"]);
    }

    #[test]
    fn names_that_clash_later_leave_what_is_served() {
        let now = Timestamp::UNIX_EPOCH;
        let (mut first, mut second) = (crd("things", "Thing", &["th"]), crd("others", "Other", &["ot"]));
        first["status"] = establish(&first, [], now);
        second["status"] = establish(&second, [&first], now);
        second["spec"]["names"]["shortNames"] = json!(["th"]);
        let status = establish(&second, [&first], now);
        assert!(is(&status, "NamesAccepted", "False") && is(&status, "Established", "True"), "{status}");
        assert_eq!(status["acceptedNames"]["shortNames"], json!(["ot"]));
    }
}
