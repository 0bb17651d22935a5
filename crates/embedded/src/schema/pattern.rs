//! Regular expressions as Kubernetes means them, which is Go's dialect, compiled within bounds.
//!
//! The dialects agree but for a few things that change what matches: in Go `\d`, `\s`, `\w` and `\b` are
//! ASCII, and inside a class `[`, `&` and `~` are plain characters. What only Go knows (`\Q…\E`, `\C`) is
//! refused.

use regex::{Regex, RegexBuilder};

/// Patterns are written by users: a longer one is refused before it is looked at.
const MAX_LENGTH: usize = 16 * 1024;

/// What a compiled pattern may take in memory, in steps from the usual to the extreme. The step a pattern
/// needs is its price.
const SIZES: [usize; 4] = [16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    source: String,
    regex: Regex,
    price: usize,
}

impl Pattern {
    /// The pattern as its author wrote it.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    pub fn regex(&self) -> &Regex {
        &self.regex
    }

    /// Whether the pattern matches anywhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The bytes to count for it.
    pub fn price(&self) -> usize {
        self.price
    }
}

/// Compiles a pattern.
pub fn compile(pattern: &str) -> Result<Pattern, String> {
    if pattern.len() > MAX_LENGTH {
        return Err(format!("must be no more than {MAX_LENGTH} bytes"));
    }
    let translated = translate(pattern);
    let mut failure = String::new();
    for size in SIZES {
        match RegexBuilder::new(&translated).size_limit(size).dfa_size_limit(size).nest_limit(100).build() {
            Ok(regex) => return Ok(Pattern { source: pattern.to_owned(), regex, price: size }),
            Err(error @ regex::Error::CompiledTooBig(_)) => failure = error.to_string(),
            Err(error) => return Err(one_line(&error.to_string())),
        }
    }
    Err(one_line(&failure))
}

/// The last line of the library's drawing says what is wrong.
fn one_line(error: &str) -> String {
    let last = error.lines().last().unwrap_or_default();
    last.trim().trim_start_matches("error: ").to_owned()
}

fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.chars().peekable();
    // Where in a class we are: `]` right after its opening is a plain character.
    let (mut in_class, mut class_is_empty) = (false, false);
    while let Some(next) = chars.next() {
        let first = std::mem::take(&mut class_is_empty);
        match next {
            '\\' => match chars.next() {
                Some(escaped) => push_escape(&mut out, escaped, in_class),
                None => out.push('\\'),
            },
            '[' if !in_class => {
                (in_class, class_is_empty) = (true, true);
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
            }
            '[' if chars.peek() == Some(&':') => out.push('['),
            ']' if in_class && first => out.push_str("\\]"),
            ']' if in_class => {
                // The end of a `[:alpha:]` is the end of the class only if it was not opened.
                in_class = out.ends_with(':') && inside_named(&out);
                out.push(']');
            }
            '[' | '&' | '~' if in_class => {
                out.push('\\');
                out.push(next);
            }
            other => out.push(other),
        }
    }
    out
}

/// Whether the text ends inside `[:name:`.
fn inside_named(out: &str) -> bool {
    let name = out.trim_end_matches(':').trim_end_matches(|c: char| c.is_ascii_lowercase() || c == '^');
    name.ends_with("[:")
}

fn push_escape(out: &mut String, escaped: char, in_class: bool) {
    match escaped {
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        's' => out.push_str("[\\t\\n\\f\\r ]"),
        'S' => out.push_str("[^\\t\\n\\f\\r ]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'b' if !in_class => out.push_str("(?-u:\\b)"),
        // Go takes any escaped punctuation for itself.
        other if other.is_ascii_punctuation() && !"\\.+*?()|[]{}^$-#&~".contains(other) => {
            out.push_str(&format!("\\x{{{:x}}}", u32::from(other)));
        }
        other => {
            out.push('\\');
            out.push(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::compile;

    #[test]
    fn classes_are_ascii_and_brackets_in_them_plain() {
        let matches = |pattern: &str, text: &str| compile(pattern).expect("valid").is_match(text);
        assert!(matches(r"^\d+$", "42") && !matches(r"^\d+$", "٤٢"));
        assert!(matches(r"^[\w.-]+$", "a_b.c-d") && !matches(r"^[\w.-]+$", "ä"));
        assert!(matches(r"^[[a&&b~]+$", "[&~") && !matches(r"^[[a&&b~]+$", "c"));
        assert!(matches(r"^[]a]+$", "]a") && matches(r"^[^]a]+$", "b"));
        assert!(matches(r"^[[:alpha:]_]+$", "a_b") && !matches(r"^[[:alpha:]_]+$", "a1"));
        assert!(matches(r"^[^\s/]+\/x$", "a/x"));
    }

    #[test]
    fn refuses_what_does_not_compile_or_takes_too_much() {
        assert!(compile("(").is_err());
        assert!(compile(r"(\pL{1000}){1000}").is_err());
        assert!(compile(&"a".repeat(20_000)).is_err());
    }
}
