//! Label selectors.

#[cfg(fuzzing)]
mod shown;

use std::{collections::BTreeMap, iter::Peekable, str::FromStr};

use serde_json::Value;

use crate::api::{
    error::{ApiError, Result},
    fault::{Faults, Path},
    valid,
};

/// Requirements on labels, all of which must hold.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LabelSelector {
    /// Whether it selects nothing at all, whatever the requirements say.
    nothing: bool,
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Requirement {
    key: String,
    operator: Operator,
    /// Sorted, without repetition.
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Operator {
    In,
    NotIn,
    Exists,
    Missing,
    Greater,
    Less,
}

impl LabelSelector {
    /// Selects every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Selects no object.
    pub fn nothing() -> Self {
        Self { nothing: true, requirements: Vec::new() }
    }

    /// Reads `a=b,c!=d,e in (x,y),f notin (z),g,!h,i>1`.
    pub fn parse(text: &str) -> Result<Self> {
        let requirements = Parser::new(text).selector().map_err(ApiError::bad_request)?;
        Ok(Self { nothing: false, requirements })
    }

    /// Reads a selector as specs have it. One that is not there selects nothing, an empty one everything.
    pub fn of_spec(selector: &Value) -> Result<Self> {
        if selector.is_null() {
            return Ok(Self::nothing());
        }
        let mut requirements = Vec::new();
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or_default().to_owned();
            requirements.push(Requirement::new(key, Operator::In, vec![value])?);
        }
        for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
            let operator = match expression["operator"].as_str().unwrap_or_default() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::Missing,
                other => {
                    let message = format!("{other:?} is not a valid label selector operator");
                    return Err(ApiError::bad_request(message));
                }
            };
            let values = expression["values"].as_array().into_iter().flatten();
            let values = values.filter_map(Value::as_str).map(str::to_owned).collect();
            let key = expression["key"].as_str().unwrap_or_default();
            requirements.push(Requirement::new(key, operator, values)?);
        }
        Ok(Self { nothing: false, requirements })
    }

    /// Reads a plain map of labels, as the selectors of Services are. An empty one selects everything.
    pub fn of_map(labels: &Value) -> Self {
        let requirement = |(key, value): (&String, &Value)| Requirement {
            key: key.clone(),
            operator: Operator::In,
            values: vec![value.as_str().unwrap_or_default().to_owned()],
        };
        let requirements = labels.as_object().into_iter().flatten().map(requirement).collect();
        Self { nothing: false, requirements }
    }

    /// Whether it selects every object.
    pub fn is_everything(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.matches_by(|key| labels.get(key).map(String::as_str))
    }

    /// The same for `metadata.labels` of an object.
    pub fn matches_object(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.matches_by(|key| labels.get(key).and_then(Value::as_str))
    }

    /// The same for labels that are looked up one by one.
    pub fn matches_by<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        !self.nothing
            && self.requirements.iter().all(|requirement| requirement.holds(label(&requirement.key)))
    }
}

impl Requirement {
    /// A requirement that is well formed; the error is a sentence without the word of what it belongs to.
    fn checked(key: &str, operator: Operator, mut values: Vec<String>) -> Result<Self, String> {
        let mut faults = Faults::default();
        let path = Path::new("values");
        if let Some(fault) = valid::qualified_name(key) {
            faults.invalid_text(&Path::new("key"), key, fault);
        }
        let listed = || Value::from(values.clone());
        match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                faults.invalid(&path, &listed(), "for 'in', 'notin' operators, values set can't be empty");
            }
            Operator::Exists | Operator::Missing if !values.is_empty() => {
                faults.invalid(&path, &listed(), "values set must be empty for exists and does not exist");
            }
            Operator::Greater | Operator::Less => {
                for (index, value) in values.iter().enumerate() {
                    if i64::from_str(value).is_err() {
                        let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                        faults.invalid_text(&path.index(index), value, detail);
                    }
                }
            }
            _ => {}
        }
        for (index, value) in values.iter().enumerate() {
            if let Some(fault) = valid::label_value(value) {
                faults.invalid_text(&path.index(index).key(key), value, fault);
            }
        }
        if !faults.is_empty() {
            return Err(faults.to_string());
        }
        values.sort_unstable();
        values.dedup();
        Ok(Self { key: key.to_owned(), operator, values })
    }

    fn new(key: &str, operator: Operator, values: Vec<String>) -> Result<Self> {
        Self::checked(key, operator, values).map_err(ApiError::bad_request)
    }

    fn holds(&self, value: Option<&str>) -> bool {
        let listed = |value: &str| self.values.binary_search_by(|listed| listed.as_str().cmp(value)).is_ok();
        let number = |text: &str| i64::from_str(text).ok();
        let bound = || number(self.values.first()?);
        match (self.operator, value) {
            (Operator::In, value) => value.is_some_and(listed),
            (Operator::NotIn, value) => !value.is_some_and(listed),
            (Operator::Exists, value) => value.is_some(),
            (Operator::Missing, value) => value.is_none(),
            (Operator::Greater, value) => {
                matches!((value.and_then(number), bound()), (Some(value), Some(bound)) if value > bound)
            }
            (Operator::Less, value) => {
                matches!((value.and_then(number), bound()), (Some(value), Some(bound)) if value < bound)
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Token<'a> {
    /// A symbol: one of `= == != ! ( ) , > <`.
    Symbol(&'a str),
    /// A key or a value; `in` and `notin` too, since only their place tells what they are.
    Word(&'a str),
    End,
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Symbol(text) | Self::Word(text) => text,
            Self::End => "",
        }
    }

    fn starts_a_requirement(self) -> bool {
        matches!(self, Self::Word(_) | Self::Symbol("!"))
    }
}

struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        const SYMBOLS: [char; 7] = ['=', '!', '(', ')', ',', '>', '<'];
        const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];
        let rest = self.0.trim_start_matches(BLANKS);
        let symbol = ["==", "!="].into_iter().find(|symbol| rest.starts_with(symbol)).map_or(1, str::len);
        let (token, length): (fn(&'a str) -> Token<'a>, usize) = match rest.chars().next()? {
            first if SYMBOLS.contains(&first) => (Token::Symbol, symbol),
            _ => {
                let end = rest.find(|next| SYMBOLS.contains(&next) || BLANKS.contains(&next));
                (Token::Word, end.unwrap_or(rest.len()))
            }
        };
        let (text, rest) = rest.split_at(length);
        self.0 = rest;
        Some(token(text))
    }
}

struct Parser<'a>(Peekable<Tokens<'a>>);

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Self(Tokens(text).peekable())
    }

    fn peek(&mut self) -> Token<'a> {
        self.0.peek().copied().unwrap_or(Token::End)
    }

    fn take(&mut self) -> Token<'a> {
        self.0.next().unwrap_or(Token::End)
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => return Ok(requirements),
                token if !token.starts_a_requirement() => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        token.text()
                    ));
                }
                _ => {}
            }
            let requirement = self.requirement();
            requirements.push(requirement.map_err(|error| format!("unable to parse requirement: {error}"))?);
            match self.take() {
                Token::End => return Ok(requirements),
                Token::Symbol(",") => {
                    let next = self.peek();
                    if !next.starts_a_requirement() {
                        return Err(format!("found '{}', expected: identifier after ','", next.text()));
                    }
                }
                token => {
                    return Err(format!("found '{}', expected: ',' or 'end of string'", token.text()));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let missing = self.peek() == Token::Symbol("!");
        if missing {
            self.take();
        }
        let key = match self.take() {
            Token::Word(key) => key,
            token => return Err(format!("found '{}', expected: identifier", token.text())),
        };
        if let Some(fault) = valid::qualified_name(key) {
            let mut faults = Faults::default();
            faults.invalid_text(&Path::root(), key, fault);
            return Err(faults.to_string());
        }
        if missing {
            return Requirement::checked(key, Operator::Missing, Vec::new());
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Requirement::checked(key, Operator::Exists, Vec::new());
        }
        let (operator, values) = match self.take() {
            Token::Word("in") => (Operator::In, self.set()?),
            Token::Word("notin") => (Operator::NotIn, self.set()?),
            Token::Symbol("=" | "==") => (Operator::In, self.value()?),
            Token::Symbol("!=") => (Operator::NotIn, self.value()?),
            Token::Symbol(">") => (Operator::Greater, self.value()?),
            Token::Symbol("<") => (Operator::Less, self.value()?),
            token => {
                return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", token.text()));
            }
        };
        Requirement::checked(key, operator, values)
    }

    /// What follows `=` and its like; nothing is the empty value.
    fn value(&mut self) -> Result<Vec<String>, String> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(vec![String::new()]),
            Token::Word(value) => {
                self.take();
                Ok(vec![value.to_owned()])
            }
            token => Err(format!("found '{}', expected: identifier", token.text())),
        }
    }

    /// What follows `in` and `notin`: values in parentheses, where nothing between two commas is the empty value.
    fn set(&mut self) -> Result<Vec<String>, String> {
        match self.take() {
            Token::Symbol("(") => {}
            token => return Err(format!("found '{}' expected: '('", token.text())),
        }
        let mut values = Vec::new();
        loop {
            match self.peek() {
                Token::Word(value) => {
                    self.take();
                    values.push(value.to_owned());
                }
                Token::Symbol("," | ")") => values.push(String::new()),
                token => return Err(format!("found '{}', expected: ',', or identifier", token.text())),
            }
            match self.take() {
                Token::Symbol(",") => {}
                Token::Symbol(")") => return Ok(values),
                token => return Err(format!("found '{}', expected: ',' or ')'", token.text())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn chosen(selector: &str, pairs: &[(&str, &str)]) -> bool {
        LabelSelector::parse(selector).expect(selector).matches(&labels(pairs))
    }

    fn refusal(selector: &str) -> String {
        LabelSelector::parse(selector).expect_err(selector).message
    }

    #[test]
    fn every_operator_selects_as_upstream_does() {
        let web = [("app", "web"), ("size", "5"), ("own", "")];
        for selector in [
            "app=web",
            "app == web",
            "app!=db",
            "none!=db",
            "app in (db, web)",
            "app notin (db)",
            "none notin (db)",
            "app",
            "!none",
            "size>4",
            "size<6",
            "own=",
            "own in ()",
            "own in (,x)",
            "app,size",
            "",
            " app\t=\nweb ",
        ] {
            assert!(chosen(selector, &web), "{selector}");
        }
        for selector in [
            "app=db",
            "app!=web",
            "none=",
            "none>1",
            "app>1",
            "app,none",
            "!app",
            "own in (x)",
            "own notin (,)",
        ] {
            assert!(!chosen(selector, &web), "{selector}");
        }
    }

    #[test]
    fn words_of_operators_are_keys_and_values_elsewhere() {
        assert!(chosen("in in (in,notin)", &[("in", "notin")]));
        assert!(chosen("notin=in", &[("notin", "in")]));
    }

    #[test]
    fn refusals_have_the_words_of_upstream() {
        assert_eq!(
            refusal("a b"),
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"
        );
        assert_eq!(refusal("a in (b"), "unable to parse requirement: found '', expected: ',' or ')'");
        assert_eq!(refusal("a in b"), "unable to parse requirement: found 'b' expected: '('");
        assert_eq!(refusal("!!a"), "unable to parse requirement: found '!', expected: identifier");
        assert_eq!(refusal("=b"), "found '=', expected: !, identifier, or 'end of string'");
        assert_eq!(refusal("a=b=c"), "found '=', expected: ',' or 'end of string'");
        assert_eq!(refusal("a,"), "found '', expected: identifier after ','");
        assert!(refusal("a>b").contains("values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators"));
        assert!(refusal("a=-").contains("values[0][a]: Invalid value: \"-\": a valid label must"));
        assert!(
            refusal("/a=b")
                .starts_with("unable to parse requirement: <nil>: Invalid value: \"/a\": prefix part")
        );
    }

    #[test]
    fn selector_of_a_spec_matches_labels_and_expressions() {
        let selector = LabelSelector::of_spec(&json!({
            "matchLabels": { "app": "web" },
            "matchExpressions": [
                { "key": "tier", "operator": "In", "values": ["front", "back"] },
                { "key": "old", "operator": "DoesNotExist" }
            ]
        }))
        .expect("the selector must be valid");
        assert!(selector.matches(&labels(&[("app", "web"), ("tier", "back")])));
        assert!(!selector.matches(&labels(&[("app", "web"), ("tier", "back"), ("old", "")])));
        assert!(!selector.matches(&labels(&[("app", "web")])));
        let everything = LabelSelector::of_spec(&json!({})).expect("an empty selector must be valid");
        assert!(everything.is_everything() && everything.matches(&labels(&[])));
        let nothing = LabelSelector::of_spec(&Value::Null).expect("no selector must be valid");
        assert!(!nothing.matches(&labels(&[])));
        assert!(
            LabelSelector::of_spec(&json!({ "matchExpressions": [{ "key": "a", "operator": "Near" }] }))
                .is_err()
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z0-9=!(),<>/ .in\u{e9}\u{0}-]{0,40}") {
            if let Ok(selector) = LabelSelector::parse(&text) {
                selector.matches(&labels(&[("a", "1")]));
            }
        }

        #[test]
        fn equality_and_sets_agree(key in "[a-z]{1,5}", value in "[a-z0-9]{0,5}", actual in "[a-z0-9]{0,5}") {
            let pairs = [(key.as_str(), actual.as_str())];
            let equal = chosen(&format!("{key}={value}"), &pairs);
            prop_assert_eq!(equal, value == actual);
            prop_assert_eq!(equal, chosen(&format!("{key} in ({value})"), &pairs));
            prop_assert_eq!(equal, !chosen(&format!("{key}!={value}"), &pairs));
        }
    }
}
