//! Query parameters, decoded.

use crate::api::{
    error::{ApiError, Result},
    fault::{Faults, Path},
};

/// The parameters of a request in the order they came.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

/// How much of each object the rows of a table carry.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
}

impl Query {
    /// Reads `a=1&b=x%20y`. A pair that cannot be decoded is left out, as upstream does.
    pub fn parse(text: &str) -> Self {
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let whole = !pair.is_empty() && !pair.contains(';');
            whole.then(|| Some((decode(name)?, decode(value)?)))?
        };
        Self(text.split('&').filter_map(pair).collect())
    }

    /// The first value of a parameter.
    pub fn first(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of a parameter.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter, empty if it is not there.
    pub fn text(&self, name: &str) -> &str {
        self.first(name).unwrap_or_default()
    }

    /// A switch that may be left alone. Whatever is not `0` or `false` is on, even nothing after the name.
    pub fn switch(&self, name: &str) -> Option<bool> {
        self.first(name).map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// A switch that is off unless it is there.
    pub fn flag(&self, name: &str) -> bool {
        self.switch(name).unwrap_or_default()
    }

    /// A whole number.
    pub fn number(&self, name: &str) -> Result<Option<i64>> {
        let Some(text) = self.first(name) else { return Ok(None) };
        let number = text.parse().map_err(|error: std::num::ParseIntError| {
            ApiError::bad_request(format!("strconv.ParseInt: parsing {text:?}: {}", go_words(&error)))
        })?;
        Ok(Some(number))
    }

    /// A version of the store. None is the latest, 0 whichever is at hand.
    pub fn version(&self) -> Result<Option<u64>> {
        let text = self.text("resourceVersion");
        if text.is_empty() {
            return Ok(None);
        }
        // A sign is no part of a version, though Rust reads one.
        let digits = if text.starts_with('+') { "+" } else { text };
        let version = digits.parse().map_err(|error: std::num::ParseIntError| {
            let mut faults = Faults::default();
            let detail = format!("strconv.ParseUint: parsing {text:?}: {}", go_words(&error));
            faults.invalid_text(&Path::new("resourceVersion"), text, detail);
            ApiError::bad_request(format!("invalid resource version: {faults}"))
        })?;
        Ok(Some(version))
    }

    /// Whether the answer is for a person's eyes: so they ask, or their program is one that people use.
    pub fn pretty(&self, user_agent: &str) -> bool {
        match self.text("pretty") {
            "" => ["curl", "Wget", "Mozilla/5.0"].iter().any(|program| user_agent.starts_with(program)),
            value => matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True"),
        }
    }

    /// How much of each object the rows of a table shall carry.
    pub fn include_object(&self) -> Result<IncludeObject> {
        match self.text("includeObject") {
            "" | "Metadata" => Ok(IncludeObject::Metadata),
            "None" => Ok(IncludeObject::None),
            "Object" => Ok(IncludeObject::Object),
            other => {
                let mut faults = Faults::default();
                let detail = "must be 'Metadata', 'Object', 'None', or empty";
                faults.invalid_text(&Path::new("includeObject"), other, detail);
                Err(ApiError::bad_request(format!("Unable to convert to Table as requested: {faults}")))
            }
        }
    }
}

fn go_words(error: &std::num::ParseIntError) -> &'static str {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    match error.kind() {
        PosOverflow | NegOverflow => "value out of range",
        _ => "invalid syntax",
    }
}

/// Undoes percent-encoding; `+` is a blank. `None` if it is malformed.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                u8::try_from(high * 16 + low).ok()?
            }
            other => other,
        });
    }
    Some(
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    )
}
