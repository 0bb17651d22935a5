//! Whether a schedule is one, in the words that upstream's reader has for it.

/// A field of a schedule.
struct Bounds {
    min: u32,
    max: u32,
    /// Names that stand for numbers, from `min` upwards.
    names: &'static [&'static str],
}

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Minute, hour, day of the month, month, day of the week.
const FIELDS: [Bounds; 5] = [
    Bounds { min: 0, max: 59, names: &[] },
    Bounds { min: 0, max: 23, names: &[] },
    Bounds { min: 1, max: 31, names: &[] },
    Bounds { min: 1, max: 12, names: MONTHS },
    Bounds { min: 0, max: 6, names: DAYS },
];

const NAMED: &[&str] = &["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Checks a schedule of five fields, or a named one such as `@hourly` or `@every 1h30m`.
pub fn check(schedule: &str) -> Result<(), String> {
    if schedule.starts_with('@') {
        return check_named(schedule);
    }
    let fields: Vec<_> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let (count, fields) = (fields.len(), fields.join(" "));
        return Err(format!("expected exactly 5 fields, found {count}: [{fields}]"));
    }
    for (field, bounds) in fields.iter().zip(&FIELDS) {
        field
            .split(',')
            .filter(|range| !range.is_empty())
            .try_for_each(|range| check_range(range, bounds))?;
    }
    Ok(())
}

fn check_named(schedule: &str) -> Result<(), String> {
    match schedule.strip_prefix("@every ") {
        Some(duration) if is_duration(duration) => Ok(()),
        Some(duration) => {
            Err(format!("failed to parse duration {schedule}: time: invalid duration {duration:?}"))
        }
        None if NAMED.contains(&schedule) => Ok(()),
        None => Err(format!("unrecognized descriptor: {schedule}")),
    }
}

/// `1h30m`, `-1.5s`, `0`: numbers with units.
fn is_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let mut found = false;
    while !rest.is_empty() {
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let number = &rest[..rest.len() - digits.len()];
        // The longer units first: `ms` begins with `m`.
        let units = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
        let Some(unit) = units.iter().find(|unit| digits.starts_with(**unit)) else { return false };
        if number.parse::<f64>().is_err() {
            return false;
        }
        (rest, found) = (&digits[unit.len()..], true);
    }
    found
}

/// `*`, `5`, `1-5`, `*/15`, `mon-fri`.
fn check_range(range: &str, bounds: &Bounds) -> Result<(), String> {
    let parts: Vec<_> = range.split('/').collect();
    let ends: Vec<_> = parts[0].split('-').collect();
    let (start, mut end) = match ends.as_slice() {
        ["*" | "?", ..] => (bounds.min, bounds.max),
        [only] => {
            let value = number_or_name(only, bounds)?;
            (value, value)
        }
        [start, end] => (number_or_name(start, bounds)?, number_or_name(end, bounds)?),
        _ => return Err(format!("too many hyphens: {range}")),
    };
    let step = match parts.as_slice() {
        [_] => 1,
        [_, step] => {
            // From a number on, as far as it goes.
            if ends.len() == 1 {
                end = bounds.max;
            }
            number(step)?
        }
        _ => return Err(format!("too many slashes: {range}")),
    };
    let Bounds { min, max, .. } = bounds;
    if start < *min {
        return Err(format!("beginning of range ({start}) below minimum ({min}): {range}"));
    }
    if end > *max {
        return Err(format!("end of range ({end}) above maximum ({max}): {range}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {range}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {range}"));
    }
    Ok(())
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u32, String> {
    let named = bounds.names.iter().zip(bounds.min..).find(|(name, _)| name.eq_ignore_ascii_case(text));
    named.map_or_else(|| number(text), |(_, value)| Ok(value))
}

fn number(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(number) if number < 0 => Err(format!("negative number ({number}) not allowed: {text}")),
        Ok(number) => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
        Err(_) => {
            Err(format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"))
        }
    }
}

/// What is wrong with the name of a time zone.
pub fn time_zone_fault(zone: &str) -> Option<String> {
    if zone.is_empty() {
        return Some("timeZone must be nil or non-empty string".to_owned());
    }
    let part = |part: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
        (1..=14).contains(&part.len())
            && part.bytes().all(allowed)
            && part != "."
            && part != ".."
            && !part.starts_with('-')
    };
    if !zone.split('/').all(part) {
        return Some(format!("unknown time zone {zone}"));
    }
    if zone.eq_ignore_ascii_case("Local") {
        return Some(
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones".to_owned(),
        );
    }
    // A machine without a database of time zones cannot tell.
    let zones = jiff::tz::db();
    (!zones.is_definitively_empty() && zones.get(zone).is_err()).then(|| format!("unknown time zone {zone}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_read_as_upstream_reads_them() {
        for right in [
            "* * * * *",
            "*/5 0 1,15 * mon-fri",
            "0 0 ? JAN 0",
            "5/10 * * * *",
            "@hourly",
            "@every 1h30m",
            "1-5/2,7 * * * *",
        ] {
            assert_eq!(check(right), Ok(()), "{right}");
        }
        for (wrong, fault) in [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
            ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
            ("@often", "unrecognized descriptor: @often"),
            ("@every day", "failed to parse duration @every day: time: invalid duration \"day\""),
        ] {
            assert_eq!(check(wrong), Err(fault.to_owned()), "{wrong}");
        }
    }

    #[test]
    fn time_zones_have_names() {
        for wrong in ["", "Local", "../etc", "a//b", "-a", "Somewhere over"] {
            assert!(time_zone_fault(wrong).is_some(), "{wrong}");
        }
        assert_eq!(time_zone_fault("Etc/UTC"), None);
    }
}
