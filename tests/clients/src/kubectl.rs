//! kubectl as people use it, in the version of the server and in one three minor versions older.
//!
//! A check is a function with a name that is a sentence. It has a [`Session`]: kubectl in a namespace of its
//! own. Checks wait by kubectl's own means (`wait`, `get --watch`, `rollout status`), never for a time.

mod access;
mod apply;
mod change;
mod custom;
mod describe;
mod discover;
mod errors;
mod read;
mod remove;
mod session;
mod watch;
mod workloads;

use anneal_harness::Needs;
use anyhow::Result;

pub use session::{Said, Session, Stream};

/// The kubectls: what reports call them, and their programs in the folder of `hack/kube/build`.
pub const VERSIONS: [(&str, &str); 2] = [("v1.36", "kubectl"), ("v1.33", "kubectl-1.33")];

/// A check.
#[derive(Clone, Copy)]
pub struct Check {
    /// The area and the sentence it proves.
    pub name: &'static str,
    /// What it needs of the server.
    pub needs: Needs,
    /// What it does.
    pub run: fn(&Session) -> Result<()>,
}

/// The checks of one file, named after its module, by what they need.
macro_rules! checks {
    ($area:literal: $($needs:ident => [$($check:ident),+ $(,)?]),+ $(,)?) => {
        &[$($(crate::kubectl::Check {
            name: concat!($area, "::", stringify!($check)),
            needs: anneal_harness::Needs::$needs,
            run: $check,
        }),+),+]
    };
}
pub(crate) use checks;

/// All checks.
pub fn checks_of_all_areas() -> impl Iterator<Item = Check> {
    let areas: [&[Check]; 11] = [
        read::CHECKS,
        describe::CHECKS,
        apply::CHECKS,
        change::CHECKS,
        remove::CHECKS,
        watch::CHECKS,
        discover::CHECKS,
        access::CHECKS,
        errors::CHECKS,
        custom::CHECKS,
        workloads::CHECKS,
    ];
    areas.into_iter().flatten().copied()
}
