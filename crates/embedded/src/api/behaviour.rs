//! What a kind does beyond its schema. One implementation per built-in kind, in `builtin/`.
//!
//! Everything here is pure: values in, values out. What needs other objects (does the namespace exist, is
//! the address free) is the handlers' business.

use jiff::Timestamp;
use serde_json::Value;

use super::fault::Faults;

/// Which part of an object a write goes to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    /// The object itself: everything but the status, if that is a subresource.
    Main,
    /// `/status`.
    Status,
}

/// What names a kind's objects may have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Names {
    /// Dots and up to 253 characters: most kinds.
    Subdomain,
    /// No dots, up to 63 characters: namespaces.
    Label,
    /// A label that begins with a letter: services.
    Label1035,
    /// Anything that can stand in a path: roles and their bindings.
    PathSegment,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub name: &'static str,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: &'static str,
    /// `name` for the name, else empty.
    pub format: &'static str,
    pub description: &'static str,
    /// 0 is always shown, more only with `-o wide`.
    pub priority: i32,
}

/// A built-in kind's rules.
pub trait Behaviour: Send + Sync {
    fn names(&self) -> Names {
        Names::Subdomain
    }

    /// Fills in what a client left out. Called on every object before it is validated, also after a merge; must
    /// leave an object alone that has been through it.
    fn default(&self, _object: &mut Value) {}

    /// Sets and drops what a client may not choose at creation, such as the status. `metadata` is dealt with
    /// already.
    fn prepare_create(&self, object: &mut Value) {
        if self.has_status()
            && let Some(fields) = object.as_object_mut()
        {
            fields.remove("status");
        }
    }

    /// The last step before a new object is judged. `sent` is what it was before defaults, for kinds that must know
    /// what the client did not say.
    fn complete_create(&self, _object: &mut Value, _sent: &Value) {}

    /// Carries over from `old` what a write to this part may not change. The default keeps the status on a write
    /// to the object, and everything but the status on a write to the status.
    fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        if self.has_status() {
            super::object::keep_other_part(new, old, part);
        }
    }

    /// What is wrong with an object, whoever wrote it.
    fn validate(&self, _object: &Value, _faults: &mut Faults) {}

    /// What is wrong with an object that is new, beside what `validate` finds.
    fn validate_create(&self, _object: &Value, _faults: &mut Faults) {}

    /// What is wrong with a change. `validate` has been asked before for `Part::Main` only.
    fn validate_update(&self, _new: &Value, _old: &Value, _part: Part, _faults: &mut Faults) {}

    /// Warnings for the client that need no refusal.
    fn warnings(&self, _object: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }

    /// Whether the kind has a status that only `/status` writes.
    fn has_status(&self) -> bool {
        false
    }

    /// Whether the kind counts generations.
    fn has_generation(&self) -> bool {
        false
    }

    /// Whether a change of the object counts for its generation.
    fn counts(&self, new: &Value, old: &Value) -> bool {
        new.get("spec") != old.get("spec")
    }

    /// Whether a PUT without a version overwrites whatever is there.
    fn unconditional_update(&self) -> bool {
        true
    }

    /// Whether a PUT of what does not exist creates it.
    fn create_on_update(&self) -> bool {
        false
    }

    /// Fields that field selectors know beside `metadata.name` and `metadata.namespace`, with the object's
    /// values. Every field is there for every object, empty if unset.
    fn fields(&self, _object: &Value) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The columns of `kubectl get`.
    fn columns(&self) -> &'static [Column] {
        NAME_AND_AGE
    }

    /// One cell for each column.
    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        vec![super::object::name(object).into(), super::object::age(object, now).into()]
    }
}

pub const NAME: Column = Column {
    name: "Name",
    kind: "string",
    format: "name",
    description: "Name must be unique within a namespace.",
    priority: 0,
};

pub const AGE: Column =
    Column { name: "Age", kind: "string", format: "", description: "Time since creation.", priority: 0 };

const NAME_AND_AGE: &[Column] = &[NAME, AGE];

/// A text column that is always shown.
pub const fn column(name: &'static str, kind: &'static str, description: &'static str) -> Column {
    Column { name, kind, format: "", description, priority: 0 }
}

/// A column that `-o wide` shows.
pub const fn wide(name: &'static str, kind: &'static str, description: &'static str) -> Column {
    Column { name, kind, format: "", description, priority: 1 }
}
