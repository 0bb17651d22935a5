//! What kube's runtime needs of a server: reflectors, controllers, finalizers and event recorders, as our operators
//! use them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anneal_harness::{Needs, eventually};
use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::{
    api::core::v1::{ConfigMap, Secret},
    api::events::v1::Event as EventObject,
};
use kube::{
    Api, Resource, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams},
    runtime::{
        Controller, WatchStreamExt,
        controller::{self, Action},
        events::{Event, EventType, Recorder, Reporter},
        finalizer::{self, finalizer},
        reflector, watcher,
    },
};
use serde_json::json;
use tokio::task::AbortHandle;

use crate::{Case, Cx, case::cases};

pub(super) fn cases() -> Vec<Case> {
    cases![
        Needs::API => [
            reflectors_that_list_hold_what_the_server_holds,
            reflectors_that_stream_hold_what_the_server_holds,
            reflectors_see_only_what_they_select,
            controllers_bring_back_what_somebody_deleted,
            controllers_at_rest_write_nothing,
            finalizers_clean_up_before_the_object_goes,
            recorders_count_what_happens_again,
        ],
    ]
}

/// Work in the background that ends with the case.
struct Background(AbortHandle);

impl Background {
    fn of(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work).abort_handle())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn config_maps(cx: &Cx) -> Api<ConfigMap> {
    Api::namespaced(cx.http.client(), &cx.namespace)
}

fn config_map(name: &str, labels: &[(&str, &str)]) -> ConfigMap {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() },
        ..ConfigMap::default()
    }
}

/// Objects by name and version. The trusted authorities that upstream puts into every namespace are left out.
fn versions<'a>(objects: impl IntoIterator<Item = &'a ConfigMap>) -> BTreeMap<String, Option<String>> {
    let objects = objects.into_iter().map(|object| (object.name_any(), object.resource_version()));
    objects.filter(|(name, _)| name != "kube-root-ca.crt").collect()
}

fn reflect(api: Api<ConfigMap>, config: watcher::Config) -> (reflector::Store<ConfigMap>, Background) {
    let (reader, writer) = reflector::store();
    let events = watcher(api, config).default_backoff().reflect(writer).touched_objects();
    (reader, Background::of(events.for_each(|_| std::future::ready(()))))
}

async fn reflectors_that_list_hold_what_the_server_holds(cx: Cx) -> Result<()> {
    // Pages, so that a list takes several requests.
    hold_what_the_server_holds(&cx, watcher::Config::default().page_size(7), Begin::WithAll).await
}

async fn reflectors_that_stream_hold_what_the_server_holds(cx: Cx) -> Result<()> {
    hold_what_the_server_holds(&cx, watcher::Config::default().streaming_lists(), Begin::Behind).await
}

/// What a reflector holds once it says that it is ready.
#[derive(PartialEq)]
enum Begin {
    /// All that was written before.
    WithAll,
    /// What the server's cache held: kube streams from version 0, which asks for no version in particular.
    Behind,
}

async fn hold_what_the_server_holds(cx: &Cx, config: watcher::Config, begin: Begin) -> Result<()> {
    let api = config_maps(cx);
    for number in 0..30 {
        api.create(&PostParams::default(), &config_map(&format!("early-{number}"), &[])).await?;
    }
    let (store, _reflector) = reflect(api.clone(), config);
    store.wait_until_ready().await?;
    let all_there = || versions(store.state().iter().map(AsRef::as_ref)).len() == 30;
    ensure!(begin == Begin::Behind || all_there(), "not all are there at first");
    eventually("the reflector to hold all 30", || async { Ok(all_there().then_some(())) }).await?;
    for number in 0..30 {
        let name = format!("early-{number}");
        match number % 3 {
            0 => drop(api.delete(&name, &DeleteParams::default()).await?),
            1 => {
                let patch = Patch::Merge(json!({ "data": { "number": number.to_string() } }));
                api.patch(&name, &PatchParams::default(), &patch).await?;
            }
            _ => {
                let late = config_map(&format!("late-{number}"), &[]);
                api.create(&PostParams::default(), &late).await?;
            }
        }
    }
    let held = versions(&api.list(&ListParams::default()).await?.items);
    eventually("the reflector to hold what the server holds", || async {
        Ok((versions(store.state().iter().map(AsRef::as_ref)) == held).then_some(()))
    })
    .await
}

async fn reflectors_see_only_what_they_select(cx: Cx) -> Result<()> {
    let api = config_maps(&cx);
    let (store, _reflector) =
        reflect(api.clone(), watcher::Config::default().labels("team=red").streaming_lists());
    store.wait_until_ready().await?;
    ensure!(store.is_empty());
    for (name, team) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        api.create(&PostParams::default(), &config_map(name, &[("team", team)])).await?;
    }
    for (name, team) in [("a", "blue"), ("b", "red")] {
        let patch = Patch::Merge(json!({ "metadata": { "labels": { "team": team } } }));
        api.patch(name, &PatchParams::default(), &patch).await?;
    }
    let names = || store.state().iter().map(|object| object.name_any()).collect::<BTreeSet<_>>();
    let expected = BTreeSet::from(["b".to_owned(), "c".to_owned()]);
    eventually("the reflector to hold b and c", || async { Ok((names() == expected).then_some(())) }).await
}

/// A controller that keeps a Secret for each ConfigMap, and what it has done.
struct Keeper {
    secrets: Api<Secret>,
    reconciled: AtomicUsize,
}

async fn keep_secret(parent: Arc<ConfigMap>, keeper: Arc<Keeper>) -> Result<Action, kube::Error> {
    let owner = parent.controller_owner_ref(&());
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": parent.name_any(), "ownerReferences": [owner] },
        "stringData": parent.data,
    });
    let apply = PatchParams::apply("keeper").force();
    keeper.secrets.patch(&parent.name_any(), &apply, &Patch::Apply(secret)).await?;
    keeper.reconciled.fetch_add(1, Ordering::SeqCst);
    Ok(Action::await_change())
}

fn start_keeper(cx: &Cx) -> (Arc<Keeper>, Background) {
    let secrets: Api<Secret> = Api::namespaced(cx.http.client(), &cx.namespace);
    let keeper = Arc::new(Keeper { secrets: secrets.clone(), reconciled: AtomicUsize::new(0) });
    let again =
        |_: Arc<ConfigMap>, _: &kube::Error, _: Arc<Keeper>| Action::requeue(Duration::from_millis(50));
    let running = Controller::new(config_maps(cx), watcher::Config::default().labels("kept=yes"))
        .owns(secrets, watcher::Config::default())
        .with_config(controller::Config::default().concurrency(2))
        .run(keep_secret, again, keeper.clone());
    (keeper, Background::of(running.for_each(|_| std::future::ready(()))))
}

async fn secret_of(keeper: &Keeper, name: &str, value: &str) -> Result<Secret> {
    eventually(format!("the Secret {name} with {value}"), || async {
        let secret = keeper.secrets.get_opt(name).await?;
        Ok(secret.filter(|secret| {
            let data = secret.data.as_ref().and_then(|data| data.get("key"));
            data.is_some_and(|data| data.0 == value.as_bytes())
        }))
    })
    .await
}

async fn controllers_bring_back_what_somebody_deleted(cx: Cx) -> Result<()> {
    let (keeper, _running) = start_keeper(&cx);
    let api = config_maps(&cx);
    let mut parent = config_map("parent", &[("kept", "yes")]);
    parent.data = Some(BTreeMap::from([("key".to_owned(), "one".to_owned())]));
    api.create(&PostParams::default(), &parent).await?;
    let first = secret_of(&keeper, "parent", "one").await?;
    keeper.secrets.delete("parent", &DeleteParams::default()).await?;
    let second = secret_of(&keeper, "parent", "one").await?;
    ensure!(first.uid() != second.uid(), "it was never gone");
    let patch = Patch::Merge(json!({ "data": { "key": "two" } }));
    api.patch("parent", &PatchParams::default(), &patch).await?;
    let third = secret_of(&keeper, "parent", "two").await?;
    ensure!(second.uid() == third.uid(), "a change of the parent replaced the child");
    Ok(())
}

async fn controllers_at_rest_write_nothing(cx: Cx) -> Result<()> {
    let (keeper, _running) = start_keeper(&cx);
    let api = config_maps(&cx);
    for number in 0..5 {
        let mut parent = config_map(&format!("parent-{number}"), &[("kept", "yes")]);
        parent.data = Some(BTreeMap::from([("key".to_owned(), "one".to_owned())]));
        api.create(&PostParams::default(), &parent).await?;
        secret_of(&keeper, &parent.name_any(), "one").await?;
    }
    let before = keeper.secrets.list(&ListParams::default()).await?;
    // Each Secret's own event leads to one more look at it; a write that changes nothing makes no event. When another
    // object has come and gone through the same watches, all that was on its way has arrived.
    let seen = keeper.reconciled.load(Ordering::SeqCst);
    let mut last = config_map("last", &[("kept", "yes")]);
    last.data = Some(BTreeMap::from([("key".to_owned(), "one".to_owned())]));
    api.create(&PostParams::default(), &last).await?;
    secret_of(&keeper, "last", "one").await?;
    let after = keeper.secrets.list(&ListParams::default()).await?;
    for secret in before {
        let now = after.items.iter().find(|other| other.name_any() == secret.name_any());
        ensure!(
            now.context("a Secret is gone")?.resource_version() == secret.resource_version(),
            "{} was written",
            secret.name_any()
        );
    }
    let more = keeper.reconciled.load(Ordering::SeqCst) - seen;
    ensure!(more <= 12, "{more} reconciliations for one new object: writes that change nothing make events");
    Ok(())
}

async fn finalizers_clean_up_before_the_object_goes(cx: Cx) -> Result<()> {
    const NAME: &str = "case.example/cleanup";
    let api = config_maps(&cx);
    api.create(&PostParams::default(), &config_map("outside", &[])).await?;
    let (started, watched) = (api.clone(), api.clone());
    let reconcile = move |object: Arc<ConfigMap>, _: Arc<()>| {
        let api = api.clone();
        async move {
            let outside = api.clone();
            finalizer(&api, NAME, object, |event| async move {
                match event {
                    finalizer::Event::Apply(_) => {
                        let patch = Patch::Merge(json!({ "data": { "applied": "yes" } }));
                        outside.patch("outside", &PatchParams::default(), &patch).await?;
                    }
                    finalizer::Event::Cleanup(_) => {
                        outside.delete("outside", &DeleteParams::default()).await?;
                    }
                }
                Ok::<_, kube::Error>(Action::await_change())
            })
            .await
        }
    };
    let again = |_: Arc<ConfigMap>, _: &finalizer::Error<kube::Error>, _: Arc<()>| {
        Action::requeue(Duration::from_millis(50))
    };
    let running = Controller::new(watched, watcher::Config::default().labels("finalized=yes"));
    let running = running.run(reconcile, again, Arc::new(()));
    let _running = Background::of(running.for_each(|_| std::future::ready(())));
    started.create(&PostParams::default(), &config_map("held", &[("finalized", "yes")])).await?;
    eventually("the finalizer and its work", || async {
        let (held, outside) = (started.get("held").await?, started.get("outside").await?);
        let applied = outside.data.is_some_and(|data| data.contains_key("applied"));
        Ok((held.finalizers() == [NAME] && applied).then_some(()))
    })
    .await?;
    let mut events = started.watch(&Default::default(), "0").await?.boxed();
    started.delete("held", &DeleteParams::default()).await?;
    // The order in which they go is the order in which the watch tells.
    let mut gone = Vec::new();
    while gone.len() < 2 {
        let event = tokio::time::timeout(anneal_harness::PATIENCE, events.try_next()).await??;
        if let kube::api::WatchEvent::Deleted(object) = event.context("the watch ended")? {
            gone.push(object.name_any());
        }
    }
    ensure!(gone == ["outside", "held"], "{gone:?}");
    Ok(())
}

async fn recorders_count_what_happens_again(cx: Cx) -> Result<()> {
    let api = config_maps(&cx);
    let object = api.create(&PostParams::default(), &config_map("subject", &[])).await?;
    let reporter =
        Reporter { controller: "case.example/recorder".to_owned(), instance: Some("me".to_owned()) };
    let recorder = Recorder::new(cx.http.client(), reporter);
    let event = Event {
        type_: EventType::Warning,
        reason: "Odd".to_owned(),
        note: Some("something is odd".to_owned()),
        action: "Look".to_owned(),
        secondary: None,
    };
    for _ in 0..3 {
        recorder.publish(&event, &object.object_ref(&())).await?;
    }
    let events: Api<EventObject> = Api::namespaced(cx.http.client(), &cx.namespace);
    let about = ListParams::default().fields("regarding.name=subject,reason=Odd");
    let recorded = events.list(&about).await?.items;
    ensure!(recorded.len() == 1, "{} events for one that happened again", recorded.len());
    let series = recorded[0].series.as_ref().context("it has no series")?;
    ensure!(series.count == 3, "counted {}", series.count);
    ensure!(recorded[0].regarding.as_ref().is_some_and(|about| about.uid == object.uid()));
    Ok(())
}
