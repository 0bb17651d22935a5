//! Reads the messages of a `generated.proto`: a subset of proto2 that go-to-protobuf writes line by line.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};

/// How often a field can be there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Shape {
    One,
    List,
    /// From strings to values of the type.
    Map,
}

/// A field on the wire.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ProtoField {
    pub(crate) number: u32,
    pub(crate) shape: Shape,
    /// A scalar, a message of the same package, or with a leading dot a message of any.
    pub(crate) base: String,
}

/// The messages, by name.
pub(crate) fn messages(source: &str) -> Result<BTreeMap<String, Vec<ProtoField>>> {
    let mut messages = BTreeMap::new();
    let mut open: Option<(String, Vec<ProtoField>)> = None;
    for line in source.lines().map(str::trim) {
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        match (open.as_mut(), line.strip_prefix("message ")) {
            (None, Some(rest)) => {
                let name = rest.strip_suffix('{').with_context(|| format!("unknown form: {line}"))?;
                open = Some((name.trim().to_owned(), Vec::new()));
            }
            (Some(_), Some(_)) => bail!("a message in a message: {line}"),
            // The licence, the imports and the options.
            (None, None) => {}
            (Some(_), None) if line == "}" => messages.extend(open.take()),
            (Some((_, fields)), None) => {
                fields.push(field(line).with_context(|| format!("unknown form: {line}"))?);
            }
        }
    }
    ensure!(open.is_none(), "a message has no end");
    Ok(messages)
}

/// A line such as `optional string name = 1;` or `map<string, bytes> data = 2;`.
fn field(line: &str) -> Option<ProtoField> {
    let (declared, number) = line.strip_suffix(';')?.rsplit_once('=')?;
    let number = number.trim().parse().ok()?;
    let (declared, _name) = declared.trim().rsplit_once(' ')?;
    if let Some(value) = declared.strip_prefix("map<string, ") {
        return Some(ProtoField { number, shape: Shape::Map, base: value.strip_suffix('>')?.to_owned() });
    }
    let (label, base) = declared.split_once(' ')?;
    let shape = match label {
        "optional" | "required" => Shape::One,
        "repeated" => Shape::List,
        _ => return None,
    };
    Some(ProtoField { number, shape, base: base.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_messages_and_refuses_what_it_does_not_know() {
        let source = "syntax = \"proto2\";\n\n// message Words {\nmessage A {\n  // words\n  optional .x.y.B b = 1;\n\n\
                      \x20 repeated int32 c = 20;\n  map<string, bytes> d = 3;\n}\n\nmessage Empty {\n}\n";
        let messages = messages(source).unwrap();
        let field = |number, shape, base: &str| ProtoField { number, shape, base: base.to_owned() };
        assert_eq!(
            messages["A"],
            [field(1, Shape::One, ".x.y.B"), field(20, Shape::List, "int32"), field(3, Shape::Map, "bytes")]
        );
        assert!(messages["Empty"].is_empty());
        for body in ["oneof x {", "map<int32, string> a = 1;", "optional string a;"] {
            assert!(super::messages(&format!("message A {{\n{body}\n}}\n")).is_err(), "{body}");
        }
    }
}
