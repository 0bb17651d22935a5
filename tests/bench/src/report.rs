//! The table: a row per figure, a column per server, ours with ratio, budget and whether it is kept.

use std::fmt::Write;

use crate::figures::{Budget, Figures, Row, Who};

/// The table as text.
pub(crate) fn table(figures: &Figures) -> String {
    let mut lines = vec![header()];
    let rows = figures.rows();
    lines.extend(rows.iter().map(|row| line(figures, row)));
    let mut text = aligned(&lines);
    let judged: Vec<bool> = rows
        .iter()
        .flat_map(|row| [Who::Memory, Who::Durable].map(|who| judge(figures, who, row)))
        .flatten()
        .collect();
    if !judged.is_empty() {
        let met = judged.iter().filter(|met| **met).count();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "budgets: {met} of {} met", judged.len());
    }
    text
}

fn header() -> Vec<String> {
    let mut cells = vec!["what".to_owned(), "unit".to_owned(), Who::Kube.name().to_owned()];
    for who in [Who::Memory, Who::Durable] {
        cells.extend([who.name(), "ratio", "budget", ""].map(str::to_owned));
    }
    cells
}

fn line(figures: &Figures, row: &Row) -> Vec<String> {
    let shown = |value: Option<f64>| value.map_or("-".to_owned(), number);
    let mut cells = vec![row.title(), row.unit.to_owned(), shown(figures.of(Who::Kube, row))];
    for who in [Who::Memory, Who::Durable] {
        let budget = match budget(who, row) {
            Budget::None => String::new(),
            Budget::AtMost(most) => format!("<= {}", number(most)),
            Budget::RatioAtMost(most) => format!("<= {most}x"),
            Budget::RatioAtLeast(least) => format!(">= {least}x"),
        };
        let verdict = match judge(figures, who, row) {
            None => "",
            Some(true) => "met",
            Some(false) => "NOT MET",
        };
        let ratio = ratio(figures, who, row).map_or("-".to_owned(), |ratio| format!("{ratio:.3}x"));
        cells.extend([shown(figures.of(who, row)), ratio, budget, verdict.to_owned()]);
    }
    cells
}

fn budget(who: Who, row: &Row) -> Budget {
    match who {
        Who::Kube => Budget::None,
        Who::Memory => row.memory,
        Who::Durable => row.durable,
    }
}

/// Ours over upstream's.
fn ratio(figures: &Figures, who: Who, row: &Row) -> Option<f64> {
    Some(figures.of(who, row)? / figures.of(Who::Kube, row)?)
}

/// Whether a budget is kept, if there is one and what it needs was measured.
fn judge(figures: &Figures, who: Who, row: &Row) -> Option<bool> {
    match budget(who, row) {
        Budget::None => None,
        Budget::AtMost(most) => Some(figures.of(who, row)? <= most),
        Budget::RatioAtMost(most) => Some(ratio(figures, who, row)? <= most),
        Budget::RatioAtLeast(least) => Some(ratio(figures, who, row)? >= least),
    }
}

/// Three digits that matter.
fn number(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let cells: Vec<String> =
            line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{judge, table};
    use crate::figures::{Figures, Operation, START, Who};

    #[test]
    fn ratios_are_judged_against_the_peer_of_the_same_run() {
        let mut figures = Figures::default();
        let row = Operation::Create.cpu(32);
        figures.add(Who::Memory, row, 90.0);
        figures.add(Who::Durable, row, 250.0);
        assert_eq!(judge(&figures, Who::Memory, &row), None, "without a peer there is no ratio");
        figures.add(Who::Kube, row, 1000.0);
        assert_eq!(judge(&figures, Who::Memory, &row), Some(true));
        assert_eq!(judge(&figures, Who::Durable, &row), Some(false));
        figures.add(Who::Memory, START, 151.0);
        let text = table(&figures);
        assert!(
            text.contains("0.090x") && text.contains("NOT MET") && text.ends_with("budgets: 1 of 3 met\n"),
            "{text}"
        );
    }
}
