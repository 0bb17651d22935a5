//! Who owns which field: FieldsV1 and server-side apply.

use serde_json::Value;

use super::{NOW, json, lines, schema_of};
use crate::api::{
    fields::{self, FieldSet, Writer, settle, track_update},
    structural::conform,
};

/// Two sets of fields, one in each line. They are read as they are written, and the operations on them agree.
pub fn fields(data: &[u8]) {
    let Some([one, two]) = lines(data) else { return };
    let set = |text| json(text).and_then(|fields| FieldSet::of_fields_v1(&fields).ok());
    let (Some(one), Some(two)) = (set(one), set(two)) else { return };
    for set in [&one, &two] {
        assert_eq!(FieldSet::of_fields_v1(&set.to_fields_v1()).as_ref(), Ok(set));
        assert!(set.shown().len() <= set.len());
        assert!(set.difference(set).is_empty() && set.leaves().difference(set).is_empty());
    }
    assert_eq!(one.union(&two), two.union(&one));
    assert_eq!(one.difference(&two).union(&one.intersection(&two)), one);
    assert_eq!(one.union(&two).len() + one.intersection(&two).len(), one.len() + two.len());
    assert!(one.recursive_difference(&two).difference(&one.difference(&two)).is_empty());
    let mut rest = one.clone();
    rest.remove_all(&two);
    assert_eq!(rest, one.difference(&two));
}

/// A live object and two configurations, one in each line. What was applied stays applied, and every set of fields
/// that is recorded can be read.
pub fn apply(data: &[u8]) {
    let Some([live, first, second]) = lines(data) else { return };
    let (Some(mut live), Some(first), Some(second)) = (json(live), json(first), json(second)) else { return };
    let schema = schema_of(&live);
    let owners =
        live.get_mut("metadata").and_then(|metadata| metadata.get_mut("managedFields")).map(Value::take);
    if conform(schema, &mut live).is_err() || !live.is_object() {
        return;
    }
    if let (Some(owners), Some(metadata)) = (owners, live.get_mut("metadata").and_then(Value::as_object_mut))
    {
        metadata.insert("managedFields".to_owned(), owners);
    }
    let status: &[&[&str]] = &[&["status"]];
    let writer = |manager| Writer { manager, api_version: "v1", subresource: None, time: NOW };
    let applied = |live: &Value, manager, configuration: &Value, force| {
        let mut new =
            fields::apply(schema, Some(live), configuration, force, &writer(manager), status).ok()?;
        settle(live, &mut new);
        readable(&new);
        Some(new)
    };
    let polite = applied(&live, "one", &first, false);
    let Some(mut forced) = applied(&live, "one", &first, true) else {
        assert!(polite.is_none(), "only force was refused");
        return;
    };
    if let Some(next) = applied(&forced, "two", &second, true) {
        let again =
            applied(&next, "two", &second, false).expect("what is applied must not conflict with itself");
        assert_eq!(again, next, "applying again changed something");
    }
    track_update(schema, Some(&live), &mut forced, &writer("three"), status);
    let before = forced.clone();
    track_update(schema, Some(&before), &mut forced, &writer("four"), status);
    settle(&before, &mut forced);
    assert_eq!(forced, before, "an update that changes nothing recorded an owner");
}

fn readable(object: &Value) {
    for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
        let set = FieldSet::of_fields_v1(&entry["fieldsV1"]).expect("our own record must be readable");
        assert_eq!(set.to_fields_v1(), entry["fieldsV1"]);
    }
}
