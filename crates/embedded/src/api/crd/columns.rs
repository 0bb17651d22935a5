//! What `kubectl get` shows of a custom resource.

use jiff::Timestamp;
use serde_json::Value;

use super::super::{behaviour, json_path::JsonPath, object, table::TableColumn};

/// The columns of a version, the first of which is the name.
#[derive(Debug)]
pub struct Columns {
    heads: Vec<TableColumn>,
    /// Where the cells of the others are.
    paths: Vec<JsonPath>,
}

impl Columns {
    /// A path that cannot be read makes all of them the default ones, as upstream does.
    pub fn of(definitions: &[Value]) -> Self {
        let read = |column: &Value| {
            let text = |field: &str| column[field].as_str().unwrap_or_default().to_owned();
            let path = JsonPath::parse(&text("jsonPath")).ok()?;
            let description = match text("description") {
                empty if empty.is_empty() => {
                    format!("Custom resource definition column (in JSONPath format): {}", text("jsonPath"))
                }
                given => given,
            };
            let priority =
                column["priority"].as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or_default();
            let head = TableColumn {
                name: text("name"),
                kind: text("type"),
                format: text("format"),
                description,
                priority,
            };
            Some((head, path))
        };
        let name = TableColumn::from(&behaviour::NAME);
        let own: Option<Vec<_>> = definitions.iter().map(read).collect();
        let own = own.filter(|own| !own.is_empty()).unwrap_or_else(|| vec![age()]);
        let (heads, paths): (Vec<_>, Vec<_>) = own.into_iter().unzip();
        Self { heads: [vec![name], heads].concat(), paths }
    }

    pub fn heads(&self) -> &[TableColumn] {
        &self.heads
    }

    /// One cell for each column; what is not there or of another type is null.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let others = self.heads.iter().skip(1).zip(&self.paths);
        let others = others.map(|(head, path)| {
            path.find(object).first().map_or(Value::Null, |value| cell(&head.kind, value, now))
        });
        std::iter::once(object::name(object).into()).chain(others).collect()
    }
}

fn age() -> (TableColumn, JsonPath) {
    let head = TableColumn {
        name: behaviour::AGE.name.to_owned(),
        kind: "date".to_owned(),
        format: String::new(),
        description: behaviour::AGE.description.to_owned(),
        priority: 0,
    };
    (head, JsonPath::of_fields(&["metadata", "creationTimestamp"]))
}

fn cell(kind: &str, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        ("string", Value::String(text)) => text.as_str().into(),
        ("string", Value::Null) => Value::Null,
        ("string", other) => other.to_string().into(),
        ("integer", Value::Number(number)) => {
            number.as_i64().or_else(|| number.as_f64().map(|number| number as i64)).into()
        }
        ("number", Value::Number(number)) => number.as_f64().into(),
        ("boolean", Value::Bool(flag)) => (*flag).into(),
        ("date", Value::String(moment)) if moment.parse::<Timestamp>().is_ok() => {
            object::since(moment, now).into()
        }
        ("date", Value::String(_)) => "<invalid>".into(),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::Columns;

    #[test]
    fn cells_follow_the_type_of_their_column() {
        let columns = Columns::of(&[
            json!({ "name": "Size", "type": "integer", "jsonPath": ".spec.size" }),
            json!({ "name": "Text", "type": "string", "jsonPath": ".spec.size", "priority": 1 }),
            json!({ "name": "On", "type": "boolean", "jsonPath": ".spec.size" }),
            json!({ "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" }),
        ]);
        let made = json!({ "name": "a", "creationTimestamp": "1970-01-01T00:00:00Z" });
        let now = Timestamp::from_second(90).expect("a moment");
        let cells = columns.cells(&json!({ "metadata": made, "spec": { "size": 3 } }), now);
        assert_eq!(cells, [json!("a"), json!(3), json!("3"), json!(null), json!("90s")]);
        let cells = columns.cells(&json!({ "metadata": made }), now);
        assert_eq!(cells[1], json!(null));
    }

    #[test]
    fn without_columns_of_its_own_a_kind_shows_its_age() {
        for own in [vec![], vec![json!({ "name": "Broken", "type": "string", "jsonPath": ".a[" })]] {
            let columns = Columns::of(&own);
            let names: Vec<_> = columns.heads().iter().map(|head| head.name.as_str()).collect();
            assert_eq!(names, ["Name", "Age"]);
        }
    }
}
