//! `anneal up` among clients that mean harm or know no better: it answers everybody else, and its memory has a bound.
//!
//! Each test has a server of its own, in another process, so that what is measured is the server's alone. The
//! figures are printed (`cargo test -p anneal --test hostile -- --nocapture`); of time, nothing is asserted.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code: a broken assumption should end the test")]

mod connections;
mod reading;
mod rules;
mod sending;
mod victim;
