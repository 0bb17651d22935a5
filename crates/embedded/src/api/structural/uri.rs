//! The parts of a URI, read as strictly as is needed to tell one from another text.

/// An absolute URI, or an absolute path.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Uri<'a> {
    /// Empty for a path.
    pub scheme: &'a str,
    /// Host and port, without user information.
    pub host: &'a str,
    pub path: &'a str,
    /// Without the question mark.
    pub query: &'a str,
}

impl<'a> Uri<'a> {
    pub fn parse(text: &'a str) -> Option<Self> {
        if text.is_empty() || text.contains(|c: char| c.is_control() || c == ' ') || !escapes_are_whole(text)
        {
            return None;
        }
        let (scheme, rest) = match text.split_once(':') {
            _ if text.starts_with('/') => ("", text),
            Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
            _ => return None,
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, path) = match before.strip_prefix("//") {
            Some(rest) if !scheme.is_empty() => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            _ => ("", before),
        };
        let host = host.rsplit('@').next().unwrap_or_default();
        is_host(host).then_some(Self { scheme, host, path, query })
    }

    /// The host without its port and brackets.
    pub fn hostname(&self) -> &'a str {
        match self.host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => self.host.split(':').next().unwrap_or_default(),
        }
    }

    /// The port, empty if there is none.
    pub fn port(&self) -> &'a str {
        let after = self.host.rsplit(']').next().unwrap_or_default();
        after.rsplit_once(':').map_or("", |(_, port)| port)
    }
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

fn is_host(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((_, after)) => ("", after),
            None => return false,
        },
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let port_is_fine =
        port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
    port_is_fine && !name.contains(['<', '>', '"', '\\', '^', '`', '{', '|', '}', '[', ']'])
}

fn escapes_are_whole(text: &str) -> bool {
    let mut parts = text.split('%');
    parts.next();
    parts.all(|part| part.len() >= 2 && part.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::Uri;

    #[test]
    fn parts_are_told_apart() {
        let uri = Uri::parse("https://me@[::1]:8443/a/b?c=d&e#f").expect("a URI");
        assert_eq!((uri.scheme, uri.host, uri.path, uri.query), ("https", "[::1]:8443", "/a/b", "c=d&e"));
        assert_eq!((uri.hostname(), uri.port()), ("::1", "8443"));
        assert_eq!(Uri::parse("/a").map(|uri| uri.path), Some("/a"));
        for text in ["", "a b", "relative", "http://a:b", "http://%zz", "1http://x", "http://[::1"] {
            assert_eq!(Uri::parse(text), None, "{text}");
        }
    }
}
