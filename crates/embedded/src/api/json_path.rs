//! JSONPath as printer columns, scales and selectable fields use it: `.spec.replicas`,
//! `.status.conditions[?(@.type=="Ready")].status`, `.metadata.annotations.a\.b`, `[0]`, `[-1:]`, `[*]`.
//!
//! A path walks an object once and finds at most a bounded number of values.

use serde_json::Value;

/// A path longer than this is refused; no cell is that far away.
const MAX_STEPS: usize = 64;

/// More values than a cell can show.
const MAX_FOUND: usize = 1000;

/// A path that has been read. The default one leads to the value itself.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Step {
    Field(String),
    /// An item by its place; negative counts from the end.
    Index(i64),
    /// Items from one place to before another.
    Slice(Option<i64>, Option<i64>),
    /// All items or fields.
    All,
    /// The items for which a comparison holds.
    Filter {
        path: Vec<String>,
        operator: Operator,
        value: Value,
    },
    /// The items that have something at a path.
    Has(Vec<String>),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl JsonPath {
    /// Reads a path; a pair of braces around it changes nothing. What is wrong is told in a few words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
        Self::read(text.strip_prefix('$').unwrap_or(text), filter_step)
    }

    /// Reads steps; what stands between `[?(` and `)]` is for `filter`.
    fn read(mut rest: &str, filter: ReadFilter) -> Result<Self, String> {
        let mut steps = Vec::new();
        while !rest.is_empty() && rest != "." {
            if steps.len() == MAX_STEPS {
                return Err(format!("a path may not have more than {MAX_STEPS} steps"));
            }
            let (step, after) = step(rest, filter)?;
            steps.push(step);
            rest = after;
        }
        Ok(Self { steps })
    }

    /// A path of these fields.
    pub fn of_fields(fields: &[&str]) -> Self {
        Self { steps: fields.iter().map(|field| Step::Field((*field).to_owned())).collect() }
    }

    /// The values at the path, in order; none if it leads nowhere.
    pub fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let mut found = vec![value];
        for step in &self.steps {
            let mut next = Vec::new();
            for value in found {
                step.follow(value, &mut next);
            }
            next.truncate(MAX_FOUND);
            found = next;
        }
        found
    }

    /// The fields of a path that has nothing else: `["spec", "replicas"]`.
    pub fn fields(&self) -> Option<Vec<&str>> {
        let fields = self.steps.iter().map(|step| match step {
            Step::Field(name) => Some(name.as_str()),
            _ => None,
        });
        fields.collect()
    }
}

type ReadFilter = fn(&str) -> Result<Step, String>;

fn step(text: &str, filter: ReadFilter) -> Result<(Step, &str), String> {
    match text.as_bytes().first() {
        Some(b'[') => {
            let end = end_of_brackets(text).ok_or_else(|| "unterminated array".to_owned())?;
            Ok((bracket(text[1..end].trim(), filter)?, &text[end + 1..]))
        }
        Some(b'.') if text[1..].starts_with('[') => step(&text[1..], filter),
        Some(b'.') if text[1..].starts_with('.') => Err("recursive descent is not supported".to_owned()),
        Some(b'.') => field(&text[1..]),
        _ => field(text),
    }
}

/// A name up to the next dot or bracket; a backslash makes the next character plain.
fn field(text: &str) -> Result<(Step, &str), String> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    let mut end = text.len();
    while let Some((at, next)) = chars.next() {
        match next {
            '\\' => match chars.next() {
                Some((_, escaped)) => name.push(escaped),
                None => return Err("a backslash at the end".to_owned()),
            },
            '.' | '[' => {
                end = at;
                break;
            }
            '{' | '}' | '(' | ')' | ']' | ' ' | '|' | '"' | '\'' => {
                return Err(format!("unrecognized character in action: {:?}", next));
            }
            other => name.push(other),
        }
    }
    match name.as_str() {
        "" => Err("a step without a name".to_owned()),
        "*" => Ok((Step::All, &text[end..])),
        _ => Ok((Step::Field(name), &text[end..])),
    }
}

/// The place of the bracket that closes the first, with quotes and parentheses in between respected.
fn end_of_brackets(text: &str) -> Option<usize> {
    let (mut quote, mut depth, mut escaped) = (None, 0usize, false);
    for (at, next) in text.char_indices() {
        match (quote, next) {
            _ if escaped => escaped = false,
            (_, '\\') => escaped = true,
            (Some(open), _) if open == next => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(next),
            (None, '[') => depth += 1,
            (None, ']') if depth == 1 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(inner: &str, filter: ReadFilter) -> Result<Step, String> {
    let invalid = || format!("invalid array index {inner}");
    if inner == "*" {
        return Ok(Step::All);
    }
    if let Some(text) = inner.strip_prefix("?(").and_then(|text| text.strip_suffix(')')) {
        return filter(text.trim());
    }
    if let Some(name) = quoted(inner) {
        return Ok(Step::Field(name));
    }
    if let Some((from, to)) = inner.split_once(':') {
        let bound = |text: &str| match text.trim() {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| invalid()),
        };
        return Ok(Step::Slice(bound(from)?, bound(to)?));
    }
    inner.parse().map(Step::Index).map_err(|_| invalid())
}

fn quoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|quote| *quote == '"' || *quote == '\'')?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut plain = String::new();
    let mut chars = inner.chars();
    while let Some(next) = chars.next() {
        plain.push(if next == '\\' { chars.next()? } else { next });
    }
    Some(plain)
}

const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

fn filter_step(filter: &str) -> Result<Step, String> {
    let operator = OPERATORS.iter().find_map(|(text, operator)| {
        filter.split_once(text).map(|(left, right)| (left.trim(), *operator, right.trim()))
    });
    let Some((left, operator, right)) = operator else { return Ok(Step::Has(filter_path(filter)?)) };
    let value = match quoted(right) {
        Some(text) => text.into(),
        None => serde_json::from_str(right).map_err(|_| format!("unrecognized value in filter: {right}"))?,
    };
    Ok(Step::Filter { path: filter_path(left)?, operator, value })
}

fn filter_path(text: &str) -> Result<Vec<String>, String> {
    let rest = text.strip_prefix('@').ok_or_else(|| format!("a filter must begin with @: {text}"))?;
    // A filter inside of a filter is refused unread: there could be one in each other for as long as the path is.
    let path = JsonPath::read(rest, |_| Err("a filter inside of a filter is not supported".to_owned()))?;
    let fields = path.fields().ok_or_else(|| format!("a filter compares a field: {text}"))?;
    Ok(fields.into_iter().map(str::to_owned).collect())
}

impl Step {
    fn follow<'v>(&self, value: &'v Value, found: &mut Vec<&'v Value>) {
        match (self, value) {
            (Step::Field(name), Value::Object(fields)) => found.extend(fields.get(name)),
            (Step::All, Value::Object(fields)) => found.extend(fields.values()),
            (Step::All, Value::Array(items)) => found.extend(items),
            (Step::Index(index), Value::Array(items)) => {
                found.extend(place(*index, items.len()).and_then(|at| items.get(at)));
            }
            (Step::Slice(from, to), Value::Array(items)) => {
                let from = from.map_or(0, |at| place(at, items.len()).unwrap_or(0));
                let to = to.map_or(items.len(), |at| place(at, items.len()).unwrap_or(0)).min(items.len());
                found.extend(items.get(from..to).unwrap_or_default());
            }
            (Step::Filter { path, operator, value }, Value::Array(items)) => {
                found.extend(
                    items
                        .iter()
                        .filter(|item| at(item, path).is_some_and(|left| operator.holds(left, value))),
                );
            }
            (Step::Has(path), Value::Array(items)) => {
                found.extend(items.iter().filter(|item| at(item, path).is_some()));
            }
            _ => {}
        }
    }
}

fn place(index: i64, length: usize) -> Option<usize> {
    if index >= 0 {
        usize::try_from(index).ok()
    } else {
        length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
    }
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

impl Operator {
    fn holds(self, left: &Value, right: &Value) -> bool {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (Value::Number(left), Value::Number(right)) => {
                left.as_f64().and_then(|left| left.partial_cmp(&right.as_f64()?))
            }
            (left, right) => (left == right).then_some(std::cmp::Ordering::Equal),
        };
        match self {
            Self::Equal => order.is_some_and(|order| order.is_eq()),
            Self::NotEqual => !order.is_some_and(|order| order.is_eq()),
            Self::Less => order.is_some_and(|order| order.is_lt()),
            Self::LessOrEqual => order.is_some_and(|order| order.is_le()),
            Self::Greater => order.is_some_and(|order| order.is_gt()),
            Self::GreaterOrEqual => order.is_some_and(|order| order.is_ge()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::JsonPath;

    fn find(path: &str, value: &Value) -> Vec<Value> {
        JsonPath::parse(path).expect("a path").find(value).into_iter().cloned().collect()
    }

    #[test]
    fn paths_lead_where_they_say() {
        let object = json!({
            "metadata": { "annotations": { "a.b/c": "x" } },
            "spec": { "replicas": 3, "list": [1, 2, 3] },
            "status": { "conditions": [
                { "type": "Other", "status": "No" }, { "type": "Ready", "status": "True", "n": 5 }
            ] }
        });
        assert_eq!(find(".spec.replicas", &object), [json!(3)]);
        assert_eq!(find("{.spec.replicas}", &object), [json!(3)]);
        assert_eq!(find(r".metadata.annotations.a\.b/c", &object), [json!("x")]);
        assert_eq!(find(".metadata.annotations['a.b/c']", &object), [json!("x")]);
        assert_eq!(find(".status.conditions[?(@.type==\"Ready\")].status", &object), [json!("True")]);
        assert_eq!(find(".status.conditions[?(@.type != 'Ready')].status", &object), [json!("No")]);
        assert_eq!(find(".status.conditions[?(@.n>=5)].type", &object), [json!("Ready")]);
        assert_eq!(find(".status.conditions[?(@.n)].type", &object), [json!("Ready")]);
        assert_eq!(find(".status.conditions[*].type", &object), [json!("Other"), json!("Ready")]);
        assert_eq!(find(".spec.list[0]", &object), [json!(1)]);
        assert_eq!(find(".spec.list[-1]", &object), [json!(3)]);
        assert_eq!(find(".spec.list[-1:]", &object), [json!(3)]);
        assert_eq!(find(".spec.list[0:2]", &object), [json!(1), json!(2)]);
        assert!(find(".spec.none.at.all", &object).is_empty());
        assert_eq!(find(".", &object), std::slice::from_ref(&object));
    }

    #[test]
    fn malformed_paths_are_refused() {
        for path in [".a[", ".a[x]", ".a[?(x)]", ".a..b", ".a{", ".a[?(@.b==)]", ".a\\"] {
            assert!(JsonPath::parse(path).is_err(), "{path}");
        }
        assert!(JsonPath::parse(&".a".repeat(100)).is_err());
    }

    #[test]
    fn filters_inside_each_other_cost_no_stack() {
        let deep = format!(".a{}@{}", "[?(@".repeat(100_000), ")]".repeat(100_000));
        assert_eq!(JsonPath::parse(&deep), Err("a filter inside of a filter is not supported".to_owned()));
    }
}
