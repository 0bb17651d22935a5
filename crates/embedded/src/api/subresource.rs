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
    scale, structural, verbs,
    wire::{self, PatchType},
    write::{Origin, Write, Written},
};
use crate::schema::builtin_tree;

/// A kind of body that is read and not kept.
struct Slip {
    api_version: &'static str,
    kind: &'static str,
    definition: &'static str,
}

const SCALE: Slip =
    Slip { api_version: "autoscaling/v1", kind: "Scale", definition: "io.k8s.api.autoscaling.v1.Scale" };
const BINDING: Slip = Slip { api_version: "v1", kind: "Binding", definition: "io.k8s.api.core.v1.Binding" };
const EVICTION: Slip =
    Slip { api_version: "policy/v1", kind: "Eviction", definition: "io.k8s.api.policy.v1.Eviction" };
const TOKEN: Slip = Slip {
    api_version: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    definition: "io.k8s.api.authentication.v1.TokenRequest",
};

impl Slip {
    /// Checks the type of a body, which may be left out, and those of its values. What is wrong is told in words.
    fn check(&self, body: &mut Value) -> Result<(), String> {
        if !body.is_object() {
            return Err(format!("the body must be a {} object", self.kind));
        }
        for (field, wanted) in [("apiVersion", self.api_version), ("kind", self.kind)] {
            let given = &body[field];
            if !given.is_null() && given != "" && given != wanted {
                return Err(format!("{field} must be {wanted}, not {given}"));
            }
        }
        let Some(schema) = builtin_tree().named(self.definition) else { return Ok(()) };
        structural::conform(schema, body).map(drop)
    }

    /// The body of a request.
    fn read(&self, call: &Call) -> Result<Value> {
        let mut body = wire::decode(call.content_type(), &call.body)?.value;
        self.check(&mut body).map_err(ApiError::bad_request)?;
        Ok(body)
    }
}

/// A body that is about the object that the path names.
fn about_named(call: &Call, kind: &str, body: &Value) -> Result<()> {
    let (name, given) = (call.path.name.as_str(), object::name(body));
    if given == name {
        return Ok(());
    }
    Err(ApiError::bad_request(format!("name in URL does not match name in {kind} object: {name} != {given}")))
}

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
            let mut wanted = match kind {
                None => body.clone(),
                // Applying a scale sets its replicas; there is nothing else in it to own.
                Some(kind) => patch::apply(verbs::patch_kind(kind), None, &shown, &body)?,
            };
            let about = About { group: "autoscaling", resource: "Scale", name };
            SCALE.check(&mut wanted).map_err(|fault| match kind {
                None => ApiError::bad_request(fault),
                Some(_) => verbs::patch_fault(about, &fault),
            })?;
            verbs::check_uid(resource, name, object::meta(&wanted, "uid"), object::meta(live, "uid"))?;
            let version = object::meta(&wanted, "resourceVersion");
            if !version.is_empty() && version != object::meta(live, "resourceVersion") {
                return Err(ApiError::stale(resource.about(name)));
            }
            let mut new = live.clone();
            scale::write(&mut new, &wanted, paths)
                .map_err(|faults: Faults| ApiError::invalid(about, &faults))?;
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
    let mut body = wire::decode(call.content_type(), &call.body)?.value;
    verbs::check_type(resource, &mut body)?;
    resource.conform(&mut body).map_err(ApiError::bad_request)?;
    about_named(call, "Namespace", &body)?;
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
    let binding = BINDING.read(call)?;
    about_named(call, BINDING.kind, &binding)?;
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
    let eviction = EVICTION.read(call)?;
    about_named(call, EVICTION.kind, &eviction)?;
    let name = call.path.name.as_str();
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
    let request = TOKEN.read(call)?;
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
