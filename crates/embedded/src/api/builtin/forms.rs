//! Forms of fields that several kinds share: port names, file modes, paths, user ids, addresses, references.
//!
//! A check without a result adds what it finds to the faults; absent values are fine unless it says otherwise.

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::api::{
    fault::{Faults, Path},
    valid,
};

/// A field as a text, empty if it is not there.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// The items of a list field with their places.
pub(crate) fn each<'a>(
    object: &'a Value,
    field: &str,
    path: &Path,
) -> impl Iterator<Item = (Path, &'a Value)> + use<'a> {
    let path = path.child(field);
    let items = object[field].as_array().map_or(&[][..], Vec::as_slice);
    items.iter().enumerate().map(move |(index, item)| (path.index(index), item))
}

/// What is wrong with the name of a port; everything, as it is short.
pub(crate) fn port_name(name: &str) -> Vec<&'static str> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    [
        (name.len() > 15, "must be no more than 15 characters"),
        (
            !name.bytes().all(allowed),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (!name.bytes().any(|b| b.is_ascii_lowercase()), "must contain at least one letter (a-z)"),
        (name.contains("--"), "must not contain consecutive hyphens"),
        (name.starts_with('-') || name.ends_with('-'), "must not begin or end with a hyphen"),
    ]
    .into_iter()
    .filter_map(|(wrong, message)| wrong.then_some(message))
    .collect()
}

/// A port by number or by name; must be there.
pub(crate) fn port_or_name(port: &Value, path: &Path, faults: &mut Faults) {
    match port.as_str() {
        Some(name) => {
            for message in port_name(name) {
                faults.invalid(path, port, message);
            }
        }
        None => valid::port(&json!(port.as_i64().unwrap_or_default()), path, faults),
    }
}

/// A text that must be there and be one of these.
pub(crate) fn required_one_of(value: &Value, allowed: &[&str], path: &Path, faults: &mut Faults) {
    match value.as_str().unwrap_or_default() {
        "" => faults.required(path, ""),
        _ => valid::one_of(value, allowed, path, faults),
    }
}

/// A text that must not be empty.
pub(crate) fn required<'a>(object: &'a Value, field: &str, path: &Path, faults: &mut Faults) -> &'a str {
    let value = text(object, field);
    if value.is_empty() {
        faults.required(&path.child(field), "");
    }
    value
}

/// A text that must be there and stand a check.
pub(crate) fn required_form(
    object: &Value,
    field: &str,
    check: fn(&str) -> Option<String>,
    path: &Path,
    faults: &mut Faults,
) {
    let value = required(object, field, path, faults);
    if !value.is_empty()
        && let Some(fault) = check(value)
    {
        faults.invalid_text(&path.child(field), value, fault);
    }
}

/// A text that must stand a check unless it is empty.
pub(crate) fn form(
    object: &Value,
    field: &str,
    check: fn(&str) -> Option<String>,
    path: &Path,
    faults: &mut Faults,
) {
    let value = text(object, field);
    if !value.is_empty()
        && let Some(fault) = check(value)
    {
        faults.invalid_text(&path.child(field), value, fault);
    }
}

/// The permissions of a file.
pub(crate) fn file_mode(mode: &Value, path: &Path, faults: &mut Faults) {
    if mode.as_i64().is_some_and(|mode| !(0..=0o777).contains(&mode)) {
        faults.invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive");
    }
}

/// A user's or group's number.
pub(crate) fn id(id: &Value, path: &Path, faults: &mut Faults) {
    if id.as_i64().is_some_and(|id| !(0..=i64::from(i32::MAX)).contains(&id)) {
        faults.invalid(path, id, "must be between 0 and 2147483647, inclusive");
    }
}

/// A path without a step back.
pub(crate) fn no_backsteps(target: &str, path: &Path, faults: &mut Faults) {
    if target.split('/').any(|step| step == "..") {
        faults.invalid_text(path, target, "must not contain '..'");
    }
}

/// A relative path without a step back.
pub(crate) fn descending_path(target: &str, path: &Path, faults: &mut Faults) {
    if target.starts_with('/') {
        faults.invalid_text(path, target, "must be a relative path");
    }
    no_backsteps(target, path, faults);
}

/// A relative path that does not look like one of the kubelet's own files.
pub(crate) fn file_path(target: &str, path: &Path, faults: &mut Faults) {
    descending_path(target, path, faults);
    if target.starts_with("..") && !target.starts_with("../") && target != ".." {
        faults.invalid_text(path, target, "must not start with '..'");
    }
}

/// Whether these are two addresses, one of each family.
pub(crate) fn is_dual_stack(addresses: &[&str]) -> bool {
    let families = addresses.iter().filter_map(|address| Some(address.parse::<IpAddr>().ok()?.is_ipv4()));
    let families: Vec<bool> = families.collect();
    addresses.len() == 2 && (families == [true, false] || families == [false, true])
}

/// An IP address of either family.
pub(crate) fn ip(address: &str, path: &Path, faults: &mut Faults) {
    if address.parse::<IpAddr>().is_err() {
        faults.invalid_text(path, address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    }
}

/// An integer that must be above zero.
pub(crate) fn positive(value: &Value, path: &Path, faults: &mut Faults) {
    if value.as_i64().unwrap_or_default() <= 0 {
        faults.invalid(path, &json!(value.as_i64().unwrap_or_default()), "must be greater than 0");
    }
}
