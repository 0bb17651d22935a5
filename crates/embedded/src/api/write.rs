//! Writing an object: the steps that every create, update, patch and delete goes through.
//!
//! ```text
//! create   place ─► metadata ─► default ─► owners ─► prepare ─► admit ─► validate ─► commit
//! modify   read ─► change ─► metadata ─► default ─► owners ─► prepare ─► validate ─► commit ─┐
//!            ▲                                                       somebody was faster: again │
//!            └──────────────────────────────────────────────────────────────────────────────────┘
//! ```
//! A change is a function from the live object to the wanted one, so that it can be asked again. A write that
//! changes nothing is not made. Nothing is written under `dryRun`.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::OwnedMutexGuard;

use super::{
    admission,
    behaviour::Part,
    error::{About, ApiError, Result},
    fault::Faults,
    fields::{self, Writer},
    metadata, object,
    options::FieldValidation,
    resource::Resource,
    server::Server,
    valid,
};
use crate::store::{Change, CommitError, Draft, Expect, Key, Record};

/// How often a change is tried anew when others are faster. Far beyond what fair competition needs.
const MAX_ATTEMPTS: usize = 64;

/// One write on its way.
pub struct Write<'a> {
    pub server: &'a Server,
    pub resource: &'a Arc<Resource>,
    pub namespace: &'a str,
    /// The part that a client writes to. `None` is a subresource whose handler makes the whole change itself, such
    /// as `/binding`: there is nothing to carry over and nothing to judge.
    pub part: Option<Part>,
    /// The subresource's name if it is not the object itself: owners are recorded by it.
    pub subresource: &'a str,
    pub manager: &'a str,
    pub validation: FieldValidation,
    pub dry_run: bool,
    /// For the client, beside the answer.
    pub warnings: Vec<String>,
}

/// What came of a write.
#[derive(Clone, Debug)]
pub enum Written {
    /// It is stored; or was already as wanted.
    Stored(Arc<Record>),
    /// It would look like this.
    Dry(Value),
}

/// Where a changed object comes from: the rules for what may be in it differ a little.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin {
    /// A whole new object.
    Update,
    /// The live object with a patch on it.
    Patch,
    /// A change that has settled its owners itself, as server-side apply does.
    Settled,
}

impl Write<'_> {
    pub fn key(&self, name: &str) -> Key {
        Key::new(self.resource.collection.clone(), self.namespace, name)
    }

    fn about<'b>(&'b self, name: &'b str) -> About<'b> {
        self.resource.about(name)
    }

    pub fn writer(&self) -> Writer<'_> {
        Writer {
            manager: self.manager,
            api_version: &self.resource.api_version,
            subresource: (!self.subresource.is_empty()).then_some(self.subresource),
            time: self.server.clock.now(),
        }
    }

    /// Writes to Services wait for each other: their addresses must not meet.
    async fn addresses(&self) -> Option<OwnedMutexGuard<()>> {
        if &*self.resource.collection != "services" {
            return None;
        }
        Some(self.server.addresses.clone().lock_owned().await)
    }

    /// Makes an object of a body that has its type, and whose unknown fields are gone.
    pub async fn create(&mut self, mut body: Value, origin: Origin) -> Result<Written> {
        let _addresses = self.addresses().await;
        metadata::place(&mut body, if self.resource.namespaced { self.namespace } else { "" })?;
        let generated = origin != Origin::Settled && object::name(&body).is_empty();
        for _ in 0..MAX_ATTEMPTS {
            let mut new = body.clone();
            let suffix = self.server.rng.name_suffix(metadata::SUFFIX_LENGTH);
            if let (Some(name), Some(metadata)) =
                (metadata::generated_name(&new, &suffix), metadata::of(&mut new))
            {
                metadata.insert("name".to_owned(), name.into());
            }
            let name = object::name(&new).to_owned();
            admission::namespace_is_open(self.server, self.resource, self.namespace, &name)?;
            let resource = self.resource.clone();
            metadata::create(
                &mut new,
                self.server.rng.uuid(),
                self.server.clock.now(),
                resource.has_generation(),
            )?;
            resource.default(&mut new);
            if origin != Origin::Settled {
                fields::track_update(
                    resource.schema(),
                    None,
                    &mut new,
                    &self.writer(),
                    resource.reset(self.part),
                );
            }
            resource.prepare_create(&mut new, &body);
            let admitted = admission::create(self.server, &resource, &mut new);
            // Upstream judges before it makes a name up: who tries again must be told the same again.
            let prefix = object::meta(&body, "generateName");
            admitted.map_err(|error| if generated { error.renamed(&name, prefix) } else { error })?;
            let mut faults = Faults::default();
            valid::metadata(&new, resource.names(), resource.namespaced, &mut faults);
            resource.validate(&new, None, Part::Main, &mut faults);
            self.refuse(&name, &faults)?;
            self.warnings.extend(resource.warnings(&new, None));
            let key = self.key(&name);
            if self.dry_run {
                if self.server.store.get(&key).is_some() {
                    return Err(ApiError::already_exists(self.about(&name)));
                }
                return Ok(Written::Dry(new));
            }
            let draft = resource.encode(&new);
            match self.server.store.commit(key, Expect::Absent, Change::Put(draft)).await {
                Ok(record) => return Ok(Written::Stored(record)),
                // A generated name may meet one that is taken; another draw will not.
                Err(CommitError::Exists(_)) if generated => self.warnings.clear(),
                Err(error) => return Err(self.failure(&name, error)),
            }
        }
        Err(ApiError::too_many_requests("no free name could be generated, please try again", Some(1)))
    }

    /// Changes an object as often as it takes. `change` makes the wanted object of the live one.
    pub async fn modify(
        &mut self,
        name: &str,
        origin: Origin,
        mut change: impl FnMut(&mut Self, &Value) -> Result<Value>,
    ) -> Result<Written> {
        let key = self.key(name);
        let _addresses = self.addresses().await;
        for _ in 0..MAX_ATTEMPTS {
            let Some(record) = self.server.store.get(&key) else {
                return Err(ApiError::not_found(self.about(name)));
            };
            self.warnings.clear();
            let live = self.resource.read(&record);
            let wanted = change(self, &live)?;
            let new = self.settle(name, &live, wanted, origin)?;
            if self.dry_run {
                return Ok(Written::Dry(new));
            }
            let draft = self.resource.encode(&new);
            let change = if self.resource.may_go(&new) {
                Change::Delete(draft)
            } else if draft.same_as(&record) {
                return Ok(Written::Stored(record));
            } else {
                Change::Put(draft)
            };
            match self.server.store.commit(key.clone(), Expect::Revision(record.revision()), change).await {
                Ok(record) => return Ok(Written::Stored(record)),
                Err(CommitError::Stale(_) | CommitError::Missing | CommitError::Exists(_)) => {}
                Err(error) => return Err(self.failure(name, error)),
            }
        }
        Err(ApiError::stale(self.about(name)))
    }

    /// Everything between what a client wants and what is stored.
    fn settle(&mut self, name: &str, live: &Value, mut new: Value, origin: Origin) -> Result<Value> {
        let resource = self.resource.clone();
        self.same_object(name, live, &mut new, origin)?;
        let mut faults = Faults::default();
        metadata::update(&mut new, live, &mut faults);
        resource.default(&mut new);
        if origin != Origin::Settled {
            fields::track_update(
                resource.schema(),
                Some(live),
                &mut new,
                &self.writer(),
                resource.reset(self.part),
            );
        }
        if let Some(part) = self.part {
            resource.prepare_update(&mut new, live, part);
            if part == Part::Main {
                admission::update(self.server, &resource, &mut new, live)?;
                if resource.has_generation() && resource.counts(&new, live) {
                    metadata::next_generation(&mut new);
                }
            }
            valid::metadata(&new, resource.names(), resource.namespaced, &mut faults);
            resource.validate(&new, Some(live), part, &mut faults);
        }
        self.refuse(name, &faults)?;
        self.warnings.extend(resource.warnings(&new, Some(live)));
        fields::settle(live, &mut new);
        Ok(new)
    }

    /// Whether the wanted object is a later state of the live one: same name, uid and version.
    fn same_object(&self, name: &str, live: &Value, new: &mut Value, origin: Origin) -> Result<()> {
        let given = object::name(new);
        if given != name {
            return Err(ApiError::bad_request(if given.is_empty() {
                "name must be provided".to_owned()
            } else {
                format!("the name of the object ({given}) does not match the name on the URL ({name})")
            }));
        }
        metadata::place(new, if self.resource.namespaced { self.namespace } else { "" })?;
        let (uid, live_uid) = (object::meta(new, "uid"), object::meta(live, "uid"));
        if origin == Origin::Update && !uid.is_empty() && uid != live_uid {
            let why =
                format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {live_uid}");
            return Err(ApiError::conflict(self.about(name), &why));
        }
        let version = object::meta(new, "resourceVersion");
        if version.is_empty() || version == "0" {
            if origin == Origin::Update && !self.resource.unconditional_update() {
                let mut faults = Faults::default();
                let path = super::fault::Path::new("metadata.resourceVersion");
                faults.invalid(&path, &Value::from(0), "must be specified for an update");
                self.refuse(name, &faults)?;
            }
            return Ok(());
        }
        if version != object::meta(live, "resourceVersion") {
            return Err(ApiError::stale(self.about(name)));
        }
        Ok(())
    }

    pub fn refuse(&self, name: &str, faults: &Faults) -> Result<()> {
        if faults.is_empty() {
            return Ok(());
        }
        let about = About { group: &self.resource.group, resource: &self.resource.kind, name };
        Err(ApiError::invalid(about, faults))
    }

    /// A commit's failure as the client sees it.
    pub fn failure(&self, name: &str, error: CommitError) -> ApiError {
        match error {
            CommitError::Exists(_) => ApiError::already_exists(self.about(name)),
            CommitError::Stale(_) => ApiError::stale(self.about(name)),
            CommitError::Missing => ApiError::not_found(self.about(name)),
            CommitError::TooLarge { .. } => ApiError::too_large(error.to_string()),
            CommitError::Full(_) | CommitError::Closed(_) => ApiError::unavailable(error.to_string()),
        }
    }

    /// Commits a deletion, or the last step before it.
    pub async fn commit(&self, name: &str, at: &Record, change: Change) -> Result<Arc<Record>, CommitError> {
        self.server.store.commit(self.key(name), Expect::Revision(at.revision()), change).await
    }

    /// A draft of an object of this kind.
    pub fn draft(&self, object: &Value) -> Draft {
        self.resource.encode(object)
    }
}
