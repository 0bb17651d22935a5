//! Just enough GraphQL: queries over a tree of values whose shape a schema tells.
//!
//! Syntax is apollo-parser's. Of the language, queries are executed with aliases, arguments, variables, fragments,
//! `@skip`, `@include`, `__typename` and introspection. Input is hostile: tokens, nesting, and the number of fields that
//! fragments may multiply to are bounded.

mod execute;
mod introspection;
mod schema;

pub use execute::{Answer, Request, execute};
pub use schema::Schema;
