//! The formats of texts that upstream checks. Others are not looked at, as there.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    sync::LazyLock,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::civil::Date;
use regex::Regex;

use super::super::valid;

/// Whether a text has a format. Formats are compared without dashes: `datetime` is `date-time`.
pub fn has_format(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "datetime" => is_date_time(text),
        "date" => text.len() == 10 && text.parse::<Date>().is_ok(),
        "duration" => is_duration(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => MAC.is_match(text),
        "uuid" => UUID.is_match(text),
        "uuid3" => UUID.is_match(text) && version_of(text) == Some('3'),
        "uuid4" => UUID.is_match(text) && version_of(text) == Some('4') && variant_is_known(text),
        "uuid5" => UUID.is_match(text) && version_of(text) == Some('5') && variant_is_known(text),
        "email" => EMAIL.is_match(text),
        "hostname" => text.len() <= 255 && HOSTNAME.is_match(text),
        "uri" => is_uri(text),
        "byte" => BASE64_STANDARD.decode(text).is_ok(),
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "hexcolor" => HEX_COLOR.is_match(text),
        "rgbcolor" => RGB_COLOR.is_match(text),
        "ssn" => SSN.is_match(text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "creditcard" => CREDIT_CARD.is_match(&digits(text)),
        "k8sshortname" => valid::dns_label(text).is_none(),
        "k8slongname" => valid::dns_subdomain(text).is_none(),
        _ => true,
    }
}

/// Whether the format is one that is checked, for the warning about those that are not.
pub fn is_known(kind: &str, format: &str) -> bool {
    const TEXTS: [&str; 27] = [
        "bsonobjectid",
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "datetime",
        "k8sshortname",
        "k8slongname",
        "",
    ];
    match kind {
        "" | "string" => TEXTS.contains(&format.replace('-', "").as_str()),
        "integer" => ["int32", "int64"].contains(&format),
        "number" => ["float", "double"].contains(&format),
        _ => false,
    }
}

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of ours must be valid")
}

static DATE_TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$",
    )
});
static DURATION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"));
static LONG_DURATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^[0-9]+\s*(ns|nano(second)?s?|us|µs|micro(second)?s?|ms|milli(second)?s?|s|sec(ond)?s?|m|min(ute)?s?|h|hr|hours?|d|days?|w|wk|weeks?)$",
    )
});
static MAC: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^([0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}(([:-][0-9A-Fa-f]{2}){2})?|([0-9A-Fa-f]{4}\.){2,3}[0-9A-Fa-f]{4})$",
    )
});
static UUID: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"));
static EMAIL: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^([^<>]*<)?[^@\s<>"]+@[^@\s<>"]+>?$"#));
static HOSTNAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^([a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)(\.[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)*\.?$",
    )
});
static HEX_COLOR: LazyLock<Regex> = LazyLock::new(|| pattern("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"));
static RGB_COLOR: LazyLock<Regex> = LazyLock::new(|| {
    let part = r"\s*([01]?[0-9]?[0-9]|2[0-4][0-9]|25[0-5])\s*";
    pattern(&format!(r"^rgb\({part},{part},{part}\)$"))
});
static SSN: LazyLock<Regex> = LazyLock::new(|| pattern("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"));
static CREDIT_CARD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        "^(4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(0[0-5]|[68][0-9])[0-9]{11}|(2131|1800|35[0-9]{3})[0-9]{11})$",
    )
});

/// RFC 3339, with a time zone.
pub fn is_date_time(text: &str) -> bool {
    DATE_TIME.is_match(text) && text.parse::<jiff::Timestamp>().is_ok()
}

/// Go's durations (`1h30m`), and a number with a unit in words (`5 minutes`).
fn is_duration(text: &str) -> bool {
    if text == "0" || LONG_DURATION.is_match(text) {
        return true;
    }
    let mut rest = text;
    while let Some(found) = DURATION.find(rest) {
        rest = &rest[found.end()..];
        if rest.is_empty() {
            return true;
        }
        if rest.starts_with(['+', '-']) {
            return false;
        }
    }
    false
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let max = match (address.parse::<Ipv4Addr>(), address.parse::<Ipv6Addr>()) {
        (Ok(_), _) => 32,
        (_, Ok(_)) => 128,
        _ => return false,
    };
    !bits.starts_with(['+', '0']) && bits.parse::<u8>().is_ok_and(|bits| bits <= max) || bits == "0"
}

fn is_uri(text: &str) -> bool {
    text.starts_with('/') && !text.contains(char::is_whitespace)
        || super::uri::Uri::parse(text).is_some_and(|uri| !uri.scheme.is_empty())
}

fn version_of(uuid: &str) -> Option<char> {
    uuid.chars().filter(|c| *c != '-').nth(12)
}

fn variant_is_known(uuid: &str) -> bool {
    uuid.chars().filter(|c| *c != '-').nth(16).is_some_and(|c| "89abAB".contains(c))
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits: Vec<char> = text.chars().filter(|c| !matches!(c, ' ' | '-')).collect();
    digits.len() == 10
        && digits[..9].iter().all(char::is_ascii_digit)
        && digits
            .iter()
            .enumerate()
            .try_fold(0u32, |sum, (index, c)| {
                let value = if *c == 'X' && index == 9 { 10 } else { c.to_digit(10)? };
                Some(sum + value * (u32::try_from(index).ok()? + 1))
            })
            .is_some_and(|sum| sum % 11 == 0)
}

fn is_isbn13(text: &str) -> bool {
    let digits: Option<Vec<u32>> =
        text.chars().filter(|c| !matches!(c, ' ' | '-')).map(|c| c.to_digit(10)).collect();
    digits.is_some_and(|digits| {
        digits.len() == 13
            && digits.iter().enumerate().map(|(index, d)| d * if index % 2 == 0 { 1 } else { 3 }).sum::<u32>()
                % 10
                == 0
    })
}

#[cfg(test)]
mod tests {
    use super::has_format;

    #[test]
    fn formats_know_good_from_bad() {
        let cases = [
            ("date-time", "2026-01-02T03:04:05+01:00", "2026-01-02 03:04:05Z"),
            ("date", "2026-02-28", "2026-02-30"),
            ("duration", "1h30m", "1x"),
            ("duration", "5 minutes", "soon"),
            ("ipv4", "10.0.0.1", "10.0.0.256"),
            ("ipv6", "::1", "10.0.0.1"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
            ("mac", "01:23:45:67:89:ab", "01:23:45"),
            ("uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810"),
            ("email", "a@b.example", "a"),
            ("hostname", "a.example", "-"),
            ("uri", "https://a.example/b", "x y"),
            ("byte", "YQ==", "x"),
            ("k8s-short-name", "a-b", "A"),
            ("isbn13", "978-0321751041", "978-0321751042"),
        ];
        for (format, good, bad) in cases {
            assert!(has_format(format, good), "{format} {good}");
            assert!(!has_format(format, bad), "{format} {bad}");
        }
        assert!(has_format("nobody-knows", "anything"));
    }
}
