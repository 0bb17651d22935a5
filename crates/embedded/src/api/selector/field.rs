//! Field selectors.

#[cfg(fuzzing)]
mod shown;

use crate::api::error::{ApiError, Result};

/// Conditions on fields, all of which must hold.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FieldSelector(Vec<Term>);

#[derive(Clone, Debug, Eq, PartialEq)]
struct Term {
    field: String,
    value: String,
    /// Whether the field must have the value, or must not.
    equal: bool,
}

impl FieldSelector {
    /// Selects every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Selects the object of a name.
    pub fn of_name(name: &str) -> Self {
        Self(vec![Term { field: "metadata.name".to_owned(), value: name.to_owned(), equal: true }])
    }

    /// Reads `metadata.name=x,status.phase!=Running`; in values `\` stands before `,`, `=` and itself.
    pub fn parse(text: &str) -> Result<Self> {
        let terms = split(text).into_iter().filter(|term| !term.is_empty());
        let terms: Result<Vec<_>, String> = terms.map(|term| Term::parse(term, text)).collect();
        terms.map(Self).map_err(ApiError::bad_request)
    }

    /// Refuses fields that a kind does not know. `own` are those it knows beside name and namespace; a kind
    /// without any has other words for it.
    pub fn check(&self, own: &[&str]) -> Result<()> {
        let known =
            |field: &str| matches!(field, "metadata.name" | "metadata.namespace") || own.contains(&field);
        match self.0.iter().find(|term| !known(&term.field)) {
            None => Ok(()),
            Some(Term { field, .. }) if own.is_empty() => Err(ApiError::bad_request(format!(
                "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            ))),
            Some(Term { field, .. }) => {
                Err(ApiError::bad_request(format!("field label not supported: {field}")))
            }
        }
    }

    /// Whether it selects every object.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object has the fields; one it does not have is as good as empty.
    pub fn matches<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|term| (value(&term.field).unwrap_or_default() == term.value) == term.equal)
    }

    /// The value that a field must have, if the selector demands a particular one.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.0.iter().find(|term| term.equal && term.field == field).map(|term| term.value.as_str())
    }
}

impl Term {
    fn parse(term: &str, whole: &str) -> Result<Self, String> {
        let Some(at) = term.find('=') else {
            return Err(format!("invalid selector: '{whole}'; can't understand '{term}'"));
        };
        let (field, equal) = match term[..at].strip_suffix('!') {
            Some(field) => (field, false),
            None => (&term[..at], true),
        };
        let value = &term[at + 1..];
        let value = if equal { value.strip_prefix('=').unwrap_or(value) } else { value };
        Ok(Self { field: field.to_owned(), value: unescape(value)?, equal })
    }
}

/// The terms between commas that no `\` stands before, which stays.
fn split(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn unescape(text: &str) -> Result<String, String> {
    let mut value = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(next @ ('\\' | ',' | '=')) => value.push(next),
                next => {
                    let sequence: String = Some('\\').into_iter().chain(next).collect();
                    return Err(format!("invalid field selector: invalid escape sequence: {sequence}"));
                }
            },
            ',' | '=' => {
                return Err(format!(
                    "invalid field selector: unescaped character in value: {}",
                    character as u32
                ));
            }
            other => value.push(other),
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chosen(selector: &str) -> bool {
        let fields = |field: &str| match field {
            "metadata.name" => Some("web"),
            "status.phase" => Some("Running"),
            "odd" => Some("a,b=c\\"),
            _ => None,
        };
        FieldSelector::parse(selector).expect(selector).matches(fields)
    }

    #[test]
    fn fields_select_by_equality() {
        for selector in [
            "metadata.name=web",
            "metadata.name==web,status.phase!=Failed",
            "spec.nodeName=",
            "odd=a\\,b\\=c\\\\",
            "",
            ",,",
        ] {
            assert!(chosen(selector), "{selector}");
        }
        for selector in [
            "metadata.name=db",
            "metadata.name!=web",
            "metadata.name=web,metadata.name=db",
            "spec.nodeName!=",
        ] {
            assert!(!chosen(selector), "{selector}");
        }
    }

    #[test]
    fn refusals_have_the_words_of_upstream() {
        let refusal = |selector| FieldSelector::parse(selector).expect_err(selector).message;
        assert_eq!(refusal("a"), "invalid selector: 'a'; can't understand 'a'");
        assert_eq!(refusal("a=b\\c"), "invalid field selector: invalid escape sequence: \\c");
        assert_eq!(refusal("a=b\\"), "invalid field selector: invalid escape sequence: \\");
        assert_eq!(refusal("a=b=c"), "invalid field selector: unescaped character in value: 61");
        let unknown = FieldSelector::parse("spec.x=1").expect("the selector must be valid");
        let message = unknown.check(&["status.phase"]).expect_err("the field is unknown").message;
        assert_eq!(message, "field label not supported: spec.x");
        let message = unknown.check(&[]).expect_err("the field is unknown").message;
        assert!(message.starts_with("\"spec.x\" is not a known field selector: only"), "{message}");
    }

    #[test]
    fn particular_name_is_found() {
        let selector = FieldSelector::parse("metadata.name=web,a!=b").expect("the selector must be valid");
        assert_eq!((selector.exact("metadata.name"), selector.exact("a")), (Some("web"), None));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z=!,\\\\\u{e9}]{0,30}") {
            if let Ok(selector) = FieldSelector::parse(&text) {
                selector.matches(|_| None);
            }
        }

        #[test]
        fn any_value_can_be_asked_for(value in ".{0,20}") {
            let escaped = value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
            let selector = FieldSelector::parse(&format!("a={escaped}")).expect("the selector must be valid");
            prop_assert_eq!(selector.exact("a"), Some(value.as_str()));
        }
    }
}
