//! Schemas in the form the server works with: read once, references resolved, cheap to walk.
//!
//! Built-in kinds come from the bundle, custom ones from their definition; after this they are alike.
//! Nothing here judges: whether a schema is allowed is for `api/crd` to say before it gets here.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    ops::Deref,
};

use serde_json::{Map, Value};

use super::pattern::{self, Pattern};

/// A set of schemas that refer to each other.
#[derive(Debug, Default)]
pub struct Tree {
    nodes: Vec<Node>,
    named: HashMap<String, usize>,
}

/// One schema of a tree.
#[derive(Clone, Copy)]
pub struct Schema<'a> {
    tree: &'a Tree,
    at: usize,
}

/// What a value must be.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Type {
    /// Anything.
    #[default]
    Any,
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    /// `x-kubernetes-int-or-string`, and Kubernetes' own type of that name.
    IntOrString,
    /// Kubernetes' own: a string such as `100m`, or a number.
    Quantity,
}

/// How a list is merged by server-side apply.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum ListType {
    /// As a whole.
    #[default]
    Atomic,
    /// Item by item; items are scalars.
    Set,
    /// Item by item; these fields tell items apart.
    Map(Vec<String>),
}

/// How a list or an object is merged by a strategic merge patch.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PatchStrategy {
    /// Lists are merged item by item (else replaced).
    pub merge: bool,
    /// Fields that the patch's `$retainKeys` does not name are dropped.
    pub retain_keys: bool,
    /// The field that tells the items of a list apart; lists of scalars have none.
    pub merge_key: Option<String>,
}

/// Bounds as JSON Schema has them.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    pub minimum: Option<f64>,
    pub exclusive_minimum: bool,
    pub maximum: Option<f64>,
    pub exclusive_maximum: bool,
    pub multiple_of: Option<f64>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub pattern: Option<Pattern>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
    pub unique_items: bool,
    pub min_properties: Option<u64>,
    pub max_properties: Option<u64>,
}

/// A CEL rule as its author wrote it.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    pub rule: String,
    pub message: Option<String>,
    pub message_expression: Option<String>,
    pub reason: Option<String>,
    pub field_path: Option<String>,
    pub optional_old_self: bool,
}

/// What a schema says about values at its place. Children are reached through [`Schema`].
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The definition's name if it has one, for example `io.k8s.api.core.v1.PodSpec`.
    pub name: Option<String>,
    pub kind: Type,
    pub format: Option<String>,
    pub nullable: bool,
    pub required: Vec<String>,
    pub default: Option<Value>,
    pub enumeration: Vec<Value>,
    pub list: ListType,
    /// Server-side apply takes the object as a whole.
    pub atomic_map: bool,
    pub patch: PatchStrategy,
    pub preserve_unknown: bool,
    pub embedded_resource: bool,
    pub bounds: Bounds,
    pub rules: Vec<Rule>,
    properties: BTreeMap<String, usize>,
    additional: Option<usize>,
    items: Option<usize>,
    all_of: Vec<usize>,
    any_of: Vec<usize>,
    one_of: Vec<usize>,
    not: Option<usize>,
}

impl Tree {
    /// A tree of definitions that refer to each other by `#/components/schemas/<name>`.
    pub fn of_definitions<'v>(definitions: impl Iterator<Item = (&'v str, &'v Value)> + Clone) -> Self {
        let mut tree = Self::default();
        for (name, _) in definitions.clone() {
            tree.named.insert(name.to_owned(), tree.nodes.len());
            tree.nodes.push(Node::default());
        }
        for (name, schema) in definitions {
            let mut node = tree.node(schema);
            node.name = Some(name.to_owned());
            adopt_kubernetes_type(name, &mut node);
            let at = tree.named[name];
            tree.nodes[at] = node;
        }
        // A reference with something beside it (`allOf` and a patch strategy) is a copy of what it refers to,
        // which is known only now.
        for at in 0..tree.nodes.len() {
            if let ([target], false) =
                (tree.nodes[at].all_of.as_slice(), tree.nodes[at].patch == PatchStrategy::default())
                && tree.nodes[at].name.is_none()
            {
                let patch = tree.nodes[at].patch.clone();
                tree.nodes[at] = Node { patch, ..tree.nodes[*target].clone() };
            }
        }
        tree
    }

    /// A tree of one schema without references, and the definitions that `$ref`s in it may name.
    pub fn of_schema<'v>(
        schema: &Value,
        definitions: impl Iterator<Item = (&'v str, &'v Value)> + Clone,
    ) -> Self {
        let mut tree = Self::of_definitions(definitions);
        let root = tree.node(schema);
        tree.named.insert(ROOT.to_owned(), tree.nodes.len());
        tree.nodes.push(root);
        tree
    }

    /// The schema of a name.
    pub fn named(&self, name: &str) -> Option<Schema<'_>> {
        self.named.get(name).map(|&at| Schema { tree: self, at })
    }

    /// The root of a tree made by [`Tree::of_schema`].
    pub fn root(&self) -> Option<Schema<'_>> {
        self.named(ROOT)
    }

    /// The place of a schema, or of what it refers to.
    fn add(&mut self, schema: &Value) -> usize {
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap_or_default();
            if let Some(&at) = self.named.get(name) {
                return at;
            }
        }
        let node = self.node(schema);
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn node(&mut self, schema: &Value) -> Node {
        let empty = Map::new();
        let fields = schema.as_object().unwrap_or(&empty);
        let text = |field: &str| fields.get(field).and_then(Value::as_str);
        let flag = |field: &str| fields.get(field).and_then(Value::as_bool).unwrap_or_default();
        let number = |field: &str| fields.get(field).and_then(Value::as_f64);
        let count = |field: &str| fields.get(field).and_then(Value::as_u64);
        let texts = |field: &str| -> Vec<String> {
            let values = fields.get(field).and_then(Value::as_array);
            values.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let strategy = text("x-kubernetes-patch-strategy").unwrap_or_default();
        let mut node = Node {
            name: None,
            kind: match text("type") {
                _ if flag("x-kubernetes-int-or-string") => Type::IntOrString,
                Some("object") => Type::Object,
                Some("array") => Type::Array,
                Some("string") => Type::String,
                Some("integer") => Type::Integer,
                Some("number") => Type::Number,
                Some("boolean") => Type::Boolean,
                _ => Type::Any,
            },
            format: text("format").map(str::to_owned),
            nullable: flag("nullable"),
            required: texts("required"),
            default: fields.get("default").cloned(),
            enumeration: fields.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
            list: match text("x-kubernetes-list-type") {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map(texts("x-kubernetes-list-map-keys")),
                _ => ListType::Atomic,
            },
            atomic_map: text("x-kubernetes-map-type") == Some("atomic"),
            patch: PatchStrategy {
                merge: strategy.split(',').any(|word| word == "merge"),
                retain_keys: strategy.split(',').any(|word| word == "retainKeys"),
                merge_key: text("x-kubernetes-patch-merge-key").map(str::to_owned),
            },
            preserve_unknown: flag("x-kubernetes-preserve-unknown-fields"),
            embedded_resource: flag("x-kubernetes-embedded-resource"),
            bounds: Bounds {
                minimum: number("minimum"),
                exclusive_minimum: flag("exclusiveMinimum"),
                maximum: number("maximum"),
                exclusive_maximum: flag("exclusiveMaximum"),
                multiple_of: number("multipleOf"),
                min_length: count("minLength"),
                max_length: count("maxLength"),
                pattern: text("pattern").and_then(|pattern| pattern::compile(pattern).ok()),
                min_items: count("minItems"),
                max_items: count("maxItems"),
                unique_items: flag("uniqueItems"),
                min_properties: count("minProperties"),
                max_properties: count("maxProperties"),
            },
            rules: fields
                .get("x-kubernetes-validations")
                .and_then(|rules| serde_json::from_value(rules.clone()).ok())
                .unwrap_or_default(),
            ..Node::default()
        };
        let properties = fields.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            node.properties.insert(name.clone(), self.add(property));
        }
        node.additional = match fields.get("additionalProperties") {
            Some(Value::Bool(false)) | None => None,
            Some(schema) => Some(self.add(schema)),
        };
        node.items = fields.get("items").map(|items| self.add(items));
        let mut branches = |field: &str| -> Vec<usize> {
            let schemas = fields.get(field).and_then(Value::as_array);
            schemas.into_iter().flatten().map(|schema| self.add(schema)).collect()
        };
        (node.all_of, node.any_of, node.one_of) = (branches("allOf"), branches("anyOf"), branches("oneOf"));
        node.not = fields.get("not").map(|not| self.add(not));
        node
    }
}

const ROOT: &str = "";

/// Types of Kubernetes' own that the published schema describes only loosely.
fn adopt_kubernetes_type(name: &str, node: &mut Node) {
    match name.rsplit('.').next() {
        Some("Quantity") => node.kind = Type::Quantity,
        Some("IntOrString") => node.kind = Type::IntOrString,
        // A set of fields, opaque to everything but its owner.
        Some("FieldsV1") => {
            node.preserve_unknown = true;
            node.atomic_map = true;
        }
        Some(
            "RawExtension"
            | "JSON"
            | "JSONSchemaPropsOrArray"
            | "JSONSchemaPropsOrBool"
            | "JSONSchemaPropsOrStringArray",
        ) => {
            node.preserve_unknown = true;
        }
        _ => return,
    }
    (node.one_of, node.any_of) = (Vec::new(), Vec::new());
}

impl<'a> Schema<'a> {
    /// A declared field.
    pub fn property(self, name: &str) -> Option<Schema<'a>> {
        self.tree.nodes[self.at].properties.get(name).map(|&at| self.to(at))
    }

    /// All declared fields, in order of their names.
    pub fn properties(self) -> impl Iterator<Item = (&'a str, Schema<'a>)> {
        self.tree.nodes[self.at].properties.iter().map(move |(name, &at)| (name.as_str(), self.to(at)))
    }

    /// What fields that are not declared must be, if they are allowed: `additionalProperties`.
    pub fn additional(self) -> Option<Schema<'a>> {
        self.tree.nodes[self.at].additional.map(|at| self.to(at))
    }

    /// A field, declared or additional.
    pub fn field(self, name: &str) -> Option<Schema<'a>> {
        self.property(name).or_else(|| self.additional())
    }

    /// The items of a list.
    pub fn items(self) -> Option<Schema<'a>> {
        self.tree.nodes[self.at].items.map(|at| self.to(at))
    }

    pub fn all_of(self) -> impl Iterator<Item = Schema<'a>> {
        self.tree.nodes[self.at].all_of.iter().map(move |&at| self.to(at))
    }

    pub fn any_of(self) -> impl Iterator<Item = Schema<'a>> {
        self.tree.nodes[self.at].any_of.iter().map(move |&at| self.to(at))
    }

    pub fn one_of(self) -> impl Iterator<Item = Schema<'a>> {
        self.tree.nodes[self.at].one_of.iter().map(move |&at| self.to(at))
    }

    /// What a value must not be: `not`.
    pub fn negated(self) -> Option<Schema<'a>> {
        self.tree.nodes[self.at].not.map(|at| self.to(at))
    }

    /// A number that tells this schema from all others of its tree.
    pub fn id(self) -> usize {
        self.at
    }

    fn to(self, at: usize) -> Self {
        Self { tree: self.tree, at }
    }
}

impl Deref for Schema<'_> {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.tree.nodes[self.at]
    }
}

impl fmt::Debug for Schema<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({} {:?})", self.at, self.name)
    }
}
