//! Where in a value a walk is, without an allocation until somebody asks.

use super::super::fault::Path;

/// A place, as a chain of steps back to the root.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    Root,
    /// A declared field.
    Field(&'a Place<'a>, &'a str),
    /// An entry of a map.
    Key(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    /// `spec.list[0].map.key`: as decoders and the schema's validator write it.
    pub fn dotted(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, false);
        text
    }

    /// `spec.list[0].map[key]`: as other validators write it.
    pub fn bracketed(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, true);
        text
    }

    /// The dotted form as a path of faults.
    pub fn path(&self) -> Path {
        Path::new(&self.dotted())
    }

    /// The fields alone, without list indices and map keys: `spec.list`.
    pub fn fields(&self) -> String {
        match self {
            Place::Root => String::new(),
            Place::Key(parent, _) | Place::Item(parent, _) => parent.fields(),
            Place::Field(parent, field) => {
                let mut text = parent.fields();
                push_field(&mut text, field);
                text
            }
        }
    }

    fn write(&self, text: &mut String, bracketed: bool) {
        match self {
            Place::Root => {}
            Place::Key(parent, key) if bracketed => {
                parent.write(text, bracketed);
                text.push('[');
                text.push_str(key);
                text.push(']');
            }
            Place::Field(parent, field) | Place::Key(parent, field) => {
                parent.write(text, bracketed);
                push_field(text, field);
            }
            Place::Item(parent, index) => {
                parent.write(text, bracketed);
                text.push_str(&format!("[{index}]"));
            }
        }
    }
}

fn push_field(text: &mut String, field: &str) {
    if !text.is_empty() {
        text.push('.');
    }
    text.push_str(field);
}
