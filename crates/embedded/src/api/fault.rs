//! What is wrong with an object: faults, each naming a field, all of them at once.

use std::{
    fmt::{self, Display, Write},
    io,
};

use serde_json::{Value, json};

/// The place of a field, written as Kubernetes does: `spec.containers[0].env[?]`, `metadata.labels[app]`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Path(String);

impl Path {
    /// The object itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// A path of one or more fields, for example `spec.replicas`.
    pub fn new(path: &str) -> Self {
        Self(path.to_owned())
    }

    /// A field below this one.
    pub fn child(&self, field: &str) -> Self {
        if self.0.is_empty() { Self(field.to_owned()) } else { Self(format!("{}.{field}", self.0)) }
    }

    /// An item of this list.
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// An entry of this map.
    pub fn key(&self, key: impl Display) -> Self {
        Self(format!("{}[{key}]", self.0))
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fault {
    /// Empty if the fault names no field.
    pub field: String,
    /// The machine's word for it, for example `FieldValueRequired`.
    pub reason: &'static str,
    /// The sentence without the field: `Required value: must be set`.
    pub message: String,
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.field, self.message)
        }
    }
}

/// How many faults are kept. A body of a few bytes per item can have a million of them, and nobody reads on.
const MAX_FAULTS: usize = 1000;

/// Bytes of all faults together. Fields below one with a long name each repeat it.
const MAX_BYTES: usize = 1 << 20;

/// Characters of a value that are shown: a message is for people.
const MAX_SHOWN: usize = 200;

/// Everything that is wrong, up to a bound.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Faults {
    all: Vec<Fault>,
    bytes: usize,
}

impl Faults {
    /// A field is missing.
    pub fn required(&mut self, path: &Path, detail: impl Display) {
        self.push(path, "FieldValueRequired", || with_detail("Required value".to_owned(), detail));
    }

    /// A value is malformed or out of bounds.
    pub fn invalid(&mut self, path: &Path, value: &Value, detail: impl Display) {
        self.push(path, "FieldValueInvalid", || {
            with_detail(format!("Invalid value: {}", shown(value)), detail)
        });
    }

    /// The same, for a text.
    pub fn invalid_text(&mut self, path: &Path, value: &str, detail: impl Display) {
        self.invalid(path, &json!(value), detail);
    }

    /// A value of the wrong type.
    pub fn wrong_type(&mut self, path: &Path, value: &Value, detail: impl Display) {
        self.push(path, "FieldValueTypeInvalid", || {
            with_detail(format!("Invalid value: {}", shown(value)), detail)
        });
    }

    /// A value that is none of those allowed.
    pub fn not_supported(&mut self, path: &Path, value: &Value, allowed: &[&str]) {
        let quoted: Vec<_> = allowed.iter().map(|value| format!("{value:?}")).collect();
        let detail = if quoted.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", quoted.join(", "))
        };
        self.push(path, "FieldValueNotSupported", || {
            with_detail(format!("Unsupported value: {}", shown(value)), detail)
        });
    }

    /// A value that may occur only once.
    pub fn duplicate(&mut self, path: &Path, value: &Value) {
        self.push(path, "FieldValueDuplicate", || format!("Duplicate value: {}", shown(value)));
    }

    /// A field that must not be set or changed.
    pub fn forbidden(&mut self, path: &Path, detail: impl Display) {
        self.push(path, "FieldValueForbidden", || with_detail("Forbidden".to_owned(), detail));
    }

    /// A text longer than allowed, in characters.
    pub fn too_long(&mut self, path: &Path, max: u64) {
        self.push(path, "FieldValueTooLong", || format!("Too long: may not be more than {max} bytes"));
    }

    /// A list or map with more entries than allowed.
    pub fn too_many(&mut self, path: &Path, actual: u64, max: u64) {
        self.push(path, "FieldValueTooMany", || format!("Too many: {actual}: must have at most {max} items"));
    }

    /// A reference to what does not exist.
    pub fn not_found(&mut self, path: &Path, value: &Value) {
        self.push(path, "FieldValueNotFound", || format!("Not found: {}", shown(value)));
    }

    /// Any fault.
    pub fn add(&mut self, fault: Fault) {
        if !self.is_full() {
            self.bytes += fault.field.len() + fault.message.len();
            self.all.push(fault);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.all.iter()
    }

    pub fn extend(&mut self, others: Faults) {
        others.all.into_iter().for_each(|fault| self.add(fault));
    }

    fn push(&mut self, path: &Path, reason: &'static str, message: impl FnOnce() -> String) {
        if !self.is_full() {
            self.add(Fault { field: path.to_string(), reason, message: message() });
        }
    }

    fn is_full(&self) -> bool {
        self.all.len() >= MAX_FAULTS || self.bytes > MAX_BYTES
    }
}

/// `a` alone, or `[a, b]`.
impl Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.all.as_slice() {
            [only] => only.fmt(f),
            all => {
                f.write_char('[')?;
                for (index, fault) in all.iter().enumerate() {
                    write!(f, "{}{fault}", if index == 0 { "" } else { ", " })?;
                }
                f.write_char(']')
            }
        }
    }
}

fn with_detail(message: String, detail: impl Display) -> String {
    let detail = detail.to_string();
    if detail.is_empty() { message } else { format!("{message}: {detail}") }
}

/// A value as a message shows it. Of a large one no more is written than is shown.
fn shown(value: &Value) -> String {
    let mut start = Start(Vec::new());
    // All that can go wrong is that there is no more room.
    let _ = serde_json::to_writer(&mut start, value);
    let text = String::from_utf8_lossy(&start.0);
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

/// The bytes that hold as many characters as are shown, and one more.
struct Start(Vec<u8>);

impl io::Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = 4 * (MAX_SHOWN + 1) - self.0.len();
        let taken = &bytes[..bytes.len().min(room)];
        self.0.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Faults, MAX_BYTES, Path, shown};

    #[test]
    fn large_values_are_cut() {
        assert_eq!(shown(&json!({ "a": ["ä"] })), r#"{"a":["ä"]}"#);
        for letter in ["a", "ä", "🦀"] {
            let long: Value = letter.repeat(1000).into();
            assert_eq!(shown(&long), format!("\"{}…", letter.repeat(199)));
            let fits: Value = letter.repeat(198).into();
            assert_eq!(shown(&fits), fits.to_string());
        }
    }

    #[test]
    fn long_names_cannot_fill_the_memory() {
        let (mut faults, long) = (Faults::default(), Path::new(&"x".repeat(MAX_BYTES / 10)));
        for index in 0..1000 {
            faults.required(&long.index(index), "");
        }
        assert_eq!(faults.len(), 10);
        let mut all = Faults::default();
        all.extend(faults.clone());
        all.extend(faults);
        assert_eq!(all.len(), 10);
    }
}
