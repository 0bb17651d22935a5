//! Calls that bring variables of their own: `list.all(x, …)` and its like.

use super::{
    check::{Checked, Checker, Wrong, flat},
    kind::Kind,
    node::{Loop, LoopKind, Node},
    parse::{Expr, Form},
};

/// A macro by its name and the number of its arguments.
#[derive(Clone, Copy, Debug)]
pub enum Macro {
    /// With one variable or, for pairs, two.
    Walk {
        kind: LoopKind,
        pairs: bool,
    },
    OptionalMap {
        flat: bool,
    },
}

impl Macro {
    pub fn of(name: &str, args: usize) -> Option<Self> {
        let (kind, pairs) = match (name, args) {
            ("all", 2) => (LoopKind::All, false),
            ("all", 3) => (LoopKind::All, true),
            ("exists", 2) => (LoopKind::Exists, false),
            ("exists", 3) => (LoopKind::Exists, true),
            ("exists_one", 2) => (LoopKind::ExistsOne, false),
            ("existsOne", 3) => (LoopKind::ExistsOne, true),
            ("filter", 2) => (LoopKind::Filter, false),
            ("map", 2 | 3) => (LoopKind::List, false),
            ("transformList", 3 | 4) => (LoopKind::List, true),
            ("transformMap", 3 | 4) => (LoopKind::Map, true),
            ("optMap", 2) => return Some(Self::OptionalMap { flat: false }),
            ("optFlatMap", 2) => return Some(Self::OptionalMap { flat: true }),
            _ => return None,
        };
        Some(Self::Walk { kind, pairs })
    }
}

impl<'s> Checker<'_, 's> {
    pub(super) fn macro_call(
        &mut self,
        found: Macro,
        target: Expr,
        args: Vec<Expr>,
        at: usize,
    ) -> Result<Checked<'s>, Wrong> {
        match found {
            Macro::Walk { kind, pairs } => self.walk(kind, pairs, target, args, at),
            Macro::OptionalMap { flat } => self.optional_map(target, args, flat, at),
        }
    }

    fn walk(
        &mut self,
        kind: LoopKind,
        pairs: bool,
        target: Expr,
        args: Vec<Expr>,
        at: usize,
    ) -> Result<Checked<'s>, Wrong> {
        let range = self.expression(target)?;
        let (first, second) = match &range.kind {
            Kind::List(item, _) if pairs => (Kind::Int, (**item).clone()),
            Kind::List(item, _) => ((**item).clone(), Kind::Null),
            Kind::Map(key, value, _) => ((**key).clone(), (**value).clone()),
            Kind::Dyn(size) => (Kind::Dyn(*size), Kind::Dyn(*size)),
            other => {
                let message = format!("expression of type '{other}' cannot be range of a comprehension");
                return Err((at, message));
            }
        };
        let before = self.scope.len();
        let mut args = args.into_iter();
        for kind in [first.clone(), second].into_iter().take(if pairs { 2 } else { 1 }) {
            self.scope.push((name(args.next(), at)?, kind));
        }
        let bodies: Result<Vec<_>, _> = args.map(|body| self.expression(body)).collect();
        self.scope.truncate(before);
        let mut bodies = bodies?;
        let Some(body) = bodies.pop() else { return Err((at, "a body is missing".to_owned())) };
        let filter = bodies.pop();

        let is_test = !matches!(kind, LoopKind::List | LoopKind::Map);
        let test = if is_test { Some(&body) } else { filter.as_ref() };
        if let Some(test) = test
            && !matches!(test.kind, Kind::Bool | Kind::Dyn(_))
        {
            return Err((at, format!("expected type 'bool' but found '{}'", test.kind)));
        }
        let size = range.kind.size();
        let result = match kind {
            LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne => Kind::Bool,
            LoopKind::Filter => match &range.kind {
                Kind::Map(..) => Kind::List(Box::new(first), size),
                other => other.clone(),
            },
            LoopKind::List => Kind::List(Box::new(body.kind.clone()), size),
            LoopKind::Map => Kind::Map(Box::new(first), Box::new(body.kind.clone()), size),
        };
        // What each round costs beside the body: the condition to go on, and the step with what it makes.
        let round = match kind {
            LoopKind::All => 3,
            LoopKind::Exists => 4,
            LoopKind::ExistsOne => 2,
            LoopKind::Filter => 13,
            LoopKind::List => 12,
            LoopKind::Map => 32,
        };
        let each =
            body.cost.saturating_add(filter.as_ref().map_or(0, |filter| filter.cost)).saturating_add(round);
        let cost = range.cost.saturating_add(size.saturating_mul(each)).saturating_add(1);
        let filter = filter.map(|filter| filter.node);
        let node = Node::Loop(Box::new(Loop { kind, range: range.node, pairs, filter, body: body.node }));
        Ok(Checked { node, kind: result, cost })
    }

    fn optional_map(
        &mut self,
        target: Expr,
        args: Vec<Expr>,
        is_flat: bool,
        at: usize,
    ) -> Result<Checked<'s>, Wrong> {
        let of = self.expression(target)?;
        let inner = match &of.kind {
            Kind::Optional(inner) => (**inner).clone(),
            Kind::Dyn(size) => Kind::Dyn(*size),
            other => return Err((at, format!("expected an optional but found '{other}'"))),
        };
        let mut args = args.into_iter();
        self.scope.push((name(args.next(), at)?, inner));
        let body = args.next().ok_or_else(|| (at, "a body is missing".to_owned()));
        let body = body.and_then(|body| self.expression(body));
        self.scope.pop();
        let body = body?;
        let kind = Kind::Optional(Box::new(flat(body.kind)));
        let cost = of.cost.saturating_add(body.cost).saturating_add(2);
        let node = Node::OptionalMap { of: Box::new(of.node), body: Box::new(body.node), flat: is_flat };
        Ok(Checked { node, kind, cost })
    }
}

/// A variable must be a plain name.
fn name(expression: Option<Expr>, at: usize) -> Result<String, Wrong> {
    match expression.map(|expression| expression.form) {
        Some(Form::Name(name)) => Ok(name),
        _ => Err((at, "argument must be a simple name".to_owned())),
    }
}
