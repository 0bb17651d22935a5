//! A set of fields: a tree of path steps, some of which are members.
//!
//! A step that is not a member is there only for what lies below it; a step with nothing below it is a
//! member. All operations walk two sorted trees at once, so they cost what the trees have in common plus
//! what is copied.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::element::Element;

/// A set of fields of one object, or of what lies below a field.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FieldSet(Vec<(Element, Branch)>);

/// A step's place in a set.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Branch {
    /// Whether the field itself is in the set.
    pub member: bool,
    /// What is in the set below it.
    pub below: FieldSet,
}

impl Branch {
    /// A field with nothing below it.
    pub fn leaf() -> Self {
        Self { member: true, below: FieldSet::default() }
    }

    pub fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    /// The set of these fields.
    pub fn of_paths(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let mut at = &mut set;
            for (depth, name) in path.iter().enumerate() {
                let branch = at.branch(Element::field(name));
                branch.member |= depth + 1 == path.len();
                at = &mut branch.below;
            }
        }
        set
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many fields are members.
    pub fn len(&self) -> usize {
        self.0.iter().map(|(_, branch)| usize::from(branch.member) + branch.below.len()).sum()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Element, &Branch)> {
        self.0.iter().map(|(element, branch)| (element, branch))
    }

    pub fn get(&self, element: &Element) -> Option<&Branch> {
        self.find(element.as_str()).ok().map(|at| &self.0[at].1)
    }

    /// What the set says of a field.
    pub fn field(&self, name: &str) -> Option<&Branch> {
        // Fields come in the order of their names, since their texts have the same beginning.
        let at = self.0.binary_search_by(|(element, _)| match element.field_name() {
            Some(field) => field.cmp(name),
            None => Ordering::Greater,
        });
        at.ok().map(|at| &self.0[at].1)
    }

    /// Whether a field is a member, by the names of the fields above it.
    pub fn has(&self, path: &[&str]) -> bool {
        match path {
            [] => false,
            [name] => self.field(name).is_some_and(|branch| branch.member),
            [name, rest @ ..] => self.field(name).is_some_and(|branch| branch.below.has(rest)),
        }
    }

    /// Puts a branch in; one that is empty is left out.
    pub fn insert(&mut self, element: Element, branch: Branch) {
        if branch.is_empty() {
            return;
        }
        match self.find(element.as_str()) {
            Ok(at) => {
                let there = &mut self.0[at].1;
                there.member |= branch.member;
                there.below = there.below.union(&branch.below);
            }
            Err(at) => self.0.insert(at, (element, branch)),
        }
    }

    fn branch(&mut self, element: Element) -> &mut Branch {
        let at = match self.find(element.as_str()) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, (element, Branch::default()));
                at
            }
        };
        &mut self.0[at].1
    }

    /// Sets are mostly built in order: the end is tried first.
    fn find(&self, element: &str) -> Result<usize, usize> {
        match self.0.last() {
            Some((last, _)) if last.as_str() < element => Err(self.0.len()),
            None => Err(0),
            _ => self.0.binary_search_by(|(there, _)| there.as_str().cmp(element)),
        }
    }

    /// Takes out the members of the other, in place: costs what the other has.
    pub fn remove_all(&mut self, other: &Self) {
        for (element, gone) in other.iter() {
            let Ok(at) = self.find(element.as_str()) else { continue };
            let branch = &mut self.0[at].1;
            branch.member &= !gone.member;
            branch.below.remove_all(&gone.below);
            if branch.is_empty() {
                self.0.remove(at);
            }
        }
    }

    pub fn union(&self, other: &Self) -> Self {
        self.zip(other, |mine, theirs| match (mine, theirs) {
            (Some(mine), Some(theirs)) => {
                Branch { member: mine.member || theirs.member, below: mine.below.union(&theirs.below) }
            }
            (Some(one), None) | (None, Some(one)) => one.clone(),
            (None, None) => Branch::default(),
        })
    }

    pub fn intersection(&self, other: &Self) -> Self {
        self.zip(other, |mine, theirs| match (mine, theirs) {
            (Some(mine), Some(theirs)) => {
                Branch { member: mine.member && theirs.member, below: mine.below.intersection(&theirs.below) }
            }
            _ => Branch::default(),
        })
    }

    /// What is not a member of the other. A field below a member of the other stays.
    pub fn difference(&self, other: &Self) -> Self {
        self.zip(other, |mine, theirs| match (mine, theirs) {
            (Some(mine), Some(theirs)) => {
                Branch { member: mine.member && !theirs.member, below: mine.below.difference(&theirs.below) }
            }
            (Some(mine), None) => mine.clone(),
            _ => Branch::default(),
        })
    }

    /// What is neither a member of the other nor below one.
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.zip(other, |mine, theirs| match (mine, theirs) {
            (Some(_), Some(theirs)) if theirs.member => Branch::default(),
            (Some(mine), Some(theirs)) => {
                Branch { member: mine.member, below: mine.below.recursive_difference(&theirs.below) }
            }
            (Some(mine), None) => mine.clone(),
            _ => Branch::default(),
        })
    }

    /// The members with nothing below them.
    pub fn leaves(&self) -> Self {
        let branches = self.0.iter().map(|(element, branch)| {
            let leaf = branch.member && branch.below.is_empty();
            (element.clone(), Branch { member: leaf, below: branch.below.leaves() })
        });
        Self(branches.filter(|(_, branch)| !branch.is_empty()).collect())
    }

    /// Whether no member is shared.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.intersection(other).is_empty()
    }

    /// The members as messages show them, a field before what lies below it.
    pub fn shown(&self) -> Vec<String> {
        let mut shown = Vec::new();
        self.show("", &mut shown);
        shown
    }

    fn show(&self, above: &str, shown: &mut Vec<String>) {
        for (element, branch) in self.iter().filter(|(_, branch)| branch.member) {
            shown.push(format!("{above}{}", element.shown()));
            debug_assert!(!branch.is_empty());
        }
        for (element, branch) in self.iter().filter(|(_, branch)| !branch.below.is_empty()) {
            branch.below.show(&format!("{above}{}", element.shown()), shown);
        }
    }

    /// The set as an object holds it.
    pub fn to_fields_v1(&self) -> Value {
        Value::Object(self.fields(false))
    }

    fn fields(&self, own: bool) -> Map<String, Value> {
        let mut fields = Map::new();
        if own && !self.is_empty() {
            fields.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for (element, branch) in self.iter() {
            let below = Value::Object(branch.below.fields(branch.member));
            fields.insert(element.as_str().to_owned(), below);
        }
        fields
    }

    /// Reads a set. Steps of kinds that are not known are skipped. Its depth is that of the JSON, which the
    /// reader of the body has bounded.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_fields_v1(fields: &Value) -> Result<Self, String> {
        match fields {
            Value::Null => Ok(Self::default()),
            Value::Object(fields) => Ok(Self::read(fields)?.below),
            _ => Err("fieldsV1 must be an object".to_owned()),
        }
    }

    fn read(fields: &Map<String, Value>) -> Result<Branch, String> {
        let mut branch = Branch::default();
        for (text, below) in fields {
            if text == "." {
                branch.member = true;
                continue;
            }
            let Some(element) = Element::parse(text)? else { continue };
            let below = match below {
                Value::Object(below) => Self::read(below)?,
                Value::Null => Branch::leaf(),
                _ => return Err(format!("expected an object below {text}")),
            };
            branch.below.insert(element, below);
        }
        branch.member |= branch.below.is_empty();
        Ok(branch)
    }

    /// Joins two sorted trees step by step.
    fn zip(&self, other: &Self, join: impl Fn(Option<&Branch>, Option<&Branch>) -> Branch) -> Self {
        let (mut mine, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        let mut joined = Vec::new();
        loop {
            let order = match (mine.peek(), theirs.peek()) {
                (Some((left, _)), Some((right, _))) => left.cmp(right),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Self(joined),
            };
            let left = if order.is_le() { mine.next() } else { None };
            let right = if order.is_ge() { theirs.next() } else { None };
            let branch = join(left.map(|(_, branch)| branch), right.map(|(_, branch)| branch));
            if let Some((element, _)) = left.or(right)
                && !branch.is_empty()
            {
                joined.push((element.clone(), branch));
            }
        }
    }
}

impl FromIterator<(Element, Branch)> for FieldSet {
    fn from_iter<T: IntoIterator<Item = (Element, Branch)>>(branches: T) -> Self {
        let mut set = Self::default();
        for (element, branch) in branches {
            set.insert(element, branch);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::FieldSet;

    fn set(fields: Value) -> FieldSet {
        FieldSet::of_fields_v1(&fields).unwrap()
    }

    #[test]
    fn dot_marks_a_member_with_fields_below() {
        let fields = json!({ "f:data": { ".": {}, "f:key": {} }, "f:spec": { "f:replicas": {} } });
        let set = set(fields.clone());
        assert_eq!(set.shown(), [".data", ".data.key", ".spec.replicas"]);
        assert_eq!(set.to_fields_v1(), fields);
        assert_eq!(set.len(), 3);
        assert!(set.has(&["data"]) && set.has(&["data", "key"]) && !set.has(&["spec"]));
        assert_eq!(set.leaves().shown(), [".data.key", ".spec.replicas"]);
    }

    #[test]
    fn difference_keeps_what_is_below_and_the_recursive_one_does_not() {
        let all = set(
            json!({ "f:spec": { ".": {}, "f:x": {}, "f:y": { "f:z": {} } }, "f:status": { "f:phase": {} } }),
        );
        let spec = set(json!({ "f:spec": {} }));
        assert_eq!(all.difference(&spec).shown(), [".spec.x", ".spec.y.z", ".status.phase"]);
        assert_eq!(all.recursive_difference(&spec).shown(), [".status.phase"]);
        assert_eq!(all.intersection(&spec).shown(), [".spec"]);
        assert_eq!(all.difference(&spec).union(&spec), all);
    }

    #[test]
    fn hostile_sets_are_refused_and_unknown_steps_are_skipped() {
        for fields in [json!([]), json!({ "data": {} }), json!({ "f:data": 1 }), json!({ "k:[1]": {} })] {
            assert!(FieldSet::of_fields_v1(&fields).is_err(), "{fields}");
        }
        assert!(set(json!({ "x:later": { "nonsense": 1 } })).is_empty());
        assert!(set(json!({})).is_empty());
    }
}
