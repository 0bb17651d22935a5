//! Lists, sets of items, and values that may be absent.

use std::cmp::Ordering;

use super::{
    super::{
        kind::Kind,
        meter::{Failure, Meter, Outcome},
        value::{Val, compare, equal},
    },
    Call, Overload,
    Param::{Addable, Any, Int, List, Lists, Optional, Ordered},
    bool_kind, first_kind, global, int_kind, item_kind, member, one, tenth,
};

/// The cost of comparing each item with one other.
fn each(args: &[Kind<'_>]) -> u64 {
    let item = match &args[0] {
        Kind::List(item, _) => item.size(),
        other => other.size(),
    };
    args[0].size().saturating_mul(1 + tenth(item))
}

fn all_pairs(args: &[Kind<'_>]) -> u64 {
    each(args).saturating_mul(args.get(1).unwrap_or(&args[0]).size())
}

fn length(args: &[Kind<'_>]) -> u64 {
    args[0].size()
}

fn optional_item<'s>(args: &[Kind<'s>]) -> Kind<'s> {
    Kind::Optional(Box::new(item_kind(args)))
}

fn inner_kind<'s>(args: &[Kind<'s>]) -> Kind<'s> {
    match &args[0] {
        Kind::Optional(inner) => (**inner).clone(),
        other => Kind::Dyn(other.size()),
    }
}

pub const TABLE: &[Overload] = &[
    member("isSorted", &[Ordered], bool_kind, each, |c| {
        let items = c.items(0);
        for pair in items.windows(2) {
            if ordering(&pair[0], &pair[1], c.meter)?.is_gt() {
                return Ok(Val::Bool(false));
            }
        }
        Ok(Val::Bool(true))
    }),
    member("sum", &[Addable], item_kind, each, sum),
    member("min", &[Ordered], item_kind, each, |c| extreme(c, "min", Ordering::is_lt)),
    member("max", &[Ordered], item_kind, each, |c| extreme(c, "max", Ordering::is_gt)),
    member("indexOf", &[List, Any], int_kind, each, |c| {
        let items = c.items(0);
        position(items.iter().enumerate(), c)
    }),
    member("lastIndexOf", &[List, Any], int_kind, each, |c| {
        let items = c.items(0);
        position(items.iter().enumerate().rev(), c)
    }),
    member("slice", &[List, Int, Int], first_kind, length, slice),
    member("reverse", &[List], first_kind, length, |c| {
        let mut items = paid(c)?;
        items.reverse();
        Ok(Val::list(items))
    }),
    member("sort", &[Ordered], first_kind, all_pairs, sort),
    member("distinct", &[List], first_kind, all_pairs, |c| {
        let items = paid(c)?;
        let mut kept: Vec<Val<'_>> = Vec::new();
        for item in items {
            if !is_in(&item, &kept, c.meter)? {
                kept.push(item);
            }
        }
        Ok(Val::list(kept))
    }),
    member("flatten", &[Lists], item_kind, length, |c| {
        let mut flat = Vec::new();
        for item in paid(c)? {
            let inner = item.items().ok_or_else(Failure::no_such_overload)?;
            c.meter.charge(inner.len() as u64)?;
            flat.extend(inner.iter());
        }
        Ok(Val::list(flat))
    }),
    member("first", &[List], optional_item, one, |c| {
        let item = c.args[0].items().and_then(|items| items.get(0));
        Ok(item.map_or(Val::Optional(None), Val::some))
    }),
    member("last", &[List], optional_item, one, |c| {
        let item = c.args[0].items().and_then(|items| items.get(items.len().checked_sub(1)?));
        Ok(item.map_or(Val::Optional(None), Val::some))
    }),
    global(
        "lists.range",
        &[Int],
        |_| Kind::List(Box::new(Kind::Int), 1_000_000),
        |_| 1000,
        |c| {
            let count = u64::try_from(c.int(0)).unwrap_or_default();
            c.meter.charge(count.saturating_add(1))?;
            Ok(Val::list((0..c.int(0)).map(Val::Int).collect()))
        },
    ),
    global("sets.contains", &[List, List], bool_kind, all_pairs, |c| {
        let (whole, part) = (c.items(0), c.items(1));
        contains_all(&whole, &part, c.meter).map(Val::Bool)
    }),
    global(
        "sets.equivalent",
        &[List, List],
        bool_kind,
        |args| all_pairs(args).saturating_mul(2),
        |c| {
            let (a, b) = (c.items(0), c.items(1));
            Ok(Val::Bool(contains_all(&a, &b, c.meter)? && contains_all(&b, &a, c.meter)?))
        },
    ),
    global("sets.intersects", &[List, List], bool_kind, all_pairs, |c| {
        let (a, b) = (c.items(0), c.items(1));
        for item in &a {
            if is_in(item, &b, c.meter)? {
                return Ok(Val::Bool(true));
            }
        }
        Ok(Val::Bool(false))
    }),
    global(
        "optional.of",
        &[Any],
        |args| Kind::Optional(Box::new(args[0].clone())),
        one,
        |c| Ok(Val::some(c.args[0].clone())),
    ),
    global(
        "optional.ofNonZeroValue",
        &[Any],
        |args| Kind::Optional(Box::new(args[0].clone())),
        one,
        |c| Ok(if is_zero(&c.args[0]) { Val::Optional(None) } else { Val::some(c.args[0].clone()) }),
    ),
    global(
        "optional.none",
        &[],
        |_| Kind::Optional(Box::new(Kind::Dyn(1))),
        one,
        |_| Ok(Val::Optional(None)),
    ),
    member("hasValue", &[Optional], bool_kind, one, |c| {
        Ok(Val::Bool(matches!(c.args[0], Val::Optional(Some(_)))))
    }),
    member("value", &[Optional], inner_kind, one, |c| match &c.args[0] {
        Val::Optional(Some(value)) => Ok((**value).clone()),
        _ => Err(Failure::error("optional.none() dereference")),
    }),
    member("orValue", &[Optional, Any], inner_kind, one, |c| match &c.args[0] {
        Val::Optional(Some(value)) => Ok((**value).clone()),
        _ => Ok(c.args[1].clone()),
    }),
    member("or", &[Optional, Optional], first_kind, one, |c| match &c.args[0] {
        Val::Optional(Some(_)) => Ok(c.args[0].clone()),
        _ => Ok(c.args[1].clone()),
    }),
];

/// The items of the first argument, once their number is paid for.
fn paid<'v>(call: &mut Call<'_, 'v>) -> Result<Vec<Val<'v>>, Failure> {
    let count = call.args[0].size().unwrap_or_default();
    call.meter.charge(count as u64 + 1)?;
    Ok(call.items(0))
}

fn ordering<'v>(a: &Val<'v>, b: &Val<'v>, meter: &mut Meter) -> Result<Ordering, Failure> {
    meter.charge(1)?;
    compare(a, b, meter)?.ok_or_else(Failure::no_such_overload)
}

pub fn is_in<'v>(wanted: &Val<'v>, items: &[Val<'v>], meter: &mut Meter) -> Result<bool, Failure> {
    for item in items {
        if equal(item, wanted, meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn contains_all<'v>(whole: &[Val<'v>], part: &[Val<'v>], meter: &mut Meter) -> Result<bool, Failure> {
    for item in part {
        if !is_in(item, whole, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn position<'a, 'v: 'a>(
    items: impl Iterator<Item = (usize, &'a Val<'v>)>,
    call: &mut Call<'_, 'v>,
) -> Outcome<'v> {
    for (index, item) in items {
        if equal(item, &call.args[1], call.meter)? {
            return Ok(Val::Int(i64::try_from(index).unwrap_or(i64::MAX)));
        }
    }
    Ok(Val::Int(-1))
}

fn sum<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    let mut items = paid(call)?.into_iter();
    let Some(mut total) = items.next() else { return Ok(Val::Int(0)) };
    let overflow = || Failure::error("integer overflow");
    for item in items {
        total = match (total, item) {
            (Val::Int(a), Val::Int(b)) => Val::Int(a.checked_add(b).ok_or_else(overflow)?),
            (Val::Uint(a), Val::Uint(b)) => Val::Uint(a.checked_add(b).ok_or_else(overflow)?),
            (Val::Double(a), Val::Double(b)) => Val::Double(a + b),
            (Val::Duration(a), Val::Duration(b)) => Val::Duration(a.checked_add(b).ok_or_else(overflow)?),
            _ => return Err(Failure::no_such_overload()),
        };
    }
    Ok(total)
}

fn extreme<'v>(call: &mut Call<'_, 'v>, name: &str, better: fn(Ordering) -> bool) -> Outcome<'v> {
    let mut items = paid(call)?.into_iter();
    let mut best = items.next().ok_or_else(|| Failure::error(format!("{name} called on empty list")))?;
    for item in items {
        if better(ordering(&item, &best, call.meter)?) {
            best = item;
        }
    }
    Ok(best)
}

fn slice<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    let items = paid(call)?;
    let (start, end) = (usize::try_from(call.int(1)), usize::try_from(call.int(2)));
    let (Ok(start), Ok(end)) = (start, end) else {
        return Err(Failure::error("cannot slice, negative indexes not supported"));
    };
    items.get(start..end).map(|part| Val::list(part.to_vec())).ok_or_else(|| {
        Failure::error(format!("cannot slice({start}, {end}), list is length {}", items.len()))
    })
}

/// Sorts by merging, so that each comparison is paid for and a failing one ends it.
fn sort<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    let mut runs: Vec<Vec<Val<'v>>> = paid(call)?.into_iter().map(|item| vec![item]).collect();
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut pairs = runs.into_iter();
        while let Some(a) = pairs.next() {
            merged.push(match pairs.next() {
                Some(b) => merge(a, b, call.meter)?,
                None => a,
            });
        }
        runs = merged;
    }
    Ok(Val::list(runs.pop().unwrap_or_default()))
}

fn merge<'v>(a: Vec<Val<'v>>, b: Vec<Val<'v>>, meter: &mut Meter) -> Result<Vec<Val<'v>>, Failure> {
    let mut merged = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
        let next = if ordering(left, right, meter)?.is_le() { a.next() } else { b.next() };
        merged.extend(next);
    }
    merged.extend(a.chain(b));
    Ok(merged)
}

fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null | Val::Bool(false) | Val::Int(0) | Val::Uint(0) | Val::Optional(None) => true,
        Val::Double(number) => *number == 0.0,
        value => value.size() == Some(0),
    }
}
