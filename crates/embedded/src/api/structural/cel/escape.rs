//! Names of fields as rules write them: what CEL does not take for a name is escaped.

const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

const ESCAPES: [(&str, &str); 4] =
    [("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__")];

/// A field's name in a rule; none if a rule cannot speak of it.
pub fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(next) = rest.chars().next() {
        if let Some((plain, word)) = ESCAPES.iter().find(|(plain, _)| rest.starts_with(plain)) {
            escaped.push_str(word);
            rest = &rest[plain.len()..];
        } else if next.is_ascii_alphanumeric() || next == '_' {
            escaped.push(next);
            rest = &rest[1..];
        } else {
            return None;
        }
    }
    Some(escaped)
}

/// The field that a name in a rule stands for; none if no field is written so.
pub fn unescape(escaped: &str) -> Option<String> {
    let reserved = escaped.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"));
    if let Some(word) = reserved.filter(|word| RESERVED.contains(word)) {
        return Some(word.to_owned());
    }
    let mut name = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(next) = rest.chars().next() {
        if let Some((plain, word)) = ESCAPES.iter().find(|(_, word)| rest.starts_with(word)) {
            name.push_str(plain);
            rest = &rest[word.len()..];
        } else {
            name.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    (escape(&name).as_deref() == Some(escaped)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{escape, unescape};

    #[test]
    fn names_go_there_and_back() {
        let names = [
            ("plain", "plain"),
            ("a-b", "a__dash__b"),
            ("a.b/c", "a__dot__b__slash__c"),
            ("a__b", "a__underscores__b"),
            ("namespace", "__namespace__"),
            ("default", "default"),
        ];
        for (name, escaped) in names {
            assert_eq!(escape(name).as_deref(), Some(escaped));
            assert_eq!(unescape(escaped).as_deref(), Some(name));
        }
        for name in ["", "1a", "a b", "ä"] {
            assert_eq!(escape(name), None);
        }
        for escaped in ["namespace", "a-b", "a__b"] {
            assert_eq!(unescape(escaped), None);
        }
    }
}
