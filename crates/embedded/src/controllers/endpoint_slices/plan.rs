//! Which slices to make, change and delete. Pure.
//!
//! An endpoint stays in the slice that has it, so that a change of one pod is a change of one slice; free places are
//! filled before a slice is made, and a slice that would go is used for one that is to be made, so that a Service with
//! endpoints is never seen without.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::controllers::records::EndpointSlice;

/// The most endpoints in a slice, as upstream has it.
const SLICE: usize = 100;

/// Endpoints of one sort of address that have the same ports.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub address_type: &'static str,
    pub ports: Vec<Value>,
    pub endpoints: Vec<Value>,
}

impl Group {
    /// Adds an endpoint to the group that it belongs to.
    pub fn add(groups: &mut Vec<Self>, address_type: &'static str, ports: &[Value], endpoint: Value) {
        let own = groups.iter_mut().find(|group| group.address_type == address_type && group.ports == ports);
        match own {
            Some(group) => group.endpoints.push(endpoint),
            None => groups.push(Self { address_type, ports: ports.to_vec(), endpoints: vec![endpoint] }),
        }
    }

    fn is_of(&self, slice: &EndpointSlice) -> bool {
        slice.address_type == self.address_type && items(&slice.ports) == self.ports
    }
}

/// Something to do; a group holds what one slice should.
#[derive(Debug, PartialEq)]
pub enum Step<'a> {
    Create { group: Group },
    Update { slice: &'a EndpointSlice, group: Group },
    Delete { slice: &'a EndpointSlice },
}

impl PartialEq for EndpointSlice {
    fn eq(&self, other: &Self) -> bool {
        self.metadata.uid == other.metadata.uid
    }
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What an endpoint is, whatever its state.
fn identity(endpoint: &Value) -> (&Value, &Value) {
    (&endpoint["targetRef"]["uid"], &endpoint["addresses"])
}

/// From the slices there are to those that should be, with these labels.
pub fn plan<'a>(
    known: &[&'a EndpointSlice],
    groups: Vec<Group>,
    labels: &BTreeMap<String, String>,
    at_least_one: bool,
) -> Vec<Step<'a>> {
    let (mut kept, mut new): (Vec<(&EndpointSlice, Group)>, Vec<Group>) = (Vec::new(), Vec::new());
    for group in groups {
        let mut own: Vec<(&EndpointSlice, Vec<Value>)> = Vec::new();
        let mut rest = group.endpoints.clone();
        for slice in known.iter().copied().filter(|slice| group.is_of(slice)) {
            let mut stay = Vec::new();
            for old in items(&slice.endpoints) {
                let at = rest.iter().position(|new| identity(new) == identity(old));
                stay.extend(at.map(|at| rest.remove(at)));
            }
            own.push((slice, stay));
        }
        // The fullest first, so that the others may become empty.
        own.sort_by_key(|(_, endpoints)| std::cmp::Reverse(endpoints.len()));
        let mut rest = rest.into_iter();
        for (_, endpoints) in &mut own {
            let room = SLICE.saturating_sub(endpoints.len());
            endpoints.extend(rest.by_ref().take(room));
        }
        let rest: Vec<_> = rest.collect();
        let of = |endpoints: Vec<Value>| Group {
            endpoints,
            address_type: group.address_type,
            ports: group.ports.clone(),
        };
        new.extend(rest.chunks(SLICE).map(|endpoints| of(endpoints.to_vec())));
        let filled = own.into_iter().filter(|(_, endpoints)| !endpoints.is_empty());
        kept.extend(filled.map(|(slice, endpoints)| (slice, of(endpoints))));
    }
    if at_least_one && kept.is_empty() && new.is_empty() {
        new.push(Group { address_type: "IPv4", ports: Vec::new(), endpoints: Vec::new() });
    }
    let mut free: Vec<_> =
        known.iter().copied().filter(|slice| !kept.iter().any(|(own, _)| own == slice)).collect();
    let mut steps = Vec::new();
    for group in new {
        // A slice's sort of address never changes.
        match free.iter().position(|slice| slice.address_type == group.address_type) {
            Some(at) => kept.push((free.remove(at), group)),
            None => steps.push(Step::Create { group }),
        }
    }
    let changed = kept.into_iter().filter(|(slice, group)| !is_as(slice, group, labels));
    steps.extend(changed.map(|(slice, group)| Step::Update { slice, group }));
    steps.extend(free.into_iter().map(|slice| Step::Delete { slice }));
    steps
}

fn is_as(slice: &EndpointSlice, group: &Group, labels: &BTreeMap<String, String>) -> bool {
    let same_labels = slice.metadata.labels.as_ref().is_some_and(|known| known == labels);
    same_labels && items(&slice.ports) == group.ports && items(&slice.endpoints) == group.endpoints
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn endpoint(number: usize) -> Value {
        json!({ "addresses": [format!("127.1.0.{number}")], "targetRef": { "uid": number.to_string() } })
    }

    fn group(port: u16, endpoints: impl IntoIterator<Item = usize>) -> Group {
        let endpoints = endpoints.into_iter().map(endpoint).collect();
        Group { address_type: "IPv4", ports: vec![json!({ "port": port })], endpoints }
    }

    fn slice(name: &str, group: &Group) -> EndpointSlice {
        serde_json::from_value(json!({
            "metadata": { "name": name, "uid": name, "labels": {} },
            "addressType": group.address_type, "ports": group.ports, "endpoints": group.endpoints,
        }))
        .expect("a slice")
    }

    fn planned<'a>(known: &[&'a EndpointSlice], groups: Vec<Group>) -> Vec<Step<'a>> {
        plan(known, groups, &BTreeMap::new(), true)
    }

    #[test]
    fn what_is_right_is_left_alone() {
        let one = slice("one", &group(80, [1, 2]));
        assert_eq!(planned(&[&one], vec![group(80, [2, 1])]), []);
        let none = slice("none", &Group { address_type: "IPv4", ports: Vec::new(), endpoints: Vec::new() });
        assert_eq!(planned(&[&none], Vec::new()), []);
    }

    #[test]
    fn a_change_of_one_pod_is_a_change_of_one_slice() {
        let (one, two) = (slice("one", &group(80, 0..100)), slice("two", &group(80, 100..150)));
        let steps = planned(&[&one, &two], vec![group(80, (0..150).filter(|number| *number != 120))]);
        let left = group(80, (100..150).filter(|number| *number != 120));
        assert_eq!(steps, [Step::Update { slice: &two, group: left }]);
        let steps = planned(&[&one, &two], vec![group(80, 0..151)]);
        assert_eq!(steps, [Step::Update { slice: &two, group: group(80, 100..151) }]);
    }

    #[test]
    fn a_full_slice_is_followed_by_another() {
        let one = slice("one", &group(80, 0..100));
        let steps = planned(&[&one], vec![group(80, 0..205)]);
        let creates = [group(80, 100..200), group(80, 200..205)].map(|group| Step::Create { group });
        assert_eq!(steps, creates);
    }

    #[test]
    fn a_slice_is_used_again_before_another_is_made() {
        let one = slice("one", &group(80, [1]));
        let steps = planned(&[&one], vec![group(81, [1])]);
        assert_eq!(steps, [Step::Update { slice: &one, group: group(81, [1]) }]);
        let (one, two) = (slice("one", &group(80, [1])), slice("two", &group(81, [2])));
        let empty = Group { address_type: "IPv4", ports: Vec::new(), endpoints: Vec::new() };
        let steps = planned(&[&one, &two], Vec::new());
        assert_eq!(steps, [Step::Update { slice: &one, group: empty }, Step::Delete { slice: &two }]);
        assert_eq!(plan(&[&one], Vec::new(), &BTreeMap::new(), false), [Step::Delete { slice: &one }]);
    }
}
