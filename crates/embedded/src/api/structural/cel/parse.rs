//! Reads an expression into a tree.
//!
//! Ours, because the parser of the `cel` crate takes so much stack for each bracket that a rule of a few dozen
//! ends a thread of the usual size. Here the depth of the tree is bounded while it is made.

use super::{
    lex::{Error, Token, TokenKind, tokens},
    node::Literal,
};

/// How deep a tree may be; reading, checking, running and forgetting it each go as deep.
const MAX_DEPTH: u16 = 64;

/// Parts of one expression.
const MAX_PARTS: usize = 5_000;

/// An expression.
#[derive(Debug)]
pub struct Expr {
    /// Where it is in the text.
    pub at: usize,
    pub form: Form,
    /// How many expressions are inside each other here.
    pub depth: u16,
}

#[derive(Debug)]
pub enum Form {
    Literal(Literal),
    Name(String),
    /// `of.field`, or `of.?field`.
    Select {
        of: Box<Expr>,
        field: String,
        optional: bool,
    },
    /// `of[index]`, or `of[?index]`.
    Index {
        of: Box<Expr>,
        index: Box<Expr>,
        optional: bool,
    },
    /// A function, or an operator by its name in CEL: `_+_`.
    Call {
        name: String,
        target: Option<Box<Expr>>,
        args: Vec<Expr>,
    },
    List(Vec<Expr>),
    Map(Vec<(Expr, Expr)>),
}

/// Reads an expression.
pub fn parse(source: &str) -> Result<Expr, Error> {
    let tokens = tokens(source)?;
    let mut parser = Parser { tokens: &tokens, next: 0, depth: 0, parts: 0 };
    let expression = parser.expression()?;
    match parser.peek() {
        TokenKind::End => Ok(expression),
        _ => Err(parser.unexpected()),
    }
}

struct Parser<'t> {
    tokens: &'t [Token],
    next: usize,
    depth: u16,
    parts: usize,
}

const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

const RELATIONS: [(&str, &str); 6] =
    [("==", "_==_"), ("!=", "_!=_"), ("<=", "_<=_"), (">=", "_>=_"), ("<", "_<_"), (">", "_>_")];
const SUMS: [(&str, &str); 2] = [("+", "_+_"), ("-", "_-_")];
const PRODUCTS: [(&str, &str); 3] = [("*", "_*_"), ("/", "_/_"), ("%", "_%_")];

impl Parser<'_> {
    fn peek(&self) -> &TokenKind {
        self.tokens.get(self.next).map_or(&TokenKind::End, |token| &token.kind)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).or(self.tokens.last()).map_or(0, |token| token.at)
    }

    fn is(&self, mark: &str) -> bool {
        matches!(self.peek(), TokenKind::Mark(next) if *next == mark)
    }

    /// Goes past a mark if it is there.
    fn take(&mut self, mark: &str) -> bool {
        let found = self.is(mark);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, mark: &str) -> Result<(), Error> {
        if self.take(mark) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> Error {
        let found = match self.peek() {
            TokenKind::End => "'<EOF>'".to_owned(),
            TokenKind::Mark(mark) => format!("'{mark}'"),
            TokenKind::Name(name) => format!("'{name}'"),
            _ => "a literal".to_owned(),
        };
        (self.at(), format!("Syntax error: mismatched input {found}"))
    }

    fn make(&mut self, at: usize, form: Form, depth: u16) -> Result<Expr, Error> {
        self.parts += 1;
        if depth > MAX_DEPTH || self.parts > MAX_PARTS {
            return Err((at, "expression is too complex".to_owned()));
        }
        Ok(Expr { at, form, depth })
    }

    fn call(&mut self, at: usize, name: &str, args: Vec<Expr>) -> Result<Expr, Error> {
        let depth = deepest(&args) + 1;
        self.make(at, Form::Call { name: name.to_owned(), target: None, args }, depth)
    }

    /// The lowest level: `a ? b : c`.
    fn expression(&mut self) -> Result<Expr, Error> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err((self.at(), "expression is too complex".to_owned()));
        }
        let condition = self.alternatives("||", "_||_")?;
        let at = self.at();
        let expression = if self.take("?") {
            let yes = self.alternatives("||", "_||_")?;
            self.expect(":")?;
            let no = self.expression()?;
            self.call(at, "_?_:_", vec![condition, yes, no])?
        } else {
            condition
        };
        self.depth -= 1;
        Ok(expression)
    }

    /// `a || b || c`, and the same of `&&`: long ones become a balanced tree.
    fn alternatives(&mut self, mark: &str, name: &str) -> Result<Expr, Error> {
        let term = |parser: &mut Self| match mark {
            "||" => parser.alternatives("&&", "_&&_"),
            _ => parser.binary(0),
        };
        let mut terms = vec![term(self)?];
        let at = self.at();
        while self.take(mark) {
            terms.push(term(self)?);
        }
        while terms.len() > 1 {
            let mut pairs = terms.into_iter();
            let mut joined = Vec::new();
            while let Some(left) = pairs.next() {
                joined.push(match pairs.next() {
                    Some(right) => self.call(at, name, vec![left, right])?,
                    None => left,
                });
            }
            terms = joined;
        }
        terms.pop().ok_or_else(|| self.unexpected())
    }

    /// Operators that bind to the left, the loosest first: relations, sums, products.
    fn binary(&mut self, level: usize) -> Result<Expr, Error> {
        let operators: &[(&str, &str)] = match level {
            0 => &RELATIONS,
            1 => &SUMS,
            2 => &PRODUCTS,
            _ => return self.unary(),
        };
        let mut left = self.binary(level + 1)?;
        loop {
            let at = self.at();
            let name = if level == 0 && *self.peek() == TokenKind::Name("in".to_owned()) {
                self.next += 1;
                "@in"
            } else if let Some((_, name)) = operators.iter().find(|(mark, _)| self.is(mark)) {
                self.next += 1;
                name
            } else {
                return Ok(left);
            };
            let right = self.binary(level + 1)?;
            left = self.call(at, name, vec![left, right])?;
        }
    }

    fn unary(&mut self) -> Result<Expr, Error> {
        let at = self.at();
        let (mark, name) = match self.peek() {
            TokenKind::Mark("!") => ("!", "!_"),
            TokenKind::Mark("-") => ("-", "-_"),
            _ => return self.member(),
        };
        let mut count = 0u32;
        while self.take(mark) {
            count += 1;
        }
        // A minus right before a number is a part of it.
        if let (1, TokenKind::Int(number)) = (count, self.peek())
            && mark == "-"
            && let Some(number) = 0i64.checked_sub_unsigned(*number)
        {
            self.next += 1;
            let literal = self.make(at, Form::Literal(Literal::Int(number)), 1)?;
            return self.tail(literal);
        }
        // Two cancel each other out.
        let inner = self.member()?;
        if count.is_multiple_of(2) { Ok(inner) } else { self.call(at, name, vec![inner]) }
    }

    fn member(&mut self) -> Result<Expr, Error> {
        let primary = self.primary()?;
        self.tail(primary)
    }

    /// What follows a value: `.field`, `.call()`, `[index]`.
    fn tail(&mut self, mut of: Expr) -> Result<Expr, Error> {
        loop {
            let at = self.at();
            if self.take(".") {
                let optional = self.take("?");
                let field = self.name()?;
                if !optional && self.take("(") {
                    let args = self.list(")")?;
                    let depth = of.depth.max(deepest(&args)) + 1;
                    of =
                        self.make(at, Form::Call { name: field, target: Some(Box::new(of)), args }, depth)?;
                } else {
                    let depth = of.depth + 1;
                    of = self.make(at, Form::Select { of: Box::new(of), field, optional }, depth)?;
                }
            } else if self.take("[") {
                let optional = self.take("?");
                let index = self.expression()?;
                self.expect("]")?;
                let depth = of.depth.max(index.depth) + 1;
                let form = Form::Index { of: Box::new(of), index: Box::new(index), optional };
                of = self.make(at, form, depth)?;
            } else {
                return Ok(of);
            }
        }
    }

    fn name(&mut self) -> Result<String, Error> {
        match self.peek() {
            TokenKind::Name(name) if !["in", "true", "false", "null"].contains(&name.as_str()) => {
                let name = name.clone();
                self.next += 1;
                Ok(name)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Expressions up to a closing bracket; a comma may follow the last.
    fn list(&mut self, end: &str) -> Result<Vec<Expr>, Error> {
        let mut items = Vec::new();
        while !self.take(end) {
            items.push(self.expression()?);
            if !self.take(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(items)
    }

    fn primary(&mut self) -> Result<Expr, Error> {
        let at = self.at();
        if self.take("(") {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.take("[") {
            let items = self.list("]")?;
            let depth = deepest(&items) + 1;
            return self.make(at, Form::List(items), depth);
        }
        if self.take("{") {
            return self.map(at);
        }
        // A leading dot makes a name absolute, which here all names are.
        let absolute = self.take(".");
        let literal = match self.peek() {
            _ if absolute => None,
            TokenKind::Int(number) => {
                let too_large = || (at, "invalid int literal".to_owned());
                Some(Literal::Int(i64::try_from(*number).map_err(|_| too_large())?))
            }
            TokenKind::Uint(number) => Some(Literal::Uint(*number)),
            TokenKind::Double(number) => Some(Literal::Double(*number)),
            TokenKind::Text(text) => Some(Literal::Text(text.clone())),
            TokenKind::Bytes(bytes) => Some(Literal::Bytes(bytes.clone())),
            TokenKind::Name(name) => match name.as_str() {
                "true" => Some(Literal::Bool(true)),
                "false" => Some(Literal::Bool(false)),
                "null" => Some(Literal::Null),
                _ => None,
            },
            _ => None,
        };
        if let Some(literal) = literal {
            self.next += 1;
            return self.make(at, Form::Literal(literal), 1);
        }
        let name = self.name()?;
        if RESERVED.contains(&name.as_str()) {
            return Err((at, format!("reserved identifier: {name}")));
        }
        if self.take("(") {
            let args = self.list(")")?;
            return self.call(at, &name, args);
        }
        self.make(at, Form::Name(name), 1)
    }

    fn map(&mut self, at: usize) -> Result<Expr, Error> {
        let (mut entries, mut depth) = (Vec::new(), 0);
        while !self.take("}") {
            let key = self.expression()?;
            self.expect(":")?;
            let value = self.expression()?;
            depth = depth.max(key.depth).max(value.depth);
            entries.push((key, value));
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        self.make(at, Form::Map(entries), depth + 1)
    }
}

fn deepest(items: &[Expr]) -> u16 {
    items.iter().map(|item| item.depth).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Expr, Form, Literal, parse};

    /// An expression with a bracket around everything.
    fn shown(expression: &Expr) -> String {
        let list = |items: &[Expr]| items.iter().map(shown).collect::<Vec<_>>().join(", ");
        match &expression.form {
            Form::Literal(Literal::Int(number)) => number.to_string(),
            Form::Literal(literal) => format!("{literal:?}"),
            Form::Name(name) => name.clone(),
            Form::Select { of, field, optional } => {
                format!("{}.{}{field}", shown(of), if *optional { "?" } else { "" })
            }
            Form::Index { of, index, optional } => {
                format!("{}[{}{}]", shown(of), if *optional { "?" } else { "" }, shown(index))
            }
            Form::Call { name, target: None, args } => format!("{name}({})", list(args)),
            Form::Call { name, target: Some(target), args } => {
                format!("{}.{name}({})", shown(target), list(args))
            }
            Form::List(items) => format!("[{}]", list(items)),
            Form::Map(entries) => {
                let entries: Vec<_> =
                    entries.iter().map(|(k, v)| format!("{}: {}", shown(k), shown(v))).collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }

    #[test]
    fn operators_bind_as_in_cel() {
        let cases = [
            ("a + b * c - d", "_-_(_+_(a, _*_(b, c)), d)"),
            ("a || b && c == d", "_||_(a, _&&_(b, _==_(c, d)))"),
            ("a ? b : c ? d : e", "_?_:_(a, b, _?_:_(c, d, e))"),
            ("!a.b && -c < -1", "_&&_(!_(a.b), _<_(-_(c), -1))"),
            ("!!a", "a"),
            ("a in [1, 2,]", "@in(a, [1, 2])"),
            ("a.b(c, d).e[0].?f[?g]", "a.b(c, d).e[0].?f[?g]"),
            ("{'k': 1}.k", "{Text(\"k\"): 1}.k"),
            ("(a || b) && (c)", "_&&_(_||_(a, b), c)"),
            ("a && b && c && d", "_&&_(_&&_(a, b), _&&_(c, d))"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("size(a) > 0", "_>_(size(a), 0)"),
        ];
        for (source, wanted) in cases {
            let expression = parse(source).unwrap_or_else(|(_, error)| panic!("{source}: {error}"));
            assert_eq!(shown(&expression), wanted);
        }
    }

    #[test]
    fn malformed_and_deep_expressions_are_refused() {
        for source in
            ["", "a +", "a b", "(a", "a.", "a[0", "f(a", "{a}", "a ? b", "for", "a.in", "9223372036854775808"]
        {
            assert!(parse(source).is_err(), "{source}");
        }
        let many = [
            "(".repeat(4000) + "1" + &")".repeat(4000),
            "[".repeat(4000),
            format!("1{}", "+1".repeat(4000)),
            format!("a{}", ".b".repeat(4000)),
            format!("a{}", "[0]".repeat(2000)),
            format!("{}1", "a?1:".repeat(2000)),
            "!(".repeat(3000),
            "f(".repeat(3000),
        ];
        for source in many {
            assert!(parse(&source).is_err());
        }
        // Wide is not deep.
        assert!(parse(&format!("a{}", " && a == 1".repeat(500))).is_ok());
    }
}
