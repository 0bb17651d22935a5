//! A selector as text, for the law that what is parsed can be written and parsed again.

use super::{LabelSelector, Operator, Requirement};

impl LabelSelector {
    pub(crate) fn shown(&self) -> String {
        self.requirements.iter().map(Requirement::shown).collect::<Vec<_>>().join(",")
    }
}

impl Requirement {
    fn shown(&self) -> String {
        let (key, values) = (&self.key, self.values.join(","));
        match self.operator {
            Operator::In => format!("{key} in ({values})"),
            Operator::NotIn => format!("{key} notin ({values})"),
            Operator::Exists => key.clone(),
            Operator::Missing => format!("!{key}"),
            Operator::Greater => format!("{key}>{values}"),
            Operator::Less => format!("{key}<{values}"),
        }
    }
}
