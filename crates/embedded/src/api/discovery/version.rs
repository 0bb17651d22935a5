//! Versions: how those of an API compare, and which the server calls its own.

use std::cmp::Ordering;

use serde_json::{Value, json};

use crate::schema::bundled;

/// How mature a version is, and its numbers.
#[derive(Eq, Ord, PartialEq, PartialOrd)]
enum Maturity {
    Alpha,
    Beta,
    Stable,
}

/// The order of versions by preference, as Kubernetes has it: `v2`, `v1`, `v1beta2`, `v1alpha1`, then all others
/// by their letters.
pub fn compare_versions(one: &str, other: &str) -> Ordering {
    match (parse(one), parse(other)) {
        (Some(one), Some(other)) => other.cmp(&one),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}

fn parse(version: &str) -> Option<(Maturity, u64, u64)> {
    let number = |digits: &str| {
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
        plain.then(|| digits.parse().ok()).flatten()
    };
    let numbers = version.strip_prefix('v')?;
    for (word, maturity) in [("alpha", Maturity::Alpha), ("beta", Maturity::Beta)] {
        if let Some((major, minor)) = numbers.split_once(word) {
            return Some((maturity, number(major)?, number(minor)?));
        }
    }
    Some((Maturity::Stable, number(numbers)?, 0))
}

/// `/version`: the Kubernetes that the schema is of, and who serves it.
pub fn server_version() -> Value {
    let kubernetes = &bundled().version;
    let mut numbers = kubernetes.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    json!({
        "major": major,
        "minor": minor,
        "gitVersion": format!("{kubernetes}+anneal-{}", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, architecture()),
    })
}

/// The architecture by the name that Kubernetes' tools know.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
