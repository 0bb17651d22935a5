//! Which controllers run.

use std::{collections::BTreeSet, fmt, str::FromStr};

/// A built-in controller.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Controller {
    /// Puts into every namespace what belongs there.
    NamespaceDefaults,
    /// Writes into cluster roles the rules that they gather.
    ClusterRoles,
    /// Lists the pods of Services as Endpoints.
    Endpoints,
    /// Lists the pods of Services as EndpointSlices.
    EndpointSlices,
    /// Rolls the pods of Deployments from one template to the next.
    Deployment,
    /// Keeps as many pods as a ReplicaSet asks for.
    ReplicaSet,
    /// Runs the pods of Jobs to their end.
    Job,
    /// Deletes finished Jobs that are to go by themselves.
    TtlAfterFinished,
    /// Counts how many pods may be evicted.
    Disruption,
    /// Removes pods that nothing else ever would.
    PodGc,
    /// Empties namespaces that are ending, and lets them go.
    Namespace,
    /// Deletes dependents with their owners.
    GarbageCollector,
}

impl Controller {
    /// All there are.
    pub const ALL: &[Self] = &[
        Self::NamespaceDefaults,
        Self::ClusterRoles,
        Self::Endpoints,
        Self::EndpointSlices,
        Self::Deployment,
        Self::ReplicaSet,
        Self::Job,
        Self::TtlAfterFinished,
        Self::Disruption,
        Self::PodGc,
        Self::Namespace,
        Self::GarbageCollector,
    ];

    /// The name that people choose it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::NamespaceDefaults => "namespace-defaults",
            Self::ClusterRoles => "clusterrole-aggregation",
            Self::Endpoints => "endpoints",
            Self::EndpointSlices => "endpointslice",
            Self::Deployment => "deployment",
            Self::ReplicaSet => "replicaset",
            Self::Job => "job",
            Self::TtlAfterFinished => "ttl-after-finished",
            Self::Disruption => "disruption",
            Self::PodGc => "pod-gc",
            Self::Namespace => "namespace",
            Self::GarbageCollector => "garbage-collector",
        }
    }
}

/// A set of controllers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Selection(BTreeSet<Controller>);

impl Default for Selection {
    fn default() -> Self {
        Self(Controller::ALL.iter().copied().collect())
    }
}

impl Selection {
    pub fn none() -> Self {
        Self(BTreeSet::new())
    }

    pub fn contains(&self, controller: Controller) -> bool {
        self.0.contains(&controller)
    }

    pub fn iter(&self) -> impl Iterator<Item = Controller> + '_ {
        self.0.iter().copied()
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Controller::name).collect();
        formatter.write_str(if names.is_empty() { "none".to_owned() } else { names.join(",") }.as_str())
    }
}

#[derive(Debug, Eq, PartialEq, thiserror::Error)]
#[error("there is no controller {0:?}: \"all\", \"none\", or some of {known}; \"-NAME\" leaves one out", known = Selection::default())]
pub struct UnknownController(String);

/// `all`, `none`, `deployment,job` or `all,-job`; a list that begins by leaving out begins with all.
impl FromStr for Selection {
    type Err = UnknownController;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<_> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            return Err(UnknownController(text.to_owned()));
        }
        let leaves_out = words.first().is_some_and(|word| word.starts_with('-'));
        let mut selection = if leaves_out { Self::default() } else { Self::none() };
        for word in words {
            let named = |name: &str| {
                let known = Controller::ALL.iter().copied().find(|controller| controller.name() == name);
                known.ok_or_else(|| UnknownController(name.to_owned()))
            };
            match word {
                "all" => selection = Self::default(),
                "none" => selection = Self::none(),
                word => match word.strip_prefix('-') {
                    Some(name) => drop(selection.0.remove(&named(name)?)),
                    None => drop(selection.0.insert(named(word)?)),
                },
            }
        }
        Ok(selection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_add_and_leave_out() {
        let parse = |text: &str| text.parse::<Selection>();
        assert_eq!(parse("all"), Ok(Selection::default()));
        assert_eq!(parse("none"), Ok(Selection::none()));
        let one = Controller::NamespaceDefaults;
        assert_eq!(parse(one.name()), Ok(Selection(BTreeSet::from([one]))));
        let but_one = parse(&format!("-{}", one.name())).expect("a selection");
        assert!(!but_one.contains(one) && but_one.0.len() == Controller::ALL.len() - 1);
        assert_eq!(parse(&format!("all, -{}", one.name())), Ok(but_one));
        assert!(parse("").is_err() && parse(",").is_err(), "who means none says so");
        let error = parse("deploy").expect_err("there is none").to_string();
        assert!(error.contains("\"deploy\"") && error.contains(one.name()), "{error}");
    }
}
