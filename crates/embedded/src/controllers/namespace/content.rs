//! Emptying a namespace of one kind.

use jiff::Timestamp;
use kube::{
    Client,
    api::{Api, DeleteParams, ListParams, Preconditions},
};

use crate::controllers::kinds::{Kind, Thing};

/// What is left of a kind in a namespace.
#[derive(Debug, Default)]
pub struct Left {
    pub count: usize,
    /// Of each object that is left.
    pub finalizers: Vec<String>,
    /// Whether something is left that nothing holds: neither a finalizer, nor time that it was given.
    pub is_overdue: bool,
}

/// Deletes every object of a kind in a namespace, and tells what is left of them.
pub async fn clear(client: &Client, kind: &Kind, namespace: &str, now: Timestamp) -> kube::Result<Left> {
    let objects = kind.objects(client, namespace);
    let outcome = clear_all(&objects, kind, now).await;
    match outcome {
        // A kind that was served a moment ago and is no more has nothing here.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 405) => Ok(Left::default()),
        outcome => outcome,
    }
}

async fn clear_all(objects: &Api<Thing>, kind: &Kind, now: Timestamp) -> kube::Result<Left> {
    let there = if kind.can("list") { objects.list(&ListParams::default()).await?.items } else { Vec::new() };
    let is_deleted = |thing: &Thing| thing.metadata.deletion_timestamp.is_some();
    if kind.can("list") && there.iter().all(is_deleted) {
        return Ok(left(&there, now));
    }
    if kind.can("deletecollection") {
        objects.delete_collection(&DeleteParams::background(), &ListParams::default()).await?;
    } else {
        for thing in there.iter().filter(|thing| !is_deleted(thing)) {
            delete(objects, thing).await?;
        }
    }
    if !kind.can("list") {
        return Ok(Left::default());
    }
    Ok(left(&objects.list(&ListParams::default()).await?.items, now))
}

async fn delete(objects: &Api<Thing>, thing: &Thing) -> kube::Result<()> {
    let uid = thing.metadata.uid.clone();
    let preconditions = Preconditions { uid, resource_version: None };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
    match objects.delete(thing.metadata.name.as_deref().unwrap_or_default(), &params).await {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 405 | 409) => Ok(()),
        outcome => outcome.map(drop),
    }
}

fn left(things: &[Thing], now: Timestamp) -> Left {
    let finalizers = |thing: &Thing| thing.metadata.finalizers.clone().unwrap_or_default();
    let has_time = |thing: &Thing| thing.metadata.deletion_timestamp.as_ref().is_some_and(|end| end.0 > now);
    Left {
        count: things.len(),
        finalizers: things.iter().flat_map(finalizers).collect(),
        is_overdue: things.iter().any(|thing| finalizers(thing).is_empty() && !has_time(thing)),
    }
}
