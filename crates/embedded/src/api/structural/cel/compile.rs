//! From the rules of a schema to ones that may run, or to what is wrong with them.

use super::{
    super::{
        super::fault::{Faults, Path},
        field_path,
    },
    Compiled, Rules, check,
    kind::{Kind, Kinds, most_in_a_request},
    node::Node,
};
use crate::schema::{ListType, Rule, Schema, Type};

/// The most that a rule may cost, by estimate.
const MAX_COST: u64 = 10_000_000;

/// The most that all rules of a schema may cost together.
const MAX_TOTAL: u64 = 100_000_000;

/// Reading a rule takes time however little it says.
const MAX_RULES: usize = 5_000;

/// Compiles the rules of the schema of a whole object.
pub fn compile(schema: Schema<'_>, path: &Path, faults: &mut Faults) -> Rules {
    let mut walk = Compiler {
        kinds: Kinds::default(),
        rules: Rules { root: Some(schema.id()), ..Rules::default() },
        faults,
        count: 0,
        total: 0,
        dear: Vec::new(),
    };
    let above = Above { cardinality: Some(1), uncorrelated: None };
    walk.schema(schema, path, true, &above);
    walk.judge_total(path);
    walk.rules
}

/// What the schemas above say about one.
#[derive(Clone)]
struct Above {
    /// How many values there can be at most; none if nothing bounds them.
    cardinality: Option<u64>,
    /// The first schema above whose values have no identity, so that nobody can tell what they were.
    uncorrelated: Option<String>,
}

struct Compiler<'f> {
    kinds: Kinds,
    rules: Rules,
    faults: &'f mut Faults,
    count: usize,
    total: u64,
    /// The rules that cost most, with what they cost.
    dear: Vec<(u64, Path)>,
}

impl Compiler<'_> {
    /// True if there is a rule here or below.
    fn schema(&mut self, schema: Schema<'_>, path: &Path, resource: bool, above: &Above) -> bool {
        let mut found = !schema.rules.is_empty();
        if let Some(kind) = self.kinds.of(schema, resource).filter(|_| found) {
            for (index, rule) in schema.rules.iter().enumerate() {
                let path = path.child("x-kubernetes-validations").index(index);
                if let Some(compiled) = self.rule(rule, schema, &kind, resource, &path, above) {
                    self.rules.by_schema.entry(schema.id()).or_default().push(compiled);
                }
            }
        }
        let mut inner = above.clone();
        inner.cardinality =
            above.cardinality.and_then(|above| Some(above.saturating_mul(most_inside(schema)?)));
        if schema.kind == Type::Array && !matches!(schema.list, ListType::Map(_)) || schema.atomic_map {
            inner.uncorrelated.get_or_insert_with(|| path.to_string());
        }
        for (name, property) in schema.properties() {
            // Metadata are everybody's: no definition has rules inside them.
            if !(resource && name == "metadata") {
                let path = path.child("properties").key(name);
                found |= self.schema(property, &path, property.embedded_resource, &inner);
            }
        }
        if let Some(items) = schema.items() {
            found |= self.schema(items, &path.child("items"), items.embedded_resource, &inner);
        }
        if let Some(entry) = schema.additional() {
            found |= self.schema(entry, &path.child("additionalProperties"), entry.embedded_resource, &inner);
        }
        if found {
            self.rules.on_the_way.insert(schema.id());
        }
        found
    }

    fn rule(
        &mut self,
        rule: &Rule,
        schema: Schema<'_>,
        kind: &Kind<'_>,
        resource: bool,
        path: &Path,
        above: &Above,
    ) -> Option<Compiled> {
        self.count += 1;
        if self.count > MAX_RULES {
            if self.count == MAX_RULES + 1 {
                let detail = format!("may not have more than {MAX_RULES} rules");
                self.faults.forbidden(&path.child("rule"), detail);
            }
            return None;
        }
        let old = if rule.optional_old_self { Kind::Optional(Box::new(kind.clone())) } else { kind.clone() };
        let variables = || vec![("self", kind.clone()), ("oldSelf", old.clone())];
        let checked = check::check(rule.rule.trim(), variables(), &mut self.kinds);
        let (checked, used) = match checked {
            Ok((checked, _)) if !matches!(checked.kind, Kind::Bool) => {
                self.invalid(&path.child("rule"), rule, "cel expression must evaluate to a bool");
                return None;
            }
            Ok(checked) => checked,
            Err(error) => {
                self.invalid(&path.child("rule"), rule, &error);
                return None;
            }
        };
        let times =
            above.cardinality.unwrap_or_else(|| most_in_a_request(self.kinds.smallest(schema, resource)));
        self.spend(checked.cost.saturating_mul(times), "estimated rule cost", path.child("rule"));
        let uses_old_self = used.get(1).copied().unwrap_or_default();
        if let (true, Some(place)) = (uses_old_self, &above.uncorrelated) {
            let detail =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {place}");
            self.faults.invalid_text(&path.child("rule"), &rule.rule, detail);
        }
        if rule.optional_old_self && !uses_old_self {
            let detail = "may not be set if oldSelf is not used in rule";
            self.faults.invalid(&path.child("optionalOldSelf"), &true.into(), detail);
        }
        Some(Compiled {
            rule: checked.node,
            message: self.message(rule, variables(), &path.child("messageExpression")),
            words: words(rule),
            reason: rule.reason.clone(),
            field: rule
                .field_path
                .as_deref()
                .map(|path| normal(schema, path))
                .filter(|path| !path.is_empty()),
            uses_old_self,
            optional_old_self: rule.optional_old_self,
        })
    }

    fn message(&mut self, rule: &Rule, variables: Vec<(&str, Kind<'_>)>, path: &Path) -> Option<Node> {
        let source = rule.message_expression.as_deref().map(str::trim).filter(|source| !source.is_empty())?;
        match check::check(source, variables, &mut self.kinds) {
            Ok((checked, _)) if matches!(checked.kind, Kind::Text(_)) => {
                self.spend(checked.cost, "estimated messageExpression cost", path.clone());
                return Some(checked.node);
            }
            Ok(_) => self.invalid(path, rule, "messageExpression must evaluate to a string"),
            Err(error) => {
                self.invalid(path, rule, &format!("messageExpression {error}"));
            }
        }
        None
    }

    fn invalid(&mut self, path: &Path, rule: &Rule, detail: &str) {
        self.faults.invalid_text(path, &rule.rule, detail);
    }

    fn spend(&mut self, cost: u64, name: &str, path: Path) {
        if cost > MAX_COST {
            self.faults.forbidden(&path, exceeds(name, cost, MAX_COST));
        }
        self.total = self.total.saturating_add(cost);
        if cost > MAX_TOTAL / 100 {
            self.dear.push((cost, path));
            self.dear.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
            self.dear.truncate(4);
        }
    }

    fn judge_total(&mut self, path: &Path) {
        if self.total <= MAX_TOTAL {
            return;
        }
        let detail =
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        for (_, path) in &self.dear {
            self.faults.forbidden(path, detail);
        }
        let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        self.faults.forbidden(path, exceeds(name, self.total, MAX_TOTAL));
    }
}

/// By how much more there can be of what is inside; none if nothing bounds it.
fn most_inside(schema: Schema<'_>) -> Option<u64> {
    match schema.kind {
        Type::Array => schema.bounds.max_items,
        Type::Object if schema.additional().is_some() => schema.bounds.max_properties,
        _ => Some(1),
    }
}

fn exceeds(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = match factor {
        factor if factor > 100.0 => "more than 100x".to_owned(),
        factor if factor < 1.5 => format!("{factor:.6}x"),
        factor => format!("{factor:.1}x"),
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, \
         and maxLength where arrays, maps, and strings are declared)"
    )
}

/// What a rule says when it fails: its message, or itself.
fn words(rule: &Rule) -> String {
    match rule.message.as_deref().map(str::trim).filter(|message| !message.is_empty()) {
        Some(message) => message.to_owned(),
        None => format!("failed rule: {}", rule.rule.trim()),
    }
}

/// A rule's path in the form that faults have: `map[key].field`.
fn normal(schema: Schema<'_>, path: &str) -> String {
    let (mut text, mut at) = (String::new(), Some(schema));
    for name in field_path::names(path, true).unwrap_or_default() {
        let field = at.and_then(|schema| schema.property(&name));
        let entry = at.and_then(Schema::additional);
        if field.is_none() && entry.is_some() {
            text.push_str(&format!("[{name}]"));
        } else {
            text.push_str(if text.is_empty() { "" } else { "." });
            text.push_str(&name);
        }
        at = field.or(entry);
    }
    text
}
