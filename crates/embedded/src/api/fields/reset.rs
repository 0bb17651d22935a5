//! Which fields a write cannot change, so that nobody comes to own them by it.

/// The fields that a write to the object itself, or to its status, leaves as they are.
///
/// For kinds without a status there are none. What a write to the status may do to metadata differs from
/// kind to kind.
pub fn reset_fields(
    api_version: &str,
    kind: &str,
    has_status: bool,
    status: bool,
) -> &'static [&'static [&'static str]] {
    let builtin = crate::schema::bundled().definition_of(api_version, kind).is_some();
    match (status, kind) {
        _ if !has_status => &[],
        (false, _) => &[&["status"]],
        (true, _) if !builtin => &[&["metadata"], &["spec"]],
        (true, "Deployment") => &[&["spec"], &["metadata", "labels"]],
        (true, "Pod") => &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]],
        (true, _) => &[&["spec"]],
    }
}
