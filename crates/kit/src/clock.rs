//! The one source of time.
//!
//! Waiting goes through tokio, because kube's runtime schedules by tokio's time. The wall time is the
//! machine's in a program, and follows tokio's in a test, so that a paused test sees one time only.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, Sleep};

/// Tells the time and waits. Clones tell the same time.
#[derive(Clone, Debug)]
pub struct Clock(Arc<Wall>);

#[derive(Debug)]
enum Wall {
    Machine,
    /// This moment, plus what has passed by tokio's time since.
    Virtual(Timestamp, Instant),
}

impl Clock {
    /// The machine's time. It may jump when somebody sets it; waiting does not.
    pub fn machine() -> Self {
        Self(Arc::new(Wall::Machine))
    }

    /// A time that begins at `now` and goes on with tokio's, which tests pause and advance.
    pub fn starting_at(now: Timestamp) -> Self {
        Self(Arc::new(Wall::Virtual(now, Instant::now())))
    }

    /// The wall time.
    pub fn now(&self) -> Timestamp {
        match *self.0 {
            #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's time")]
            Wall::Machine => Timestamp::now(),
            Wall::Virtual(start, since) => {
                let passed = SignedDuration::try_from(since.elapsed()).unwrap_or(SignedDuration::MAX);
                start.saturating_add(passed).unwrap_or(Timestamp::MAX)
            }
        }
    }

    /// A moment to measure from, by the time that waiting goes by.
    pub fn instant(&self) -> Instant {
        Instant::now()
    }

    /// Waits for a while.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        tokio::time::sleep(duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn virtual_time_follows_the_paused_clock() {
        let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
        clock.sleep(Duration::from_secs(3600)).await;
        assert_eq!(clock.now(), Timestamp::from_second(3600).unwrap());
        assert_eq!(clock.clone().now(), clock.now());
    }
}
