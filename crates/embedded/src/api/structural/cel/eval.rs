//! Runs a checked expression. Every step is paid for, so that it ends.

use std::rc::Rc;

use super::{
    functions,
    meter::{Failure, Meter, Outcome},
    node::{Call, Literal, Loop, LoopKind, Node},
    value::{Text, Val, equal, no_such_key},
};

/// Runs an expression with these variables.
pub fn run<'v>(node: &'v Node, variables: Vec<Val<'v>>, meter: &mut Meter) -> Outcome<'v> {
    Machine { stack: variables, meter }.eval(node)
}

struct Machine<'m, 'v> {
    stack: Vec<Val<'v>>,
    meter: &'m mut Meter,
}

impl<'v> Machine<'_, 'v> {
    fn eval(&mut self, node: &'v Node) -> Outcome<'v> {
        self.meter.charge(1)?;
        match node {
            Node::Literal(literal) => Ok(of_literal(literal)),
            Node::Variable(place) => {
                self.stack.get(*place).cloned().ok_or_else(|| Failure::error("undeclared reference"))
            }
            Node::Select(of, name) => {
                let of = self.eval(of)?;
                match &of {
                    Val::Optional(_) => Ok(select_optional(&of, name)),
                    of => of.select(name).ok_or_else(|| no_such_key(name)),
                }
            }
            Node::OptionalSelect(of, name) => Ok(select_optional(&self.eval(of)?, name)),
            Node::Has(of, name) => {
                let found = match &self.eval(of)? {
                    optional @ Val::Optional(_) => {
                        matches!(select_optional(optional, name), Val::Optional(Some(_)))
                    }
                    of => of.select(name).is_some(),
                };
                Ok(Val::Bool(found))
            }
            Node::Index(of, index) => {
                let (of, index) = (self.eval(of)?, self.eval(index)?);
                match &of {
                    Val::Optional(None) => Ok(of),
                    Val::Optional(Some(inner)) => Ok(self.optional_index(inner, &index)),
                    of => of.index(&index, self.meter),
                }
            }
            Node::OptionalIndex(of, index) => {
                let (of, index) = (self.eval(of)?, self.eval(index)?);
                Ok(match &of {
                    Val::Optional(None) => of,
                    Val::Optional(Some(inner)) => self.optional_index(inner, &index),
                    of => self.optional_index(of, &index),
                })
            }
            Node::And(left, right) => self.logical(left, right, false),
            Node::Or(left, right) => self.logical(left, right, true),
            Node::Choose(parts) => match self.eval(&parts[0])? {
                Val::Bool(true) => self.eval(&parts[1]),
                Val::Bool(false) => self.eval(&parts[2]),
                _ => Err(Failure::no_such_overload()),
            },
            Node::Equal(left, right) => {
                let (left, right) = (self.eval(left)?, self.eval(right)?);
                equal(&left, &right, self.meter).map(Val::Bool)
            }
            Node::In(item, list) => self.membership(item, list),
            Node::List(items) => {
                self.meter.charge(10)?;
                Ok(Val::list(items.iter().map(|item| self.eval(item)).collect::<Result<_, _>>()?))
            }
            Node::Map(entries) => self.map(entries),
            Node::Call(call) => self.call(call),
            Node::Loop(walk) => self.walk(walk),
            Node::OptionalMap { of, body, flat } => match self.eval(of)? {
                Val::Optional(Some(value)) => {
                    self.stack.push((*value).clone());
                    let result = self.eval(body);
                    self.stack.pop();
                    result.map(|value| if *flat { value } else { Val::some(value) })
                }
                Val::Optional(None) => Ok(Val::Optional(None)),
                _ => Err(Failure::no_such_overload()),
            },
        }
    }

    /// `&&` and `||`: either side may decide, even if the other fails.
    fn logical(&mut self, left: &'v Node, right: &'v Node, deciding: bool) -> Outcome<'v> {
        let left = match self.eval(left) {
            Ok(Val::Bool(flag)) if flag == deciding => return Ok(Val::Bool(deciding)),
            Err(Failure::Spent) => return Err(Failure::Spent),
            other => other,
        };
        let right = match self.eval(right) {
            Ok(Val::Bool(flag)) if flag == deciding => return Ok(Val::Bool(deciding)),
            other => other,
        };
        match (left?, right?) {
            (Val::Bool(_), Val::Bool(_)) => Ok(Val::Bool(!deciding)),
            _ => Err(Failure::no_such_overload()),
        }
    }

    fn membership(&mut self, item: &'v Node, list: &'v Node) -> Outcome<'v> {
        let (item, list) = (self.eval(item)?, self.eval(list)?);
        if let Some(items) = list.items() {
            for candidate in items.iter() {
                if equal(&candidate, &item, self.meter)? {
                    return Ok(Val::Bool(true));
                }
            }
            return Ok(Val::Bool(false));
        }
        match (&list, &item) {
            (Val::JsonMap(fields, _), Val::Text(key)) => Ok(Val::Bool(fields.contains_key(key.as_str()))),
            (Val::JsonMap(..), _) => Ok(Val::Bool(false)),
            (Val::Map(entries), _) => {
                for (key, _) in entries.iter() {
                    if equal(key, &item, self.meter)? {
                        return Ok(Val::Bool(true));
                    }
                }
                Ok(Val::Bool(false))
            }
            _ => Err(Failure::no_such_overload()),
        }
    }

    fn map(&mut self, entries: &'v [(Node, Node)]) -> Outcome<'v> {
        self.meter.charge(30)?;
        let mut made: Vec<(Val<'v>, Val<'v>)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let key = self.eval(key)?;
            for (known, _) in &made {
                if equal(known, &key, self.meter)? {
                    return Err(Failure::error("Failed with repeated key"));
                }
            }
            let value = self.eval(value)?;
            made.push((key, value));
        }
        Ok(Val::Map(made.into()))
    }

    fn optional_index(&mut self, of: &Val<'v>, index: &Val<'v>) -> Val<'v> {
        of.index(index, self.meter).map_or(Val::Optional(None), some)
    }

    fn call(&mut self, call: &'v Call) -> Outcome<'v> {
        let args: Vec<Val<'v>> = call.args.iter().map(|arg| self.eval(arg)).collect::<Result<_, _>>()?;
        let fits = |overload: &&&functions::Overload| {
            overload.params.iter().zip(&args).all(|(param, value)| param.accepts(value))
        };
        let overload = call.overloads.iter().find(fits).ok_or_else(Failure::no_such_overload)?;
        (overload.run)(&mut functions::Call {
            args: &args,
            meter: self.meter,
            pattern: call.pattern.as_ref(),
        })
    }

    fn walk(&mut self, walk: &'v Loop) -> Outcome<'v> {
        let range = self.eval(&walk.range)?;
        let mut rounds = Rounds { walk, made: Vec::new(), entries: Vec::new(), hits: 0, failure: None };
        let before = self.stack.len();
        let result = self.rounds(&range, &mut rounds);
        self.stack.truncate(before);
        match result? {
            Some(decided) => Ok(decided),
            None => rounds.result(),
        }
    }

    /// Goes through the range until something is decided.
    fn rounds(&mut self, range: &Val<'v>, rounds: &mut Rounds<'v>) -> Result<Option<Val<'v>>, Failure> {
        let pairs = rounds.walk.pairs;
        if let Some(items) = range.items() {
            for index in 0..items.len() {
                let Some(item) = items.get(index) else { break };
                let at = Val::Int(i64::try_from(index).unwrap_or(i64::MAX));
                let (key, shown) = if pairs { (at, Some(item)) } else { (item, None) };
                if let Some(decided) = self.round(rounds, key, shown)? {
                    return Ok(Some(decided));
                }
            }
            return Ok(None);
        }
        let keys = range.keys().ok_or_else(Failure::no_such_overload)?;
        self.meter.charge(keys.len() as u64)?;
        for key in keys {
            let value = if pairs { Some(range.index(&key, self.meter)?) } else { None };
            if let Some(decided) = self.round(rounds, key, value)? {
                return Ok(Some(decided));
            }
        }
        Ok(None)
    }

    fn round(
        &mut self,
        rounds: &mut Rounds<'v>,
        key: Val<'v>,
        value: Option<Val<'v>>,
    ) -> Result<Option<Val<'v>>, Failure> {
        let before = self.stack.len();
        self.stack.push(key.clone());
        self.stack.extend(value);
        let decided = self.body(rounds, key);
        self.stack.truncate(before);
        decided
    }

    fn body(&mut self, rounds: &mut Rounds<'v>, key: Val<'v>) -> Result<Option<Val<'v>>, Failure> {
        let walk = rounds.walk;
        if let Some(filter) = &walk.filter {
            match self.eval(filter)? {
                Val::Bool(true) => {}
                Val::Bool(false) => return Ok(None),
                _ => return Err(Failure::no_such_overload()),
            }
        }
        let result = match (walk.kind, self.eval(&walk.body)) {
            (_, Err(Failure::Spent)) => return Err(Failure::Spent),
            // One item may decide even if another fails.
            (LoopKind::All | LoopKind::Exists, Err(failure)) => {
                rounds.failure.get_or_insert(failure);
                return Ok(None);
            }
            (_, result) => result?,
        };
        match (walk.kind, result) {
            (LoopKind::All, Val::Bool(false)) => return Ok(Some(Val::Bool(false))),
            (LoopKind::Exists, Val::Bool(true)) => return Ok(Some(Val::Bool(true))),
            (LoopKind::ExistsOne, Val::Bool(true)) => rounds.hits += 1,
            (LoopKind::Filter, Val::Bool(true)) => {
                self.meter.charge(10)?;
                rounds.made.push(key);
            }
            (LoopKind::List, value) => {
                self.meter.charge(10)?;
                rounds.made.push(value);
            }
            (LoopKind::Map, value) => {
                self.meter.charge(30)?;
                rounds.entries.push((key, value));
            }
            (_, Val::Bool(_)) => {}
            _ => return Err(Failure::no_such_overload()),
        }
        Ok(None)
    }
}

/// What a walk has come to so far.
struct Rounds<'v> {
    walk: &'v Loop,
    made: Vec<Val<'v>>,
    entries: Vec<(Val<'v>, Val<'v>)>,
    hits: usize,
    failure: Option<Failure>,
}

impl<'v> Rounds<'v> {
    fn result(self) -> Outcome<'v> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        Ok(match self.walk.kind {
            LoopKind::All => Val::Bool(true),
            LoopKind::Exists => Val::Bool(false),
            LoopKind::ExistsOne => Val::Bool(self.hits == 1),
            LoopKind::Filter | LoopKind::List => Val::list(self.made),
            LoopKind::Map => Val::Map(self.entries.into()),
        })
    }
}

fn select_optional<'v>(of: &Val<'v>, name: &str) -> Val<'v> {
    let found = match of {
        Val::Optional(None) => None,
        Val::Optional(Some(inner)) => inner.select(name),
        other => other.select(name),
    };
    found.map_or(Val::Optional(None), some)
}

/// A value that is there; one that is optional already stays what it is.
fn some(value: Val<'_>) -> Val<'_> {
    match value {
        Val::Optional(_) => value,
        value => Val::Optional(Some(Rc::new(value))),
    }
}

fn of_literal(literal: &Literal) -> Val<'_> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(flag) => Val::Bool(*flag),
        Literal::Int(number) => Val::Int(*number),
        Literal::Uint(number) => Val::Uint(*number),
        Literal::Double(number) => Val::Double(*number),
        Literal::Text(text) => Val::Text(Text::There(text)),
        Literal::Bytes(bytes) => Val::Bytes(bytes.as_slice().into()),
        Literal::Type(name) => Val::Type(name),
    }
}
