//! What the store promises, tried through its public interface.

mod crash;
mod damage;
mod model;
mod open;
mod sim;

use std::{sync::Arc, time::Duration};

use anneal_kit::Clock;
use jiff::Timestamp;
use serde_json::json;

use super::*;

fn pod(name: &str) -> Key {
    Key::new("pods", "default", name)
}

/// An object that can be told from others by a number.
fn draft(note: u64) -> Draft {
    Draft::encode(&json!({"metadata": {"name": "x", "labels": {"note": note.to_string()}}, "note": note}))
}

fn note(record: &Record) -> u64 {
    record.value()["note"].as_u64().unwrap()
}

/// Whether to take the time for every case rather than for a part of them.
fn soak() -> bool {
    std::env::var_os("ANNEAL_SOAK").is_some()
}

async fn put(store: &Store, key: Key, expect: Expect, note: u64) -> Result<Arc<Record>, CommitError> {
    store.commit(key, expect, Change::Put(draft(note))).await
}

#[tokio::test]
async fn a_commit_is_seen_by_get_list_and_watch() {
    let store = Store::ephemeral(Options::default());
    assert_eq!(store.revision(), 1);
    let mut watch = store.watch("pods", Some("default"), 1).unwrap();
    let first = put(&store, pod("a"), Expect::Absent, 1).await.unwrap();
    assert_eq!((first.revision(), store.revision(), store.last_change("pods")), (2, 2, 2));
    assert!(matches!(put(&store, pod("a"), Expect::Absent, 2).await, Err(CommitError::Exists(_))));
    assert!(matches!(put(&store, pod("a"), Expect::Revision(1), 2).await, Err(CommitError::Stale(_))));
    assert!(matches!(put(&store, pod("b"), Expect::Revision(1), 2).await, Err(CommitError::Missing)));
    put(&store, Key::new("pods", "other", "a"), Expect::Absent, 2).await.unwrap();
    let gone = store.commit(pod("a"), Expect::Revision(2), Change::Delete(draft(3))).await.unwrap();
    assert_eq!(gone.revision(), 4);

    let events = watch.next(10).await.unwrap();
    let told: Vec<_> = events.iter().map(|event| (event.revision, event.kind)).collect();
    assert_eq!(told, [(2, EventKind::Added), (4, EventKind::Deleted)]);
    assert_eq!(events[1].record.value()["note"], 3);
    assert_eq!(events[1].previous.as_ref().unwrap().revision(), 2);
    assert_eq!(watch.revision(), 4);
    put(&store, Key::new("nodes", "", "n"), Expect::Absent, 4).await.unwrap();
    assert_eq!(watch.revision(), 5, "a quiet watch is as recent as the store");

    assert!(store.get(&pod("a")).is_none());
    let then = store.list(&Range::namespace("pods", "default"), Some(2)).unwrap();
    assert_eq!((then.revision, then.records.len(), then.remaining), (2, 1, 0));
    assert_eq!(then.records[0].1.json(), first.json());
    let page = Range { limit: 1, ..Range::all("pods") };
    let then = store.list(&page, Some(3)).unwrap();
    assert_eq!((then.records.len(), then.remaining), (1, 1));
    let rest = store.list(&Range { after: Some(("default", "a")), ..page }, Some(3)).unwrap();
    assert_eq!((&*rest.records[0].0.namespace, rest.remaining), ("other", 0));
}

#[tokio::test]
async fn nobody_watches_from_before_a_kind_was_there() {
    let store = Store::ephemeral(Options::default());
    put(&store, pod("a"), Expect::Absent, 1).await.unwrap();
    assert!(store.watch("things.example.com", None, 1).is_ok());
    store.begin("others.example.com");
    assert!(store.watch("others.example.com", None, 1).is_err());
    assert!(store.watch("others.example.com", None, 2).is_ok());
}

#[tokio::test]
async fn a_watch_that_nobody_reads_costs_nothing_and_ends() {
    let mut options = Options::default();
    options.limits.history_bytes = 64 << 10;
    let store = Store::ephemeral(options);
    let mut idle = store.watch("pods", None, 1).unwrap();
    let mut quiet = store.watch("nodes", None, 1).unwrap();
    let mut revision = put(&store, pod("a"), Expect::Absent, 0).await.unwrap().revision();
    for n in 1..2000 {
        revision = put(&store, pod("a"), Expect::Revision(revision), n).await.unwrap().revision();
    }
    let (bytes, events) = store.0.read().history();
    assert!(bytes <= 64 << 10 && events < 200, "{events} events of {bytes} bytes are kept");
    assert!(idle.next(10).await.is_err());
    assert_eq!(quiet.revision(), revision, "nothing of it was forgotten");
    put(&store, Key::new("nodes", "", "n"), Expect::Absent, 0).await.unwrap();
    assert_eq!(quiet.next(10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_busy_collection_leaves_the_history_of_others() {
    let mut options = Options::default();
    options.limits.history_events = 10;
    let store = Store::ephemeral(options);
    put(&store, Key::new("nodes", "", "n"), Expect::Absent, 0).await.unwrap();
    for n in 0..100 {
        put(&store, pod(&n.to_string()), Expect::Absent, n).await.unwrap();
    }
    assert!(store.watch("pods", None, 91).is_err());
    assert!(store.watch("pods", None, 92).is_ok());
    assert_eq!(store.watch("nodes", None, 1).unwrap().ready(9).unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn old_changes_and_empty_collections_are_forgotten() {
    let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
    let store = Store::ephemeral(Options { clock: clock.clone(), ..Options::default() });
    put(&store, pod("a"), Expect::Absent, 0).await.unwrap();
    store.commit(pod("a"), Expect::Revision(2), Change::Delete(draft(1))).await.unwrap();
    clock.sleep(Duration::from_secs(601)).await;
    put(&store, Key::new("nodes", "", "n"), Expect::Absent, 0).await.unwrap();
    assert!(store.0.read().collection("pods").is_none());
    assert_eq!(store.watch("pods", None, 2).err().unwrap().oldest, 3);
    assert!(store.list(&Range::all("pods"), Some(2)).is_err());
    assert!(store.watch("pods", None, 3).is_ok());
    assert_eq!(store.last_change("pods"), 3);
}

#[tokio::test(start_paused = true)]
async fn what_expires_is_deleted_when_it_is_due() {
    let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
    let store = Store::ephemeral(Options { clock: clock.clone(), ..Options::default() });
    let hour = Duration::from_secs(3600);
    for n in 0..1200 {
        let change = Change::Put(draft(n).expires_after(hour));
        store.commit(pod(&n.to_string()), Expect::Absent, change).await.unwrap();
    }
    let kept = put(&store, pod("7"), Expect::Revision(9), 7).await.unwrap();
    let mut watch = store.watch("pods", None, store.revision()).unwrap();
    clock.sleep(hour - Duration::from_secs(1)).await;
    assert!(watch.ready(1).unwrap().is_empty());
    clock.sleep(Duration::from_secs(10)).await;
    let gone = watch.ready(usize::MAX).unwrap();
    assert!(gone.iter().all(|event| event.kind == EventKind::Deleted));
    assert_eq!(gone.len(), 1199);
    let left = store.list(&Range::all("pods"), None).unwrap().records;
    assert_eq!(left.iter().map(|(_, record)| record.revision()).collect::<Vec<_>>(), [kept.revision()]);
}

#[tokio::test]
async fn too_much_is_refused() {
    let mut options = Options::default();
    options.limits.object_bytes = 1000;
    options.limits.live_bytes = 10_000;
    let store = Store::ephemeral(options);
    let large = |bytes: usize| Change::Put(Draft::encode(&json!({"data": "x".repeat(bytes)})));
    let refused = store.commit(pod("a"), Expect::Absent, large(1000)).await;
    assert!(matches!(refused, Err(CommitError::TooLarge { limit: 1000, .. })));
    let mut n = 0;
    while store.commit(pod(&n.to_string()), Expect::Absent, large(900)).await.is_ok() {
        n += 1;
    }
    assert_eq!(n, 10);
    let refused = store.commit(pod("b"), Expect::Absent, large(900)).await;
    assert!(matches!(refused, Err(CommitError::Full(_))));
    store.commit(pod("0"), Expect::Revision(2), large(900)).await.unwrap();
    store.commit(pod("1"), Expect::Revision(3), Change::Delete(draft(0))).await.unwrap();
    store.commit(pod("b"), Expect::Absent, large(900)).await.unwrap();
}
