//! A kind that a definition brought: everything requests need to know, read once.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    super::{
        behaviour::Part,
        discovery::compare_versions,
        fault::{Faults, Path},
        json_path::JsonPath,
        object,
        scale::ScalePaths,
        structural::{self, cel::Rules},
        table::TableColumn,
    },
    columns::Columns,
};
use crate::schema::{Schema, Tree, metadata_definitions};

/// A custom kind in all its versions.
#[derive(Debug)]
pub struct CustomKind {
    pub group: String,
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub list_kind: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    /// In the order of the definition.
    pub versions: Vec<Arc<CustomVersion>>,
}

/// A custom kind in one version.
#[derive(Debug)]
pub struct CustomVersion {
    pub name: String,
    pub served: bool,
    pub storage: bool,
    /// What to warn of if the version is deprecated.
    pub deprecation: Option<String>,
    /// Whether only `/status` writes the status.
    pub has_status: bool,
    pub scale: Option<ScalePaths>,
    tree: Tree,
    rules: Rules,
    columns: Columns,
    selectable: Vec<(String, JsonPath)>,
}

impl CustomKind {
    /// Reads a definition that has been accepted. The error names what a stored definition can no longer be.
    pub fn compile(crd: &Value) -> Result<Self, String> {
        let spec = &crd["spec"];
        // Before it is established a definition has no accepted names; afterwards only those count.
        let accepted = &crd["status"]["acceptedNames"];
        let has_accepted = !accepted["kind"].as_str().unwrap_or_default().is_empty();
        let names = if has_accepted { accepted } else { &spec["names"] };
        let text = |field: &str| names[field].as_str().unwrap_or_default().to_owned();
        let texts = |field: &str| -> Vec<String> {
            let list = names[field].as_array().into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let versions = object::items(spec, "/versions");
        Ok(Self {
            group: spec["group"].as_str().unwrap_or_default().to_owned(),
            plural: text("plural"),
            singular: text("singular"),
            kind: text("kind"),
            list_kind: text("listKind"),
            short_names: texts("shortNames"),
            categories: texts("categories"),
            namespaced: spec["scope"] == "Namespaced",
            versions: versions
                .iter()
                .map(|version| CustomVersion::compile(spec, version).map(Arc::new))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl CustomVersion {
    fn compile(spec: &Value, version: &Value) -> Result<Self, String> {
        let name = version["name"].as_str().unwrap_or_default().to_owned();
        let tree = tree_of(&version["schema"]["openAPIV3Schema"]);
        let mut faults = Faults::default();
        let rules = match tree.root() {
            Some(root) => Rules::compile(root, &Path::root(), &mut faults),
            None => Rules::default(),
        };
        if !faults.is_empty() {
            return Err(format!("version {name}: {faults}"));
        }
        let subresources = &version["subresources"];
        let selectable = object::items(version, "/selectableFields").iter().filter_map(|field| {
            let path = field["jsonPath"].as_str()?;
            Some((path.trim_start_matches('.').to_owned(), JsonPath::parse(path).ok()?))
        });
        Ok(Self {
            served: version["served"] == true,
            storage: version["storage"] == true,
            deprecation: (version["deprecated"] == true).then(|| deprecation(spec, version)),
            has_status: subresources["status"].is_object(),
            scale: ScalePaths::custom(&subresources["scale"]),
            columns: Columns::of(object::items(version, "/additionalPrinterColumns")),
            selectable: selectable.collect(),
            name,
            tree,
            rules,
        })
    }

    /// The schema of the whole object, `metadata` included.
    pub fn schema(&self) -> Schema<'_> {
        self.tree.root().expect("a tree of a schema must have a root")
    }

    /// Fills in what a client left out, or what an older schema did not have.
    pub fn default(&self, object: &mut Value) {
        structural::default(self.schema(), object);
    }

    /// Drops nulls that say nothing.
    pub fn drop_nulls(&self, object: &mut Value) {
        structural::drop_nulls(self.schema(), object);
    }

    /// Drops what the schema does not know and returns the paths. The error is a decoder's, for a 400.
    pub fn prune(&self, object: &mut Value) -> Result<Vec<String>, String> {
        structural::prune(self.schema(), object)
    }

    /// Judges an object, on update beside what it was. A write to the status is judged as a whole too: rules
    /// may speak of both parts.
    pub fn validate(&self, object: &Value, old: Option<&Value>, faults: &mut Faults) {
        structural::validate(self.schema(), object, old, &self.rules, faults);
    }

    /// Carries over what a write to one part may not change; drops the status at creation (`old` is none).
    pub fn keep_other_part(&self, new: &mut Value, old: Option<&Value>, part: Part) {
        match old {
            _ if !self.has_status => {}
            Some(old) => object::keep_other_part(new, old, part),
            None => {
                if let Some(fields) = new.as_object_mut() {
                    fields.remove("status");
                }
            }
        }
    }

    /// Whether a change counts for the generation: of anything but metadata, and but a status of its own.
    pub fn counts(&self, new: &Value, old: &Value) -> bool {
        let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else { return new != old };
        let names = new.keys().chain(old.keys());
        names
            .filter(|name| *name != "metadata" && !(self.has_status && *name == "status"))
            .any(|name| new.get(name) != old.get(name))
    }

    /// The columns of `kubectl get`.
    pub fn columns(&self) -> &[TableColumn] {
        self.columns.heads()
    }

    /// One cell for each column.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        self.columns.cells(object, now)
    }

    /// What field selectors know beside the name, with the object's values; empty if unset.
    pub fn fields(&self, object: &Value) -> Vec<(&str, String)> {
        let value = |path: &JsonPath| match path.find(object).first() {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        self.selectable.iter().map(|(name, path)| (name.as_str(), value(path))).collect()
    }
}

/// The schema of a version with what every object has: apiVersion, kind and metadata.
pub fn tree_of(schema: &Value) -> Tree {
    let mut schema = schema.clone();
    if let Some(properties) = object::child(&mut schema, "properties") {
        for field in ["apiVersion", "kind"] {
            properties.entry(field).or_insert_with(|| json!({ "type": "string" }));
        }
        let metadata = properties.remove("metadata").unwrap_or_default();
        properties.insert("metadata".to_owned(), object_meta(&metadata));
    }
    Tree::of_schema(&schema, metadata_definitions())
}

/// The schema of `metadata`, with what a definition asks of the names.
fn object_meta(own: &Value) -> Value {
    let named = own["properties"].as_object();
    let Some(named) = named.filter(|named| !named.is_empty()) else {
        return json!({ "$ref": format!("#/components/schemas/{}", structural::OBJECT_META) });
    };
    let mut definitions = metadata_definitions();
    let definition = definitions.find(|(name, _)| *name == structural::OBJECT_META);
    let mut schema = definition.map(|(_, schema)| schema.clone()).unwrap_or_default();
    for (name, property) in named {
        schema["properties"][name] = property.clone();
    }
    schema
}

/// The warning of a version that does not bring its own.
fn deprecation(spec: &Value, version: &Value) -> String {
    if let Some(own) = version["deprecationWarning"].as_str() {
        return own.to_owned();
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, kind, name) = (text(&spec["group"]), text(&spec["names"]["kind"]), text(&version["name"]));
    let better = object::items(spec, "/versions")
        .iter()
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .map(|other| text(&other["name"]))
        .filter(|other| compare_versions(other, &name).is_lt())
        .min_by(|a, b| compare_versions(a, b));
    let warning = format!("{group}/{name} {kind} is deprecated");
    better.map_or(warning.clone(), |better| format!("{warning}; use {group}/{better} {kind}"))
}

#[cfg(test)]
mod tests;
