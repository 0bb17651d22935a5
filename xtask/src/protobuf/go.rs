//! Reads the fields of Go structs that are on the wire, from their tags.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

/// A field of a struct that has a number on the wire.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct GoField {
    pub(crate) number: u32,
    /// The name in JSON, empty for an inlined struct; `None` if the struct has an encoding of its own.
    pub(crate) json: Option<String>,
    pub(crate) pointer: bool,
    pub(crate) omit_empty: bool,
    pub(crate) omit_zero: bool,
}

/// The structs that a file declares, by name. Fields without a number, such as the type of an object,
/// are left out.
pub(crate) fn structs(source: &str) -> Result<BTreeMap<String, Vec<GoField>>> {
    let mut structs = BTreeMap::new();
    let mut open: Option<(String, Vec<GoField>)> = None;
    for line in source.lines() {
        let code = line.trim();
        match open.as_mut() {
            None => {
                let declared = code.strip_prefix("type ").unwrap_or_default();
                if let Some(name) = declared.strip_suffix(" struct{}") {
                    structs.insert(name.to_owned(), Vec::new());
                }
                open = declared.strip_suffix(" struct {").map(|name| (name.to_owned(), Vec::new()));
            }
            Some(_) if line == "}" => structs.extend(open.take()),
            Some((name, fields)) if !code.starts_with("//") => {
                fields.extend(field(code).with_context(|| format!("{name}: {code}"))?);
            }
            Some(_) => {}
        }
    }
    ensure!(open.is_none(), "a struct has no end");
    Ok(structs)
}

/// The types that a file declares as lists of strings.
pub(crate) fn lists_of_strings(source: &str) -> impl Iterator<Item = String> {
    source.lines().filter_map(|line| Some(line.strip_prefix("type ")?.strip_suffix(" []string")?.to_owned()))
}

/// A line such as `` Name string `json:"name" protobuf:"bytes,1,opt,name=name"` ``.
fn field(code: &str) -> Result<Option<GoField>> {
    let Some((declared, rest)) = code.split_once('`') else { return Ok(None) };
    let (tags, _comment) = rest.split_once('`').context("a tag has no end")?;
    let Some(wire) = tag(tags, "protobuf").filter(|wire| *wire != "-") else { return Ok(None) };
    let number = wire.split(',').nth(1).and_then(|number| number.parse().ok());
    let number = number.context("a protobuf tag without a number")?;
    let declared_type = declared.split_whitespace().last().context("a field without a type")?;
    let json = tag(tags, "json");
    let mut parts = json.unwrap_or_default().split(',');
    let name = parts.next().unwrap_or_default();
    let options: Vec<&str> = parts.collect();
    let inline = options.contains(&"inline");
    ensure!(json.is_none() || inline == name.is_empty(), "a field without a name in JSON");
    Ok(Some(GoField {
        number,
        json: json.map(|_| name.to_owned()),
        pointer: declared_type.starts_with('*'),
        omit_empty: options.contains(&"omitempty"),
        omit_zero: options.contains(&"omitzero"),
    }))
}

/// The value of a tag.
fn tag<'a>(tags: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = tags.trim();
    while let Some((key, value)) = rest.split_once(":\"") {
        let (value, after) = value.split_once('"')?;
        if key == name {
            return Some(value);
        }
        rest = after.trim_start();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_on_the_wire() {
        let source = "// type Not struct {\ntype A struct {\n\tmetav1.TypeMeta `json:\",inline\"`\n\
                      \t// Words `json:\"x\" protobuf:\"bytes,9\"`\n\
                      \tB *Name `json:\"b,omitempty\" x:\"y\" protobuf:\"bytes,2,opt,name=c,casttype=Name\"` // `d`\n\
                      \tE `json:\",inline\" protobuf:\"bytes,1,req\"`\n\
                      \tT Time `json:\"t,omitempty,omitzero\" protobuf:\"bytes,3,opt,name=t\"`\n}\n\
                      type U struct {\n\tAllows bool `protobuf:\"varint,1,opt,name=allows\"`\n}\n\
                      type None struct{}\ntype List []string\n";
        let structs = structs(source).unwrap();
        let field = |number, json: &str| GoField {
            number,
            json: Some(json.to_owned()),
            pointer: false,
            omit_empty: false,
            omit_zero: false,
        };
        assert_eq!(
            structs["A"],
            [
                GoField { pointer: true, omit_empty: true, ..field(2, "b") },
                field(1, ""),
                GoField { omit_empty: true, omit_zero: true, ..field(3, "t") }
            ]
        );
        assert_eq!(structs["U"], [GoField { json: None, ..field(1, "") }]);
        assert!(structs.len() == 3 && structs["None"].is_empty());
        assert_eq!(lists_of_strings(source).collect::<Vec<_>>(), ["List"]);
        assert!(
            super::structs("type A struct {\n\tB int `json:\",omitempty\" protobuf:\"varint,1\"`\n}\n")
                .is_err()
        );
    }
}
