//! Quantities: `100m`, `1.5Gi`, `2e3`. Reading, comparing and writing them as Kubernetes does.
//!
//! Values are kept in billionths, the finest step that Kubernetes knows; what is finer is rounded up, so that
//! who asks for a little gets a little. Anything too large for that is taken for the largest whole number.

use std::cmp::Ordering;

use serde_json::{Map, Value};

const NANO: i128 = 1_000_000_000;
/// The largest whole number: what does not fit is capped to it.
const MAX: i128 = i64::MAX as i128;
const MILLI_IN_NANO: i128 = 1_000_000;

/// How a quantity was written, and so is written again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Format {
    /// `100m`, `5k`.
    Decimal,
    /// `1Gi`.
    Binary,
    /// `2e3`.
    Exponent,
}

/// A number with a suffix.
#[derive(Clone, Copy, Debug, Eq)]
pub(crate) struct Quantity {
    nano: i128,
    format: Format,
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

impl Quantity {
    pub(crate) const ZERO: Self = Self { nano: 0, format: Format::Decimal };

    /// Reads a text or a number; `None` if it is no quantity.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text.trim()),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (digits, suffix) = rest.split_at(end);
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        if (whole.is_empty() && part.is_empty()) || part.contains('.') {
            return None;
        }
        let (format, unit) = unit(suffix)?;
        let nano = scaled(whole, part, unit);
        Some(Self { nano: if negative { -nano } else { nano }, format })
    }

    pub(crate) fn is_negative(self) -> bool {
        self.nano < 0
    }

    pub(crate) fn is_zero(self) -> bool {
        self.nano == 0
    }

    /// Whether it has no fraction.
    pub(crate) fn is_whole(self) -> bool {
        self.nano % NANO == 0
    }

    /// Rounded up to thousandths, as resources are.
    fn in_milli(self) -> Self {
        let over = self.nano.rem_euclid(MILLI_IN_NANO);
        Self { nano: if over == 0 { self.nano } else { self.nano + MILLI_IN_NANO - over }, ..self }
    }
}

/// `100m` rather than `0.1`, `1Gi` rather than `1024Mi`.
impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let binary = self.format == Format::Binary && self.is_whole() && self.nano.abs() >= 1024 * NANO;
        if binary {
            let (mut number, mut suffix) = (self.nano / NANO, 0);
            while number % 1024 == 0 && suffix + 1 < BINARY.len() {
                number /= 1024;
                suffix += 1;
            }
            return write!(f, "{number}{}", BINARY[suffix]);
        }
        let (mut number, mut at) = (self.nano, 0);
        while number != 0 && number % 1000 == 0 && at + 1 < DECIMAL.len() {
            number /= 1000;
            at += 1;
        }
        match (number, DECIMAL[at], self.format) {
            (0, _, _) => f.write_str("0"),
            (_, (_, 0), Format::Exponent) => write!(f, "{number}"),
            (_, (_, exponent), Format::Exponent) => write!(f, "{number}e{exponent}"),
            (_, (suffix, _), _) => write!(f, "{number}{suffix}"),
        }
    }
}

/// What a suffix multiplies by.
enum Unit {
    /// Ten to the power of this.
    Ten(i32),
    /// 1024 to the power of this.
    Kibi(u32),
}

fn unit(suffix: &str) -> Option<(Format, Unit)> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((Format::Decimal, Unit::Ten(*exponent)));
    }
    if let Some(power) = BINARY.iter().position(|name| *name == suffix) {
        return Some((Format::Binary, Unit::Kibi(u32::try_from(power).ok()?)));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits.is_empty() || digits.len() > 9 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some((Format::Exponent, Unit::Ten(exponent.parse().ok()?)))
}

/// `whole.part` times the unit, in billionths, rounded up, capped.
fn scaled(whole: &str, part: &str, unit: Unit) -> i128 {
    const CAP: i128 = MAX * NANO;
    let (power, factor) = match unit {
        Unit::Ten(power) => (power, 1),
        Unit::Kibi(power) => (0, 1024_i128.pow(power)),
    };
    // Each digit counts ten to the power of its place; those below a billionth count together as one.
    let places = i64::try_from(whole.len()).unwrap_or(i64::MAX) - 1;
    let (mut nano, mut remains) = (0_i128, false);
    for (index, digit) in whole.bytes().chain(part.bytes()).enumerate() {
        let digit = i128::from(digit - b'0');
        let place = places - i64::try_from(index).unwrap_or(i64::MAX) + i64::from(power) + 9;
        match place {
            _ if digit == 0 => {}
            // Binary units multiply what is below a billionth, too: keep three digits more than they lose.
            ..-18 => remains = true,
            -18..=-1 => {
                let below = 10_i128.pow(u32::try_from(-place).unwrap_or(0));
                let product = digit * factor;
                nano += product / below;
                remains |= product % below != 0;
            }
            0..=28 => {
                let above = 10_i128.pow(u32::try_from(place).unwrap_or(0));
                nano = match digit.checked_mul(above).and_then(|value| value.checked_mul(factor)) {
                    Some(value) if value <= CAP - nano.min(CAP) => nano + value,
                    _ => return CAP,
                };
            }
            _ => return CAP,
        }
    }
    (nano + i128::from(remains)).min(CAP)
}

/// Writes the quantities of a map (`requests`, `limits`, `capacity`) in their canonical form, in thousandths at
/// the finest. What is no quantity stays for validation to refuse.
pub(crate) fn normalize(quantities: &mut Value) {
    let Some(quantities) = quantities.as_object_mut() else { return };
    for value in quantities.values_mut() {
        if let Some(quantity) = Quantity::of(value) {
            *value = quantity.in_milli().to_string().into();
        }
    }
}

/// The quantities of a map by name; what is no quantity is left out.
pub(crate) fn quantities(map: &Value) -> impl Iterator<Item = (&str, Quantity)> {
    let entries = map.as_object().into_iter().flat_map(Map::iter);
    entries.filter_map(|(name, value)| Some((name.as_str(), Quantity::of(value)?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn writes_what_the_real_server_writes() {
        for (given, written) in [
            (json!("1000m"), "1"),
            (json!("0.1"), "100m"),
            (json!(1.5), "1500m"),
            (json!(1500), "1500"),
            (json!("100000"), "100k"),
            (json!("1024Mi"), "1Gi"),
            (json!("1.5Gi"), "1536Mi"),
            (json!("512"), "512"),
            (json!("100Ki"), "100Ki"),
            (json!("0.5Ki"), "512"),
            (json!("0.0001"), "1m"),
            (json!("1e3"), "1e3"),
            (json!("12E6"), "12e6"),
            (json!("0Gi"), "0"),
            (json!("-5m"), "-5m"),
            (json!(".5"), "500m"),
        ] {
            let mut map = json!({ "a": given });
            normalize(&mut map);
            assert_eq!(map["a"], written, "{given}");
        }
    }

    #[test]
    fn knows_what_is_no_quantity() {
        for text in ["", "-", "a", "1 Gi", "1gi", "1.2.3", "1e", "e3", "0x10", "1K"] {
            assert!(Quantity::of(&json!(text)).is_none(), "{text}");
        }
    }

    #[test]
    fn compares_across_units_and_survives_the_absurd() {
        let of = |text: &str| Quantity::of(&json!(text)).unwrap();
        assert_eq!(of("1Gi"), of("1073741824"));
        assert!(of("1001m") > of("1") && of("-1") < of("0"));
        assert_eq!(of(&"9".repeat(100_000)), of("9223372036854775807"));
        assert_eq!(of("1e999999"), of("9223372036854775807"));
        assert_eq!(of("1e-999999"), of("1n"));
        assert_eq!(of("9999999999Ei"), of("9223372036854775807"));
    }
}
