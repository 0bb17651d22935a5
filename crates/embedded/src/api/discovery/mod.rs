//! Discovery: which groups, versions and resources are served.
//!
//! [`Served`] is the one list of them: the built-in kinds and whatever definitions have been added. From it come
//! the plain documents (`/api`, `/apis`, `/apis/{group}`, `/apis/{group}/{version}`), the aggregated one that
//! kubectl prefers, and, in `api/openapi`, the paths of the published schema.

mod builtin;
mod document;
mod version;

use std::borrow::Cow;

pub use document::{etag, unchanged};
pub use version::{compare_versions, server_version};

pub type Text = Cow<'static, str>;

/// Everything a kept kind can be asked for.
pub const ALL_VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// What is served.
#[derive(Clone, Debug, Default)]
pub struct Served {
    /// In the order in which they are listed; the core group has no name.
    groups: Vec<Group>,
}

/// A group, with its versions by preference.
#[derive(Clone, Debug)]
pub struct Group {
    pub name: Text,
    pub versions: Vec<Version>,
}

/// A version of a group.
#[derive(Clone, Debug)]
pub struct Version {
    pub name: Text,
    /// In the order of their plurals.
    pub resources: Vec<Resource>,
}

/// A resource in one version.
#[derive(Clone, Debug)]
pub struct Resource {
    pub plural: Text,
    pub singular: Text,
    pub kind: Text,
    pub short_names: Vec<Text>,
    pub categories: Vec<Text>,
    pub namespaced: bool,
    pub verbs: &'static [&'static str],
    pub subresources: Vec<Subresource>,
    /// Whether it comes from a definition and not with the server.
    pub custom: bool,
}

/// A subresource.
#[derive(Clone, Debug)]
pub struct Subresource {
    pub name: Text,
    /// Group, version and kind of what it takes and gives, unless those are the resource's own.
    pub other: Option<(&'static str, &'static str, &'static str)>,
    pub verbs: &'static [&'static str],
}

/// A custom kind to be served, as its definition has it.
#[derive(Clone, Debug, Default)]
pub struct Custom {
    pub group: String,
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    /// Versions that are served.
    pub versions: Vec<CustomVersion>,
}

/// A version of a custom kind.
#[derive(Clone, Debug, Default)]
pub struct CustomVersion {
    pub name: String,
    /// Whether it has `/status`.
    pub status: bool,
    /// Whether it has `/scale`.
    pub scale: bool,
}

impl Served {
    /// The built-in kinds.
    pub fn builtin() -> Self {
        Self { groups: builtin::groups() }
    }

    /// The built-in kinds and these.
    pub fn with(custom: impl IntoIterator<Item = Custom>) -> Self {
        let mut served = Self::builtin();
        let builtin = served.groups.len();
        for kind in custom {
            served.add(kind);
        }
        served.groups[builtin..].sort_by(|one, other| one.name.cmp(&other.name));
        served
    }

    fn add(&mut self, kind: Custom) {
        let at = self.groups.iter().position(|group| group.name == kind.group).unwrap_or_else(|| {
            self.groups.push(Group { name: kind.group.clone().into(), versions: Vec::new() });
            self.groups.len() - 1
        });
        for version in &kind.versions {
            self.groups[at].add(version.name.clone().into(), kind.resource(version));
        }
    }

    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    pub fn version(&self, group: &str, version: &str) -> Option<&Version> {
        self.group(group)?.versions.iter().find(|known| known.name == version)
    }
}

impl Group {
    /// Adds a resource to a version; both find their place.
    fn add(&mut self, version: Text, resource: Resource) {
        let at = self.versions.iter().position(|known| known.name == version).unwrap_or_else(|| {
            let before = |known: &Version| compare_versions(&known.name, &version).is_lt();
            let at = self.versions.partition_point(before);
            self.versions.insert(at, Version { name: version, resources: Vec::new() });
            at
        });
        let resources = &mut self.versions[at].resources;
        let at = resources.partition_point(|known| known.plural <= resource.plural);
        resources.insert(at, resource);
    }
}

impl Custom {
    fn resource(&self, version: &CustomVersion) -> Resource {
        let texts = |texts: &[String]| texts.iter().map(|text| text.clone().into()).collect();
        let subresources = [("status", version.status), ("scale", version.scale)];
        Resource {
            plural: self.plural.clone().into(),
            singular: self.singular.clone().into(),
            kind: self.kind.clone().into(),
            short_names: texts(&self.short_names),
            categories: texts(&self.categories),
            namespaced: self.namespaced,
            verbs: ALL_VERBS,
            subresources: subresources
                .iter()
                .filter(|(_, has)| *has)
                .map(|(name, _)| builtin::subresource(name))
                .collect(),
            custom: true,
        }
    }
}

/// `v1` or `apps/v1`.
pub fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

#[cfg(test)]
mod tests;
