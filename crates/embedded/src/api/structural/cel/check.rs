//! Checks an expression against the kinds of what it speaks of, and estimates what it costs at most.
//!
//! Whatever is not known here is refused with the definition: a rule that could not run would either refuse
//! every object or none.

use super::{
    functions::{self, Overload, TYPES},
    kind::{Kind, Kinds, Role},
    macros::Macro,
    node::{Call, Literal, Node},
    parse::{self, Expr, Form},
};
use crate::schema::pattern;

/// Longer ones are refused before they are read. The longest rules in use have some two thousand characters.
const MAX_LENGTH: usize = 8 * 1024;

/// An expression that may run.
pub struct Checked<'s> {
    pub node: Node,
    pub kind: Kind<'s>,
    /// At most, by estimate.
    pub cost: u64,
}

/// Reads and checks an expression in which these variables are known. The error is for the author.
pub fn check<'s>(
    source: &str,
    variables: Vec<(&str, Kind<'s>)>,
    kinds: &mut Kinds,
) -> Result<(Checked<'s>, Vec<bool>), String> {
    if source.len() > MAX_LENGTH {
        return Err(format!("compilation failed: expression is longer than {MAX_LENGTH} bytes"));
    }
    let located =
        |(at, message): (usize, String)| format!("compilation failed: {}", locate(source, at, &message));
    let expression = parse::parse(source).map_err(located)?;
    let scope: Vec<_> = variables.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
    let used = vec![false; scope.len()];
    let mut checker = Checker { kinds, scope, used };
    let checked = checker.expression(expression).map_err(located)?;
    Ok((checked, checker.used))
}

/// A message with the place it is about, as upstream writes it.
fn locate(source: &str, at: usize, message: &str) -> String {
    let before = source.get(..at).unwrap_or_default();
    let (line, start) = (before.matches('\n').count() + 1, before.rfind('\n').map_or(0, |at| at + 1));
    format!("ERROR: <input>:{line}:{}: {message}", before[start..].chars().count() + 1)
}

/// What is wrong, and where in the text.
pub(super) type Wrong = (usize, String);

pub(super) struct Checker<'a, 's> {
    pub(super) kinds: &'a mut Kinds,
    /// Variables by name, the innermost last.
    pub(super) scope: Vec<(String, Kind<'s>)>,
    /// Which of the outermost variables occur.
    used: Vec<bool>,
}

impl<'s> Checker<'_, 's> {
    pub(super) fn expression(&mut self, expression: Expr) -> Result<Checked<'s>, Wrong> {
        let at = expression.at;
        match expression.form {
            Form::Literal(literal) => Ok(of_literal(literal)),
            Form::Name(name) => self.variable(&name, at),
            Form::Select { of, field, optional } => {
                let of = self.expression(*of)?;
                let (kind, cost) = self.field(&of.kind, &field, at)?;
                let cost = of.cost.saturating_add(cost);
                if optional {
                    let kind = Kind::Optional(Box::new(flat(kind)));
                    return Ok(Checked { node: Node::OptionalSelect(Box::new(of.node), field), kind, cost });
                }
                Ok(Checked { node: Node::Select(Box::new(of.node), field), kind, cost })
            }
            Form::Index { of, index, optional } => self.index(*of, *index, optional, at),
            Form::List(items) => self.list(items),
            Form::Map(entries) => self.map(entries),
            Form::Call { name, target, args } => self.call(&name, target.map(|target| *target), args, at),
        }
    }

    fn variable(&mut self, name: &str, at: usize) -> Result<Checked<'s>, Wrong> {
        if let Some(place) = self.scope.iter().rposition(|(known, _)| known == name) {
            if let Some(used) = self.used.get_mut(place) {
                *used = true;
            }
            let kind = self.scope[place].1.clone();
            return Ok(Checked { node: Node::Variable(place), kind, cost: 1 });
        }
        match TYPES.iter().find(|known| **known == name) {
            Some(name) => Ok(Checked { node: Node::Literal(Literal::Type(name)), kind: Kind::Type, cost: 1 }),
            None => Err((at, format!("undeclared reference to '{name}' (in container '')"))),
        }
    }

    /// The kind of a field, and what it costs to go there.
    fn field(&mut self, of: &Kind<'s>, name: &str, at: usize) -> Result<(Kind<'s>, u64), Wrong> {
        match of {
            Kind::Dyn(size) => Ok((Kind::Dyn(*size), 1)),
            Kind::Map(_, value, _) => Ok(((**value).clone(), 1)),
            Kind::Object(schema, role) => match self.kinds.field(*schema, *role, name) {
                Some(kind) => Ok((kind, 1)),
                None => Err((at, format!("undefined field '{name}'"))),
            },
            // What is selected from something that may be absent may be absent too.
            Kind::Optional(inner) => {
                let (kind, cost) = self.field(&inner.clone(), name, at)?;
                Ok((Kind::Optional(Box::new(flat(kind))), cost))
            }
            other => Err((at, format!("type '{other}' does not support field selection"))),
        }
    }

    fn list(&mut self, items: Vec<Expr>) -> Result<Checked<'s>, Wrong> {
        let (mut nodes, mut cost, mut item) = (Vec::new(), 10u64, None);
        for expression in items {
            let at = expression.at;
            let next = self.expression(expression)?;
            cost = cost.saturating_add(next.cost);
            item = Some(alike(item, next.kind, at)?);
            nodes.push(next.node);
        }
        let (item, size) = (Box::new(item.unwrap_or(Kind::Dyn(1))), nodes.len() as u64);
        Ok(Checked { node: Node::List(nodes), kind: Kind::List(item, size), cost })
    }

    fn map(&mut self, entries: Vec<(Expr, Expr)>) -> Result<Checked<'s>, Wrong> {
        let (mut nodes, mut cost, mut key, mut value) = (Vec::new(), 30u64, None, None);
        for (key_expression, value_expression) in entries {
            let (key_at, value_at) = (key_expression.at, value_expression.at);
            let (next_key, next_value) =
                (self.expression(key_expression)?, self.expression(value_expression)?);
            cost = cost.saturating_add(next_key.cost).saturating_add(next_value.cost);
            key = Some(alike(key, next_key.kind, key_at)?);
            value = Some(alike(value, next_value.kind, value_at)?);
            nodes.push((next_key.node, next_value.node));
        }
        let boxed = |kind: Option<Kind<'s>>| Box::new(kind.unwrap_or(Kind::Dyn(1)));
        let kind = Kind::Map(boxed(key), boxed(value), nodes.len() as u64);
        Ok(Checked { node: Node::Map(nodes), kind, cost })
    }

    fn call(
        &mut self,
        name: &str,
        target: Option<Expr>,
        args: Vec<Expr>,
        at: usize,
    ) -> Result<Checked<'s>, Wrong> {
        if let Some(target) = target {
            return match Macro::of(name, args.len()) {
                Some(found) => self.macro_call(found, target, args, at),
                None => self.member_call(name, target, args, at),
            };
        }
        let mut rest = args.into_iter();
        match (name, rest.next(), rest.next(), rest.next()) {
            ("_&&_", Some(left), Some(right), None) => self.logical(Node::And, name, left, right, at),
            ("_||_", Some(left), Some(right), None) => self.logical(Node::Or, name, left, right, at),
            ("_?_:_", Some(condition), Some(yes), Some(no)) => self.choice(condition, yes, no, at),
            ("_==_", Some(left), Some(right), None) => self.equality(left, right, at, name),
            ("_!=_", Some(left), Some(right), None) => {
                let equal = self.equality(left, right, at, name)?;
                let not = functions::named("!_").unwrap_or_default().to_vec();
                let node = Node::Call(Call { overloads: not, args: vec![equal.node], pattern: None });
                Ok(Checked { node, ..equal })
            }
            ("@in", Some(item), Some(list), None) => self.membership(item, list, at),
            ("has", Some(argument), None, None) => self.has(argument),
            (_, first, second, third) => {
                let args = [first, second, third].into_iter().flatten().chain(rest);
                let args = args.map(|arg| self.expression(arg)).collect::<Result<_, _>>()?;
                self.function(name, false, args, at)
            }
        }
    }

    fn logical(
        &mut self,
        make: fn(Box<Node>, Box<Node>) -> Node,
        name: &str,
        left: Expr,
        right: Expr,
        at: usize,
    ) -> Result<Checked<'s>, Wrong> {
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        let is_bool = |kind: &Kind<'_>| matches!(kind, Kind::Bool | Kind::Dyn(_));
        if !is_bool(&left.kind) || !is_bool(&right.kind) {
            return Err(no_overload(name, false, &[left.kind, right.kind], at));
        }
        let node = make(Box::new(left.node), Box::new(right.node));
        Ok(Checked { node, kind: Kind::Bool, cost: left.cost.saturating_add(right.cost) })
    }

    fn choice(&mut self, condition: Expr, yes: Expr, no: Expr, at: usize) -> Result<Checked<'s>, Wrong> {
        let (condition, yes, no) = (self.expression(condition)?, self.expression(yes)?, self.expression(no)?);
        let is_bool = matches!(condition.kind, Kind::Bool | Kind::Dyn(_));
        let Some(kind) = yes.kind.join(&no.kind).filter(|_| is_bool) else {
            return Err(no_overload("_?_:_", false, &[condition.kind, yes.kind, no.kind], at));
        };
        let cost = condition.cost.saturating_add(yes.cost.max(no.cost));
        Ok(Checked { node: Node::Choose(Box::new([condition.node, yes.node, no.node])), kind, cost })
    }

    fn equality(&mut self, left: Expr, right: Expr, at: usize, operator: &str) -> Result<Checked<'s>, Wrong> {
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        if left.kind.join(&right.kind).is_none() {
            return Err(no_overload(operator, false, &[left.kind, right.kind], at));
        }
        let size = weight(&left.kind).min(weight(&right.kind));
        let cost = left.cost.saturating_add(right.cost).saturating_add(functions::tenth(size));
        Ok(Checked { node: Node::Equal(Box::new(left.node), Box::new(right.node)), kind: Kind::Bool, cost })
    }

    fn membership(&mut self, item: Expr, list: Expr, at: usize) -> Result<Checked<'s>, Wrong> {
        let (item, list) = (self.expression(item)?, self.expression(list)?);
        let (fits, steps) = match &list.kind {
            Kind::List(inner, size) => (inner.join(&item.kind).is_some(), *size),
            Kind::Map(key, ..) => (key.join(&item.kind).is_some(), 1),
            Kind::Dyn(size) => (true, *size),
            _ => (false, 0),
        };
        if !fits {
            return Err(no_overload("@in", false, &[item.kind, list.kind], at));
        }
        let cost = item.cost.saturating_add(list.cost).saturating_add(steps);
        Ok(Checked { node: Node::In(Box::new(item.node), Box::new(list.node)), kind: Kind::Bool, cost })
    }

    fn index(&mut self, of: Expr, index: Expr, optional: bool, at: usize) -> Result<Checked<'s>, Wrong> {
        let (of, index) = (self.expression(of)?, self.expression(index)?);
        let (inner, was_optional) = match &of.kind {
            Kind::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), false),
        };
        let kind = match (&inner, &index.kind) {
            (Kind::List(item, _), Kind::Int | Kind::Dyn(_)) => Some((**item).clone()),
            (Kind::Map(key, value, _), wanted) if key.join(wanted).is_some() => Some((**value).clone()),
            (Kind::Dyn(size), _) => Some(Kind::Dyn(*size)),
            _ => None,
        };
        let Some(mut kind) = kind else {
            return Err(no_overload("_[_]", false, &[of.kind, index.kind], at));
        };
        if optional || was_optional {
            kind = Kind::Optional(Box::new(flat(kind)));
        }
        let (cost, parts) =
            (of.cost.saturating_add(index.cost) + 1, (Box::new(of.node), Box::new(index.node)));
        let node =
            if optional { Node::OptionalIndex(parts.0, parts.1) } else { Node::Index(parts.0, parts.1) };
        Ok(Checked { node, kind, cost })
    }

    fn has(&mut self, argument: Expr) -> Result<Checked<'s>, Wrong> {
        let at = argument.at;
        let Form::Select { of, field, optional: false } = argument.form else {
            return Err((at, "invalid argument to has() macro".to_owned()));
        };
        let of = self.expression(*of)?;
        self.field(&of.kind, &field, at)?;
        Ok(Checked { node: Node::Has(Box::new(of.node), field), kind: Kind::Bool, cost: of.cost })
    }

    fn member_call(
        &mut self,
        name: &str,
        target: Expr,
        args: Vec<Expr>,
        at: usize,
    ) -> Result<Checked<'s>, Wrong> {
        // `optional.of(x)`: the target is a part of the name, unless there is a variable of that name.
        if let Form::Name(space) = &target.form
            && !self.scope.iter().any(|(known, _)| known == space)
        {
            let full = format!("{space}.{name}");
            if functions::named(&full).is_some() {
                let args = args.into_iter().map(|arg| self.expression(arg)).collect::<Result<_, _>>()?;
                return self.function(&full, false, args, at);
            }
        }
        let mut checked = vec![self.expression(target)?];
        for arg in args {
            checked.push(match arg.form {
                // What is formatted may be of any kinds.
                Form::List(items) if name == "format" => self.mixed_list(items)?,
                form => self.expression(Expr { form, ..arg })?,
            });
        }
        self.function(name, true, checked, at)
    }

    fn mixed_list(&mut self, items: Vec<Expr>) -> Result<Checked<'s>, Wrong> {
        let (mut nodes, mut cost) = (Vec::new(), 10u64);
        for item in items {
            let item = self.expression(item)?;
            cost = cost.saturating_add(item.cost);
            nodes.push(item.node);
        }
        let kind = Kind::List(Box::new(Kind::Dyn(1)), nodes.len() as u64);
        Ok(Checked { node: Node::List(nodes), kind, cost })
    }

    fn function(
        &mut self,
        name: &str,
        member: bool,
        args: Vec<Checked<'s>>,
        at: usize,
    ) -> Result<Checked<'s>, Wrong> {
        let Some(known) = functions::named(name) else {
            return Err((at, format!("undeclared reference to '{name}' (in container '')")));
        };
        let cost: u64 = args.iter().fold(0, |sum, arg| sum.saturating_add(arg.cost));
        let (nodes, kinds): (Vec<_>, Vec<_>) = args.into_iter().map(|arg| (arg.node, arg.kind)).unzip();
        let fits = |overload: &&&'static Overload| {
            overload.member == member
                && overload.params.len() == kinds.len()
                && overload.params.iter().zip(&kinds).all(|(param, kind)| param.takes(kind))
        };
        let overloads: Vec<&'static Overload> = known.iter().filter(fits).copied().collect();
        if overloads.is_empty() || !is_comparison_allowed(name, &kinds) {
            return Err(no_overload(name, member, &kinds, at));
        }
        let own = overloads.iter().map(|overload| (overload.cost)(&kinds)).max().unwrap_or_default();
        let results = overloads.iter().map(|overload| (overload.result)(&kinds));
        let kind = results.reduce(|a, b| a.join(&b).unwrap_or(Kind::Dyn(a.size().max(b.size()))));
        let pattern = literals(name, &nodes, at)?;
        let node = Node::Call(Call { overloads, args: nodes, pattern });
        Ok(Checked { node, kind: kind.unwrap_or(Kind::Dyn(1)), cost: cost.saturating_add(own) })
    }
}

/// Texts in the rule that must be a pattern, a moment or a duration are read now.
fn literals(name: &str, args: &[Node], at: usize) -> Result<Option<pattern::Pattern>, Wrong> {
    let text = |index: usize| match args.get(index) {
        Some(Node::Literal(Literal::Text(text))) => Some(text.as_str()),
        _ => None,
    };
    let invalid = || (at, format!("invalid {name} argument"));
    match name {
        "matches" | "find" | "findAll" => match text(1) {
            Some(text) => pattern::compile(text).map(Some).map_err(|_| invalid()),
            None => Ok(None),
        },
        "timestamp" if text(0).is_some_and(|text| !super::super::formats::is_date_time(text)) => {
            Err(invalid())
        }
        "duration" if text(0).is_some_and(|text| functions::parse_duration(text).is_none()) => Err(invalid()),
        _ => Ok(None),
    }
}

fn no_overload(name: &str, member: bool, kinds: &[Kind<'_>], at: usize) -> Wrong {
    let names: Vec<_> = kinds.iter().map(Kind::to_string).collect();
    let applied = match (member, names.split_first()) {
        (true, Some((target, args))) => format!("{target}.({})", args.join(", ")),
        _ => format!("({})", names.join(", ")),
    };
    (at, format!("found no matching overload for '{name}' applied to '{applied}'"))
}

/// Items of one list must be of one kind.
fn alike<'s>(known: Option<Kind<'s>>, next: Kind<'s>, at: usize) -> Result<Kind<'s>, Wrong> {
    let Some(known) = known else { return Ok(next) };
    known.join(&next).ok_or_else(|| (at, format!("expected type '{known}' but found '{next}'")))
}

/// Orders exist between numbers, and between things of one kind.
fn is_comparison_allowed(name: &str, kinds: &[Kind<'_>]) -> bool {
    if !["_<_", "_<=_", "_>_", "_>=_"].contains(&name) {
        return true;
    }
    let is_number = |kind: &Kind<'_>| matches!(kind, Kind::Int | Kind::Uint | Kind::Double);
    match kinds {
        [a, b] if a.is_dyn() || b.is_dyn() || (is_number(a) && is_number(b)) => true,
        [Kind::Bool, Kind::Bool] | [Kind::Text(_), Kind::Text(_)] | [Kind::Bytes(_), Kind::Bytes(_)] => true,
        [Kind::Time, Kind::Time] | [Kind::Duration, Kind::Duration] => true,
        _ => false,
    }
}

/// About as many bytes as comparing a value looks at.
fn weight(kind: &Kind<'_>) -> u64 {
    match kind {
        Kind::List(item, size) => size.saturating_mul(weight(item)),
        Kind::Map(key, value, size) => size.saturating_mul(weight(key).saturating_add(weight(value))),
        // Objects are compared as a whole, which cannot be more than the request.
        Kind::Object(_, Role::Plain | Role::Resource) => 1024,
        other => other.size(),
    }
}

/// An optional of an optional is one.
pub(super) fn flat(kind: Kind<'_>) -> Kind<'_> {
    match kind {
        Kind::Optional(inner) => *inner,
        other => other,
    }
}

fn of_literal<'s>(literal: Literal) -> Checked<'s> {
    let kind = match &literal {
        Literal::Null => Kind::Null,
        Literal::Bool(_) => Kind::Bool,
        Literal::Int(_) => Kind::Int,
        Literal::Uint(_) => Kind::Uint,
        Literal::Double(_) => Kind::Double,
        Literal::Text(text) => Kind::Text(text.len() as u64),
        Literal::Bytes(bytes) => Kind::Bytes(bytes.len() as u64),
        Literal::Type(_) => Kind::Type,
    };
    Checked { node: Node::Literal(literal), kind, cost: 0 }
}
