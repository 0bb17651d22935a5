//! Subresources other than the status: scale, finalize, binding, eviction, token, log.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    answer::Answer,
    behaviour::Part,
    builtin::{namespace, pod},
    error::{About, ApiError, Result},
    eviction,
    fault::Faults,
    fields,
    handler::{Call, Outcome},
    metadata, object,
    options::{self, DeleteOptions, WriteOptions},
    patch,
    resource::Resource,
    scale, verbs,
    wire::{self, PatchType},
    write::{Origin, Write, Written},
};

/// Does what a request asks of a subresource.
pub async fn perform(call: &Call, resource: &Arc<Resource>, verb: &str) -> Result<Outcome> {
    let name = call.path.subresource.as_str();
    let served = resource.subresources.iter().any(|served| served == name);
    match (name, verb) {
        ("scale", "get") if resource.scale.is_some() => {
            Ok(Answer::Value(StatusCode::OK, read_scale(call, resource)?).into())
        }
        ("scale", "update" | "patch") if resource.scale.is_some() => write_scale(call, resource, verb).await,
        ("finalize", "update") if served => finalize(call, resource).await,
        ("binding", "create") if served => bind(call, resource).await.map(Outcome::from),
        ("eviction", "create") if served => evict(call, resource).await.map(Outcome::from),
        ("token", "create") if served => token(call, resource).map(Outcome::from),
        ("log", "get") if served => log(call, resource).map(Outcome::from),
        ("ephemeralcontainers", "get") if served => {
            let record = verbs::find(call, resource)?;
            Ok(Answer::Object(StatusCode::OK, resource.clone(), Written::Stored(record)).into())
        }
        ("exec" | "attach" | "portforward" | "proxy" | "ephemeralcontainers" | "resize", _)
            if resource.is_pod() =>
        {
            Err(ApiError::not_implemented(format!("{name} of pods is not served here")))
        }
        _ if served || (name == "scale" && resource.scale.is_some()) => Err(ApiError::method_not_allowed()),
        _ => Err(ApiError::no_such_resource()),
    }
}

fn read_scale(call: &Call, resource: &Resource) -> Result<Value> {
    let paths = resource.scale.as_ref().ok_or_else(ApiError::no_such_resource)?;
    Ok(scale::read(&resource.read(&*verbs::find(call, resource)?), paths))
}

/// A write of the scale is a write of the object's replicas.
async fn write_scale(call: &Call, resource: &Arc<Resource>, verb: &str) -> Result<Outcome> {
    let paths = resource.scale.as_ref().ok_or_else(ApiError::no_such_resource)?;
    let kind = if verb == "patch" { Some(PatchType::of(call.content_type(), true)?) } else { None };
    let asked = match kind {
        Some(PatchType::Apply) => options::Write::Apply,
        Some(_) => options::Write::Patch,
        None => options::Write::Update,
    };
    let options = WriteOptions::parse(&call.query, asked)?;
    let manager = options.manager(call.user_agent());
    let mut write = verbs::write(call, resource, Some(Part::Main), &options, &manager);
    let name = call.path.name.as_str();
    let body = match kind {
        Some(PatchType::Apply) => wire::decode_yaml(&call.body)?,
        Some(_) => wire::decode_json(&call.body)?,
        None => wire::decode(call.content_type(), &call.body)?,
    }
    .value;
    let written = write
        .modify(name, Origin::Settled, |write, live| {
            let shown = scale::read(live, paths);
            let wanted = match kind {
                None => body.clone(),
                // Applying a scale sets its replicas; there is nothing else in it to own.
                Some(kind) => patch::apply(verbs::patch_kind(kind), None, &shown, &body)?,
            };
            let version = object::meta(&wanted, "resourceVersion");
            if !version.is_empty() && version != object::meta(live, "resourceVersion") {
                return Err(ApiError::stale(resource.about(name)));
            }
            let mut new = live.clone();
            scale::write(&mut new, &wanted, paths).map_err(|faults: Faults| {
                ApiError::invalid(About { group: "autoscaling", resource: "Scale", name }, &faults)
            })?;
            let replicas: Vec<&str> = paths.spec_replicas.trim_start_matches('.').split('.').collect();
            fields::track_scale(live, &mut new, &replicas, &write.writer());
            Ok(new)
        })
        .await?;
    let object = match &written {
        Written::Stored(record) => resource.read(record),
        Written::Dry(value) => value.clone(),
    };
    Ok(Outcome {
        answer: Answer::Value(StatusCode::OK, scale::read(&object, paths)),
        warnings: write.warnings,
    })
}

/// Lets go of a namespace: the only way to change its `spec.finalizers`.
async fn finalize(call: &Call, resource: &Arc<Resource>) -> Result<Outcome> {
    let options = WriteOptions::parse(&call.query, options::Write::Update)?;
    let manager = options.manager(call.user_agent());
    let mut write = verbs::write(call, resource, None, &options, &manager);
    let body = wire::decode(call.content_type(), &call.body)?.value;
    let name = call.path.name.as_str();
    let written = write
        .modify(name, Origin::Update, |write, live| {
            let mut faults = Faults::default();
            let mut new = namespace::finalize(&body, live, &mut faults);
            write.refuse(name, &faults)?;
            if let Some(metadata) = metadata::of(&mut new) {
                for field in ["resourceVersion", "uid"] {
                    if body["metadata"][field].is_string() {
                        metadata.insert(field.to_owned(), body["metadata"][field].clone());
                    }
                }
            }
            Ok(new)
        })
        .await?;
    Ok(Answer::Object(StatusCode::OK, resource.clone(), written).into())
}

fn success() -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 })
}

/// Gives a pod to a node.
async fn bind(call: &Call, resource: &Arc<Resource>) -> Result<Answer> {
    let options = WriteOptions::parse(&call.query, options::Write::Create)?;
    let manager = options.manager(call.user_agent());
    let binding = wire::decode(call.content_type(), &call.body)?.value;
    let mut write = verbs::write(call, resource, None, &options, &manager);
    let (name, now) = (call.path.name.as_str(), call.server.clock.now());
    write
        .modify(name, Origin::Patch, |_, live| {
            let mut new = live.clone();
            pod::bind(&mut new, &binding, now)?;
            Ok(new)
        })
        .await?;
    Ok(Answer::Value(StatusCode::CREATED, success()))
}

async fn evict(call: &Call, resource: &Arc<Resource>) -> Result<Answer> {
    let eviction = wire::decode(call.content_type(), &call.body)?.value;
    let name = call.path.name.as_str();
    let given = object::name(&eviction);
    if !given.is_empty() && given != name {
        return Err(ApiError::bad_request(format!(
            "name in URL does not match name in Eviction object: {name} != {given}"
        )));
    }
    let options = match &eviction["deleteOptions"] {
        Value::Null => DeleteOptions::default(),
        options => {
            DeleteOptions::parse(&call.query, Some("application/json"), options.to_string().as_bytes())?
        }
    };
    let dry_run = options.dry_run || call.query.text("dryRun") == "All";
    let writing = WriteOptions { dry_run, ..WriteOptions::default() };
    let pods = Write { subresource: "", ..verbs::write(call, resource, Some(Part::Main), &writing, "") };
    let budgets = call.server.resources.find("policy", "v1", "poddisruptionbudgets");
    let budgets = budgets.ok_or_else(ApiError::no_such_resource)?;
    let mut budgets = Write {
        subresource: "status",
        ..verbs::write(call, &budgets, Some(Part::Status), &writing, "eviction")
    };
    let status = eviction::evict(&pods, &mut budgets, name, &options).await?;
    Ok(Answer::Value(StatusCode::CREATED, status))
}

fn token(call: &Call, resource: &Resource) -> Result<Answer> {
    let account = resource.read(&*verbs::find(call, resource)?);
    let request = wire::decode(call.content_type(), &call.body)?.value;
    let issued = call.server.access.authenticator.issue(&request, &account)?;
    Ok(Answer::Value(StatusCode::CREATED, issued))
}

/// What a container has written. Nothing runs pods here, so there is never anything.
fn log(call: &Call, resource: &Resource) -> Result<Answer> {
    let pod = resource.read(&*verbs::find(call, resource)?);
    pod::log_container(&pod, call.query.text("container"))?;
    if object::text(&pod, "/spec/nodeName").is_empty() {
        return Ok(Answer::Nothing(StatusCode::NO_CONTENT));
    }
    Err(ApiError::not_implemented(format!(
        "pod {:?} is bound to node {:?}, and no node here serves logs",
        object::name(&pod),
        object::text(&pod, "/spec/nodeName")
    )))
}
