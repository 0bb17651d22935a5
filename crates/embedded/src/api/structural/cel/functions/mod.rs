//! The functions and operators that rules know, with what each takes, gives, costs and does.
//!
//! A function that is not here is refused with the definition that uses it.

use std::{collections::HashMap, sync::LazyLock};

use super::{
    kind::Kind,
    meter::{Meter, Outcome},
    value::Val,
};
use crate::schema::pattern::Pattern;

mod kubernetes;
mod lists;
mod operators;
mod strings;
mod times;

pub use operators::TYPES;
pub use times::parse_duration;

/// One way to call a function.
pub struct Overload {
    pub name: &'static str,
    /// Called on its first argument: `text.size()`.
    pub member: bool,
    pub params: &'static [Param],
    pub result: for<'s> fn(&[Kind<'s>]) -> Kind<'s>,
    /// An estimate of the most it can cost, beside its arguments.
    pub cost: fn(&[Kind<'_>]) -> u64,
    pub run: for<'v> fn(&mut Call<'_, 'v>) -> Outcome<'v>,
}

/// A call that is being made.
pub struct Call<'c, 'v> {
    pub args: &'c [Val<'v>],
    pub meter: &'c mut Meter,
    /// The pattern, if it stands in the rule as a text.
    pub pattern: Option<&'c Pattern>,
}

/// What a function takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Param {
    Any,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Duration,
    Time,
    List,
    /// A list of texts.
    Texts,
    /// A list of things that have an order.
    Ordered,
    /// A list of things that can be added.
    Addable,
    /// A list of lists.
    Lists,
    Map,
    Optional,
    Quantity,
    Url,
    Ip,
    Cidr,
}

impl Param {
    /// Whether a value of this kind may be given.
    pub fn takes(self, kind: &Kind<'_>) -> bool {
        let item = |test: fn(&Kind<'_>) -> bool| match kind {
            Kind::List(item, _) => item.is_dyn() || test(item),
            _ => false,
        };
        kind.is_dyn()
            || match self {
                Param::Any => true,
                Param::Bool => matches!(kind, Kind::Bool),
                Param::Int => matches!(kind, Kind::Int),
                Param::Uint => matches!(kind, Kind::Uint),
                Param::Double => matches!(kind, Kind::Double),
                Param::Text => matches!(kind, Kind::Text(_)),
                Param::Bytes => matches!(kind, Kind::Bytes(_)),
                Param::Duration => matches!(kind, Kind::Duration),
                Param::Time => matches!(kind, Kind::Time),
                Param::List => matches!(kind, Kind::List(..)),
                Param::Texts => item(|kind| matches!(kind, Kind::Text(_))),
                Param::Ordered => item(is_ordered),
                Param::Addable => {
                    item(|kind| matches!(kind, Kind::Int | Kind::Uint | Kind::Double | Kind::Duration))
                }
                Param::Lists => item(|kind| matches!(kind, Kind::List(..))),
                Param::Map => matches!(kind, Kind::Map(..)),
                Param::Optional => matches!(kind, Kind::Optional(_)),
                Param::Quantity => matches!(kind, Kind::Quantity),
                Param::Url => matches!(kind, Kind::Url),
                Param::Ip => matches!(kind, Kind::Ip),
                Param::Cidr => matches!(kind, Kind::Cidr),
            }
    }

    /// Whether this value may be given; for what was not known before the rule ran.
    pub fn accepts(self, value: &Val<'_>) -> bool {
        match self {
            Param::Any => true,
            Param::Bool => matches!(value, Val::Bool(_)),
            Param::Int => matches!(value, Val::Int(_)),
            Param::Uint => matches!(value, Val::Uint(_)),
            Param::Double => matches!(value, Val::Double(_)),
            Param::Text => matches!(value, Val::Text(_)),
            Param::Bytes => matches!(value, Val::Bytes(_)),
            Param::Duration => matches!(value, Val::Duration(_)),
            Param::Time => matches!(value, Val::Time(_)),
            Param::List | Param::Texts | Param::Ordered | Param::Addable | Param::Lists => {
                value.items().is_some()
            }
            Param::Map => matches!(value, Val::Map(_) | Val::JsonMap(..)),
            Param::Optional => matches!(value, Val::Optional(_)),
            Param::Quantity => matches!(value, Val::Quantity(_)),
            Param::Url => matches!(value, Val::Url(_)),
            Param::Ip => matches!(value, Val::Ip(_)),
            Param::Cidr => matches!(value, Val::Cidr(..)),
        }
    }
}

fn is_ordered(kind: &Kind<'_>) -> bool {
    matches!(
        kind,
        Kind::Bool
            | Kind::Int
            | Kind::Uint
            | Kind::Double
            | Kind::Text(_)
            | Kind::Bytes(_)
            | Kind::Duration
            | Kind::Time
    )
}

/// The ways to call a function of this name; none if there is no such function.
pub fn named(name: &str) -> Option<&'static [&'static Overload]> {
    static BY_NAME: LazyLock<HashMap<&'static str, Vec<&'static Overload>>> = LazyLock::new(|| {
        let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
        let tables = [operators::TABLE, strings::TABLE, lists::TABLE, times::TABLE, kubernetes::TABLE];
        for overload in tables.into_iter().flatten() {
            by_name.entry(overload.name).or_default().push(overload);
        }
        by_name
    });
    BY_NAME.get(name).map(Vec::as_slice)
}

/// A function that is called by its name alone.
const fn global(
    name: &'static str,
    params: &'static [Param],
    result: for<'s> fn(&[Kind<'s>]) -> Kind<'s>,
    cost: fn(&[Kind<'_>]) -> u64,
    run: for<'v> fn(&mut Call<'_, 'v>) -> Outcome<'v>,
) -> Overload {
    Overload { name, member: false, params, result, cost, run }
}

/// A function that is called on its first argument.
const fn member(
    name: &'static str,
    params: &'static [Param],
    result: for<'s> fn(&[Kind<'s>]) -> Kind<'s>,
    cost: fn(&[Kind<'_>]) -> u64,
    run: for<'v> fn(&mut Call<'_, 'v>) -> Outcome<'v>,
) -> Overload {
    Overload { name, member: true, params, result, cost, run }
}

/// The cost of looking at each byte.
pub fn tenth(size: u64) -> u64 {
    size.div_ceil(10)
}

fn one(_: &[Kind<'_>]) -> u64 {
    1
}

/// The cost of looking at each byte of the first argument.
fn walk(args: &[Kind<'_>]) -> u64 {
    tenth(args[0].size())
}

fn bool_kind<'s>(_: &[Kind<'s>]) -> Kind<'s> {
    Kind::Bool
}

fn int_kind<'s>(_: &[Kind<'s>]) -> Kind<'s> {
    Kind::Int
}

/// The same as the first argument.
fn first_kind<'s>(args: &[Kind<'s>]) -> Kind<'s> {
    args[0].clone()
}

/// The kind of a list's items.
fn item_kind<'s>(args: &[Kind<'s>]) -> Kind<'s> {
    match &args[0] {
        Kind::List(item, _) => (**item).clone(),
        other => Kind::Dyn(other.size()),
    }
}

impl<'c, 'v> Call<'c, 'v> {
    /// An argument that is known to be a text.
    fn text(&self, index: usize) -> &'c str {
        let args: &'c [Val<'v>] = self.args;
        match args.get(index) {
            Some(Val::Text(text) | Val::Url(text)) => text.as_str(),
            _ => "",
        }
    }

    fn int(&self, index: usize) -> i64 {
        match self.args.get(index) {
            Some(Val::Int(number)) => *number,
            _ => 0,
        }
    }

    /// The items of an argument that is known to be a list.
    fn items(&self, index: usize) -> Vec<Val<'v>> {
        self.args.get(index).and_then(Val::items).map(|items| items.iter().collect()).unwrap_or_default()
    }
}
