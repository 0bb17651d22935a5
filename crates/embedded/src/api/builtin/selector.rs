//! Label selectors as specs have them: whether they match, and how a table or a Scale writes them.
//!
//! A selector that is absent selects nothing, an empty one everything. Whether a selector is well-formed is
//! for `valid::label_selector` to say.

use serde_json::Value;

/// Whether a set of labels satisfies a selector.
pub fn matches(selector: &Value, labels: &Value) -> bool {
    selector.is_object() && requirements(selector).iter().all(|requirement| requirement.holds(labels))
}

/// Whether a selector makes no demands, or is not there.
pub fn is_empty(selector: &Value) -> bool {
    requirements(selector).is_empty()
}

/// A selector as a query would have it: `app=web,tier in (back,front)`, empty if it makes no demands.
pub fn text(selector: &Value) -> String {
    let texts: Vec<_> = requirements(selector).iter().map(Requirement::text).collect();
    texts.join(",")
}

/// A selector as a table shows it.
pub fn cell(selector: &Value) -> String {
    match text(selector) {
        text if text.is_empty() => "<none>".to_owned(),
        text => text,
    }
}

struct Requirement<'a> {
    key: &'a str,
    demand: Demand<'a>,
}

enum Demand<'a> {
    Equals(&'a str),
    In(Vec<&'a str>),
    NotIn(Vec<&'a str>),
    Exists,
    DoesNotExist,
    /// An operator that does not exist is never satisfied.
    Unknown,
}

fn requirements(selector: &Value) -> Vec<Requirement<'_>> {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    let mut all: Vec<_> = labels
        .map(|(key, value)| Requirement { key, demand: Demand::Equals(value.as_str().unwrap_or_default()) })
        .chain(expressions.map(of_expression))
        .collect();
    all.sort_by_key(|requirement| requirement.key);
    all
}

fn of_expression(expression: &Value) -> Requirement<'_> {
    let values = || {
        let mut values: Vec<_> =
            expression["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        values.sort_unstable();
        values
    };
    let demand = match expression["operator"].as_str() {
        Some("In") => Demand::In(values()),
        Some("NotIn") => Demand::NotIn(values()),
        Some("Exists") => Demand::Exists,
        Some("DoesNotExist") => Demand::DoesNotExist,
        _ => Demand::Unknown,
    };
    Requirement { key: expression["key"].as_str().unwrap_or_default(), demand }
}

impl Requirement<'_> {
    fn holds(&self, labels: &Value) -> bool {
        let label = labels.get(self.key).and_then(Value::as_str);
        match &self.demand {
            Demand::Equals(value) => label == Some(value),
            Demand::In(values) => label.is_some_and(|label| values.contains(&label)),
            Demand::NotIn(values) => !label.is_some_and(|label| values.contains(&label)),
            Demand::Exists => label.is_some(),
            Demand::DoesNotExist => label.is_none(),
            Demand::Unknown => false,
        }
    }

    fn text(&self) -> String {
        let key = self.key;
        match &self.demand {
            Demand::Equals(value) => format!("{key}={value}"),
            Demand::In(values) => format!("{key} in ({})", values.join(",")),
            Demand::NotIn(values) => format!("{key} notin ({})", values.join(",")),
            Demand::Exists => key.to_owned(),
            Demand::DoesNotExist => format!("!{key}"),
            Demand::Unknown => "<invalid>".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_absent_selector_selects_nothing_and_an_empty_one_everything() {
        assert!(!matches(&Value::Null, &json!({ "a": "b" })));
        assert!(matches(&json!({}), &json!({ "a": "b" })) && matches(&json!({}), &Value::Null));
        assert_eq!((cell(&Value::Null), cell(&json!({}))), ("<none>".to_owned(), "<none>".to_owned()));
    }

    #[test]
    fn expressions_are_written_in_order_of_their_keys_and_values() {
        let selector = json!({
            "matchLabels": { "b": "1" },
            "matchExpressions": [
                { "key": "c", "operator": "NotIn", "values": ["y", "x"] },
                { "key": "a", "operator": "In", "values": ["2"] },
                { "key": "e", "operator": "DoesNotExist" },
                { "key": "d", "operator": "Exists" }
            ]
        });
        assert_eq!(text(&selector), "a in (2),b=1,c notin (x,y),d,!e");
        assert!(matches(&selector, &json!({ "a": "2", "b": "1", "d": "" })));
        assert!(!matches(&selector, &json!({ "a": "2", "b": "1", "c": "x", "d": "" })));
        assert!(!matches(&selector, &json!({ "a": "2", "b": "1", "d": "", "e": "" })));
    }
}
