//! What a rule may spend while it runs, and how it can fail.
//!
//! The static bound on a rule supposes what the schema allows; this one counts what really happens. A unit is
//! about a step, or ten bytes that are looked at or made, so the bound is one on memory too.

use super::value::Val;

/// For one rule on one value.
pub const PER_RULE: u64 = 1_000_000;

/// For all rules of a schema on one object.
pub const PER_OBJECT: u64 = 10_000_000;

/// Why a rule came to no result.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The rule went wrong; it refuses the value.
    Error(String),
    /// The rule would have gone on for too long.
    Spent,
}

pub type Outcome<'v> = Result<Val<'v>, Failure>;

impl Failure {
    pub fn error(message: impl Into<String>) -> Self {
        Failure::Error(message.into())
    }

    pub fn no_such_overload() -> Self {
        Failure::error("no such overload")
    }
}

/// What is left to spend.
#[derive(Debug)]
pub struct Meter {
    left: u64,
}

impl Meter {
    pub fn new(units: u64) -> Self {
        Self { left: units }
    }

    pub fn left(&self) -> u64 {
        self.left
    }

    pub fn charge(&mut self, units: u64) -> Result<(), Failure> {
        match self.left.checked_sub(units) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.left = 0;
                Err(Failure::Spent)
            }
        }
    }

    /// For bytes that are looked at or made.
    pub fn charge_bytes(&mut self, bytes: usize) -> Result<(), Failure> {
        self.charge(bytes as u64 / 10 + 1)
    }
}
