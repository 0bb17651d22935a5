//! One step of a path into an object, in the form FieldsV1 gives it.
//!
//! `f:name` is a field, `k:{"name":"web"}` an item of a list by its keys, `v:"x"` an item of a set,
//! `i:0` an item by its place. The text is canonical (keys in order, numbers in one form), so that equal
//! steps are equal texts and a set of fields can be written as it is.

use std::{borrow::Cow, fmt::Write};

use serde_json::Value;

/// A step, ordered by its text.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Element(Box<str>);

impl Element {
    /// A field of an object.
    pub fn field(name: &str) -> Self {
        let mut text = String::with_capacity(name.len() + 2);
        text.push_str("f:");
        text.push_str(name);
        Self(text.into())
    }

    /// An item of a list, told by some of its fields, which must come in the order of their names.
    pub fn key<'v>(fields: impl Iterator<Item = (&'v str, Cow<'v, Value>)>) -> Self {
        let mut text = String::from("k:{");
        for (index, (name, value)) in fields.enumerate() {
            if index > 0 {
                text.push(',');
            }
            push_json(&mut text, &Value::from(name));
            text.push(':');
            push_json(&mut text, &value);
        }
        text.push('}');
        Self(text.into())
    }

    /// An item of a set.
    pub fn value(value: &Value) -> Self {
        let mut text = String::from("v:");
        push_json(&mut text, value);
        Self(text.into())
    }

    /// Reads a step. `Ok(None)` is a kind of step that a later version may have invented.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let Some((kind, rest)) = text.split_once(':').filter(|(kind, _)| kind.len() == 1) else {
            return Err(format!("missing colon: {text}"));
        };
        let json = || {
            serde_json::from_str::<Value>(rest)
                .map_err(|error| format!("malformed path element {text}: {error}"))
        };
        match kind {
            "f" => Ok(Some(Self(text.into()))),
            "v" => Ok(Some(Self::value(&json()?))),
            "k" => match json()? {
                // The map is sorted by name.
                Value::Object(fields) => Ok(Some(Self::key(
                    fields.iter().map(|(name, value)| (name.as_str(), Cow::Borrowed(value))),
                ))),
                _ => Err(format!("malformed path element {text}: expected an object")),
            },
            "i" => match rest.parse::<i64>() {
                Ok(index) => Ok(Some(Self(format!("i:{index}").into()))),
                Err(error) => Err(format!("malformed path element {text}: {error}")),
            },
            _ => Ok(None),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name, if the step is a field.
    pub fn field_name(&self) -> Option<&str> {
        self.0.strip_prefix("f:")
    }

    /// Whether the step is an item of a list by its keys.
    pub fn is_key(&self) -> bool {
        self.0.starts_with("k:")
    }

    /// The step as messages show it: `.name`, `[name="web"]`, `[="x"]`, `[0]`.
    pub fn shown(&self) -> String {
        let (kind, rest) = self.0.split_at(2);
        match kind {
            "f:" => format!(".{rest}"),
            "k:" => {
                let fields = serde_json::from_str::<Value>(rest).unwrap_or_default();
                let fields = fields.as_object().into_iter().flatten();
                let shown: Vec<_> = fields.map(|(name, value)| format!("{name}={value}")).collect();
                format!("[{}]", shown.join(","))
            }
            "v:" => format!("[={}]", serde_json::from_str::<Value>(rest).unwrap_or_default()),
            _ => format!("[{rest}]"),
        }
    }
}

/// Writes a value in its canonical form: what browsers could take for markup is escaped, as Go's encoder
/// does, and a whole number has no fraction.
fn push_json(out: &mut String, value: &Value) {
    if let Some(float) = value.as_f64().filter(|_| value.is_f64())
        && float.fract() == 0.0
        && float.abs() < 9.0e15
    {
        #[expect(clippy::cast_possible_truncation, reason = "the bound above leaves whole numbers that fit")]
        let whole = float as i64;
        // Writing to a text cannot fail.
        let _ = write!(out, "{whole}");
        return;
    }
    let text = value.to_string();
    if !text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        out.push_str(&text);
        return;
    }
    for character in text.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            character => out.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Element;

    fn shown(text: &str) -> String {
        Element::parse(text).unwrap().unwrap().shown()
    }

    #[test]
    fn shows_steps_as_messages_do() {
        assert_eq!(shown("f:spec"), ".spec");
        assert_eq!(
            shown(r#"k:{"protocol":"TCP","containerPort":80}"#),
            r#"[containerPort=80,protocol="TCP"]"#
        );
        assert_eq!(shown(r#"v:"a/b""#), r#"[="a/b"]"#);
        assert_eq!(shown("i:3"), "[3]");
    }

    #[test]
    fn equal_steps_are_equal_texts() {
        let parse = |text: &str| Element::parse(text).unwrap().unwrap();
        assert_eq!(parse(r#"k:{"b":1.0,"a":2}"#), parse(r#"k:{ "a": 2, "b": 1 }"#));
        assert_eq!(parse(r#"v:"\u003c""#).as_str(), r#"v:"\u003c""#);
        assert_eq!(parse(r#"v:"<""#).as_str(), r#"v:"\u003c""#);
    }

    #[test]
    fn malformed_steps_are_refused_and_unknown_kinds_are_skipped() {
        for text in ["", "f", "spec", "ff:x", "k:[]", "k:{", "v:", "i:x"] {
            assert!(Element::parse(text).is_err(), "{text}");
        }
        assert_eq!(Element::parse("x:future"), Ok(None));
    }
}
