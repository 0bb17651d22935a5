//! Small languages inside of objects: JSONPath, patterns, quantities and the formats of schemas.

use super::{json, lines};
use crate::{
    api::{json_path::JsonPath, quantity::Quantity, structural::formats, valid},
    schema::pattern,
};

/// A JSONPath, and what it is to be followed in.
pub fn json_path(data: &[u8]) {
    let Some([path, object]) = lines(data) else { return };
    let Ok(parsed) = JsonPath::parse(path) else { return };
    if !path.starts_with('{') {
        assert_eq!(JsonPath::parse(&format!("{{{path}}}")).as_ref(), Ok(&parsed), "braces must not matter");
    }
    if let Some(fields) = parsed.fields() {
        assert_eq!(JsonPath::of_fields(&fields), parsed);
    }
    let Some(object) = json(object) else { return };
    assert!(parsed.find(&object).len() <= 1000);
}

/// A text that may be any of them, and one that a pattern may match.
pub fn text(data: &[u8]) {
    const FORMATS: [&str; 24] = [
        "date-time",
        "date",
        "duration",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "email",
        "hostname",
        "uri",
        "byte",
        "bsonobjectid",
        "hexcolor",
        "rgbcolor",
        "ssn",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "k8s-short-name",
    ];
    let Some([text, other]) = lines(data) else { return };
    if let Ok(quantity) = Quantity::parse(text) {
        let canonical = quantity.to_string();
        let again = Quantity::parse(&canonical).expect("what we write must be readable");
        assert_eq!((again.nanos(), again.to_string()), (quantity.nanos(), canonical), "{text}");
    }
    for format in FORMATS {
        let _ = formats::has_format(format, text);
    }
    let names = [valid::qualified_name, valid::label_value, valid::dns_subdomain, valid::dns_1035_label];
    for name in names.into_iter().filter(|name| name(text).is_none()) {
        assert!(text.is_ascii() && text.len() <= 317, "{}", name(text).unwrap_or_default());
    }
    if let Ok(pattern) = pattern::compile(text) {
        assert_eq!(pattern.as_str(), text);
        assert_eq!(pattern.is_match(other), pattern.regex().find(other).is_some());
    }
}
