//! Texts: searching, cutting, patterns, formatting. Positions count characters.

use std::borrow::Cow;

use regex::Regex;

use super::{
    super::{
        kind::Kind,
        meter::{Failure, Meter, Outcome},
        value::{Text as Txt, Val},
    },
    Call, Overload,
    Param::{Int, List, Text, Texts},
    bool_kind, first_kind, global, int_kind, member, tenth, walk,
};
use crate::schema::pattern;

fn twice(args: &[Kind<'_>]) -> u64 {
    tenth(args[0].size().saturating_mul(2))
}

fn product(args: &[Kind<'_>]) -> u64 {
    tenth(args[0].size()).saturating_mul(tenth(args[1].size()))
}

fn second(args: &[Kind<'_>]) -> u64 {
    tenth(args[1].size())
}

/// A pattern is taken for as many steps as a quarter of its length, for each byte of the text.
fn matching(args: &[Kind<'_>]) -> u64 {
    tenth(args[0].size().saturating_add(1)).saturating_mul(args[1].size().div_ceil(4))
}

fn replaced<'s>(args: &[Kind<'s>]) -> Kind<'s> {
    // At worst each character gives way to the replacement.
    let grown = args[0].size().saturating_add(1).saturating_mul(args[2].size());
    Kind::Text(args[0].size().saturating_add(grown))
}

fn joined(args: &[Kind<'_>]) -> u64 {
    let item = match &args[0] {
        Kind::List(item, _) => item.size(),
        other => other.size(),
    };
    let separator = args.get(1).map_or(0, Kind::size);
    args[0].size().saturating_mul(item.saturating_add(separator))
}

fn parts<'s>(args: &[Kind<'s>]) -> Kind<'s> {
    Kind::List(Box::new(Kind::Text(args[0].size())), args[0].size())
}

pub const TABLE: &[Overload] = &[
    member("contains", &[Text, Text], bool_kind, product, |c| {
        c.meter.charge_bytes(c.text(0).len() + c.text(1).len())?;
        Ok(Val::Bool(c.text(0).contains(c.text(1))))
    }),
    member("startsWith", &[Text, Text], bool_kind, second, |c| {
        c.meter.charge_bytes(c.text(1).len())?;
        Ok(Val::Bool(c.text(0).starts_with(c.text(1))))
    }),
    member("endsWith", &[Text, Text], bool_kind, second, |c| {
        c.meter.charge_bytes(c.text(1).len())?;
        Ok(Val::Bool(c.text(0).ends_with(c.text(1))))
    }),
    member("matches", &[Text, Text], bool_kind, matching, is_match),
    global("matches", &[Text, Text], bool_kind, matching, is_match),
    member("find", &[Text, Text], first_kind, matching, |c| {
        let regex = regex(c)?;
        Ok(Val::made(regex.find(c.text(0)).map_or("", |found| found.as_str())))
    }),
    member("findAll", &[Text, Text], parts, matching, |c| find_all(c, usize::MAX)),
    member("findAll", &[Text, Text, Int], parts, matching, |c| {
        find_all(c, usize::try_from(c.int(2)).unwrap_or(usize::MAX))
    }),
    member("lowerAscii", &[Text], first_kind, walk, |c| made(c, |text| text.to_ascii_lowercase())),
    member("upperAscii", &[Text], first_kind, walk, |c| made(c, |text| text.to_ascii_uppercase())),
    member("trim", &[Text], first_kind, walk, |c| made(c, |text| text.trim().to_owned())),
    member(
        "charAt",
        &[Text, Int],
        |_| Kind::Text(4),
        walk,
        |c| {
            let at = position(c, 1)?;
            Ok(Val::made(c.text(0).chars().nth(at).map_or(String::new(), String::from)))
        },
    ),
    member("indexOf", &[Text, Text], int_kind, walk, |c| index_of(c, 0)),
    member("indexOf", &[Text, Text, Int], int_kind, walk, |c| {
        let from = position(c, 2)?;
        index_of(c, from)
    }),
    member("lastIndexOf", &[Text, Text], int_kind, walk, |c| last_index_of(c, usize::MAX)),
    member("lastIndexOf", &[Text, Text, Int], int_kind, walk, |c| {
        let until = position(c, 2)?;
        last_index_of(c, until)
    }),
    member("substring", &[Text, Int], first_kind, walk, |c| substring(c, None)),
    member("substring", &[Text, Int, Int], first_kind, walk, |c| {
        let end = position(c, 2)?;
        substring(c, Some(end))
    }),
    member("replace", &[Text, Text, Text], replaced, twice, |c| replace(c, usize::MAX)),
    member("replace", &[Text, Text, Text, Int], replaced, twice, |c| {
        replace(c, usize::try_from(c.int(3)).unwrap_or(usize::MAX))
    }),
    member("split", &[Text, Text], parts, twice, |c| split(c, None)),
    member("split", &[Text, Text, Int], parts, twice, |c| {
        let limit = c.int(2);
        split(c, usize::try_from(limit).ok())
    }),
    member("join", &[Texts], |args| Kind::Text(joined(args)), |args| tenth(joined(args)), join),
    member("join", &[Texts, Text], |args| Kind::Text(joined(args)), |args| tenth(joined(args)), join),
    // What it makes is bounded only while it is made.
    member("format", &[Text, List], |args| Kind::Text(args[0].size().saturating_mul(400)), walk, format),
    global(
        "strings.quote",
        &[Text],
        |args| Kind::Text(args[0].size().saturating_mul(2)),
        walk,
        |c| made(c, |text| format!("{text:?}")),
    ),
];

fn made<'v>(call: &mut Call<'_, 'v>, change: fn(&str) -> String) -> Outcome<'v> {
    call.meter.charge_bytes(call.text(0).len())?;
    Ok(Val::made(change(call.text(0))))
}

/// The pattern of a call, compiled now if it is not a literal.
fn regex<'c>(call: &mut Call<'c, '_>) -> Result<Cow<'c, Regex>, Failure> {
    let (text, wanted) = (call.text(0).len() as u64, call.text(1).len() as u64);
    call.meter.charge(tenth(text + 1).saturating_mul(wanted.div_ceil(4).max(1)))?;
    if let Some(pattern) = call.pattern {
        return Ok(Cow::Borrowed(pattern.regex()));
    }
    // Making a pattern costs far more than using it.
    call.meter.charge(1000 + wanted * 10)?;
    let pattern = pattern::compile(call.text(1))
        .map_err(|error| Failure::error(format!("error parsing regexp: {error}")))?;
    call.meter.charge(pattern.price() as u64 / 10)?;
    Ok(Cow::Owned(pattern.regex().clone()))
}

fn is_match<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    let regex = regex(call)?;
    Ok(Val::Bool(regex.is_match(call.text(0))))
}

fn find_all<'v>(call: &mut Call<'_, 'v>, limit: usize) -> Outcome<'v> {
    let regex = regex(call)?;
    let mut found = Vec::new();
    for part in regex.find_iter(call.text(0)).take(limit) {
        call.meter.charge_bytes(part.len())?;
        found.push(Val::made(part.as_str()));
    }
    Ok(Val::list(found))
}

/// A position that must not be negative.
fn position(call: &mut Call<'_, '_>, index: usize) -> Result<usize, Failure> {
    call.meter.charge_bytes(call.text(0).len())?;
    let (given, length) = (call.int(index), call.text(0).chars().count());
    usize::try_from(given)
        .ok()
        .filter(|at| *at <= length)
        .ok_or_else(|| Failure::error(format!("index out of range: {given}")))
}

fn index_of<'v>(call: &mut Call<'_, 'v>, from: usize) -> Outcome<'v> {
    let (text, wanted) = (call.text(0), call.text(1));
    call.meter.charge_bytes(text.len() + wanted.len())?;
    let start = text.char_indices().nth(from).map_or(text.len(), |(at, _)| at);
    let found = text[start..].find(wanted).map(|at| from + text[start..start + at].chars().count());
    Ok(Val::Int(found.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)))
}

fn last_index_of<'v>(call: &mut Call<'_, 'v>, until: usize) -> Outcome<'v> {
    let (text, wanted) = (call.text(0), call.text(1));
    call.meter.charge_bytes(text.len() + wanted.len())?;
    // A match may begin at the last position and go on after it.
    let start = text.char_indices().nth(until).map_or(text.len(), |(at, _)| at);
    let end = start.saturating_add(wanted.len()).min(text.len());
    let end = (end..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let found = text[..end].rfind(wanted).map(|at| text[..at].chars().count());
    Ok(Val::Int(found.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)))
}

fn substring<'v>(call: &mut Call<'_, 'v>, end: Option<usize>) -> Outcome<'v> {
    let start = position(call, 1)?;
    let taken = match end {
        Some(end) if end < start => {
            return Err(Failure::error(format!("invalid substring range. start: {start}, end: {end}")));
        }
        Some(end) => end - start,
        None => usize::MAX,
    };
    Ok(Val::made(call.text(0).chars().skip(start).take(taken).collect::<String>()))
}

fn replace<'v>(call: &mut Call<'_, 'v>, limit: usize) -> Outcome<'v> {
    let (text, old, new) = (call.text(0), call.text(1), call.text(2));
    call.meter.charge_bytes(text.len() * 2)?;
    let count = text.matches(old).count().min(limit);
    // What it makes is paid for before it is made.
    call.meter.charge_bytes(text.len().saturating_add(count.saturating_mul(new.len())))?;
    Ok(Val::made(text.replacen(old, new, limit)))
}

fn split<'v>(call: &mut Call<'_, 'v>, limit: Option<usize>) -> Outcome<'v> {
    let (text, separator) = (call.text(0), call.text(1));
    call.meter.charge_bytes(text.len() * 2)?;
    let limit = limit.unwrap_or(usize::MAX);
    let part = |part: &str| Val::made(part);
    let parts: Vec<_> = match (limit, separator) {
        (0, _) => Vec::new(),
        (_, "") => {
            call.meter.charge(text.len() as u64)?;
            let mut chars = text.char_indices();
            let mut parts: Vec<_> = chars
                .by_ref()
                .take(limit.saturating_sub(1).min(text.len()))
                .map(|(at, c)| Val::made(&text[at..at + c.len_utf8()]))
                .collect();
            if let Some((at, _)) = chars.next() {
                parts.push(part(&text[at..]));
            }
            parts
        }
        _ => text.splitn(limit, separator).map(part).collect(),
    };
    call.meter.charge(parts.len() as u64)?;
    Ok(Val::list(parts))
}

fn join<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    let separator = call.text(1).to_owned();
    let mut text = String::new();
    for (index, item) in call.items(0).into_iter().enumerate() {
        let Val::Text(item) = item else { return Err(Failure::no_such_overload()) };
        call.meter.charge_bytes(item.as_str().len() + separator.len())?;
        if index > 0 {
            text.push_str(&separator);
        }
        text.push_str(item.as_str());
    }
    Ok(Val::made(text))
}

/// `'%d of %s'.format([1, 'a'])`.
fn format<'v>(call: &mut Call<'_, 'v>) -> Outcome<'v> {
    let template = call.text(0).to_owned();
    let mut args = call.items(1).into_iter();
    let (mut text, mut chars) = (String::new(), template.chars().peekable());
    while let Some(next) = chars.next() {
        call.meter.charge(1)?;
        if next != '%' {
            text.push(next);
            continue;
        }
        if chars.next_if_eq(&'%').is_some() {
            text.push('%');
            continue;
        }
        let mut precision = None;
        if chars.next_if_eq(&'.').is_some() {
            let mut digits = String::new();
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            precision = Some(digits.parse::<usize>().unwrap_or(6).min(100));
        }
        let value = args.next().ok_or_else(|| Failure::error("index out of range: not enough arguments"))?;
        let verb = chars.next().ok_or_else(|| Failure::error("unexpected end of string"))?;
        push_formatted(&mut text, verb, precision, &value, call.meter)?;
    }
    Ok(Val::made(text))
}

fn push_formatted(
    text: &mut String,
    verb: char,
    precision: Option<usize>,
    value: &Val<'_>,
    meter: &mut Meter,
) -> Result<(), Failure> {
    let part = match (verb, value) {
        ('d', Val::Int(number)) => number.to_string(),
        ('d', Val::Uint(number)) => number.to_string(),
        ('b', Val::Int(number)) => format!("{number:b}"),
        ('b', Val::Bool(flag)) => u8::from(*flag).to_string(),
        ('o', Val::Int(number)) => format!("{number:o}"),
        ('x', Val::Int(number)) => format!("{number:x}"),
        ('X', Val::Int(number)) => format!("{number:X}"),
        ('f', Val::Double(number)) => format!("{number:.*}", precision.unwrap_or(6)),
        ('e', Val::Double(number)) => format!("{number:.*e}", precision.unwrap_or(6)),
        ('s', value) => plain(value, 0, meter)?,
        _ => {
            let kind = value.type_name();
            return Err(Failure::error(format!("could not format {kind} with %{verb}")));
        }
    };
    meter.charge_bytes(part.len())?;
    text.push_str(&part);
    Ok(())
}

/// A value as `%s` shows it.
fn plain(value: &Val<'_>, depth: usize, meter: &mut Meter) -> Result<String, Failure> {
    meter.charge(1)?;
    if let (Some(items), true) = (value.items(), depth < 8) {
        let mut parts = Vec::new();
        for item in items.iter() {
            parts.push(plain(&item, depth + 1, meter)?);
        }
        return Ok(format!("[{}]", parts.join(", ")));
    }
    Ok(match value {
        Val::Text(text) => {
            meter.charge_bytes(text.as_str().len())?;
            text.as_str().to_owned()
        }
        Val::Null => "null".to_owned(),
        Val::Bool(flag) => flag.to_string(),
        Val::Int(number) => number.to_string(),
        Val::Uint(number) => number.to_string(),
        Val::Double(number) => number.to_string(),
        Val::Duration(duration) => super::times::written(*duration),
        Val::Time(time) => time.to_string(),
        Val::Type(name) => (*name).to_owned(),
        Val::Url(Txt::There(text)) => (*text).to_owned(),
        other => return Err(Failure::error(format!("could not format {} with %s", other.type_name()))),
    })
}
