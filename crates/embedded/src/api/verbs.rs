//! The verbs: get, list, watch, create, update, patch, delete, and who does what for subresources.

use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;

use super::{
    answer::{Answer, Rendering},
    behaviour::Part,
    delete::{self, Deleted},
    error::{About, ApiError, Result},
    fault::{Faults, Path},
    fields,
    handler::{Call, Outcome, resource},
    list, metadata, object,
    options::{self, DeleteOptions, FieldValidation, GetOptions, ListOptions, WriteOptions},
    patch::{self, PatchKind},
    resource::Resource,
    subresource, watch,
    wire::{self, Decoded, PatchType},
    write::{Origin, Write, Written},
};
use crate::store::{Key, Record};

/// Does what a request asks for.
pub async fn perform(call: &Call, verb: &str, rendering: Rendering) -> Result<Outcome> {
    let resource = resource(call)?;
    let collection = call.path.name.is_empty();
    // Namespaced objects live in namespaces: from above they can only be looked at.
    if resource.namespaced
        && call.path.namespace.is_empty()
        && !(collection && matches!(verb, "list" | "watch"))
    {
        return Err(if collection { ApiError::method_not_allowed() } else { ApiError::no_such_resource() });
    }
    let outcome = match (call.path.subresource.as_str(), verb) {
        ("", "get") => get(call, &resource).await.map(Outcome::from),
        ("", "list") => {
            let options = ListOptions::parse(&call.query)?;
            let listed = list::list(&call.server, &resource, namespace(call, &resource), &options).await?;
            Ok(Answer::List(resource.clone(), listed).into())
        }
        ("", "watch") => watch_objects(call, &resource, rendering).await.map(Outcome::from),
        ("", "create") if collection => create(call, &resource).await,
        ("" | "status", "update") => update(call, &resource, part(call, &resource)?).await,
        ("" | "status", "patch") => patch(call, &resource, part(call, &resource)?).await,
        ("status", "get") if resource.status => get(call, &resource).await.map(Outcome::from),
        ("", "delete") => delete_one(call, &resource).await.map(Outcome::from),
        ("", "deletecollection") => delete_all(call, &resource).await.map(Outcome::from),
        ("", _) => Err(ApiError::method_not_allowed()),
        _ => subresource::perform(call, &resource, verb).await,
    };
    let mut outcome = outcome?;
    outcome.warnings.extend(resource.deprecation());
    Ok(outcome)
}

fn part(call: &Call, resource: &Resource) -> Result<Part> {
    match call.path.subresource.as_str() {
        "status" if resource.status => Ok(Part::Status),
        "status" => Err(ApiError::no_such_resource()),
        _ => Ok(Part::Main),
    }
}

/// The namespace to look at, none for all of them or where there are none.
fn namespace<'a>(call: &'a Call, resource: &Resource) -> Option<&'a str> {
    (resource.namespaced && !call.path.namespace.is_empty()).then_some(call.path.namespace.as_str())
}

/// The stored object that a path names.
pub fn find(call: &Call, resource: &Resource) -> Result<Arc<Record>> {
    let key = Key::new(resource.collection.clone(), call.path.namespace.as_str(), call.path.name.as_str());
    call.server.store.get(&key).ok_or_else(|| ApiError::not_found(resource.about(&call.path.name)))
}

async fn get(call: &Call, resource: &Arc<Resource>) -> Result<Answer> {
    let options = GetOptions::parse(&call.query)?;
    list::wait_for(&call.server, options.version.unwrap_or_default()).await?;
    let record = find(call, resource)?;
    Ok(Answer::Object(StatusCode::OK, resource.clone(), Written::Stored(record)))
}

async fn watch_objects(call: &Call, resource: &Arc<Resource>, rendering: Rendering) -> Result<Answer> {
    let mut options = ListOptions::parse(&call.query)?;
    if !call.path.name.is_empty() {
        // A watch of one object, as old clients ask for it.
        options.fields = super::selector::FieldSelector::of_name(&call.path.name);
    }
    let namespace = namespace(call, resource);
    let frames = watch::watch(&call.server, resource, namespace, &options, rendering).await?;
    Ok(Answer::Watch(frames))
}

/// A write as the options of a request ask for it.
pub fn write<'a>(
    call: &'a Call,
    resource: &'a Arc<Resource>,
    part: Option<Part>,
    options: &WriteOptions,
    manager: &'a str,
) -> Write<'a> {
    Write {
        server: &call.server,
        resource,
        namespace: &call.path.namespace,
        part,
        subresource: &call.path.subresource,
        manager,
        validation: options.field_validation,
        dry_run: options.dry_run,
        warnings: Vec::new(),
    }
}

async fn create(call: &Call, resource: &Arc<Resource>) -> Result<Outcome> {
    let options = WriteOptions::parse(&call.query, options::Write::Create)?;
    let manager = options.manager(call.user_agent());
    let mut write = write(call, resource, Some(Part::Main), &options, &manager);
    let body = whole_object(call, resource, &mut write)?;
    call.server.access.may_write(call, resource, &body)?;
    let warnings = std::mem::take(&mut write.warnings);
    let written = write.create(body, Origin::Update).await?;
    Ok(outcome(StatusCode::CREATED, resource, written, warnings, write.warnings))
}

async fn update(call: &Call, resource: &Arc<Resource>, part: Part) -> Result<Outcome> {
    let options = WriteOptions::parse(&call.query, options::Write::Update)?;
    let manager = options.manager(call.user_agent());
    let mut write = write(call, resource, Some(part), &options, &manager);
    let body = whole_object(call, resource, &mut write)?;
    call.server.access.may_write(call, resource, &body)?;
    let warnings = std::mem::take(&mut write.warnings);
    let name = call.path.name.as_str();
    let missing = call.server.store.get(&write.key(name)).is_none();
    if missing && resource.create_on_update() && part == Part::Main {
        same_name(&body, name)?;
        if !object::meta(&body, "resourceVersion").is_empty() {
            return Err(ApiError::stale(resource.about(name)));
        }
        call.server.access.may_create(&call.user, &call.path)?;
        let written = write.create(body, Origin::Update).await?;
        return Ok(outcome(StatusCode::CREATED, resource, written, warnings, write.warnings));
    }
    let written = write.modify(name, Origin::Update, |_, _| Ok(body.clone())).await?;
    Ok(outcome(StatusCode::OK, resource, written, warnings, write.warnings))
}

async fn patch(call: &Call, resource: &Arc<Resource>, part: Part) -> Result<Outcome> {
    let kind = PatchType::of(call.content_type(), resource.custom().is_none())?;
    let asked = if kind == PatchType::Apply { options::Write::Apply } else { options::Write::Patch };
    let options = WriteOptions::parse(&call.query, asked)?;
    let manager = options.manager(call.user_agent());
    let mut write = write(call, resource, Some(part), &options, &manager);
    let name = call.path.name.as_str();
    let decoded = match kind {
        PatchType::Apply => wire::decode_yaml(&call.body)?,
        _ => wire::decode_json(&call.body)?,
    };
    if kind == PatchType::Apply {
        return apply(call, resource, write, decoded, options.force).await;
    }
    let written = write
        .modify(name, Origin::Patch, |write, live| {
            let mut new = patch::apply(patch_kind(kind), Some(resource.schema()), live, &decoded.value)?;
            let about = About { group: &resource.group, resource: &resource.kind, name };
            let unknown = resource.conform(&mut new).map_err(|fault| patch_fault(about, &fault))?;
            let faults = decoder_words(&unknown, &decoded.duplicates);
            match write.validation {
                FieldValidation::Strict if !faults.is_empty() => {
                    return Err(patch_fault(about, &format!("strict decoding error: {}", faults.join(", "))));
                }
                FieldValidation::Warn => write.warnings.extend(faults),
                _ => {}
            }
            call.server.access.may_write(call, resource, &new)?;
            Ok(new)
        })
        .await?;
    Ok(outcome(StatusCode::OK, resource, written, Vec::new(), write.warnings))
}

/// The way to put a patch on; server-side apply has its own.
pub fn patch_kind(kind: PatchType) -> PatchKind {
    match kind {
        PatchType::Json => PatchKind::Json,
        PatchType::Strategic => PatchKind::Strategic,
        PatchType::Merge | PatchType::Apply => PatchKind::Merge,
    }
}

/// A patch whose outcome is no object of the kind.
pub fn patch_fault(about: About<'_>, fault: &str) -> ApiError {
    let mut faults = Faults::default();
    faults.invalid(&Path::new("patch"), &Value::Null, fault);
    ApiError::invalid(about, &faults)
}

/// Server-side apply: creates what is not there.
async fn apply(
    call: &Call,
    resource: &Arc<Resource>,
    mut write: Write<'_>,
    decoded: Decoded,
    force: bool,
) -> Result<Outcome> {
    let name = call.path.name.as_str();
    let mut applied = decoded.value;
    for field in ["apiVersion", "kind"] {
        if object::text(&applied, &format!("/{field}")).is_empty() {
            return Err(ApiError::bad_request(format!(
                "Object '{field}' is missing in the applied configuration"
            )));
        }
    }
    check_type(resource, &mut applied)?;
    // What is there already has its name from the path; what is to be made needs its own.
    if object::name(&applied).is_empty()
        && call.server.store.get(&write.key(name)).is_some()
        && let Some(metadata) = metadata::of(&mut applied)
    {
        metadata.insert("name".to_owned(), name.into());
    }
    same_name(&applied, name)?;
    let uid = object::meta(&applied, "uid").to_owned();
    metadata::place(&mut applied, &call.path.namespace)?;
    let mut unchecked = applied.clone();
    let unknown = resource.conform(&mut unchecked).map_err(ApiError::bad_request)?;
    if let Some(field) = unknown.first() {
        return Err(ApiError::bad_request(format!(
            "failed to create typed patch object ({}/{name}; {}, Kind={}): .{field}: field not declared in schema",
            call.path.namespace, resource.api_version, resource.kind
        )));
    }
    object::settle_numbers(&mut applied);
    let duplicates = decoder_words(&[], &decoded.duplicates);
    let warnings = match write.validation {
        FieldValidation::Strict if !duplicates.is_empty() => {
            return Err(ApiError::bad_request(format!("strict decoding error: {}", duplicates.join(", "))));
        }
        FieldValidation::Warn => duplicates,
        _ => Vec::new(),
    };
    // Whoever else creates or deletes it meanwhile decides which of the two it is.
    for _ in 0..8 {
        let there = call.server.store.get(&write.key(name)).is_some();
        let outcome_of = if there {
            let written = write.modify(name, Origin::Settled, |write, live| {
                let (writer, reset) = (write.writer(), resource.reset(write.part));
                check_uid(resource, name, &uid, object::meta(live, "uid"))?;
                let mut new = fields::apply(resource.schema(), Some(live), &applied, force, &writer, reset)?;
                resource.conform_applied(&mut new).map_err(ApiError::bad_request)?;
                call.server.access.may_write(call, resource, &new)?;
                Ok(new)
            });
            written.await.map(|written| (StatusCode::OK, written))
        } else if write.part == Some(Part::Status) {
            return Err(ApiError::not_found(resource.about(name)));
        } else {
            call.server.access.may_create(&call.user, &call.path)?;
            check_uid(resource, name, &uid, "")?;
            let (writer, reset) = (write.writer(), resource.reset(write.part));
            let mut new = fields::apply(resource.schema(), None, &applied, force, &writer, reset)?;
            resource.conform_applied(&mut new).map_err(ApiError::bad_request)?;
            call.server.access.may_write(call, resource, &new)?;
            write.create(new, Origin::Settled).await.map(|written| (StatusCode::CREATED, written))
        };
        match outcome_of {
            Ok((code, written)) => return Ok(outcome(code, resource, written, warnings, write.warnings)),
            Err(error) if there && error.code == StatusCode::NOT_FOUND => {}
            Err(error) if !there && error.reason == "AlreadyExists" => {}
            Err(error) => return Err(error),
        }
    }
    Err(ApiError::stale(resource.about(name)))
}

async fn delete_one(call: &Call, resource: &Arc<Resource>) -> Result<Answer> {
    let options = DeleteOptions::parse(&call.query, call.content_type(), &call.body)?;
    let manager = WriteOptions { dry_run: options.dry_run, ..WriteOptions::default() };
    let write = write(call, resource, Some(Part::Main), &manager, "");
    let name = call.path.name.as_str();
    Ok(match delete::delete(&write, name, &options).await? {
        Deleted::Gone(object) if resource.answers_with_deleted() => {
            Answer::Object(StatusCode::OK, resource.clone(), Written::Dry(object))
        }
        Deleted::Gone(object) => Answer::Value(StatusCode::OK, delete::status(resource, &object)),
        Deleted::Remaining(Written::Dry(object)) if !resource.answers_with_deleted() => {
            Answer::Value(StatusCode::OK, delete::status(resource, &object))
        }
        Deleted::Remaining(written) => {
            // The old way of asking is told that it is not done yet; the others see it by themselves.
            let code =
                if options.orphan_dependents == Some(false) { StatusCode::ACCEPTED } else { StatusCode::OK };
            Answer::Object(code, resource.clone(), written)
        }
    })
}

async fn delete_all(call: &Call, resource: &Arc<Resource>) -> Result<Answer> {
    let options = DeleteOptions::parse(&call.query, call.content_type(), &call.body)?;
    let selection = ListOptions::parse(&call.query)?;
    let manager = WriteOptions { dry_run: options.dry_run, ..WriteOptions::default() };
    let write = write(call, resource, Some(Part::Main), &manager, "");
    let listed = list::list(&call.server, resource, namespace(call, resource), &selection).await?;
    for record in &listed.records {
        match delete::delete(&write, record.name(), &options).await {
            // Somebody else was faster.
            Err(error) if error.code == StatusCode::NOT_FOUND => {}
            other => drop(other?),
        }
    }
    Ok(Answer::List(resource.clone(), listed))
}

fn outcome(
    code: StatusCode,
    resource: &Arc<Resource>,
    written: Written,
    mut warnings: Vec<String>,
    more: Vec<String>,
) -> Outcome {
    warnings.extend(more);
    Outcome { answer: Answer::Object(code, resource.clone(), written), warnings }
}

/// An applied configuration may say which object it is for.
pub fn check_uid(resource: &Resource, name: &str, wanted: &str, actual: &str) -> Result<()> {
    if wanted.is_empty() || wanted == actual {
        return Ok(());
    }
    let why =
        format!("uid mismatch: the provided object specified uid {wanted}, and no existing object was found");
    Err(ApiError::conflict(resource.about(name), &why))
}

fn same_name(object: &Value, name: &str) -> Result<()> {
    let given = object::name(object);
    if given == name {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "the name of the object ({given}) does not match the name on the URL ({name})"
    )))
}

/// A body that is a whole object of the kind. Unknown fields are gone from it, refused or warned of.
fn whole_object(call: &Call, resource: &Resource, write: &mut Write<'_>) -> Result<Value> {
    let decode = if resource.custom().is_some() { wire::decode_custom } else { wire::decode };
    let Decoded { mut value, duplicates } = decode(call.content_type(), &call.body)?;
    if !value.is_object() {
        return Err(ApiError::bad_request("the body must be an object"));
    }
    check_type(resource, &mut value)?;
    let unknown = resource.conform(&mut value).map_err(|fault| {
        ApiError::bad_request(format!(
            "{} in version {:?} cannot be handled as a {}: {fault}",
            resource.kind, resource.version, resource.kind
        ))
    })?;
    let faults = decoder_words(&unknown, &duplicates);
    match write.validation {
        FieldValidation::Strict if !faults.is_empty() => {
            Err(ApiError::bad_request(format!("strict decoding error: {}", faults.join(", "))))
        }
        FieldValidation::Warn => {
            write.warnings.extend(faults);
            Ok(value)
        }
        _ => Ok(value),
    }
}

fn decoder_words(unknown: &[String], duplicates: &[String]) -> Vec<String> {
    /// Who makes more mistakes at once is told of the first ones.
    const MOST: usize = 100;
    let unknown = unknown.iter().map(|field| format!("unknown field {field:?}"));
    unknown.chain(duplicates.iter().cloned()).take(MOST).collect()
}

/// Whether a body is of the kind that the path names. Built-in kinds may leave it out.
pub fn check_type(resource: &Resource, object: &mut Value) -> Result<()> {
    let custom = resource.custom().is_some();
    let given = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (given("apiVersion"), given("kind"));
    if custom && (kind.is_empty() || api_version.is_empty()) {
        let missing = if kind.is_empty() { "Kind" } else { "apiVersion" };
        return Err(ApiError::bad_request(format!("Object '{missing}' is missing in the body")));
    }
    if !api_version.is_empty() && api_version != resource.api_version {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            resource.api_version
        )));
    }
    if !kind.is_empty() && kind != resource.kind {
        if !custom {
            return Err(ApiError::bad_request(format!(
                "{kind} in version {:?} cannot be handled as a {}: no kind {kind:?} is registered here",
                resource.version, resource.kind
            )));
        }
        let mut faults = Faults::default();
        faults.invalid_text(&Path::new("kind"), &kind, format!("must be {}", resource.kind));
        let about = About { group: &resource.group, resource: &resource.kind, name: object::name(object) };
        return Err(ApiError::invalid(about, &faults));
    }
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), resource.api_version.as_str().into());
        fields.insert("kind".to_owned(), resource.kind.as_str().into());
    }
    Ok(())
}
