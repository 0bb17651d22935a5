//! Kubernetes' quantities, such as `100m` and `1.5Gi`: reading, comparing and their one canonical form.

use std::cmp::Ordering;

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

    /// The amount if it is a whole number that fits.
    pub fn as_integer(self) -> Option<i64> {
        (self.nanos % NANOS == 0).then(|| i64::try_from(self.nanos / NANOS).ok()).flatten()
    }

    pub fn as_float(self) -> f64 {
        self.nanos as f64 / NANOS as f64
    }

    /// The sum or difference, printed like the first.
    pub fn plus(self, other: i128) -> Self {
        Self { nanos: self.nanos.saturating_add(other).clamp(-MAX, MAX), ..self }
    }

    /// An amount of whole units.
    pub fn of_integer(units: i64) -> Self {
        Self { nanos: i128::from(units) * NANOS, format: Format::Decimal }
    }

    /// The canonical form: no fraction, and the largest suffix that loses nothing.
    pub fn canonical(self) -> String {
        if self.nanos == 0 {
            return "0".to_owned();
        }
        let units = self.nanos / NANOS;
        if self.format == Format::Binary && self.nanos % NANOS == 0 && units.abs() >= 1024 {
            let fits = |(_, bits): &&(&str, u32)| units % (1i128 << bits) == 0;
            return match BINARY.iter().rev().find(fits) {
                Some((suffix, bits)) => format!("{}{suffix}", units / (1i128 << bits)),
                None => units.to_string(),
            };
        }
        let (mut mantissa, mut exponent) = (self.nanos, -9);
        while mantissa % 1000 == 0 && exponent < 18 {
            (mantissa, exponent) = (mantissa / 1000, exponent + 3);
        }
        match (self.format, exponent) {
            (Format::Exponent, 0) => mantissa.to_string(),
            (Format::Exponent, exponent) => format!("{mantissa}e{exponent}"),
            (_, exponent) => {
                let suffix = DECIMAL.iter().find(|(_, power)| *power == exponent).map_or("", |(s, _)| s);
                format!("{mantissa}{suffix}")
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

#[cfg(test)]
mod tests {
    use super::Quantity;

    fn canonical(text: &str) -> String {
        Quantity::parse(text).expect("a quantity").canonical()
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
    fn malformed_quantities_are_refused() {
        for text in ["", "-", ".", "a", "1.2.3", "1KiB", "1 Gi", "Gi", "1e", "1ki", "--1", "1e99999999999"] {
            assert!(Quantity::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_compare_across_suffixes() {
        let of = |text| Quantity::parse(text).expect("a quantity");
        assert!(of("1500Mi") < of("2Gi") && of("1") == of("1000m") && of("1G") < of("1Gi"));
    }
}
