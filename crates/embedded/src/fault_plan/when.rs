//! Points of a run, and which of them a fault is meant for.

use std::fmt;

use super::call::Call;

/// A moment of a run: an actor does something, or learns of it, for the n-th time. The first time is 1.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Point {
    pub actor: String,
    pub call: Call,
    pub n: u64,
}

/// `operator: create deployments.apps ns/web #2`.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} #{}", self.actor, self.call, self.n)
    }
}

/// Which calls or events a fault is meant for. What is not said is all.
#[derive(Clone, Debug, Default)]
pub struct When {
    actor: Option<String>,
    verb: Option<String>,
    group: Option<String>,
    resource: Option<String>,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    times: Times,
}

/// How often, of those that match.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Times {
    #[default]
    Every,
    /// Only the n-th; the first is 1.
    Nth(u64),
    /// Each with this chance.
    Chance(f64),
}

impl When {
    /// Everything of everybody.
    pub fn any() -> Self {
        Self::default()
    }

    /// This very point.
    pub fn at(point: &Point) -> Self {
        let Point { actor, call, n } = point.clone();
        let Call { verb, group, resource, subresource, namespace, name } = call;
        Self {
            actor: Some(actor),
            verb: Some(verb),
            group: Some(group),
            resource: Some(resource),
            subresource: Some(subresource),
            namespace: Some(namespace),
            name: Some(name),
            times: Times::Nth(n),
        }
    }

    pub fn actor(self, actor: &str) -> Self {
        Self { actor: Some(actor.to_owned()), ..self }
    }

    /// One of [`Call::verb`].
    pub fn verb(self, verb: &str) -> Self {
        Self { verb: Some(verb.to_owned()), ..self }
    }

    pub fn group(self, group: &str) -> Self {
        Self { group: Some(group.to_owned()), ..self }
    }

    /// The plural.
    pub fn resource(self, resource: &str) -> Self {
        Self { resource: Some(resource.to_owned()), ..self }
    }

    /// Empty means the object itself.
    pub fn subresource(self, subresource: &str) -> Self {
        Self { subresource: Some(subresource.to_owned()), ..self }
    }

    pub fn namespace(self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self }
    }

    pub fn name(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// Only the n-th that matches the rest, counted from when the fault was injected; the first is 1.
    pub fn nth(self, n: u64) -> Self {
        Self { times: Times::Nth(n), ..self }
    }

    /// Each that matches the rest, with this chance between 0 and 1.
    pub fn chance(self, share: f64) -> Self {
        Self { times: Times::Chance(share), ..self }
    }

    pub(super) fn times(&self) -> Times {
        self.times
    }

    pub(super) fn matches(&self, actor: &str, call: &Call) -> bool {
        let same =
            |wanted: &Option<String>, actual: &str| wanted.as_deref().is_none_or(|wanted| wanted == actual);
        same(&self.actor, actor)
            && same(&self.verb, &call.verb)
            && same(&self.group, &call.group)
            && same(&self.resource, &call.resource)
            && same(&self.subresource, &call.subresource)
            && same(&self.namespace, &call.namespace)
            && same(&self.name, &call.name)
    }
}
