//! Cuts the text of an expression into tokens.

/// A token, and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub at: usize,
    pub kind: TokenKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    Name(String),
    /// Without a sign; the largest is only right after a minus.
    Int(u64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// An operator or a bracket.
    Mark(&'static str),
    End,
}

/// What went wrong, and where.
pub type Error = (usize, String);

const MARKS: [&str; 24] = [
    "&&", "||", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",", "(", ")",
    "[", "]", "{", "}",
];

/// The tokens of an expression, of which the last is the end.
pub fn tokens(source: &str) -> Result<Vec<Token>, Error> {
    let (mut tokens, mut at) = (Vec::new(), 0);
    loop {
        at = skip_blank(source, at);
        let rest = &source[at..];
        let Some(first) = rest.chars().next() else {
            tokens.push(Token { at, kind: TokenKind::End });
            return Ok(tokens);
        };
        let (kind, length) = if let Some(quoted) = text(rest).map_err(|error| (at, error))? {
            quoted
        } else if first.is_ascii_digit()
            || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()))
        {
            number(rest).map_err(|error| (at, error))?
        } else if first.is_ascii_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            (TokenKind::Name(rest[..end].to_owned()), end)
        } else if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            (TokenKind::Mark(mark), mark.len())
        } else {
            return Err((at, format!("Syntax error: token recognition error at: '{first}'")));
        };
        tokens.push(Token { at, kind });
        at += length;
    }
}

/// Goes past blanks and comments.
fn skip_blank(source: &str, mut at: usize) -> usize {
    loop {
        let rest = &source[at..];
        at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']).len();
        if !source[at..].starts_with("//") {
            return at;
        }
        at += source[at..].find('\n').unwrap_or(source.len() - at);
    }
}

fn number(rest: &str) -> Result<(TokenKind, usize), String> {
    let malformed = |text: &str| format!("invalid number: {text}");
    let digits = |text: &str, test: fn(char) -> bool| text.find(|c: char| !test(c)).unwrap_or(text.len());
    if let Some(hex) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
        let end = digits(hex, |c| c.is_ascii_hexdigit());
        let value = u64::from_str_radix(&hex[..end], 16).map_err(|_| malformed(&rest[..end + 2]))?;
        return Ok(suffixed(value, &hex[end..], end + 2));
    }
    let mut end = digits(rest, |c| c.is_ascii_digit());
    let whole = end;
    if rest[end..].starts_with('.') && rest[end + 1..].starts_with(|c: char| c.is_ascii_digit()) {
        end += 1 + digits(&rest[end + 1..], |c| c.is_ascii_digit());
    }
    if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let power = digits(&exponent[sign..], |c| c.is_ascii_digit());
        if power > 0 {
            end += 1 + sign + power;
        }
    }
    if end > whole {
        let value = rest[..end].parse().map_err(|_| malformed(&rest[..end]))?;
        return Ok((TokenKind::Double(value), end));
    }
    let value = rest[..end].parse().map_err(|_| malformed(&rest[..end]))?;
    Ok(suffixed(value, &rest[end..], end))
}

fn suffixed(value: u64, after: &str, end: usize) -> (TokenKind, usize) {
    if after.starts_with(['u', 'U']) {
        (TokenKind::Uint(value), end + 1)
    } else {
        (TokenKind::Int(value), end)
    }
}

/// A text or bytes in quotes, with its length; none if there are no quotes.
fn text(rest: &str) -> Result<Option<(TokenKind, usize)>, String> {
    // At most two letters stand before a quote.
    let letters = rest.bytes().take(3).position(|byte| byte == b'\'' || byte == b'"').map(|at| &rest[..at]);
    let (raw, bytes) = match letters.map(str::to_ascii_lowercase).as_deref() {
        Some("") => (false, false),
        Some("r") => (true, false),
        Some("b") => (false, true),
        Some("br" | "rb") => (true, true),
        _ => return Ok(None),
    };
    let start = letters.map_or(0, str::len);
    let quote = ["'''", "\"\"\"", "'", "\""].into_iter().find(|quote| rest[start..].starts_with(quote));
    let Some(quote) = quote else { return Ok(None) };
    let mut made = Vec::new();
    let mut at = start + quote.len();
    loop {
        let left = &rest[at..];
        if left.starts_with(quote) {
            at += quote.len();
            break;
        }
        let Some(next) = left.chars().next().filter(|c| quote.len() == 3 || (*c != '\n' && *c != '\r'))
        else {
            return Err("Syntax error: a text without an end".to_owned());
        };
        if next == '\\' && !raw {
            at += escape(left, bytes, &mut made)?;
        } else {
            at += next.len_utf8();
            // In raw texts a backslash keeps its meaning, but a quote after it does not end the text.
            made.extend_from_slice(&left.as_bytes()[..next.len_utf8()]);
        }
    }
    let kind = match String::from_utf8(made) {
        Ok(text) if !bytes => TokenKind::Text(text),
        Ok(text) => TokenKind::Bytes(text.into_bytes()),
        Err(error) if bytes => TokenKind::Bytes(error.into_bytes()),
        Err(_) => return Err("Syntax error: a text that is not UTF-8".to_owned()),
    };
    Ok(Some((kind, at)))
}

/// Reads an escape and tells its length.
fn escape(left: &str, bytes: bool, made: &mut Vec<u8>) -> Result<usize, String> {
    let malformed = || "Syntax error: unable to unescape string".to_owned();
    let letter = left.chars().nth(1).ok_or_else(malformed)?;
    let plain = match letter {
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        'a' => Some('\x07'),
        'b' => Some('\x08'),
        'f' => Some('\x0c'),
        'v' => Some('\x0b'),
        '\\' | '\'' | '"' | '`' | '?' => Some(letter),
        _ => None,
    };
    if let Some(plain) = plain {
        made.extend_from_slice(plain.encode_utf8(&mut [0; 4]).as_bytes());
        return Ok(2);
    }
    let (skip, digits, radix) = match letter {
        'x' | 'X' => (2, 2, 16),
        'u' if !bytes => (2, 4, 16),
        'U' if !bytes => (2, 8, 16),
        '0'..='3' => (1, 3, 8),
        _ => return Err(malformed()),
    };
    let code = left.get(skip..skip + digits).and_then(|code| u32::from_str_radix(code, radix).ok());
    let code = code.ok_or_else(malformed)?;
    if bytes {
        made.push(u8::try_from(code).map_err(|_| malformed())?);
    } else {
        let letter = char::from_u32(code).ok_or_else(malformed)?;
        made.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(skip + digits)
}

#[cfg(test)]
mod tests {
    use super::{TokenKind, tokens};

    fn kinds(source: &str) -> Vec<TokenKind> {
        let tokens = tokens(source).unwrap_or_else(|(_, error)| panic!("{source}: {error}"));
        tokens.into_iter().map(|token| token.kind).filter(|kind| *kind != TokenKind::End).collect()
    }

    #[test]
    fn texts_and_numbers_are_read_as_cel_writes_them() {
        let text = |text: &str| TokenKind::Text(text.to_owned());
        assert_eq!(
            kinds(r#" 'a\n\'' "b\x41\u00e4\101" r'\d' '''x'y''' "#),
            [text("a\n'"), text("bAäA"), text("\\d"), text("x'y")]
        );
        assert_eq!(kinds(r"b'\xff'"), [TokenKind::Bytes(vec![255])]);
        assert_eq!(
            kinds("1 0x1F 2u 1.5 .5 1e3 1.size"),
            [
                TokenKind::Int(1),
                TokenKind::Int(31),
                TokenKind::Uint(2),
                TokenKind::Double(1.5),
                TokenKind::Double(0.5),
                TokenKind::Double(1000.0),
                TokenKind::Int(1),
                TokenKind::Mark("."),
                TokenKind::Name("size".to_owned())
            ]
        );
        assert_eq!(
            kinds("a // comment\n<=b"),
            [TokenKind::Name("a".to_owned()), TokenKind::Mark("<="), TokenKind::Name("b".to_owned())]
        );
        for wrong in ["'a", "'\\q'", "#", "ä", "99999999999999999999", "'a\nb'", "\"\\u12\""] {
            assert!(tokens(wrong).is_err(), "{wrong}");
        }
    }
}
