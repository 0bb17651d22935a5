//! Moments and durations.

use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::TimeZone};

use super::{
    super::{
        kind::Kind,
        meter::{Failure, Outcome},
        value::Val,
    },
    Call, Overload,
    Param::{Duration, Text, Time},
    first_kind, global, int_kind, member, one, walk,
};

macro_rules! of_moment {
    ($name:literal, $read:expr) => {
        member($name, &[Time], int_kind, one, |c| moment(c, $read))
    };
}

macro_rules! of_moment_there {
    ($name:literal, $read:expr) => {
        member($name, &[Time, Text], int_kind, one, |c| moment(c, $read))
    };
}

macro_rules! of_duration {
    ($name:literal, $nanos:expr) => {
        member($name, &[Duration], int_kind, one, |c| part(c, $nanos))
    };
}

pub const TABLE: &[Overload] = &[
    global(
        "timestamp",
        &[Text],
        |_| Kind::Time,
        walk,
        |c| {
            let text = c.text(0);
            let moment =
                super::super::super::formats::is_date_time(text).then(|| text.parse::<Timestamp>().ok());
            moment
                .flatten()
                .map(Val::Time)
                .ok_or_else(|| Failure::error("type conversion error to timestamp"))
        },
    ),
    global("timestamp", &[Time], first_kind, one, |c| Ok(c.args[0].clone())),
    global(
        "duration",
        &[Text],
        |_| Kind::Duration,
        walk,
        |c| {
            parse_duration(c.text(0))
                .map(Val::Duration)
                .ok_or_else(|| Failure::error("type conversion error to duration"))
        },
    ),
    global("duration", &[Duration], first_kind, one, |c| Ok(c.args[0].clone())),
    of_moment!("getFullYear", |t| t.year().into()),
    of_moment!("getMonth", |t| i64::from(t.month()) - 1),
    of_moment!("getDate", |t| t.day().into()),
    of_moment!("getDayOfMonth", |t| i64::from(t.day()) - 1),
    of_moment!("getDayOfWeek", |t| t.weekday().to_sunday_zero_offset().into()),
    of_moment!("getDayOfYear", |t| i64::from(t.day_of_year()) - 1),
    of_moment!("getHours", |t| t.hour().into()),
    of_moment!("getMinutes", |t| t.minute().into()),
    of_moment!("getSeconds", |t| t.second().into()),
    of_moment!("getMilliseconds", |t| t.millisecond().into()),
    of_moment_there!("getFullYear", |t| t.year().into()),
    of_moment_there!("getMonth", |t| i64::from(t.month()) - 1),
    of_moment_there!("getDate", |t| t.day().into()),
    of_moment_there!("getDayOfMonth", |t| i64::from(t.day()) - 1),
    of_moment_there!("getDayOfWeek", |t| t.weekday().to_sunday_zero_offset().into()),
    of_moment_there!("getDayOfYear", |t| i64::from(t.day_of_year()) - 1),
    of_moment_there!("getHours", |t| t.hour().into()),
    of_moment_there!("getMinutes", |t| t.minute().into()),
    of_moment_there!("getSeconds", |t| t.second().into()),
    of_moment_there!("getMilliseconds", |t| t.millisecond().into()),
    of_duration!("getHours", 3_600_000_000_000),
    of_duration!("getMinutes", 60_000_000_000),
    of_duration!("getSeconds", 1_000_000_000),
    of_duration!("getMilliseconds", 1_000_000),
];

/// A part of a moment, in UTC or where the second argument says: `+02:00`.
fn moment<'v>(call: &mut Call<'_, 'v>, read: fn(DateTime) -> i64) -> Outcome<'v> {
    let Val::Time(time) = &call.args[0] else { return Err(Failure::no_such_overload()) };
    let zone = match call.text(1) {
        "" | "UTC" | "Z" => TimeZone::UTC,
        offset => offset_of(offset).ok_or_else(|| Failure::error(format!("unknown time zone {offset}")))?,
    };
    Ok(Val::Int(read(zone.to_datetime(*time))))
}

fn offset_of(text: &str) -> Option<TimeZone> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes) = (hours.parse::<i32>().ok()?, minutes.parse::<i32>().ok()?);
    let seconds = (0..24).contains(&hours).then_some(sign * (hours * 3600 + minutes.clamp(0, 59) * 60))?;
    Some(TimeZone::fixed(jiff::tz::Offset::from_seconds(seconds).ok()?))
}

fn part<'v>(call: &mut Call<'_, 'v>, nanos: i128) -> Outcome<'v> {
    let Val::Duration(duration) = &call.args[0] else { return Err(Failure::no_such_overload()) };
    Ok(Val::Int(i64::try_from(duration.as_nanos() / nanos).unwrap_or(i64::MAX)))
}

/// `1h30m`, as Go writes durations.
pub fn parse_duration(text: &str) -> Option<SignedDuration> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    if rest.is_empty() || rest.len() > 100 {
        return None;
    }
    let mut nanos = 0f64;
    let mut exact = 0i128;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        match number.parse::<u64>() {
            Ok(whole) => exact = exact.checked_add(i128::from(whole).checked_mul(unit)?)?,
            Err(_) => nanos += number.parse::<f64>().ok()? * unit as f64,
        }
        rest = after;
    }
    let total = exact.checked_add(nanos.round() as i128)?;
    let total = if negative { -total } else { total };
    // Go's durations end at about 292 years.
    i64::try_from(total).ok().map(SignedDuration::from_nanos)
}

/// A duration as CEL writes it: in seconds.
pub fn written(duration: SignedDuration) -> String {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos().unsigned_abs());
    let sign = if duration.is_negative() { "-" } else { "" };
    let fraction = format!("{nanos:09}");
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{}s", seconds.unsigned_abs()),
        digits => format!("{sign}{}.{digits}s", seconds.unsigned_abs()),
    }
}
