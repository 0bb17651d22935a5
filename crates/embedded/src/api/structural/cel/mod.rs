//! Rules in CEL beside the schema: `x-kubernetes-validations`.
//!
//! All of it is ours. The `cel` crate cannot be held to a budget: its parser takes the stack of a thread for some
//! dozen brackets, and its evaluator has neither types nor a limit on steps. Here a rule is read (`lex`, `parse`),
//! checked against the schema with an estimate of its cost (`check`, `kind`) when its definition is created, and
//! metered when it runs (`eval`, `meter`). A rule can reach nothing but the value it is given.

mod check;
mod compile;
mod escape;
mod eval;
mod functions;
mod kind;
mod lex;
mod macros;
mod meter;
mod node;
mod parse;
mod run;
mod value;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use self::node::Node;
use super::super::fault::{Faults, Path};
use crate::schema::Schema;

/// The rules of one version of a custom resource, by the schema they stand in.
#[derive(Debug, Default)]
pub struct Rules {
    by_schema: HashMap<usize, Vec<Compiled>>,
    /// Schemas that have a rule in them or below; others need no visit.
    on_the_way: HashSet<usize>,
    /// The schema of the whole object.
    root: Option<usize>,
}

/// A rule that may run.
#[derive(Debug)]
struct Compiled {
    rule: Node,
    message: Option<Node>,
    /// What to say without a message of its own.
    words: String,
    reason: Option<String>,
    /// Where a fault is, from the value: `color`, `map[key]`.
    field: Option<String>,
    uses_old_self: bool,
    optional_old_self: bool,
}

impl Rules {
    /// Compiles the rules of a schema; what is wrong with them is added to the faults.
    pub fn compile(schema: Schema<'_>, path: &Path, faults: &mut Faults) -> Self {
        compile::compile(schema, path, faults)
    }

    pub fn is_empty(&self) -> bool {
        self.by_schema.is_empty()
    }

    /// Judges a value, on update beside what it was.
    pub fn check(&self, schema: Schema<'_>, value: &Value, old: Option<&Value>, faults: &mut Faults) {
        run::check(self, schema, value, old, faults);
    }
}

#[cfg(test)]
mod tests;
