//! Waiting for a condition, never for a time.

use std::{fmt, time::Duration};

use anyhow::{Result, bail};

/// How long anything may take before it counts as not happening. Generous: it only ever costs time
/// when a test fails.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Asks again and again until the answer is `Some`.
///
/// # Errors
/// When the question fails, or has not been answered within [`PATIENCE`]; the error says what was awaited.
pub async fn eventually<T, F>(what: impl fmt::Display, mut question: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(10);
    loop {
        if let Some(answer) = question().await? {
            return Ok(answer);
        }
        if tokio::time::Instant::now() > deadline {
            bail!("waited {} s in vain for: {what}", PATIENCE.as_secs());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(250));
    }
}
