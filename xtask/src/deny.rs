//! What we do not depend on.
//!
//! A small stand-in for cargo-deny in CI, which takes minutes to compile; advisories are its
//! business, not ours.

use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use spdx::{Expression, LicenseReq};

/// Crates that must not come in, and why.
const BANNED: &[(&str, &str)] = &[
    ("aws-lc-sys", "one TLS provider: ring"),
    ("openssl-sys", "one TLS provider: ring; and no C library to find at run time"),
    ("native-tls", "one TLS provider: ring"),
];

/// Licences that fit Apache-2.0 and ask for nothing but a notice.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub(crate) fn check() -> Result<()> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--all-features"])
        .current_dir(crate::root())
        .output()
        .context("cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata must list packages")?;
    let faults: Vec<String> = packages.iter().filter_map(fault).collect();
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    println!("deny: {} crates, none banned, all under licences we take", packages.len());
    Ok(())
}

/// What is wrong with a package of `cargo metadata`, if anything.
fn fault(package: &Value) -> Option<String> {
    let text = |field: &str| package[field].as_str().unwrap_or_default();
    let (name, version, licence) = (text("name"), text("version"), text("license"));
    if let Some((_, why)) = BANNED.iter().find(|(banned, _)| *banned == name) {
        return Some(format!(
            "{name} {version} is banned ({why}): `cargo tree -i {name}` tells who brings it"
        ));
    }
    // Older manifests separate alternatives by a slash.
    match Expression::parse(&licence.replace('/', " OR ")) {
        Ok(expression) if expression.evaluate(is_allowed) => None,
        Ok(_) => Some(format!("{name} {version} is under {licence}, which is not on our list")),
        Err(_) => Some(format!("{name} {version} names no licence that can be read: {licence:?}")),
    }
}

fn is_allowed(licence: &LicenseReq) -> bool {
    licence.license.id().is_some_and(|id| ALLOWED.contains(&id.name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::fault;

    #[test]
    fn refuses_a_banned_crate_and_says_why() {
        let fault = fault(&json!({ "name": "openssl-sys", "version": "1.0.0", "license": "MIT" })).unwrap();
        assert!(fault.contains("banned") && fault.contains("ring"), "{fault}");
    }

    #[test]
    fn takes_one_of_several_licences() {
        for (licence, taken) in [
            ("MIT/Apache-2.0", true),
            ("GPL-3.0-only OR MIT", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("GPL-3.0-only", false),
            ("MIT AND MPL-2.0", false),
            ("", false),
        ] {
            let package = json!({ "name": "some", "version": "1.0.0", "license": licence });
            assert_eq!(fault(&package).is_none(), taken, "{licence}");
        }
    }
}
