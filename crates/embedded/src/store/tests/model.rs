//! Lists of the past and watches from anywhere are what a store without bounds would show.

use std::collections::BTreeMap;

use futures::FutureExt;
use proptest::prelude::*;

use super::*;

/// Some keys in two collections, with names that are prefixes of others.
fn key(index: usize) -> Key {
    let collection = ["pods", "nodes"][index % 2];
    Key::new(collection, ["a", "ab", "b"][index / 2 % 3], ["x", "xy", "y"][index / 6 % 3])
}

type State = BTreeMap<Key, u64>;

/// The state after each revision, the first being revision 1.
struct Model(Vec<State>);

impl Model {
    fn now(&self) -> &State {
        self.0.last().unwrap()
    }

    fn at(&self, revision: u64) -> &State {
        &self.0[revision as usize - 1]
    }

    fn put(&mut self, key: Key, note: Option<u64>) {
        let mut state = self.now().clone();
        match note {
            Some(note) => state.insert(key, note),
            None => state.remove(&key),
        };
        self.0.push(state);
    }

    /// Changes of a collection after a revision.
    fn events(&self, collection: &str, namespace: Option<&str>, after: u64) -> Vec<(u64, EventKind, Key)> {
        let mut events = Vec::new();
        for revision in after + 1..=self.0.len() as u64 {
            let (old, new) = (self.at(revision - 1), self.at(revision));
            let changed = old.keys().chain(new.keys()).find(|key| old.get(key) != new.get(key)).unwrap();
            let kind = match (old.get(changed), new.get(changed)) {
                (None, _) => EventKind::Added,
                (_, None) => EventKind::Deleted,
                _ => EventKind::Modified,
            };
            if &*changed.collection == collection && namespace.is_none_or(|ns| *changed.namespace == *ns) {
                events.push((revision, kind, changed.clone()));
            }
        }
        events
    }
}

fn run(operations: &[(usize, bool)], kept: usize) -> (Store, Model) {
    let mut options = Options::default();
    options.limits.history_events = kept;
    let store = Store::ephemeral(options);
    let mut model = Model(vec![State::new()]);
    for (number, (index, delete)) in operations.iter().enumerate() {
        let (key, number) = (key(*index), number as u64);
        let current = store.get(&key);
        assert_eq!(current.as_ref().map(|record| note(record)), model.now().get(&key).copied());
        let expect = current.as_ref().map_or(Expect::Absent, |record| Expect::Revision(record.revision()));
        let delete = *delete && current.is_some();
        let change = if delete { Change::Delete(draft(number)) } else { Change::Put(draft(number)) };
        store.commit(key.clone(), expect, change).now_or_never().unwrap().unwrap();
        model.put(key, (!delete).then_some(number));
    }
    (store, model)
}

fn check_list(store: &Store, model: &Model, range: Range, at: u64, kept: usize) {
    let recent = model.events(range.collection, None, at).len() <= kept;
    let Ok(page) = store.list(&range, Some(at)) else {
        assert!(!recent, "revision {at} is kept");
        return;
    };
    let mut expected: Vec<_> = model
        .at(at)
        .iter()
        .filter(|(key, _)| &*key.collection == range.collection)
        .filter(|(key, _)| range.namespace.is_none_or(|namespace| *key.namespace == *namespace))
        .filter(|(key, _)| range.after.is_none_or(|after| (&*key.namespace, &*key.name) > after))
        .map(|(key, note)| (key.clone(), *note))
        .collect();
    let limit = if range.limit == 0 { expected.len() } else { range.limit.min(expected.len()) };
    assert_eq!(page.remaining, expected.len() - limit);
    expected.truncate(limit);
    let found: Vec<_> = page.records.iter().map(|(key, record)| (key.clone(), note(record))).collect();
    assert_eq!((page.revision, found), (at, expected), "{range:?} at {at}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if soak() { 5000 } else { 100 }))]

    #[test]
    fn lists_show_the_past_as_it_was(
        operations in prop::collection::vec((0usize..18, any::<bool>()), 0..60),
        kept in 3usize..40,
        pods in any::<bool>(),
        namespace in prop::option::of(prop::sample::select(vec!["a", "ab", "b", "c"])),
        after in prop::option::of((prop::sample::select(vec!["", "a", "ab", "b"]), prop::sample::select(vec!["x", "xy"]))),
        limit in 0usize..4,
    ) {
        let (store, model) = run(&operations, kept);
        let range = Range { collection: if pods { "pods" } else { "nodes" }, namespace, after, limit };
        for at in 1..=store.revision() {
            check_list(&store, &model, range, at, kept);
        }
    }

    #[test]
    fn watches_show_every_change_once_and_in_order(
        operations in prop::collection::vec((0usize..18, any::<bool>()), 0..60),
        kept in 3usize..40,
        namespace in prop::option::of(prop::sample::select(vec!["a", "ab", "b"])),
        at_once in 1usize..5,
    ) {
        let (store, model) = run(&operations, kept);
        for after in 1..=store.revision() {
            let recent = model.events("pods", None, after).len() <= kept;
            let Ok(mut watch) = store.watch("pods", namespace, after) else {
                prop_assert!(!recent, "revision {} is kept", after);
                continue;
            };
            let mut told = Vec::new();
            loop {
                let events = watch.ready(at_once).unwrap();
                if events.is_empty() {
                    break;
                }
                prop_assert!(watch.revision() >= events.last().unwrap().revision);
                for event in events {
                    let before = event.previous.as_ref().map(|record| note(record));
                    prop_assert_eq!(before, model.at(event.revision - 1).get(&event.key).copied());
                    told.push((event.revision, event.kind, event.key.clone()));
                }
            }
            prop_assert_eq!(told, model.events("pods", namespace, after));
            prop_assert_eq!(watch.revision(), store.revision());
        }
    }
}
