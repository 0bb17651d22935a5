//! Paths: which resource a request is about.

/// A path below `/api` or `/apis` that names a resource.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ResourcePath {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    /// Empty for cluster-wide resources, and for namespaced ones seen from above.
    pub namespace: String,
    pub plural: String,
    /// Empty for collections.
    pub name: String,
    /// Empty for the object itself.
    pub subresource: String,
}

/// Reads a path. `None` is not a resource's; discovery and the like are not.
pub fn parse(path: &str) -> Option<ResourcePath> {
    let mut segments = path.trim_start_matches('/').trim_end_matches('/').split('/').map(decode);
    let (group, version) = match segments.next()??.as_str() {
        "api" => (String::new(), segments.next()??),
        "apis" => (segments.next()??, segments.next()??),
        _ => return None,
    };
    let rest: Vec<String> = segments.collect::<Option<_>>()?;
    let mut parsed = ResourcePath { group, version, ..ResourcePath::default() };
    let rest = match rest.as_slice() {
        // A namespace is a resource itself, and what stands below it may be its subresource.
        [scope, namespace, below, ..]
            if scope == "namespaces" && !matches!(below.as_str(), "status" | "finalize") =>
        {
            parsed.namespace.clone_from(namespace);
            &rest[2..]
        }
        all => all,
    };
    match rest {
        [plural] => parsed.plural.clone_from(plural),
        [plural, name] => (parsed.plural, parsed.name) = (plural.clone(), name.clone()),
        [plural, name, subresource] => {
            (parsed.plural, parsed.name) = (plural.clone(), name.clone());
            parsed.subresource.clone_from(subresource);
        }
        _ => return None,
    }
    Some(parsed)
}

/// A segment without its percent signs; `None` if it is empty or not text.
fn decode(segment: &str) -> Option<String> {
    if segment.is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first == b'%' {
            let [high, low, tail @ ..] = rest else { return None };
            let digit = |byte: u8| char::from(byte).to_digit(16);
            bytes.push(u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?);
            rest = tail;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(path: &str) -> Option<[String; 6]> {
        let ResourcePath { group, version, namespace, plural, name, subresource } = parse(path)?;
        Some([group, version, namespace, plural, name, subresource])
    }

    #[test]
    fn reads_every_form() {
        for (path, expected) in [
            ("/api/v1/pods", ["", "v1", "", "pods", "", ""]),
            ("/api/v1/namespaces", ["", "v1", "", "namespaces", "", ""]),
            ("/api/v1/namespaces/a", ["", "v1", "", "namespaces", "a", ""]),
            ("/api/v1/namespaces/a/finalize", ["", "v1", "", "namespaces", "a", "finalize"]),
            ("/api/v1/namespaces/a/pods/", ["", "v1", "a", "pods", "", ""]),
            (
                "/apis/apps/v1/namespaces/a/deployments/b/scale",
                ["apps", "v1", "a", "deployments", "b", "scale"],
            ),
            ("/apis/g/v1/things/a%2Fb", ["g", "v1", "", "things", "a/b", ""]),
        ] {
            assert_eq!(parsed(path), Some(expected.map(str::to_owned)), "{path}");
        }
    }

    #[test]
    fn leaves_the_rest_to_others() {
        for path in [
            "/",
            "/api",
            "/api/v1",
            "/apis/apps/v1",
            "/version",
            "/api/v1//pods",
            "/api/v1/pods/%zz",
            "/api/v1/a/b/c/d",
        ] {
            assert_eq!(parse(path), None, "{path}");
        }
    }
}
