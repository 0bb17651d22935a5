//! The table of faults in the documentation, made of their headers.

use std::fs;

use anyhow::{Context, Result};

use super::fault::{self, Fault};

const DOCUMENT: &str = "docs/conformance.md";
const BEGIN: &str = "<!-- faults: written by `make generate` from tests/faults -->\n";
const END: &str = "<!-- end of faults -->\n";

/// Writes the table, or with `check` fails if it is not what it should be.
pub(crate) fn generate(check: bool) -> Result<()> {
    let path = crate::root().join(DOCUMENT);
    let document = fs::read_to_string(&path).with_context(|| DOCUMENT.to_owned())?;
    let filled = fill(&document, &fault::all()?).with_context(|| DOCUMENT.to_owned())?;
    crate::file::put(&path, filled.as_bytes(), check)
}

/// The document with the table between its two marks.
fn fill(document: &str, faults: &[Fault]) -> Result<String> {
    let (before, rest) = document.split_once(BEGIN).context("the mark where the table begins is gone")?;
    let (_, after) = rest.split_once(END).context("the mark where the table ends is gone")?;
    let mut faults: Vec<_> = faults.iter().collect();
    faults.sort_by_key(|fault| (&fault.topic, &fault.name));
    let rows = faults.iter().map(|Fault { name, sentence, topic, caught_by, .. }| {
        let cases: Vec<_> = caught_by.iter().map(|case| format!("`{case}`")).collect();
        format!("| {topic} | [{sentence}](../{}/{name}.patch) | {} |\n", fault::FOLDER, cases.join(", "))
    });
    let table: String = rows.collect();
    Ok(format!("{before}{BEGIN}| topic | fault | caught by |\n|---|---|---|\n{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_table_is_current() {
        generate(true).unwrap();
    }

    #[test]
    fn table_replaces_what_is_between_the_marks() {
        let fault = Fault {
            name: "it-forgets".to_owned(),
            path: "tests/faults/it-forgets.patch".into(),
            sentence: "It forgets.".to_owned(),
            topic: "update".to_owned(),
            caught_by: vec!["a::b".to_owned()],
        };
        let document = format!("# Before\n{BEGIN}| old |\n{END}After\n");
        let filled = fill(&document, &[fault]).unwrap();
        assert!(filled.starts_with("# Before\n") && filled.ends_with("After\n"), "{filled}");
        assert!(filled.contains("| update | [It forgets.](../tests/faults/it-forgets.patch) | `a::b` |"));
        assert!(!filled.contains("old"), "{filled}");
    }
}
