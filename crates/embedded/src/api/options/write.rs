//! Options of create, update and patch.

use super::{Query, refuse};
use crate::api::{
    error::Result,
    fault::{Faults, Path},
};

/// What to do about fields that nobody knows, and those given twice.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum FieldValidation {
    /// Drop them.
    Ignore,
    /// Drop them and say so.
    #[default]
    Warn,
    /// Refuse the object.
    Strict,
}

/// The kind of write that options are for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Write {
    Create,
    Update,
    Patch,
    /// A patch that is a server-side apply.
    Apply,
}

/// What a write asks for.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    pub dry_run: bool,
    /// Empty if the request does not name one: then the user agent tells who it is.
    pub field_manager: String,
    pub field_validation: FieldValidation,
    /// Take fields from other managers; for applies only.
    pub force: bool,
}

impl WriteOptions {
    pub fn parse(query: &Query, write: Write) -> Result<Self> {
        let mut faults = Faults::default();
        let manager = query.text("fieldManager");
        match write {
            Write::Apply if manager.is_empty() => {
                faults.required(&Path::new("fieldManager"), "is required for apply patch");
            }
            Write::Patch if query.switch("force").is_some() => {
                faults.forbidden(&Path::new("force"), "may not be specified for non-apply patch");
            }
            _ => {}
        }
        field_manager(manager, &mut faults);
        let dry_run = dry_run(&query.all("dryRun").collect::<Vec<_>>(), &mut faults);
        let field_validation = field_validation(query.text("fieldValidation"), &mut faults);
        let kind = match write {
            Write::Create => "CreateOptions",
            Write::Update => "UpdateOptions",
            Write::Patch | Write::Apply => "PatchOptions",
        };
        refuse(kind, &faults)?;
        let force = write == Write::Apply && query.flag("force");
        Ok(Self { dry_run, field_manager: manager.to_owned(), field_validation, force })
    }

    /// The manager to record: the one named, or the name of the program that asks.
    pub fn manager(&self, user_agent: &str) -> String {
        const MAX: usize = 128;
        if !self.field_manager.is_empty() {
            return self.field_manager.clone();
        }
        let program = user_agent.split('/').next().unwrap_or_default();
        let printable: String = program.chars().filter(|character| is_printable(*character)).collect();
        match printable.char_indices().find(|(at, character)| at + character.len_utf8() > MAX) {
            Some((end, _)) => printable[..end].to_owned(),
            None => printable,
        }
    }
}

/// Whether the request is to change nothing.
pub(super) fn dry_run(values: &[&str], faults: &mut Faults) -> bool {
    if values.iter().any(|value| *value != "All") {
        faults.not_supported(&Path::new("dryRun"), &values.into(), &["All"]);
    }
    !values.is_empty()
}

fn field_manager(manager: &str, faults: &mut Faults) {
    const MAX: usize = 128;
    let path = Path::new("fieldManager");
    if manager.len() > MAX {
        faults.too_long(&path, MAX as u64);
        return;
    }
    for (at, character) in manager.char_indices().filter(|(_, character)| !is_printable(*character)) {
        let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(character));
        faults.invalid_text(&path, manager, detail);
    }
}

/// Whether a character leaves ink or is a plain blank. What Rust would escape inside of a text does not.
fn is_printable(character: char) -> bool {
    matches!(character, '\'' | '"' | '\\') || format!("a{character}").escape_debug().count() == 2
}

fn field_validation(value: &str, faults: &mut Faults) -> FieldValidation {
    match value {
        "" | "Warn" => FieldValidation::Warn,
        "Ignore" => FieldValidation::Ignore,
        "Strict" => FieldValidation::Strict,
        other => {
            let path = Path::new("fieldValidation");
            faults.not_supported(&path, &other.into(), &["", "Ignore", "Strict", "Warn"]);
            FieldValidation::default()
        }
    }
}
