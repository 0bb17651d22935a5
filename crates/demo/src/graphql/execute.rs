//! Executing a query.
//!
//! A value `{"$error": "…"}` in the tree is a field that cannot be told: null in the answer, with an error beside it,
//! while everything else is there.

use std::collections::HashMap;

use apollo_parser::{
    Parser,
    cst::{self, Definition, Selection},
};
use serde_json::{Map, Value, json};

use super::{
    introspection,
    schema::{Reference, Schema, text},
};

/// Tokens of a document, and how deep it may nest.
const MOST_TOKENS: usize = 20_000;
const DEEPEST: usize = 64;
/// Fields of an answer, lists counted item by item: fragments multiply.
const MOST_FIELDS: usize = 20_000;

/// What is asked.
pub struct Request<'a> {
    pub query: &'a str,
    pub operation: Option<&'a str>,
    pub variables: &'a Value,
    /// Whether questions about the schema are answered.
    pub introspection: bool,
}

/// What comes of it.
#[derive(Debug, PartialEq)]
pub enum Answer {
    /// The document cannot be read.
    Syntax(String),
    /// It asks for what only a socket can give.
    Subscription,
    /// Data, or errors, or both.
    Response(Value),
}

/// Executes a query over a tree of values.
pub fn execute(schema: &Schema, root: &Value, request: &Request<'_>) -> Answer {
    let tree = Parser::new(request.query).token_limit(MOST_TOKENS).recursion_limit(DEEPEST).parse();
    if let Some(error) = tree.errors().next() {
        return Answer::Syntax(format!("Syntax error at character {}: {}", error.index(), error.message()));
    }
    let document = tree.document();
    let (mut operations, mut fragments) = (Vec::new(), HashMap::new());
    for definition in document.definitions() {
        match definition {
            Definition::OperationDefinition(operation) => operations.push(operation),
            Definition::FragmentDefinition(fragment) => {
                let name = fragment.fragment_name().and_then(|name| name.name()).map(text);
                fragments.insert(name.unwrap_or_default(), fragment);
            }
            _ => return failed("Only operations and fragments can be executed"),
        }
    }
    let name_of = |operation: &cst::OperationDefinition| operation.name().map(text);
    let operation = match (request.operation.filter(|name| !name.is_empty()), operations.as_slice()) {
        (None, [only]) => only,
        (None, []) => return failed("No operation found"),
        (None, _) => return failed("Operation name is required"),
        (Some(name), all) => match all.iter().find(|operation| name_of(operation).as_deref() == Some(name)) {
            Some(operation) => operation,
            None => return failed("Operation not found"),
        },
    };
    if let Some(kind) = operation.operation_type() {
        if kind.subscription_token().is_some() {
            return Answer::Subscription;
        }
        if kind.mutation_token().is_some() {
            return failed("Schema is not configured for mutations");
        }
    }
    let mut run = Run {
        schema,
        fragments: &fragments,
        variables: variables_of(operation, request.variables),
        introspection: request.introspection,
        errors: Vec::new(),
        left: MOST_FIELDS,
    };
    let mut path = Vec::new();
    let data = operation
        .selection_set()
        .map_or(Ok(Value::Null), |set| run.object(&schema.query, root, &set, &mut path));
    match data {
        Err(message) => failed(&message),
        Ok(data) if run.errors.is_empty() => Answer::Response(json!({ "data": data })),
        Ok(data) => Answer::Response(json!({ "errors": run.errors, "data": data })),
    }
}

fn failed(message: &str) -> Answer {
    Answer::Response(json!({ "errors": [{ "message": message }], "data": null }))
}

/// Variables as given, or else by their defaults.
fn variables_of(operation: &cst::OperationDefinition, given: &Value) -> Map<String, Value> {
    let mut variables = given.as_object().cloned().unwrap_or_default();
    let definitions = operation.variable_definitions().into_iter();
    for definition in definitions.flat_map(|definitions| definitions.variable_definitions()) {
        let name = definition.variable().and_then(|variable| variable.name()).map(text);
        let default = definition.default_value().and_then(|default| default.value());
        if let (Some(name), Some(default)) = (name, default) {
            variables.entry(name).or_insert_with(|| literal(&default, &Map::new()));
        }
    }
    variables
}

/// A value in a document. What is no plain value is null.
fn literal(value: &cst::Value, variables: &Map<String, Value>) -> Value {
    match value {
        cst::Value::Variable(variable) => {
            variable.name().and_then(|name| variables.get(&text(name)).cloned()).unwrap_or_default()
        }
        cst::Value::StringValue(value) => Value::String(value.into()),
        cst::Value::IntValue(value) => i32::try_from(value).map_or(Value::Null, Into::into),
        cst::Value::FloatValue(value) => f64::try_from(value).map_or(Value::Null, Into::into),
        cst::Value::BooleanValue(value) => value.true_token().is_some().into(),
        cst::Value::EnumValue(value) => value.name().map(text).map_or(Value::Null, Into::into),
        cst::Value::ListValue(list) => list.values().map(|value| literal(&value, variables)).collect(),
        cst::Value::NullValue(_) | cst::Value::ObjectValue(_) => Value::Null,
    }
}

struct Run<'a> {
    schema: &'a Schema,
    fragments: &'a HashMap<String, cst::FragmentDefinition>,
    variables: Map<String, Value>,
    introspection: bool,
    errors: Vec<Value>,
    /// Fields that may still be answered.
    left: usize,
}

type Fault = String;

impl Run<'_> {
    /// The selected fields of an object of this type.
    fn object(
        &mut self,
        kind: &str,
        value: &Value,
        set: &cst::SelectionSet,
        path: &mut Vec<Value>,
    ) -> Result<Value, Fault> {
        let mut answer = Map::new();
        self.select(kind, value, set, path, &mut answer, 0)?;
        Ok(Value::Object(answer))
    }

    fn select(
        &mut self,
        kind: &str,
        value: &Value,
        set: &cst::SelectionSet,
        path: &mut Vec<Value>,
        answer: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Fault> {
        if depth > DEEPEST || path.len() > DEEPEST {
            return Err("The query is nested too deeply".to_owned());
        }
        for selection in set.selections() {
            let (directives, condition, inner) = match &selection {
                Selection::Field(field) => {
                    if self.wanted(field.directives())? {
                        self.field(kind, value, field, path, answer)?;
                    }
                    continue;
                }
                Selection::FragmentSpread(spread) => {
                    let name =
                        spread.fragment_name().and_then(|name| name.name()).map(text).unwrap_or_default();
                    let fragment = self.fragments.get(&name);
                    let fragment = fragment.ok_or_else(|| format!("Fragment '{name}' is not defined"))?;
                    (spread.directives(), fragment.type_condition(), fragment.selection_set())
                }
                Selection::InlineFragment(fragment) => {
                    (fragment.directives(), fragment.type_condition(), fragment.selection_set())
                }
            };
            let condition = condition.and_then(|condition| condition.named_type()?.name()).map(text);
            if condition.is_none_or(|condition| condition == kind)
                && self.wanted(directives)?
                && let Some(set) = inner
            {
                self.select(kind, value, &set, path, answer, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Whether `@skip` and `@include` let something in.
    fn wanted(&self, directives: Option<cst::Directives>) -> Result<bool, Fault> {
        for directive in directives.into_iter().flat_map(|directives| directives.directives()) {
            let name = directive.name().map(text).unwrap_or_default();
            let condition = self.arguments(directive.arguments()).remove("if");
            match (name.as_str(), condition) {
                ("include", Some(Value::Bool(true))) | ("skip", Some(Value::Bool(false))) => {}
                ("include" | "skip", Some(Value::Bool(_))) => return Ok(false),
                ("include" | "skip", _) => return Err(format!("Directive '{name}' needs a Boolean 'if'")),
                _ => return Err(format!("Unknown directive '{name}'")),
            }
        }
        Ok(true)
    }

    fn arguments(&self, arguments: Option<cst::Arguments>) -> Map<String, Value> {
        let arguments = arguments.into_iter().flat_map(|arguments| arguments.arguments());
        let pair = |argument: cst::Argument| {
            Some((text(argument.name()?), literal(&argument.value()?, &self.variables)))
        };
        arguments.filter_map(pair).collect()
    }

    fn field(
        &mut self,
        kind: &str,
        value: &Value,
        field: &cst::Field,
        path: &mut Vec<Value>,
        answer: &mut Map<String, Value>,
    ) -> Result<(), Fault> {
        let name = field.name().map(text).unwrap_or_default();
        let key = field.alias().and_then(|alias| alias.name()).map_or_else(|| name.clone(), text);
        path.push(json!(key));
        let found = self.value_of(kind, value, &name, field, path)?;
        path.pop();
        match (answer.get_mut(&key), found) {
            // The same object asked for twice is answered once, with the fields of both.
            (Some(known), found) => merge(known, found),
            (None, found) => drop(answer.insert(key, found)),
        }
        Ok(())
    }

    fn value_of(
        &mut self,
        kind: &str,
        value: &Value,
        name: &str,
        field: &cst::Field,
        path: &mut Vec<Value>,
    ) -> Result<Value, Fault> {
        self.left = self.left.checked_sub(1).ok_or("The answer would have too many fields")?;
        let arguments = self.arguments(field.arguments());
        let at_root = kind == self.schema.query && path.len() == 1;
        match name {
            "__typename" => return Ok(json!(kind)),
            "__schema" | "__type" if at_root && !self.introspection => {
                return Err("Introspection is disabled".to_owned());
            }
            "__schema" if at_root => return self.plain(&introspection::schema(self.schema), field),
            "__type" if at_root => {
                let name = arguments.get("name").and_then(Value::as_str).unwrap_or_default();
                let told = introspection::named(self.schema, name).unwrap_or_default();
                return self.plain(&told, field);
            }
            _ => {}
        }
        let own = self.schema.field(kind, name);
        let own = own.ok_or_else(|| format!("Field '{name}' is not defined on type '{kind}'"))?;
        if let Some(unknown) = arguments.keys().find(|key| !own.arguments.iter().any(|(own, _)| own == *key))
        {
            return Err(format!("Argument '{unknown}' is not defined on field '{name}'"));
        }
        let found = if at_root { by_arguments(name, value, &arguments) } else { value.get(name).cloned() };
        let (found, kind) = (found.unwrap_or_default(), own.kind.clone());
        self.complete(&kind, &found, field, path)
    }

    /// A value in the form that its type tells.
    fn complete(
        &mut self,
        kind: &Reference,
        value: &Value,
        field: &cst::Field,
        path: &mut Vec<Value>,
    ) -> Result<Value, Fault> {
        if let Some(message) = value.get("$error") {
            self.errors.push(json!({ "message": message, "path": path }));
            return Ok(Value::Null);
        }
        match kind {
            _ if value.is_null() => Ok(Value::Null),
            Reference::NonNull(inner) => self.complete(inner, value, field, path),
            Reference::List(inner) => {
                let mut list = Vec::new();
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    path.push(json!(index));
                    list.push(self.complete(inner, item, field, path)?);
                    path.pop();
                }
                Ok(list.into())
            }
            Reference::Named(name) => match (self.schema.types.get(name), field.selection_set()) {
                (Some(super::schema::Type::Object(_)), Some(set)) => self.object(name, value, &set, path),
                (Some(super::schema::Type::Object(_)), None) => {
                    Err(format!("Field of type '{name}' must have a selection of subfields"))
                }
                (_, Some(_)) => Err(format!("Field of type '{name}' has no subfields")),
                (_, None) => Ok(value.clone()),
            },
        }
    }

    /// What is selected of a tree that describes itself: objects by their fields, whatever they are.
    fn plain(&mut self, value: &Value, field: &cst::Field) -> Result<Value, Fault> {
        let Some(set) = field.selection_set() else { return Ok(value.clone()) };
        self.plain_set(value, &set, 0)
    }

    fn plain_set(&mut self, value: &Value, set: &cst::SelectionSet, depth: usize) -> Result<Value, Fault> {
        self.left = self.left.checked_sub(1).ok_or("The answer would have too many fields")?;
        if depth > DEEPEST {
            return Err("The query is nested too deeply".to_owned());
        }
        match value {
            Value::Array(items) => items.iter().map(|item| self.plain_set(item, set, depth)).collect(),
            Value::Object(_) => {
                let mut answer = Map::new();
                self.plain_fields(value, set, &mut answer, depth)?;
                Ok(answer.into())
            }
            other => Ok(other.clone()),
        }
    }

    fn plain_fields(
        &mut self,
        value: &Value,
        set: &cst::SelectionSet,
        answer: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Fault> {
        if depth > DEEPEST {
            return Err("The query is nested too deeply".to_owned());
        }
        for selection in set.selections() {
            let inner = match &selection {
                Selection::Field(field) => {
                    let name = field.name().map(text).unwrap_or_default();
                    let key = field.alias().and_then(|alias| alias.name()).map_or_else(|| name.clone(), text);
                    let own = value.get(&name).cloned().unwrap_or_default();
                    let told = match field.selection_set() {
                        Some(set) => self.plain_set(&own, &set, depth + 1)?,
                        None => own,
                    };
                    answer.insert(key, told);
                    continue;
                }
                Selection::FragmentSpread(spread) => {
                    let name =
                        spread.fragment_name().and_then(|name| name.name()).map(text).unwrap_or_default();
                    self.fragments.get(&name).and_then(|fragment| fragment.selection_set())
                }
                Selection::InlineFragment(fragment) => fragment.selection_set(),
            };
            if let Some(set) = inner {
                self.plain_fields(value, &set, answer, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// Fields of the root that are chosen by arguments.
fn by_arguments(name: &str, root: &Value, arguments: &Map<String, Value>) -> Option<Value> {
    let chain = |root: &Value| root["bestChain"].as_array().cloned().unwrap_or_default();
    match name {
        "bestChain" => {
            let Some(blocks) = root["bestChain"].as_array() else { return root.get("bestChain").cloned() };
            let most = arguments
                .get("maxLength")
                .and_then(Value::as_u64)
                .map_or(blocks.len(), |most| usize::try_from(most).unwrap_or(usize::MAX).min(blocks.len()));
            Some(blocks[blocks.len() - most..].into())
        }
        "block" => {
            let height = arguments.get("height").and_then(Value::as_i64).map(|height| height.to_string());
            let hash = arguments.get("stateHash").and_then(Value::as_str);
            let is = |block: &Value| match (&height, hash) {
                (Some(height), None) => block["protocolState"]["consensusState"]["blockHeight"] == *height,
                (None, Some(hash)) => block["stateHash"] == hash,
                _ => false,
            };
            let found = chain(root).into_iter().find(is);
            Some(found.unwrap_or_else(|| json!({ "$error": "Could not find block in transition frontier" })))
        }
        name => root.get(name).cloned(),
    }
}

fn merge(known: &mut Value, found: Value) {
    match (known, found) {
        (Value::Object(known), Value::Object(found)) => {
            for (key, value) in found {
                match known.get_mut(&key) {
                    Some(known) => merge(known, value),
                    None => drop(known.insert(key, value)),
                }
            }
        }
        (Value::Array(known), Value::Array(found)) => {
            for (known, found) in known.iter_mut().zip(found) {
                merge(known, found);
            }
        }
        (known, found) => *known = found,
    }
}

#[cfg(test)]
mod tests;
