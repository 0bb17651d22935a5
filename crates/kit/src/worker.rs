//! Running a controller: from a queue of objects to calls of its reconcile function.

use std::{any::Any, fmt, hash::Hash, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::FutureExt;
use tokio::task::JoinSet;

use crate::{queue::Queue, rng::Rng};

/// When to look at an object again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Next {
    /// When something changes.
    Settled,
    /// After this time, or when something changes.
    After(Duration),
}

/// Looks at each object that the queue names, so many at a time, for ever. What fails is tried again, later and
/// later; what panics is a failure too.
pub async fn work<K, E, F, Fut>(
    controller: &'static str,
    queue: Queue<K>,
    at_once: usize,
    rng: Rng,
    reconcile: F,
) where
    K: Clone + Eq + Hash + Ord + fmt::Display + Send + Sync + 'static,
    E: fmt::Display + Send + 'static,
    F: Fn(K) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Next, E>> + Send + 'static,
{
    let reconcile = Arc::new(reconcile);
    let mut running = JoinSet::new();
    loop {
        while running.len() >= at_once {
            running.join_next().await;
        }
        let key = tokio::select! {
            key = queue.next() => key,
            Some(_) = running.join_next() => continue,
        };
        let (queue, rng, reconcile) = (queue.clone(), rng.clone(), reconcile.clone());
        running.spawn(async move {
            // Nothing is shared that a panic could leave half done: caches change whole, the rest is the server's.
            let outcome = AssertUnwindSafe(reconcile(key.clone())).catch_unwind().await;
            match outcome {
                Ok(Ok(next)) => {
                    queue.succeeded(&key);
                    if let Next::After(after) = next {
                        queue.add_after(key.clone(), after);
                    }
                }
                Ok(Err(error)) => retry(controller, &queue, &rng, &key, &error),
                Err(panic) => retry(controller, &queue, &rng, &key, &words_of(panic.as_ref())),
            }
            queue.done(&key);
        });
    }
}

fn retry<K>(controller: &'static str, queue: &Queue<K>, rng: &Rng, key: &K, error: &dyn fmt::Display)
where
    K: Clone + Eq + Hash + Ord + fmt::Display,
{
    let wait = rng.jitter(queue.failed(key), 0.5);
    // The first tries mostly fail because somebody else wrote too.
    if wait < Duration::from_millis(100) {
        tracing::debug!(controller, object = %key, %error, "Reconciling failed, trying again");
    } else {
        tracing::warn!(controller, object = %key, %error, wait = ?wait, "Reconciling failed, trying again");
    }
    queue.add_after(key.clone(), wait);
}

fn words_of(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().copied().or(panic.downcast_ref::<String>().map(String::as_str));
    format!("it panicked: {}", words.unwrap_or("without a message"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failures_and_panics_are_tried_again() {
        let (queue, calls) = (Queue::default(), Arc::new(AtomicU32::new(0)));
        queue.add("a");
        let counted = calls.clone();
        let working = work("test", queue.clone(), 2, Rng::seeded(1), move |_| {
            let call = counted.fetch_add(1, Ordering::SeqCst);
            async move {
                match call {
                    0 => Err("no luck"),
                    1 => std::panic::panic_any("oh"),
                    2 => Ok(Next::After(Duration::from_secs(60))),
                    _ => Ok(Next::Settled),
                }
            }
        });
        let _ = tokio::time::timeout(Duration::from_secs(600), working).await;
        assert_eq!(calls.load(Ordering::SeqCst), 4);
        assert!(queue.is_idle());
    }
}
