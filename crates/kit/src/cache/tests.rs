use std::sync::Mutex;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use super::*;

fn object(name: &str, version: u64, owner: Option<&str>) -> ConfigMap {
    let owners: Vec<_> = owner
        .map(|uid| json!({ "apiVersion": "v1", "kind": "Owner", "name": "o", "uid": uid }))
        .into_iter()
        .collect();
    serde_json::from_value(json!({ "metadata": {
        "namespace": "ns", "name": name, "uid": format!("uid-{name}"), "resourceVersion": version.to_string(),
        "ownerReferences": owners,
    } }))
    .expect("a ConfigMap")
}

/// A cache that has seen an empty list, and the versions that its changes told, 0 for an end.
fn cache() -> (Cache<ConfigMap>, Arc<Mutex<Vec<u64>>>) {
    let (cache, told) = (Cache::default(), Arc::new(Mutex::new(Vec::new())));
    let telling = told.clone();
    cache.on_change(move |change: &Change<ConfigMap>| {
        let version = change.new.as_ref().map_or(0, |new| version(new.as_ref()));
        telling.lock().expect("no panic").push(version);
    });
    list(&cache, []);
    (cache, told)
}

fn list(cache: &Cache<ConfigMap>, objects: impl IntoIterator<Item = ConfigMap>) {
    let mut listed = BTreeMap::new();
    cache.take_in(watcher::Event::Init, &mut listed);
    for object in objects {
        cache.take_in(watcher::Event::InitApply(object), &mut listed);
    }
    cache.take_in(watcher::Event::InitDone, &mut listed);
}

fn see(cache: &Cache<ConfigMap>, event: watcher::Event<ConfigMap>) {
    cache.take_in(event, &mut BTreeMap::new());
}

fn known(cache: &Cache<ConfigMap>) -> Vec<u64> {
    cache.all().iter().map(|object| version(object.as_ref())).collect()
}

#[test]
fn ones_own_write_is_known_at_once_and_no_news_later() {
    let (cache, told) = cache();
    cache.learn(object("a", 5, None));
    assert_eq!(known(&cache), [5]);
    see(&cache, watcher::Event::Apply(object("a", 4, None)));
    see(&cache, watcher::Event::Apply(object("a", 5, None)));
    assert_eq!(known(&cache), [5]);
    assert_eq!(*told.lock().unwrap(), [5]);
}

#[test]
fn an_answer_that_the_watch_has_overtaken_brings_nothing_back() {
    let (cache, _) = cache();
    see(&cache, watcher::Event::Apply(object("a", 5, None)));
    see(&cache, watcher::Event::Delete(object("a", 7, None)));
    cache.learn(object("a", 6, None));
    assert_eq!(known(&cache), [0; 0]);
}

#[test]
fn what_was_deleted_does_not_come_back_by_an_older_event() {
    let (cache, told) = cache();
    see(&cache, watcher::Event::Apply(object("a", 5, None)));
    cache.forget(&object("a", 5, None));
    see(&cache, watcher::Event::Apply(object("a", 6, None)));
    assert_eq!(known(&cache), [0; 0]);
    see(&cache, watcher::Event::Delete(object("a", 7, None)));
    let mut another = object("a", 8, None);
    another.metadata.uid = Some("another".to_owned());
    see(&cache, watcher::Event::Apply(another));
    assert_eq!(known(&cache), [8]);
    assert_eq!(*told.lock().unwrap(), [5, 0, 8]);
}

#[test]
fn a_list_tells_what_went_and_what_changed_meanwhile() {
    let (cache, told) = cache();
    list(&cache, [object("a", 1, None), object("b", 2, None), object("c", 3, None)]);
    told.lock().unwrap().clear();
    list(&cache, [object("b", 2, None), object("c", 9, None)]);
    assert_eq!(known(&cache), [2, 9]);
    assert_eq!(*told.lock().unwrap(), [0, 9], "b did not change");
}

#[test]
fn owners_find_what_is_theirs() {
    let (cache, _) = cache();
    see(&cache, watcher::Event::Apply(object("a", 1, Some("x"))));
    see(&cache, watcher::Event::Apply(object("b", 2, Some("x"))));
    see(&cache, watcher::Event::Apply(object("a", 3, Some("y"))));
    let names = |uid: &str| {
        cache.owned_by(uid).iter().map(|object| Key::of(object.as_ref()).name).collect::<Vec<_>>()
    };
    assert_eq!((names("x"), names("y")), (vec!["b".to_owned()], vec!["a".to_owned()]));
    see(&cache, watcher::Event::Delete(object("a", 4, Some("y"))));
    assert!(names("y").is_empty());
    assert_eq!((cache.in_namespace("ns").len(), cache.in_namespace("n").len()), (1, 0));
}
