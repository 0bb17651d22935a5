//! Paths that name a field from its parent: `.spec.color`, `.spec['a.b']`. Rules and selectable fields use them.

/// The names on a path, in order.
pub fn names(path: &str, brackets: bool) -> Result<Vec<String>, String> {
    let (mut found, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        let (name, after) = if let Some(inner) = rest.strip_prefix('[') {
            if !brackets {
                return Err("array notation is not allowed".to_owned());
            }
            quoted(inner)?
        } else if let Some(inner) = rest.strip_prefix('.') {
            let end = inner.find(['.', '[', ']']).unwrap_or(inner.len());
            if end == 0 {
                return Err("unexpected end of JSON path".to_owned());
            }
            (inner[..end].to_owned(), &inner[end..])
        } else {
            return Err(format!("expected [ or . but got: {rest}"));
        };
        found.push(name);
        rest = after;
    }
    Ok(found)
}

fn quoted(inner: &str) -> Result<(String, &str), String> {
    let text =
        inner.strip_prefix('\'').ok_or_else(|| format!("expected single quoted string but got {inner}"))?;
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, next)) = chars.next() {
        match next {
            '\\' => match chars.next() {
                Some((_, escaped @ ('\'' | '\\'))) => name.push(escaped),
                _ => return Err("invalid string literal".to_owned()),
            },
            '\'' => {
                let after = text[at + 1..].strip_prefix(']');
                return after.map(|after| (name, after)).ok_or_else(|| "expected ]".to_owned());
            }
            other => name.push(other),
        }
    }
    Err("unexpected end of JSON path".to_owned())
}
