//! A set of fields: a tree of path steps, some of which are members.
//!
//! A step that is not a member is there only for what lies below it; a step with nothing below it is a
//! member. All operations walk two sorted trees at once, so they cost what the trees have in common plus
//! what is copied.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::element::Element;

/// Bytes of all paths that are shown of one set.
const MAX_SHOWN: usize = 1 << 20;

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

    /// Takes out the members of the other; tells whether nothing is left.
    fn remove_all(&mut self, other: &Self) -> bool {
        self.member &= !other.member;
        self.below.remove_all(&other.below);
        self.is_empty()
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

    /// Puts a branch in; one that is empty is left out. For branches in order: others are collected.
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

    /// Takes out the members of the other, in place: costs what the smaller one has, and what is left if
    /// anything goes.
    pub fn remove_all(&mut self, other: &Self) {
        let mut emptied = false;
        if other.0.len() <= self.0.len() {
            for (element, gone) in other.iter() {
                if let Ok(at) = self.find(element.as_str()) {
                    emptied |= self.0[at].1.remove_all(gone);
                }
            }
        } else {
            for (element, branch) in &mut self.0 {
                if let Some(gone) = other.get(element) {
                    emptied |= branch.remove_all(gone);
                }
            }
        }
        if emptied {
            self.0.retain(|(_, branch)| !branch.is_empty());
        }
    }

    /// What is in any of these sets.
    pub fn union_of<'a>(sets: impl Iterator<Item = &'a Self>) -> Self {
        sets.flat_map(|set| set.0.iter().cloned()).collect()
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

    /// What is in both: costs what the smaller one has.
    pub fn intersection(&self, other: &Self) -> Self {
        let (few, many) = if self.0.len() <= other.0.len() { (self, other) } else { (other, self) };
        let shared = few.iter().filter_map(|(element, mine)| {
            let theirs = many.get(element)?;
            let below = mine.below.intersection(&theirs.below);
            Some((element.clone(), Branch { member: mine.member && theirs.member, below }))
        });
        shared.collect()
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

    /// The members as messages show them, a field before what lies below it. As many as fit in a message: each is told
    /// from the root, so that below a long name a few fields could fill the memory.
    pub fn shown(&self) -> Vec<String> {
        let (mut shown, mut left) = (Vec::new(), MAX_SHOWN);
        self.show("", &mut shown, &mut left);
        shown
    }

    fn show(&self, above: &str, shown: &mut Vec<String>, left: &mut usize) {
        for (element, _) in self.iter().filter(|(_, branch)| branch.member) {
            let path = format!("{above}{}", element.shown());
            match left.checked_sub(path.len()) {
                Some(rest) => *left = rest,
                None => return *left = 0,
            }
            shown.push(path);
        }
        for (element, branch) in self.iter().filter(|(_, branch)| !branch.below.is_empty()) {
            if *left == 0 {
                return;
            }
            branch.below.show(&format!("{above}{}", element.shown()), shown, left);
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
        let (mut member, mut branches) = (false, Vec::new());
        for (text, below) in fields {
            if text == "." {
                member = true;
                continue;
            }
            let Some(element) = Element::parse(text)? else { continue };
            let below = match below {
                Value::Object(below) => Self::read(below)?,
                Value::Null => Branch::leaf(),
                _ => return Err(format!("expected an object below {text}")),
            };
            branches.push((element, below));
        }
        let below: Self = branches.into_iter().collect();
        Ok(Branch { member: member || below.is_empty(), below })
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
        // All at once: one by one, many that come out of order would each move all others.
        let mut branches: Vec<_> = branches.into_iter().filter(|(_, branch)| !branch.is_empty()).collect();
        branches.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut set = Vec::with_capacity(branches.len());
        let mut branches = branches.into_iter().peekable();
        while let Some((element, mut branch)) = branches.next() {
            let mut more = Vec::new();
            while let Some((_, same)) = branches.next_if(|(next, _)| *next == element) {
                branch.member |= same.member;
                more.extend(same.below.0);
            }
            if !more.is_empty() {
                more.append(&mut branch.below.0);
                branch.below = more.into_iter().collect();
            }
            set.push((element, branch));
        }
        Self(set)
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

    /// Each would take minutes if it cost the square of what there is.
    #[test]
    fn large_sets_out_of_order_are_read_at_once() {
        let count = 100_000;
        let reversed =
            (0..count).map(|n| (format!(r#"k:{{"b":"{n:06}","a":"{:06}"}}"#, count - n), json!({})));
        let all = set(Value::Object(reversed.collect()));
        assert_eq!(all.len(), count);
        // One step, written in as many ways as there are blanks.
        let blanks =
            |n: usize| (0..18).map(|bit| if n >> bit & 1 == 0 { ' ' } else { '\t' }).collect::<String>();
        let same = (0..count).map(|n| (format!("v:{}1", blanks(n)), json!({ format!("f:{n}"): {} })));
        let same = set(json!({ "f:list": Value::Object(same.collect()) }));
        assert_eq!((same.len(), same.field("list").unwrap().below.iter().count()), (count, 1));
        let mut rest = all.clone();
        rest.remove_all(&all);
        assert!(rest.is_empty() && all.intersection(&all) == all);
        assert_eq!(FieldSet::union_of([&all, &same, &all].into_iter()), all.union(&same));
    }

    #[test]
    fn long_paths_are_shown_as_far_as_they_fit() {
        let below = (0..1000).map(|n| (format!("f:{n}"), json!({}))).collect();
        let set = set(json!({ format!("f:{}", "x".repeat(100_000)): Value::Object(below) }));
        assert_eq!((set.len(), set.shown().len()), (1000, 10));
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
