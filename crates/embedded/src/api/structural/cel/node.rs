//! A rule that has been checked, in the form it is run in: names are places, calls know their functions.

use std::fmt;

use super::functions::Overload;
use crate::schema::pattern::Pattern;

/// A part of a rule.
#[derive(Debug)]
pub enum Node {
    Literal(Literal),
    /// By its place among those in scope; 0 is `self`, 1 is `oldSelf`.
    Variable(usize),
    Select(Box<Node>, String),
    /// `of.?field`.
    OptionalSelect(Box<Node>, String),
    /// `has(of.field)`.
    Has(Box<Node>, String),
    Index(Box<Node>, Box<Node>),
    /// `of[?index]`.
    OptionalIndex(Box<Node>, Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Choose(Box<[Node; 3]>),
    Equal(Box<Node>, Box<Node>),
    In(Box<Node>, Box<Node>),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    Call(Call),
    Loop(Box<Loop>),
    /// `of.optMap(name, body)`; flat if the body is optional itself.
    OptionalMap {
        of: Box<Node>,
        body: Box<Node>,
        flat: bool,
    },
}

#[derive(Debug)]
pub enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Type(&'static str),
}

/// A call of one of several functions of a name; which one is known once the arguments are.
pub struct Call {
    pub overloads: Vec<&'static Overload>,
    pub args: Vec<Node>,
    /// A pattern that stands in the rule.
    pub pattern: Option<Pattern>,
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.overloads.first().map_or("", |overload| overload.name);
        f.debug_struct("Call").field("name", &name).field("args", &self.args).finish()
    }
}

/// A walk over the items of a list or the entries of a map.
#[derive(Debug)]
pub struct Loop {
    pub kind: LoopKind,
    pub range: Node,
    /// Whether there are two variables: index or key, and value.
    pub pairs: bool,
    /// Which ones to take, of those that make something.
    pub filter: Option<Node>,
    pub body: Node,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LoopKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    /// `map` and `transformList`.
    List,
    /// `transformMap`.
    Map,
}
