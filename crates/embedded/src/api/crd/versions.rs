//! The order of versions that Kubernetes prefers: `v2`, `v1`, `v2beta1`, `v1alpha2`, then others by name.

use std::cmp::Ordering;

/// Compares two versions; the preferred one comes first.
pub fn compare(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Stability (alpha, beta, final), then major, then minor.
fn parse(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(end);
    let major = major.parse().ok()?;
    let (stability, minor) = match rest {
        "" => return Some((2, major, 0)),
        _ if rest.starts_with("beta") => (1, &rest[4..]),
        _ if rest.starts_with("alpha") => (0, &rest[5..]),
        _ => return None,
    };
    Some((stability, major, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn stable_versions_come_before_younger_ones() {
        let mut versions = ["foo", "v1alpha2", "v2beta1", "v1", "v10", "v2", "v1beta1", "v11alpha1", "bar"];
        versions.sort_by(|a, b| super::compare(a, b));
        assert_eq!(
            versions,
            ["v10", "v2", "v1", "v2beta1", "v1beta1", "v11alpha1", "v1alpha2", "bar", "foo"]
        );
    }
}
