//! How ownership sees a value: as a whole, field by field, or item by item.
//!
//! This is the one place that reads schemas for server-side apply. What no schema describes is deduced from
//! the value: objects go field by field, lists as a whole.

use std::{borrow::Cow, sync::LazyLock};

use serde_json::{Map, Value};

use super::element::Element;
use crate::schema::{self, ListType, Schema, Type};

/// What is known of the values at a place.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// A schema describes them.
    Known {
        schema: Schema<'a>,
        /// Fields that the schema does not name are kept: it, or one around it, says so.
        keeps: bool,
        /// It is an object of the API, with `apiVersion`, `kind` and `metadata`.
        resource: bool,
    },
    /// Nothing describes them.
    Deduced,
    /// They are taken as a whole whatever they are.
    Opaque,
    /// They are scalars.
    Scalar,
}

/// How a value is walked.
#[derive(Clone, Copy)]
pub enum Shape<'a> {
    Scalar,
    Map(Fields<'a>),
    List(Items<'a>),
}

/// An object's fields.
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    /// The object is taken as a whole.
    pub atomic: bool,
    place: Place<'a>,
}

/// A list's items.
#[derive(Clone, Copy)]
pub struct Items<'a> {
    /// The list's own schema, if it has one.
    schema: Option<Schema<'a>>,
    pub item: Place<'a>,
}

impl<'a> Place<'a> {
    /// An object of the API.
    pub fn root(schema: Schema<'a>) -> Self {
        Self::Known { schema, keeps: schema.preserve_unknown, resource: true }
    }

    fn below(self, schema: Schema<'a>) -> Self {
        // What is kept inside a definition is its own business.
        let inherited = matches!(self, Self::Known { keeps: true, .. }) && schema.name.is_none();
        Self::Known {
            schema,
            keeps: inherited || schema.preserve_unknown,
            resource: schema.embedded_resource,
        }
    }

    /// How a value here is walked.
    pub fn shape(self, value: &Value) -> Shape<'a> {
        let kind = match self {
            Self::Known { schema, .. } => schema.kind,
            Self::Scalar => Type::String,
            Self::Deduced | Self::Opaque => Type::Any,
        };
        match (kind, value) {
            (Type::Object, _) => Shape::Map(self.fields()),
            (Type::Array, _) => Shape::List(self.items()),
            (Type::Any | Type::IntOrString, Value::Object(_) | Value::Null) => Shape::Map(self.fields()),
            (Type::Any | Type::IntOrString, Value::Array(_)) => Shape::List(self.items()),
            _ => Shape::Scalar,
        }
    }

    fn fields(self) -> Fields<'a> {
        let atomic = match self {
            Self::Known { schema, .. } => schema.atomic_map,
            Self::Opaque => true,
            Self::Deduced | Self::Scalar => false,
        };
        Fields { atomic, place: self }
    }

    fn items(self) -> Items<'a> {
        match self {
            Self::Known { schema, .. } => {
                let item = schema.items().map_or(Self::Opaque, |items| self.below(items));
                Items { schema: Some(schema), item }
            }
            _ => Items { schema: None, item: Self::Opaque },
        }
    }

    /// The schema's type, for messages and for walks without a value.
    pub fn kind(self) -> Type {
        match self {
            Self::Known { schema, .. } => schema.kind,
            Self::Scalar => Type::String,
            Self::Deduced | Self::Opaque => Type::Any,
        }
    }
}

impl<'a> Fields<'a> {
    /// A field, and whether the schema names it. `None` if no such field may be.
    pub fn field(&self, name: &str) -> Option<(Place<'a>, bool)> {
        let Place::Known { schema, keeps, resource } = self.place else {
            let below = if matches!(self.place, Place::Opaque) { Place::Opaque } else { Place::Deduced };
            return Some((below, false));
        };
        if resource && matches!(name, "apiVersion" | "kind") {
            return Some((Place::Scalar, true));
        }
        if resource && name == "metadata" && schema.embedded_resource {
            let metadata = schema::builtin("v1", "ConfigMap").and_then(|map| map.property("metadata"));
            return Some((metadata.map_or(Place::Deduced, |metadata| self.place.below(metadata)), true));
        }
        if let Some(property) = schema.property(name) {
            return Some((self.place.below(property), true));
        }
        if let Some(additional) = schema.additional() {
            return Some((self.place.below(additional), false));
        }
        let described = keeps || schema.properties().next().is_none();
        described.then_some((Place::Deduced, false))
    }

    /// The same for walks that must get through: an unknown field is deduced.
    pub fn field_or_deduced(&self, name: &str) -> (Place<'a>, bool) {
        self.field(name).unwrap_or((Place::Deduced, false))
    }

    /// Whether nothing at all is known of the fields.
    pub fn is_deduced(&self) -> bool {
        match self.place {
            Place::Known { schema, .. } => {
                schema.properties().next().is_none() && schema.additional().is_none()
            }
            Place::Deduced => true,
            Place::Opaque | Place::Scalar => false,
        }
    }

    /// The value that a field of a built-in kind has when it is left out. Kubernetes keeps these objects as
    /// structs, whose fields are there even when empty; whoever fills such a field does not own the field
    /// itself, only what is in it.
    pub fn implied(&self, name: &str) -> Option<&'static Value> {
        let Place::Known { schema, .. } = self.place else { return None };
        let definition = schema.name.as_deref()?;
        if !definition.starts_with("io.k8s.api.") && !definition.starts_with("io.k8s.apiextensions") {
            return None;
        }
        let property = schema.property(name)?;
        let required = schema.required.iter().any(|field| field == name);
        match property.kind {
            Type::Object if property.name.is_some() => {
                (required || is_struct(definition, name)).then_some(&*EMPTY)
            }
            _ if !required => None,
            Type::String => Some(&*NO_TEXT),
            Type::Integer | Type::Number => Some(&*ZERO),
            Type::Boolean => Some(&Value::Bool(false)),
            _ => Some(&Value::Null),
        }
    }
}

static EMPTY: LazyLock<Value> = LazyLock::new(|| Value::Object(Map::new()));
static NO_TEXT: LazyLock<Value> = LazyLock::new(|| Value::from(""));
static ZERO: LazyLock<Value> = LazyLock::new(|| Value::from(0));

/// Whether a field that need not be set is a struct (rather than a pointer to one) in Kubernetes' own types.
fn is_struct(definition: &str, field: &str) -> bool {
    let kind = definition.rsplit('.').next().unwrap_or_default();
    match field {
        "metadata" | "spec" => true,
        "status" => kind != "CustomResourceSubresources",
        "strategy" | "updateStrategy" => kind.ends_with("Spec"),
        "template" => kind == "ReplicaSetSpec",
        "resources" => {
            matches!(kind, "Container" | "EphemeralContainer" | "PersistentVolumeClaimSpec")
        }
        "state" | "lastState" => kind == "ContainerStatus",
        "loadBalancer" => matches!(kind, "ServiceStatus" | "IngressStatus"),
        "daemonEndpoints" | "nodeInfo" => kind == "NodeStatus",
        "kubeletEndpoint" => kind == "NodeDaemonEndpoints",
        "source" | "deprecatedSource" | "regarding" => kind == "Event",
        "conditions" => kind == "Endpoint",
        "port" => kind == "IngressServiceBackend",
        "podSelector" => kind == "NetworkPolicySpec",
        "acceptedNames" => kind == "CustomResourceDefinitionStatus",
        _ => false,
    }
}

/// The one key of a built-in list that may be left out and has a zero default (pods' `imagePullSecrets`).
const LOCAL_REFERENCE: &str = "io.k8s.api.core.v1.LocalObjectReference";

impl Items<'_> {
    /// The list is taken as a whole.
    pub fn atomic(&self) -> bool {
        *self.list() == ListType::Atomic
    }

    fn list(&self) -> &ListType {
        self.schema.as_ref().map_or(&ListType::Atomic, |schema| &schema.list)
    }

    /// The step to an item.
    ///
    /// # Errors
    /// When the item has nothing that tells it from others.
    pub fn element(&self, item: &Value) -> Result<Element, String> {
        match self.list() {
            ListType::Map(keys) => self.keyed(keys, item),
            ListType::Set => match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".to_owned())
                }
                Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
                Value::Null => {
                    Err("associative list without keys has an element that's an explicit null".to_owned())
                }
                scalar => Ok(Element::value(scalar)),
            },
            ListType::Atomic => Err("invalid indexing of non-associative list".to_owned()),
        }
    }

    fn keyed(&self, keys: &[String], item: &Value) -> Result<Element, String> {
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
            _ => return Err("associative list with keys may not have non-map elements".to_owned()),
        };
        let value = |key: &str| match fields.get(key) {
            Some(value) => Some(Cow::Borrowed(value)),
            None => self.key_default(key).map(Cow::Owned),
        };
        let mut found: Vec<_> =
            keys.iter().filter_map(|key| value(key).map(|value| (key.as_str(), value))).collect();
        if found.is_empty() {
            return Err(format!(
                "associative list with keys has an element that omits all key fields {keys:?} (and doesn't have \
                 default values for any key fields)"
            ));
        }
        found.sort_by_key(|(key, _)| *key);
        Ok(Element::key(found.into_iter()))
    }

    /// What a key is when it is left out: the schema's default; for a required field of a built-in kind
    /// its zero, which is what the field of a struct is.
    fn key_default(&self, key: &str) -> Option<Value> {
        let Place::Known { schema, .. } = self.item else { return None };
        let property = schema.property(key)?;
        if property.default.is_some() {
            return property.default.clone();
        }
        let zero = schema
            .name
            .as_deref()
            .is_some_and(|name| name == LOCAL_REFERENCE || schema.required.iter().any(|field| field == key));
        match property.kind {
            Type::String if zero => Some(Value::from("")),
            Type::Integer if zero => Some(Value::from(0)),
            _ => None,
        }
    }
}
