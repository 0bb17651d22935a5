//! A resource: a kind in one version, as it is served. Built-in and custom ones are alike from here on.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ops::Deref,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::Value;

use super::{
    behaviour::{Behaviour, Names, Part},
    builtin::{BUILTINS, Builtin, event, horizontal_pod_autoscaler},
    crd::{CustomKind, CustomVersion},
    definitions,
    discovery::api_version,
    error::About,
    fault::Faults,
    fields, metadata, object,
    scale::ScalePaths,
    structural,
    table::TableColumn,
};
use crate::{
    schema::{self, Schema},
    store::{Draft, Record},
};

/// A kind in one version.
pub struct Resource {
    pub group: String,
    pub version: String,
    /// `group/version`, or the version alone.
    pub api_version: String,
    pub kind: String,
    pub list_kind: String,
    pub plural: String,
    pub singular: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    /// Where the store keeps its objects, whatever their version.
    pub collection: Arc<str>,
    /// Whether `/status` is served.
    pub status: bool,
    /// Where `/scale` finds its numbers, if it is served.
    pub scale: Option<ScalePaths>,
    /// Other subresources.
    pub subresources: Vec<String>,
    /// Takes no new objects: its definition is going.
    pub closed: bool,
    rules: Rules,
}

enum Rules {
    Builtin { behaviour: &'static dyn Behaviour, schema: Schema<'static>, conversion: Option<Conversion> },
    Custom(Custom),
}

/// A version of a custom kind.
struct Custom {
    version: Arc<CustomVersion>,
    /// Objects stored after this revision are what the version shows; `None` if others write it too.
    current_since: Option<u64>,
}

impl Deref for Custom {
    type Target = CustomVersion;

    fn deref(&self) -> &CustomVersion {
        &self.version
    }
}

/// How a version differs from the one that is stored.
#[derive(Clone, Copy)]
struct Conversion {
    from_stored: fn(&Value) -> Value,
    to_stored: fn(&Value) -> Value,
}

/// Versions whose form differs from the stored one: group, version, kind, and the way there and back.
const CONVERSIONS: &[(&str, &str, &str, Conversion)] = &[
    (
        "events.k8s.io",
        "v1",
        "Event",
        Conversion { from_stored: event::to_events_v1, to_stored: event::from_events_v1 },
    ),
    (
        "autoscaling",
        "v1",
        "HorizontalPodAutoscaler",
        Conversion {
            from_stored: horizontal_pod_autoscaler::to_v1,
            to_stored: horizontal_pod_autoscaler::from_v1,
        },
    ),
];

/// What a client wrote that the schema does not know, and that is therefore gone.
pub type UnknownFields = Vec<String>;

impl Resource {
    /// Every version of a built-in kind, the stored one first.
    fn of_builtin(builtin: &'static Builtin) -> Vec<Self> {
        let mut served: Vec<_> = builtin.versions.iter().map(|version| (builtin.group, *version)).collect();
        if builtin.kind == "Event" {
            // One kind of object, served by two groups.
            served.push(("events.k8s.io", "v1"));
        }
        let resources = served.into_iter().filter_map(|(group, version)| {
            let api_version = api_version(group, version);
            let conversion =
                CONVERSIONS.iter().find(|(g, v, kind, _)| (*g, *v, *kind) == (group, version, builtin.kind));
            let new_event = group == "events.k8s.io";
            let rules = Rules::Builtin {
                behaviour: if new_event { &event::NewEvent } else { builtin.behaviour },
                schema: schema::builtin(&api_version, builtin.kind)?,
                conversion: conversion.map(|(.., conversion)| *conversion),
            };
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let scaled = builtin.subresources.contains(&"scale");
            Some(Self {
                group: group.to_owned(),
                version: version.to_owned(),
                api_version,
                kind: builtin.kind.to_owned(),
                list_kind: format!("{}List", builtin.kind),
                plural: builtin.plural.to_owned(),
                singular: builtin.kind.to_lowercase(),
                short_names: owned(builtin.short_names),
                categories: owned(builtin.categories),
                namespaced: builtin.namespaced,
                collection: collection(builtin.group, builtin.plural),
                status: builtin.behaviour.has_status(),
                scale: scaled.then(ScalePaths::builtin),
                subresources: owned(builtin.subresources)
                    .into_iter()
                    .filter(|name: &String| name != "scale")
                    .collect(),
                closed: false,
                rules,
            })
        });
        resources.collect()
    }

    /// The versions of a custom kind that are served. `since` is the revision of its definition; a kind that
    /// is `closed` takes no new objects.
    pub fn of_custom(kind: &CustomKind, since: u64, closed: bool) -> Vec<Self> {
        let alone = kind.versions.len() == 1;
        let served = kind.versions.iter().filter(|version| version.served);
        let resources = served.map(|version| Self {
            group: kind.group.clone(),
            version: version.name.clone(),
            api_version: api_version(&kind.group, &version.name),
            kind: kind.kind.clone(),
            list_kind: kind.list_kind.clone(),
            plural: kind.plural.clone(),
            singular: kind.singular.clone(),
            short_names: kind.short_names.clone(),
            categories: kind.categories.clone(),
            namespaced: kind.namespaced,
            collection: collection(&kind.group, &kind.plural),
            status: version.has_status,
            scale: version.scale.clone(),
            subresources: Vec::new(),
            closed,
            rules: Rules::Custom(Custom { version: version.clone(), current_since: alone.then_some(since) }),
        });
        resources.collect()
    }

    /// What errors are about.
    pub fn about<'a>(&'a self, name: &'a str) -> About<'a> {
        About { group: &self.group, resource: &self.plural, name }
    }

    pub fn schema(&self) -> Schema<'_> {
        match &self.rules {
            Rules::Builtin { schema, .. } => *schema,
            Rules::Custom(custom) => custom.schema(),
        }
    }

    /// The definition's version, if the kind is a custom one.
    pub fn custom(&self) -> Option<&CustomVersion> {
        match &self.rules {
            Rules::Custom(custom) => Some(custom),
            Rules::Builtin { .. } => None,
        }
    }

    fn behaviour(&self) -> Option<&'static dyn Behaviour> {
        match &self.rules {
            Rules::Builtin { behaviour, .. } => Some(*behaviour),
            Rules::Custom(_) => None,
        }
    }

    /// What to warn of whoever uses this version.
    pub fn deprecation(&self) -> Option<String> {
        self.custom().and_then(|custom| custom.deprecation.clone())
    }

    /// A stored object in this version.
    pub fn read(&self, record: &Record) -> Value {
        self.read_json(record.json())
    }

    /// An encoded object in this version.
    pub fn read_json(&self, json: &[u8]) -> Value {
        let mut object: Value = serde_json::from_slice(json).unwrap_or_default();
        match &self.rules {
            Rules::Builtin { conversion: Some(conversion), .. } => object = (conversion.from_stored)(&object),
            Rules::Builtin { conversion: None, .. } => {}
            Rules::Custom(custom) => {
                // What an older schema let in and this one cannot read is shown as it is.
                let _ = custom.prune(&mut object);
                custom.drop_nulls(&mut object);
                custom.default(&mut object);
            }
        }
        self.put_type(&mut object);
        object
    }

    /// Whether stored bytes are this version's, but for `apiVersion` and `kind`.
    pub fn reads_raw(&self, record: &Record) -> bool {
        match &self.rules {
            Rules::Builtin { conversion, .. } => conversion.is_none(),
            Rules::Custom(custom) => custom.current_since.is_some_and(|since| record.revision() > since),
        }
    }

    /// An object of this version as it is stored.
    pub fn encode(&self, object: &Value) -> Draft {
        let draft = match &self.rules {
            Rules::Builtin { conversion: Some(conversion), .. } => {
                Draft::encode(&(conversion.to_stored)(object))
            }
            _ => Draft::encode(object),
        };
        if &*self.collection == "events" { draft.expires_after(EVENT_TTL) } else { draft }
    }

    /// Brings a body into the form of this version. Tells which fields it does not know.
    ///
    /// # Errors
    /// In a decoder's words, when a value has the wrong type.
    pub fn conform(&self, object: &mut Value) -> Result<UnknownFields, String> {
        let unknown = self.conform_applied(object)?;
        if let Rules::Custom(custom) = &self.rules {
            custom.drop_nulls(object);
        }
        Ok(unknown)
    }

    /// The same for what came of an apply, in which nulls of custom resources stay: to be refused, if nothing fills
    /// them.
    ///
    /// # Errors
    /// As [`Resource::conform`].
    pub fn conform_applied(&self, object: &mut Value) -> Result<UnknownFields, String> {
        // An empty list of owners says something: forget them all.
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        let owners = metadata.and_then(|metadata| metadata.remove("managedFields"));
        let unknown = match &self.rules {
            Rules::Builtin { schema, .. } => structural::conform(*schema, object),
            Rules::Custom(custom) => custom.prune(object),
        };
        if let (Some(owners), Some(metadata)) = (owners, metadata::of(object)) {
            metadata.insert("managedFields".to_owned(), owners);
        }
        // Where a whole number was needed and `1.0` is none, that has been told.
        object::settle_numbers(object);
        unknown
    }

    pub fn default(&self, object: &mut Value) {
        if let Rules::Builtin { schema, .. } = &self.rules {
            structural::fill_zeros(*schema, object);
        }
        match &self.rules {
            // Defaults are those of the stored form.
            Rules::Builtin { behaviour, conversion: Some(conversion), .. } => {
                self.in_stored_form(object, conversion, |stored| behaviour.default(stored));
            }
            Rules::Builtin { behaviour, .. } => behaviour.default(object),
            Rules::Custom(custom) => custom.default(object),
        }
    }

    /// Makes a change that is told for the stored form. Metadata stay as they are: they hold what the form has no
    /// fields for.
    fn in_stored_form(&self, object: &mut Value, conversion: &Conversion, change: impl FnOnce(&mut Value)) {
        let mut stored = (conversion.to_stored)(object);
        change(&mut stored);
        let metadata = object["metadata"].clone();
        *object = (conversion.from_stored)(&stored);
        object["metadata"] = metadata;
        self.put_type(object);
    }

    fn put_type(&self, object: &mut Value) {
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".to_owned(), self.api_version.as_str().into());
            fields.insert("kind".to_owned(), self.kind.as_str().into());
        }
    }

    /// Readies a new object; `sent` is what it was before defaults.
    pub fn prepare_create(&self, object: &mut Value, sent: &Value) {
        match &self.rules {
            Rules::Builtin { behaviour, conversion: Some(conversion), .. } => {
                let sent = (conversion.to_stored)(sent);
                self.in_stored_form(object, conversion, |stored| {
                    behaviour.prepare_create(stored);
                    behaviour.complete_create(stored, &sent);
                });
            }
            Rules::Builtin { behaviour, .. } => {
                behaviour.prepare_create(object);
                behaviour.complete_create(object, sent);
            }
            Rules::Custom(custom) => custom.keep_other_part(object, None, Part::Main),
        }
    }

    pub fn prepare_update(&self, new: &mut Value, old: &Value, part: Part) {
        match &self.rules {
            Rules::Builtin { behaviour, .. } => behaviour.prepare_update(new, old, part),
            Rules::Custom(custom) => custom.keep_other_part(new, Some(old), part),
        }
    }

    /// What is wrong with an object, or with a change if there is an old one.
    pub fn validate(&self, new: &Value, old: Option<&Value>, part: Part, faults: &mut Faults) {
        match &self.rules {
            Rules::Builtin { behaviour, conversion, .. } => {
                let stored = |object: &Value| match conversion {
                    Some(conversion) => (conversion.to_stored)(object),
                    None => object.clone(),
                };
                // Only converted kinds pay for a copy.
                let (new, old) = match conversion {
                    Some(_) => (Cow::Owned(stored(new)), old.map(|old| Cow::Owned(stored(old)))),
                    None => (Cow::Borrowed(new), old.map(Cow::Borrowed)),
                };
                if part == Part::Main {
                    behaviour.validate(&new, faults);
                }
                match old {
                    Some(old) => behaviour.validate_update(&new, &old, part, faults),
                    None => behaviour.validate_create(&new, faults),
                }
            }
            Rules::Custom(custom) => custom.validate(new, old, faults),
        }
    }

    pub fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        match &self.rules {
            Rules::Builtin { behaviour, .. } => behaviour.warnings(new, old),
            Rules::Custom(_) => Vec::new(),
        }
    }

    pub fn names(&self) -> Names {
        self.behaviour().map_or(Names::Subdomain, Behaviour::names)
    }

    pub fn has_generation(&self) -> bool {
        self.behaviour().is_none_or(Behaviour::has_generation)
    }

    /// Whether a change counts for the generation.
    pub fn counts(&self, new: &Value, old: &Value) -> bool {
        match &self.rules {
            Rules::Builtin { behaviour, .. } => behaviour.counts(new, old),
            Rules::Custom(custom) => custom.counts(new, old),
        }
    }

    pub fn unconditional_update(&self) -> bool {
        self.behaviour().is_some_and(Behaviour::unconditional_update)
    }

    pub fn create_on_update(&self) -> bool {
        self.behaviour().is_some_and(Behaviour::create_on_update)
    }

    pub fn is_pod(&self) -> bool {
        &*self.collection == "pods"
    }

    /// Whether something holds an object that is to be deleted.
    pub fn is_held(&self, object: &Value) -> bool {
        let held_by_namespace =
            &*self.collection == "namespaces" && !object::items(object, "/spec/finalizers").is_empty();
        held_by_namespace || !metadata::finalizers(object).is_empty()
    }

    /// Whether an object that is being deleted has nothing left to wait for.
    pub fn may_go(&self, object: &Value) -> bool {
        metadata::may_go(object) && !self.is_held(object)
    }

    /// Holds an object that is about to be deleted, where somebody has to clear up before it goes.
    pub fn hold(&self, object: &mut Value) {
        if &*self.collection == definitions::COLLECTION {
            definitions::hold(object);
        }
    }

    /// Says in the status that an object is being deleted, where kinds do.
    pub fn mark_terminating(&self, object: &mut Value) {
        if &*self.collection == "namespaces" {
            object["status"]["phase"] = "Terminating".into();
        }
    }

    /// Whether dependents stay when nothing else is asked for: so it has always been with Jobs.
    pub fn orphans_by_default(&self) -> bool {
        &*self.collection == "jobs.batch"
    }

    /// Whether a deletion answers with the object and not with a Status.
    pub fn answers_with_deleted(&self) -> bool {
        matches!(&*self.collection, "pods" | "services" | "serviceaccounts" | "persistentvolumeclaims")
    }

    /// What no write to a part can own.
    pub fn reset(&self, part: Option<Part>) -> &'static [&'static [&'static str]] {
        match part {
            Some(part) => {
                fields::reset_fields(&self.api_version, &self.kind, self.status, part == Part::Status)
            }
            None => &[],
        }
    }

    /// What field selectors know, with an object's values.
    pub fn fields(&self, object: &Value) -> Vec<(String, String)> {
        let own = match &self.rules {
            Rules::Builtin { behaviour, conversion: None, .. } => {
                behaviour.fields(object).into_iter().map(|(field, value)| (field.to_owned(), value)).collect()
            }
            Rules::Builtin { behaviour, conversion: Some(conversion), .. } => {
                let stored = (conversion.to_stored)(object);
                behaviour
                    .fields(&stored)
                    .into_iter()
                    .map(|(field, value)| (field.to_owned(), value))
                    .collect()
            }
            Rules::Custom(custom) => {
                custom.fields(object).into_iter().map(|(field, value)| (field.to_owned(), value)).collect()
            }
        };
        let mut fields: Vec<(String, String)> = own;
        fields.push(("metadata.name".to_owned(), object::name(object).to_owned()));
        fields.push(("metadata.namespace".to_owned(), object::namespace(object).to_owned()));
        fields
    }

    /// The columns of a table of this kind.
    pub fn columns(&self) -> Vec<TableColumn> {
        match &self.rules {
            Rules::Builtin { behaviour, .. } => behaviour.columns().iter().map(TableColumn::from).collect(),
            Rules::Custom(custom) => custom.columns().to_vec(),
        }
    }

    /// An object's row, a cell for each column.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        match &self.rules {
            Rules::Builtin { behaviour, conversion: None, .. } => behaviour.cells(object, now),
            Rules::Builtin { behaviour, conversion: Some(conversion), .. } => {
                behaviour.cells(&(conversion.to_stored)(object), now)
            }
            Rules::Custom(custom) => custom.cells(object, now),
        }
    }
}

/// Events are for looking at what happened just now.
const EVENT_TTL: Duration = Duration::from_secs(3600);

/// The store's name for the objects of a kind.
pub fn collection(group: &str, plural: &str) -> Arc<str> {
    if group.is_empty() { plural.into() } else { format!("{plural}.{group}").into() }
}

/// The resources that are served now.
pub struct Resources {
    table: RwLock<Arc<BTreeMap<String, Arc<Resource>>>>,
}

impl Resources {
    /// The built-in ones.
    pub fn builtin() -> Self {
        let table = BUILTINS
            .iter()
            .flat_map(Resource::of_builtin)
            .map(|resource| (path_of(&resource), Arc::new(resource)));
        Self { table: RwLock::new(Arc::new(table.collect())) }
    }

    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.all().get(&format!("{group}/{version}/{plural}")).cloned()
    }

    /// All of them, by group, version and plural.
    pub fn all(&self) -> Arc<BTreeMap<String, Arc<Resource>>> {
        self.table.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Serves these versions of a custom kind, and no others of it.
    pub fn serve(&self, collection: &str, versions: Vec<Resource>) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = BTreeMap::clone(&table);
        next.retain(|_, resource| resource.behaviour().is_some() || &*resource.collection != collection);
        next.extend(versions.into_iter().map(|resource| (path_of(&resource), Arc::new(resource))));
        *table = Arc::new(next);
    }
}

fn path_of(resource: &Resource) -> String {
    format!("{}/{}/{}", resource.group, resource.version, resource.plural)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Resources;

    /// What a dry run answers: nothing is read back from the store.
    #[test]
    fn new_object_has_the_status_of_its_version() {
        let resource =
            Resources::builtin().find("autoscaling", "v1", "horizontalpodautoscalers").expect("served");
        let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" });
        let mut object =
            json!({ "metadata": { "name": "a" }, "spec": { "maxReplicas": 3, "scaleTargetRef": target } });
        let sent = object.clone();
        resource.default(&mut object);
        resource.prepare_create(&mut object, &sent);
        assert_eq!(object["status"], json!({ "currentReplicas": 0, "desiredReplicas": 0 }));
        assert_eq!(object["spec"]["targetCPUUtilizationPercentage"], 80);
    }
}
