//! A number of pods, or a share of them: `3` or `"25%"`.

use serde_json::Value;

use crate::api::{
    fault::{Faults, Path},
    valid,
};

/// A number that is not negative, or a percentage.
pub fn validate(amount: &Value, path: &Path, faults: &mut Faults) {
    match amount.as_str() {
        Some(text) if percent(text).is_none() => faults.invalid(
            path,
            amount,
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', \
             regex used for validation is '[0-9]+%')",
        ),
        Some(_) => {}
        None => valid::not_negative(amount, path, faults),
    }
}

/// A percentage may not be of more than all.
pub fn not_more_than_all(amount: &Value, path: &Path, faults: &mut Faults) {
    if amount.as_str().and_then(percent).is_some_and(|percent| percent > 100) {
        faults.invalid(path, amount, "must not be greater than 100%");
    }
}

/// Whether it is none at all, as a number or a share.
pub fn is_zero(amount: &Value) -> bool {
    match amount.as_str() {
        Some(text) => percent(text).unwrap_or(0) == 0,
        None => amount.as_i64().unwrap_or(0) == 0,
    }
}

/// How a table shows it.
pub fn cell(amount: &Value) -> String {
    match amount {
        Value::Null => "N/A".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn percent(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%')?;
    let numeric = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // More digits than fit are more than any bound.
    numeric.then(|| digits.parse().unwrap_or(u64::MAX))
}
