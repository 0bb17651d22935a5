//! A schema, as far as executing and introspection go by it.

use std::collections::BTreeMap;

use apollo_parser::{
    Parser,
    cst::{self, CstNode, Definition},
};

/// The types of an application.
#[derive(Debug, Default)]
pub struct Schema {
    /// The name of the type that queries begin with.
    pub query: String,
    pub types: BTreeMap<String, Type>,
}

#[derive(Debug)]
pub enum Type {
    Scalar,
    Enum(Vec<String>),
    Object(Vec<Field>),
}

#[derive(Debug)]
pub struct Field {
    pub name: String,
    pub arguments: Vec<(String, Reference)>,
    pub kind: Reference,
}

/// A type as it is referred to.
#[derive(Clone, Debug)]
pub enum Reference {
    Named(String),
    List(Box<Self>),
    NonNull(Box<Self>),
}

impl Reference {
    fn of(kind: &cst::Type) -> Self {
        let named = |kind: &cst::NamedType| Self::Named(kind.name().map(text).unwrap_or_default());
        let list = |kind: &cst::ListType| {
            Self::List(Box::new(kind.ty().map_or(Self::Named(String::new()), |kind| Self::of(&kind))))
        };
        match kind {
            cst::Type::NamedType(kind) => named(kind),
            cst::Type::ListType(kind) => list(kind),
            cst::Type::NonNullType(kind) => {
                let inner = kind.named_type().as_ref().map(named).or(kind.list_type().as_ref().map(list));
                Self::NonNull(Box::new(inner.unwrap_or(Self::Named(String::new()))))
            }
        }
    }
}

pub(super) fn text(name: cst::Name) -> String {
    name.text().to_string()
}

impl Schema {
    /// Reads a schema; what it is made of here is objects, enums and scalars.
    ///
    /// # Errors
    /// When it is no schema.
    pub fn parse(source: &str) -> Result<Self, String> {
        let tree = Parser::new(source).parse();
        if let Some(error) = tree.errors().next() {
            return Err(error.message().to_owned());
        }
        let mut schema = Self::default();
        for scalar in ["Int", "Float", "String", "Boolean", "ID"] {
            schema.types.insert(scalar.to_owned(), Type::Scalar);
        }
        for definition in tree.document().definitions() {
            let (name, kind) = match definition {
                Definition::SchemaDefinition(definition) => {
                    let root = definition.root_operation_type_definitions().next();
                    let name = root.and_then(|root| root.named_type()?.name());
                    schema.query = name.map(text).unwrap_or_default();
                    continue;
                }
                Definition::ScalarTypeDefinition(definition) => (definition.name(), Type::Scalar),
                Definition::EnumTypeDefinition(definition) => {
                    let values = definition.enum_values_definition().into_iter();
                    let values = values.flat_map(|values| values.enum_value_definitions());
                    let names = values.filter_map(|value| Some(text(value.enum_value()?.name()?)));
                    (definition.name(), Type::Enum(names.collect()))
                }
                Definition::ObjectTypeDefinition(definition) => {
                    let fields = definition.fields_definition().into_iter();
                    let fields = fields.flat_map(|fields| fields.field_definitions());
                    (definition.name(), Type::Object(fields.filter_map(|field| field_of(&field)).collect()))
                }
                other => return Err(format!("{} is not known here", other.source_string())),
            };
            schema.types.insert(name.map(text).unwrap_or_default(), kind);
        }
        Ok(schema)
    }

    /// A field of an object.
    pub fn field(&self, of: &str, name: &str) -> Option<&Field> {
        match self.types.get(of)? {
            Type::Object(fields) => fields.iter().find(|field| field.name == name),
            Type::Scalar | Type::Enum(_) => None,
        }
    }
}

fn field_of(field: &cst::FieldDefinition) -> Option<Field> {
    let arguments = field.arguments_definition().into_iter();
    let arguments = arguments.flat_map(|arguments| arguments.input_value_definitions());
    Some(Field {
        name: text(field.name()?),
        arguments: arguments
            .filter_map(|argument| Some((text(argument.name()?), Reference::of(&argument.ty()?))))
            .collect(),
        kind: Reference::of(&field.ty()?),
    })
}
