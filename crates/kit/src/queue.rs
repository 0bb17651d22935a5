//! Which objects are to be looked at: each once, however often it was mentioned, and never twice at a time.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap, HashSet, VecDeque},
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

/// A shared queue. Clones are the same one.
pub struct Queue<K>(Arc<Shared<K>>);

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self(Arc::new(Shared { state: Mutex::new(State::default()), changed: Notify::new() }))
    }
}

struct Shared<K> {
    state: Mutex<State<K>>,
    changed: Notify,
}

struct State<K> {
    ready: VecDeque<K>,
    /// What `ready` holds.
    waiting: HashSet<K>,
    busy: HashSet<K>,
    /// Mentioned while busy: to be looked at again.
    again: HashSet<K>,
    timers: BinaryHeap<Reverse<(Instant, K)>>,
    /// The timer that counts of each key; others in the heap were overtaken.
    due: HashMap<K, Instant>,
    failures: HashMap<K, u32>,
}

impl<K> Default for State<K> {
    fn default() -> Self {
        Self {
            ready: VecDeque::new(),
            waiting: HashSet::new(),
            busy: HashSet::new(),
            again: HashSet::new(),
            timers: BinaryHeap::new(),
            due: HashMap::new(),
            failures: HashMap::new(),
        }
    }
}

/// The first wait after a failure; each later one is twice as long.
const FIRST_BACKOFF: Duration = Duration::from_millis(10);
/// A person who mended what was wrong should not wait longer than this.
const LONGEST_BACKOFF: Duration = Duration::from_secs(120);

impl<K: Clone + Eq + Hash + Ord> State<K> {
    fn add(&mut self, key: K) {
        if self.busy.contains(&key) {
            self.again.insert(key);
        } else if self.waiting.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    /// Makes ready whose time has come, and tells when the next one's will.
    fn wake(&mut self, now: Instant) -> Option<Instant> {
        while let Some(Reverse((at, _))) = self.timers.peek() {
            if *at > now {
                return Some(*at);
            }
            if let Some(Reverse((at, key))) = self.timers.pop()
                && self.due.get(&key) == Some(&at)
            {
                self.due.remove(&key);
                self.add(key);
            }
        }
        None
    }
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    /// Mentions an object.
    pub fn add(&self, key: K) {
        self.state().add(key);
        self.0.changed.notify_one();
    }

    /// Mentions an object after a while. Of several such times the first counts.
    pub fn add_after(&self, key: K, after: Duration) {
        let at = Instant::now() + after;
        let mut state = self.state();
        if state.due.get(&key).is_some_and(|due| *due <= at) {
            return;
        }
        state.due.insert(key.clone(), at);
        state.timers.push(Reverse((at, key)));
        drop(state);
        self.0.changed.notify_one();
    }

    /// Waits for an object, which is busy until it is [`done`](Self::done). For one consumer.
    pub async fn next(&self) -> K {
        loop {
            let (key, wake) = {
                let mut state = self.state();
                let wake = state.wake(Instant::now());
                let key = state.ready.pop_front();
                if let Some(key) = &key {
                    state.waiting.remove(key);
                    state.busy.insert(key.clone());
                }
                (key, wake)
            };
            if let Some(key) = key {
                return key;
            }
            let changed = self.0.changed.notified();
            match wake {
                Some(at) => {
                    // Whichever comes first: the next round looks at both.
                    let _ = tokio::time::timeout_at(at, changed).await;
                }
                None => changed.await,
            }
        }
    }

    /// An object was dealt with, as well as could be.
    pub fn done(&self, key: &K) {
        let mut state = self.state();
        state.busy.remove(key);
        if state.again.remove(key) {
            state.add(key.clone());
            drop(state);
            self.0.changed.notify_one();
        }
    }

    /// How long to wait after one more failure.
    pub fn failed(&self, key: &K) -> Duration {
        let mut state = self.state();
        let failures = state.failures.entry(key.clone()).or_default();
        let wait = FIRST_BACKOFF.saturating_mul(1 << (*failures).min(20));
        *failures = failures.saturating_add(1);
        wait.min(LONGEST_BACKOFF)
    }

    /// Failures of the past count no more.
    pub fn succeeded(&self, key: &K) {
        self.state().failures.remove(key);
    }

    /// Whether nothing is to be done, and nothing is being done. What waits for its time does not count.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        state.ready.is_empty() && state.busy.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn what_is_mentioned_twice_comes_once() {
        let queue = Queue::default();
        queue.add("a");
        queue.add("a");
        queue.add("b");
        assert_eq!((queue.next().await, queue.next().await), ("a", "b"));
        assert!(tokio::time::timeout(SECOND, queue.next()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_busy_comes_again_when_it_is_done() {
        let queue = Queue::default();
        queue.add("a");
        queue.next().await;
        queue.add("a");
        assert!(tokio::time::timeout(SECOND, queue.next()).await.is_err(), "it is busy");
        queue.done(&"a");
        assert_eq!(queue.next().await, "a");
        queue.done(&"a");
        assert!(queue.is_idle());
    }

    #[tokio::test(start_paused = true)]
    async fn of_two_times_the_first_counts() {
        let (queue, began) = (Queue::default(), Instant::now());
        queue.add_after("a", 5 * SECOND);
        queue.add_after("a", 2 * SECOND);
        queue.add_after("a", 9 * SECOND);
        assert_eq!(queue.next().await, "a");
        assert_eq!(began.elapsed(), 2 * SECOND);
        queue.done(&"a");
        assert!(
            tokio::time::timeout(20 * SECOND, queue.next()).await.is_err(),
            "overtaken times are forgotten"
        );
    }

    #[test]
    fn waits_double_up_to_a_bound_and_begin_anew() {
        let queue = Queue::default();
        assert_eq!([queue.failed(&"a"), queue.failed(&"a")], [FIRST_BACKOFF, 2 * FIRST_BACKOFF]);
        assert_eq!((0..40).map(|_| queue.failed(&"a")).max(), Some(LONGEST_BACKOFF));
        queue.succeeded(&"a");
        assert_eq!(queue.failed(&"a"), FIRST_BACKOFF);
    }
}
