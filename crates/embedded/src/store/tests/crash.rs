//! What was acknowledged or seen survives a crash at any moment, and running out of space.

use std::collections::BTreeMap;

use anneal_kit::Rng;

use super::{
    sim::{Mark, Sim, Step, after_crash},
    *,
};

const TASKS: usize = 32;
const KEYS_OF_A_TASK: usize = 4;

fn key_of(index: usize) -> Key {
    Key::new("things", format!("ns-{}", index % 3), format!("thing-{index}"))
}

/// One of the writers: puts and deletes objects that are its own, each time in the state it knows of.
async fn write(store: Store, sim: Sim, task: usize, writes: usize, rng: Rng) {
    let mut known: BTreeMap<usize, u64> = BTreeMap::new();
    for n in 0..writes {
        let key = task * KEYS_OF_A_TASK + rng.below(KEYS_OF_A_TASK as u64) as usize;
        let number = (task * writes + n) as u64;
        let state = (!known.contains_key(&key) || rng.below(4) > 0).then_some(number);
        let change = state.map_or(Change::Delete(draft(number)), |number| Change::Put(draft(number)));
        let expect = known.get(&key).map_or(Expect::Absent, |revision| Expect::Revision(*revision));
        sim.mark(Mark::Asked { key, state });
        match store.commit(key_of(key), expect, change).await {
            Ok(record) => {
                sim.mark(Mark::Acknowledged { key, state, revision: record.revision() });
                match state {
                    Some(_) => known.insert(key, record.revision()),
                    None => known.remove(&key),
                };
            }
            Err(CommitError::Full(_)) => {
                let there = store.get(&key_of(key)).map(|record| record.revision());
                assert_eq!(there, known.get(&key).copied(), "a failed write is seen");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// A reader, until it has seen everything.
async fn read(store: Store, sim: Sim) {
    let mut watch = store.watch("things", None, 1).unwrap();
    loop {
        for event in watch.next(7).await.unwrap() {
            let key = event.key.name.strip_prefix("thing-").unwrap().parse().unwrap();
            let state = (event.kind != EventKind::Deleted).then(|| note(&event.record));
            sim.mark(Mark::Shown { key, state, revision: event.revision });
        }
    }
}

async fn run(writes: usize, scarce: bool) -> Vec<Step> {
    let sim = Sim::recording();
    let store = Store::open_on(Box::new(sim.clone()), Options::default()).unwrap();
    if scarce {
        sim.run_out_of_space();
    }
    let reader = tokio::spawn(read(store.clone(), sim.clone()));
    let rng = Rng::seeded(1);
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| tokio::spawn(write(store.clone(), sim.clone(), task, writes / TASKS, rng.clone())))
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    reader.abort();
    store.close().await;
    sim.journal()
}

/// What may be there for a key after a crash.
#[derive(Default)]
struct Expected {
    known: (u64, Option<u64>),
    /// Asked for, but not known to be there.
    possible: Vec<Option<u64>>,
}

fn expected(steps: &[Step]) -> BTreeMap<usize, Expected> {
    let mut keys: BTreeMap<usize, Expected> = BTreeMap::new();
    for step in steps {
        let Step::Mark(mark) = step else { continue };
        match *mark {
            Mark::Asked { key, state } => keys.entry(key).or_default().possible.push(state),
            Mark::Acknowledged { key, state, revision } => {
                let expected = keys.entry(key).or_default();
                expected.known = (revision, state);
                expected.possible.clear();
            }
            Mark::Shown { key, state, revision } => {
                let expected = keys.entry(key).or_default();
                expected.known = expected.known.max((revision, state));
            }
        }
    }
    keys
}

async fn check_every_crash(steps: &[Step], one_in: u64) {
    let rng = Rng::seeded(2);
    let syncs = steps.iter().enumerate().filter(|(_, step)| matches!(step, Step::Sync(_)));
    let ends = syncs.map(|(end, _)| end).chain([steps.len()]);
    let mut checked = 0;
    for end in ends.filter(|_| rng.below(one_in) == 0) {
        let disk = Sim::holding(after_crash(&steps[..end], &rng));
        let store = Store::open_on(Box::new(disk.clone()), Options::default()).unwrap();
        let keys = expected(&steps[..end]);
        let seen = keys.values().map(|expected| expected.known.0).max().unwrap_or(0);
        assert!(store.revision() >= seen, "at {} after {seen} was seen", store.revision());
        for (key, Expected { known, possible }) in keys {
            let found = store.get(&key_of(key)).map(|record| note(&record));
            assert!(
                found == known.1 || possible.contains(&found),
                "{found:?} is there after a crash at step {end}, not {known:?} or one of {possible:?}"
            );
        }
        let next = put(&store, pod("next"), Expect::Absent, 0).await.unwrap();
        assert!(next.revision() > seen);
        assert!(seen == 0 || store.watch("things", None, seen - 1).is_err());
        store.close().await;
        checked += 1;
    }
    assert!(checked > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_acknowledged_or_shown_is_lost_in_a_crash() {
    let steps = run(2000, false).await;
    check_every_crash(&steps, if soak() { 1 } else { 20 }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn running_out_of_space_loses_nothing_and_passes() {
    let steps = run(2000, true).await;
    let acknowledged = |step: &&Step| matches!(step, Step::Mark(Mark::Acknowledged { .. }));
    let asked = |step: &&Step| matches!(step, Step::Mark(Mark::Asked { .. }));
    let (acknowledged, asked) =
        (steps.iter().filter(acknowledged).count(), steps.iter().filter(asked).count());
    assert!(acknowledged > 0 && acknowledged < asked, "{acknowledged} of {asked} writes succeeded");
    check_every_crash(&steps, if soak() { 1 } else { 20 }).await;
}

#[tokio::test]
async fn a_failed_sync_ends_all_writes_but_no_reads() {
    let sim = Sim::default();
    let store = Store::open_on(Box::new(sim.clone()), Options::default()).unwrap();
    put(&store, pod("a"), Expect::Absent, 1).await.unwrap();
    sim.fail_syncs();
    for _ in 0..2 {
        let Err(CommitError::Closed(reason)) = put(&store, pod("b"), Expect::Absent, 2).await else {
            panic!()
        };
        assert!(reason.contains("store.redb"), "{reason}");
    }
    assert_eq!((store.revision(), store.get(&pod("b")).is_none()), (2, true));
}
