//! What all controllers share, and what is dear to change later: time and chance are passed in.
#![warn(missing_docs)]

mod clock;
mod rng;

pub use clock::Clock;
pub use rng::Rng;
