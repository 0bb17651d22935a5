//! A selector as text, for the law that what is parsed can be written and parsed again.

use super::{FieldSelector, Term};

impl FieldSelector {
    pub(crate) fn shown(&self) -> String {
        self.0.iter().map(Term::shown).collect::<Vec<_>>().join(",")
    }
}

impl Term {
    fn shown(&self) -> String {
        let value = self.value.replace('\\', "\\\\").replace(',', "\\,").replace('=', "\\=");
        format!("{}{}{value}", self.field, if self.equal { "=" } else { "!=" })
    }
}
