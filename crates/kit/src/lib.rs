//! What all controllers share, and what is dear to change later: time and chance are passed in; a kind is watched
//! once and cached as small records; an object is looked at by one worker at a time, and again when that failed.
#![warn(missing_docs)]

mod cache;
mod clock;
mod events;
mod objects;
mod queue;
mod record;
mod rng;
mod watches;
mod worker;

pub use cache::{Cache, Change, Key, Record};
pub use clock::Clock;
pub use events::{Event, Recorder, Severity, reference};
pub use objects::{CallError, Objects};
pub use queue::Queue;
pub use record::light;
pub use rng::Rng;
pub use watches::Watches;
pub use worker::{Next, work};

// For `record!`.
#[doc(hidden)]
pub use {k8s_openapi, kube};
