//! Kubernetes' quantities, such as `100m` and `1.5Gi`: reading, comparing and their one canonical form.
//!
//! Amounts are kept in billionths, the finest step that Kubernetes knows; what is finer is rounded up, so that who
//! asks for a little gets a little. Anything too large for that is taken for the largest whole number.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// An amount in nano units, the smallest there is.
#[derive(Clone, Copy, Debug, Eq)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

/// The family of suffixes a quantity was written with, and is printed with again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Format {
    /// `1k`, `100m`.
    Decimal,
    /// `1e3`.
    Exponent,
    /// `1Ki`.
    Binary,
}

const NANOS: i128 = 1_000_000_000;

/// Larger amounts are taken for this one.
const MAX: i128 = i64::MAX as i128 * NANOS;

const MALFORMED: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

impl Quantity {
    pub const ZERO: Self = Self { nanos: 0, format: Format::Decimal };

    /// Reads a text or a number; `None` if it is no quantity.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text.trim()).ok(),
            Value::Number(number) => Self::parse(&number.to_string()).ok(),
            _ => None,
        }
    }

    /// Reads a quantity; what is wrong with it is told in Kubernetes' words.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(MALFORMED);
        }
        let (scale, format) = scale_of(suffix)?;
        let nanos = nanos(whole, fraction, scale);
        Ok(Self { nanos: if negative { -nanos } else { nanos }, format })
    }

    /// The amount in nano units.
    pub fn nanos(self) -> i128 {
        self.nanos
    }

    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Whether it has no fraction.
    pub fn is_whole(self) -> bool {
        self.nanos % NANOS == 0
    }

    /// Rounded up to thousandths, as resources are.
    fn in_thousandths(self) -> Self {
        const THOUSANDTH: i128 = NANOS / 1000;
        let over = self.nanos.rem_euclid(THOUSANDTH);
        Self { nanos: if over == 0 { self.nanos } else { self.nanos + THOUSANDTH - over }, ..self }
    }

    /// The amount if it is a whole number that fits.
    pub fn as_integer(self) -> Option<i64> {
        (self.nanos % NANOS == 0).then(|| i64::try_from(self.nanos / NANOS).ok()).flatten()
    }

    pub fn as_float(self) -> f64 {
        self.nanos as f64 / NANOS as f64
    }

    /// The sum or difference, printed like the first. It may be larger than what can be read.
    pub fn plus(self, other: i128) -> Self {
        Self { nanos: self.nanos.saturating_add(other), ..self }
    }

    /// An amount of whole units.
    pub fn of_integer(units: i64) -> Self {
        Self { nanos: i128::from(units) * NANOS, format: Format::Decimal }
    }
}

/// The canonical form: no fraction, and the largest suffix that loses nothing.
impl std::fmt::Display for Quantity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let units = self.nanos / NANOS;
        if self.format == Format::Binary && self.is_whole() && units.abs() >= 1024 {
            let fits = |(_, bits): &&(&str, u32)| units % (1i128 << bits) == 0;
            return match BINARY.iter().rev().find(fits) {
                Some((suffix, bits)) => write!(f, "{}{suffix}", units / (1i128 << bits)),
                None => write!(f, "{units}"),
            };
        }
        let (mut mantissa, mut exponent) = (self.nanos, -9);
        while mantissa % 1000 == 0 && exponent < 18 {
            (mantissa, exponent) = (mantissa / 1000, exponent + 3);
        }
        match (self.format, exponent) {
            (Format::Exponent, 0) => write!(f, "{mantissa}"),
            (Format::Exponent, exponent) => write!(f, "{mantissa}e{exponent}"),
            (_, exponent) => {
                let suffix = DECIMAL.iter().find(|(_, power)| *power == exponent).map_or("", |(s, _)| s);
                write!(f, "{mantissa}{suffix}")
            }
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

/// What a suffix multiplies by.
#[derive(Clone, Copy)]
enum Scale {
    Ten(i32),
    Two(u32),
}

fn scale_of(suffix: &str) -> Result<(Scale, Format), &'static str> {
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Ok((Scale::Ten(*power), Format::Decimal));
    }
    if let Some((_, bits)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Ok((Scale::Two(*bits), Format::Binary));
    }
    let digits = suffix.strip_prefix(['e', 'E']).ok_or(MALFORMED)?;
    let power = digits.parse::<i32>().map_err(|_| "unable to parse quantity's suffix")?;
    Ok((Scale::Ten(power), Format::Exponent))
}

/// A number in nano units, rounded up to the next if it is finer, and to the largest if it is larger.
fn nanos(whole: &str, fraction: &str, scale: Scale) -> i128 {
    let (power, factor) = match scale {
        Scale::Ten(power) => (power.clamp(-64, 64) + 9, 1),
        Scale::Two(bits) => (9, 1i128 << bits),
    };
    // Digits before `power` places after the point count in full, the rest only by rounding up.
    let whole = whole.trim_start_matches('0');
    let digits = whole.bytes().chain(fraction.bytes()).map(|digit| i128::from(digit - b'0'));
    let places = i64::try_from(whole.len()).unwrap_or(i64::MAX).saturating_add(i64::from(power));
    let (mut amount, mut rest, mut taken) = (0i128, false, 0i64);
    for digit in digits {
        if taken < places {
            amount = amount.saturating_mul(10).saturating_add(digit * factor);
        } else {
            rest |= digit != 0;
        }
        taken += 1;
    }
    for _ in taken..places.min(taken + 64) {
        amount = amount.saturating_mul(10);
    }
    amount.saturating_add(i128::from(rest)).min(MAX)
}

/// Writes the quantities of a map (`requests`, `limits`, `capacity`) in their canonical form, in thousandths at
/// the finest. What is no quantity stays for validation to refuse.
pub fn normalize(quantities: &mut Value) {
    let Some(quantities) = quantities.as_object_mut() else { return };
    for value in quantities.values_mut() {
        if let Some(quantity) = Quantity::of(value) {
            *value = quantity.in_thousandths().to_string().into();
        }
    }
}

/// The quantities of a map by name; what is no quantity is left out.
pub fn quantities(map: &Value) -> impl Iterator<Item = (&str, Quantity)> {
    let entries = map.as_object().into_iter().flat_map(Map::iter);
    entries.filter_map(|(name, value)| Some((name.as_str(), Quantity::of(value)?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Quantity, normalize};

    fn canonical(text: &str) -> String {
        Quantity::parse(text).expect("a quantity").to_string()
    }

    #[test]
    fn canonical_form_is_upstreams() {
        let forms = [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1.5Gi", "1536Mi"),
            ("1024Mi", "1Gi"),
            ("1000", "1k"),
            ("100", "100"),
            ("1e3", "1e3"),
            ("12e6", "12e6"),
            ("0Gi", "0"),
            ("512Ki", "512Ki"),
            ("0.5Ki", "512"),
            ("0.1Ki", "102400m"),
            ("-1.5", "-1500m"),
            ("+3", "3"),
            (".5", "500m"),
            ("1.", "1"),
            ("0.0000000001", "1n"),
            ("1500k", "1500k"),
            ("2048", "2048"),
            ("10000000000", "10G"),
            ("99999999999999999999", "9223372036854775807"),
        ];
        for (text, form) in forms {
            assert_eq!(canonical(text), form, "{text}");
        }
    }

    #[test]
    fn sums_that_do_not_fit_are_no_integers() {
        let largest = Quantity::of_integer(i64::MAX);
        assert_eq!(largest.plus(0).as_integer(), Some(i64::MAX));
        assert_eq!(largest.plus(Quantity::of_integer(1).nanos()).as_integer(), None);
    }

    #[test]
    fn malformed_quantities_are_refused() {
        for text in [
            "",
            "-",
            ".",
            "a",
            "1.2.3",
            "1KiB",
            "1 Gi",
            "Gi",
            "1e",
            "1ki",
            "--1",
            "1e99999999999",
            "0x10",
            "1K",
        ] {
            assert!(Quantity::parse(text).is_err(), "{text}");
        }
    }

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
    fn compares_across_units_and_survives_the_absurd() {
        let of = |text: &str| Quantity::of(&json!(text)).expect("a quantity");
        assert_eq!(of("1Gi"), of("1073741824"));
        assert!(of("1500Mi") < of("2Gi") && of("1") == of("1000m") && of("1G") < of("1Gi"));
        assert!(of("1001m") > of("1") && of("-1") < of("0"));
        assert_eq!(of(&"9".repeat(100_000)), of("9223372036854775807"));
        assert_eq!(of("1e999999"), of("9223372036854775807"));
        assert_eq!(of("1e-999999"), of("1n"));
        assert_eq!(of("9999999999Ei"), of("9223372036854775807"));
    }
}
