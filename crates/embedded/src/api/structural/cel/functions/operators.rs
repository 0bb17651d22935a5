//! Operators, conversions, and what all values have.

use std::cmp::Ordering;

use super::{
    super::{
        kind::Kind,
        meter::{Failure, Outcome},
        value::{Val, compare},
    },
    Call, Overload,
    Param::{Any, Bool, Bytes, Double, Duration, Int, List, Map, Text, Time, Uint},
    bool_kind, first_kind, global, int_kind, member, one, tenth, walk,
};

/// Names that stand for a kind in `type(x) == int`.
pub const TYPES: [&str; 11] = [
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "type",
    "null_type",
    "google.protobuf.Timestamp",
];

fn sum_kind<'s>(args: &[Kind<'s>]) -> Kind<'s> {
    let size = args[0].size().saturating_add(args[1].size());
    match args[0].join(&args[1]) {
        Some(Kind::Text(_)) => Kind::Text(size),
        Some(Kind::Bytes(_)) => Kind::Bytes(size),
        Some(Kind::List(item, _)) => Kind::List(item, size),
        Some(kind) => kind,
        None => Kind::Dyn(size),
    }
}

fn both(args: &[Kind<'_>]) -> u64 {
    tenth(args[0].size().saturating_add(args[1].size()))
}

fn smaller(args: &[Kind<'_>]) -> u64 {
    tenth(args[0].size().min(args[1].size()))
}

pub const TABLE: &[Overload] = &[
    global("_+_", &[Int, Int], int_kind, one, |c| {
        arithmetic(c, i64::checked_add, u64::checked_add, |a, b| a + b)
    }),
    global("_+_", &[Uint, Uint], first_kind, one, |c| {
        arithmetic(c, i64::checked_add, u64::checked_add, |a, b| a + b)
    }),
    global("_+_", &[Double, Double], first_kind, one, |c| {
        arithmetic(c, i64::checked_add, u64::checked_add, |a, b| a + b)
    }),
    global("_+_", &[Text, Text], sum_kind, both, concat),
    global("_+_", &[Bytes, Bytes], sum_kind, both, concat),
    global("_+_", &[List, List], sum_kind, one, concat),
    global("_+_", &[Duration, Duration], first_kind, one, add_time),
    global("_+_", &[Time, Duration], first_kind, one, add_time),
    global("_+_", &[Duration, Time], |_| Kind::Time, one, add_time),
    global("_-_", &[Int, Int], int_kind, one, |c| {
        arithmetic(c, i64::checked_sub, u64::checked_sub, |a, b| a - b)
    }),
    global("_-_", &[Uint, Uint], first_kind, one, |c| {
        arithmetic(c, i64::checked_sub, u64::checked_sub, |a, b| a - b)
    }),
    global("_-_", &[Double, Double], first_kind, one, |c| {
        arithmetic(c, i64::checked_sub, u64::checked_sub, |a, b| a - b)
    }),
    global("_-_", &[Duration, Duration], first_kind, one, subtract_time),
    global("_-_", &[Time, Duration], first_kind, one, subtract_time),
    global("_-_", &[Time, Time], |_| Kind::Duration, one, subtract_time),
    global("_*_", &[Int, Int], int_kind, one, |c| {
        arithmetic(c, i64::checked_mul, u64::checked_mul, |a, b| a * b)
    }),
    global("_*_", &[Uint, Uint], first_kind, one, |c| {
        arithmetic(c, i64::checked_mul, u64::checked_mul, |a, b| a * b)
    }),
    global("_*_", &[Double, Double], first_kind, one, |c| {
        arithmetic(c, i64::checked_mul, u64::checked_mul, |a, b| a * b)
    }),
    global("_/_", &[Int, Int], int_kind, one, |c| divide(c, i64::checked_div, u64::checked_div)),
    global("_/_", &[Uint, Uint], first_kind, one, |c| divide(c, i64::checked_div, u64::checked_div)),
    global("_/_", &[Double, Double], first_kind, one, |c| {
        arithmetic(c, i64::checked_div, u64::checked_div, |a, b| a / b)
    }),
    global("_%_", &[Int, Int], int_kind, one, |c| divide(c, i64::checked_rem, u64::checked_rem)),
    global("_%_", &[Uint, Uint], first_kind, one, |c| divide(c, i64::checked_rem, u64::checked_rem)),
    global("-_", &[Int], int_kind, one, negate),
    global("-_", &[Double], first_kind, one, negate),
    global("!_", &[Bool], bool_kind, one, |c| match c.args {
        [Val::Bool(flag)] => Ok(Val::Bool(!flag)),
        _ => Err(Failure::no_such_overload()),
    }),
    global("_<_", &[Any, Any], bool_kind, smaller, |c| order(c, Ordering::is_lt)),
    global("_<=_", &[Any, Any], bool_kind, smaller, |c| order(c, Ordering::is_le)),
    global("_>_", &[Any, Any], bool_kind, smaller, |c| order(c, Ordering::is_gt)),
    global("_>=_", &[Any, Any], bool_kind, smaller, |c| order(c, Ordering::is_ge)),
    global("size", &[Text], int_kind, one, size),
    global("size", &[Bytes], int_kind, one, size),
    global("size", &[List], int_kind, one, size),
    global("size", &[Map], int_kind, one, size),
    member("size", &[Text], int_kind, one, size),
    member("size", &[Bytes], int_kind, one, size),
    member("size", &[List], int_kind, one, size),
    member("size", &[Map], int_kind, one, size),
    global("type", &[Any], |_| Kind::Type, one, |c| Ok(Val::Type(c.args[0].type_name()))),
    global("dyn", &[Any], |args| Kind::Dyn(args[0].size()), one, |c| Ok(c.args[0].clone())),
    global("int", &[Int], int_kind, one, to_int),
    global("int", &[Uint], int_kind, one, to_int),
    global("int", &[Double], int_kind, one, to_int),
    global("int", &[Text], int_kind, walk, to_int),
    global("int", &[Time], int_kind, one, to_int),
    global("uint", &[Int], |_| Kind::Uint, one, to_uint),
    global("uint", &[Uint], |_| Kind::Uint, one, to_uint),
    global("uint", &[Double], |_| Kind::Uint, one, to_uint),
    global("uint", &[Text], |_| Kind::Uint, walk, to_uint),
    global("double", &[Int], |_| Kind::Double, one, to_double),
    global("double", &[Uint], |_| Kind::Double, one, to_double),
    global("double", &[Double], |_| Kind::Double, one, to_double),
    global("double", &[Text], |_| Kind::Double, walk, to_double),
    global("bool", &[Bool], bool_kind, one, to_bool),
    global("bool", &[Text], bool_kind, one, to_bool),
    global(
        "bytes",
        &[Text],
        |args| Kind::Bytes(args[0].size()),
        walk,
        |c| {
            c.meter.charge_bytes(c.text(0).len())?;
            Ok(Val::Bytes(c.text(0).as_bytes().into()))
        },
    ),
    global("bytes", &[Bytes], first_kind, one, |c| Ok(c.args[0].clone())),
    // The longest of these is a fraction in full.
    global("string", &[Bool], |_| Kind::Text(400), one, to_text),
    global("string", &[Int], |_| Kind::Text(400), one, to_text),
    global("string", &[Uint], |_| Kind::Text(400), one, to_text),
    global("string", &[Double], |_| Kind::Text(400), one, to_text),
    global("string", &[Duration], |_| Kind::Text(400), one, to_text),
    global("string", &[Time], |_| Kind::Text(400), one, to_text),
    global("string", &[Text], first_kind, one, |c| Ok(c.args[0].clone())),
    global("string", &[Bytes], |args| Kind::Text(args[0].size()), walk, to_text),
];

fn overflow() -> Failure {
    Failure::error("integer overflow")
}

fn arithmetic<'v>(
    call: &mut Call<'_, 'v>,
    ints: fn(i64, i64) -> Option<i64>,
    uints: fn(u64, u64) -> Option<u64>,
    doubles: fn(f64, f64) -> f64,
) -> Outcome<'v> {
    match call.args {
        [Val::Int(a), Val::Int(b)] => ints(*a, *b).map(Val::Int).ok_or_else(overflow),
        [Val::Uint(a), Val::Uint(b)] => {
            uints(*a, *b).map(Val::Uint).ok_or_else(|| Failure::error("unsigned integer overflow"))
        }
        [Val::Double(a), Val::Double(b)] => Ok(Val::Double(doubles(*a, *b))),
        _ => Err(Failure::no_such_overload()),
    }
}

fn divide<'v>(
    call: &mut Call<'_, 'v>,
    ints: fn(i64, i64) -> Option<i64>,
    uints: fn(u64, u64) -> Option<u64>,
) -> Outcome<'v> {
    match call.args {
        [_, Val::Int(0) | Val::Uint(0)] => Err(Failure::error("division by zero")),
        _ => arithmetic(call, ints, uints, |a, b| a / b),
    }
}

fn negate<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    match call.args {
        [Val::Int(number)] => number.checked_neg().map(Val::Int).ok_or_else(overflow),
        [Val::Double(number)] => Ok(Val::Double(-number)),
        _ => Err(Failure::no_such_overload()),
    }
}

fn concat<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    match call.args {
        [Val::Text(a), Val::Text(b)] => {
            let (a, b) = (a.as_str(), b.as_str());
            call.meter.charge_bytes(a.len() + b.len())?;
            Ok(Val::made([a, b].concat()))
        }
        [Val::Bytes(a), Val::Bytes(b)] => {
            call.meter.charge_bytes(a.len() + b.len())?;
            Ok(Val::Bytes([&a[..], &b[..]].concat().into()))
        }
        [a, b] => {
            let (Some(a), Some(b)) = (a.items(), b.items()) else { return Err(Failure::no_such_overload()) };
            call.meter.charge((a.len() + b.len()) as u64)?;
            Ok(Val::list(a.iter().chain(b.iter()).collect()))
        }
        _ => Err(Failure::no_such_overload()),
    }
}

fn add_time<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    let sum = match call.args {
        [Val::Duration(a), Val::Duration(b)] => a.checked_add(*b).map(Val::Duration),
        [Val::Time(time), Val::Duration(duration)] | [Val::Duration(duration), Val::Time(time)] => {
            time.checked_add(*duration).ok().map(Val::Time)
        }
        _ => return Err(Failure::no_such_overload()),
    };
    sum.ok_or_else(|| Failure::error("timestamp overflow"))
}

fn subtract_time<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    let difference = match call.args {
        [Val::Duration(a), Val::Duration(b)] => a.checked_sub(*b).map(Val::Duration),
        [Val::Time(time), Val::Duration(duration)] => time.checked_sub(*duration).ok().map(Val::Time),
        [Val::Time(a), Val::Time(b)] => Some(Val::Duration(a.duration_since(*b))),
        _ => return Err(Failure::no_such_overload()),
    };
    difference.ok_or_else(|| Failure::error("timestamp overflow"))
}

fn order<'v>(call: &mut Call<'_, 'v>, holds: fn(Ordering) -> bool) -> Outcome<'v> {
    let [a, b] = call.args else { return Err(Failure::no_such_overload()) };
    let is_nan = |value: &Val<'_>| matches!(value, Val::Double(number) if number.is_nan());
    match compare(a, b, call.meter)? {
        Some(order) => Ok(Val::Bool(holds(order))),
        None if is_nan(a) || is_nan(b) => Ok(Val::Bool(false)),
        None => Err(Failure::no_such_overload()),
    }
}

fn size<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    if let Val::Text(text) = &call.args[0] {
        call.meter.charge_bytes(text.as_str().len())?;
    }
    let size = call.args[0].size().ok_or_else(Failure::no_such_overload)?;
    Ok(Val::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

fn conversion(to: &str) -> Failure {
    Failure::error(format!("type conversion error to {to}"))
}

fn to_int<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    let number = match &call.args[0] {
        Val::Int(number) => Some(*number),
        Val::Uint(number) => i64::try_from(*number).ok(),
        // Exactly what fits, without what rounding would make fit.
        Val::Double(number) if number.abs() < 9_223_372_036_854_775_808.0 => Some(*number as i64),
        Val::Text(text) => text.as_str().parse().ok(),
        Val::Time(time) => Some(time.as_second()),
        _ => None,
    };
    number.map(Val::Int).ok_or_else(|| conversion("int"))
}

fn to_uint<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    let number = match &call.args[0] {
        Val::Uint(number) => Some(*number),
        Val::Int(number) => u64::try_from(*number).ok(),
        Val::Double(number) if (0.0..18_446_744_073_709_551_616.0).contains(number) => Some(*number as u64),
        Val::Text(text) => text.as_str().parse().ok(),
        _ => None,
    };
    number.map(Val::Uint).ok_or_else(|| conversion("uint"))
}

fn to_double<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    let number = match &call.args[0] {
        Val::Double(number) => Some(*number),
        Val::Int(number) => Some(*number as f64),
        Val::Uint(number) => Some(*number as f64),
        Val::Text(text) => text.as_str().parse().ok(),
        _ => None,
    };
    number.map(Val::Double).ok_or_else(|| conversion("double"))
}

fn to_bool<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    match &call.args[0] {
        Val::Bool(flag) => Ok(Val::Bool(*flag)),
        Val::Text(text) => match text.as_str() {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Val::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Val::Bool(false)),
            _ => Err(conversion("bool")),
        },
        _ => Err(Failure::no_such_overload()),
    }
}

fn to_text<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    Ok(Val::made(match &call.args[0] {
        Val::Bool(flag) => flag.to_string(),
        Val::Int(number) => number.to_string(),
        Val::Uint(number) => number.to_string(),
        Val::Double(number) => number.to_string(),
        Val::Duration(duration) => super::times::written(*duration),
        Val::Time(time) => time.to_string(),
        Val::Bytes(bytes) => {
            call.meter.charge_bytes(bytes.len())?;
            String::from_utf8(bytes.to_vec()).map_err(|_| conversion("string"))?
        }
        _ => return Err(Failure::no_such_overload()),
    }))
}
