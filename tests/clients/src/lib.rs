//! Clients that are not ours, on any server that wants to be taken for Kubernetes.
//!
//! [`kubectl`] does what people do and reads what they see: standard output, standard error, exit code.
//! [`python`] runs a program that uses Python's `kubernetes` package. What the server answers on the wire is
//! the business of `tests/conformance`; here only the view through somebody else's client counts.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a broken assumption should end the test")]

pub mod kubectl;
pub mod python;
