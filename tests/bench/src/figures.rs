//! What is measured, and what it may cost.
//!
//! The budgets are those of the design's section 6. A ratio is ours divided by upstream's in the same run.

use std::fmt::Write;

use serde_json::json;

/// Whose figure it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Who {
    /// kube-apiserver and etcd, synced to disk.
    Kube,
    /// `anneal up --ephemeral`.
    Memory,
    /// `anneal up --data-dir`.
    Durable,
}

impl Who {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kube => "kube-apiserver + etcd",
            Self::Memory => "anneal in memory",
            Self::Durable => "anneal on disk",
        }
    }
}

/// A kind of request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Operation {
    /// POST.
    Create,
    /// PUT with the version that was read.
    Update,
    /// Server-side apply.
    Apply,
    /// GET of one object.
    Get,
}

impl Operation {
    pub(crate) const ALL: [Self; 4] = [Self::Create, Self::Update, Self::Apply, Self::Get];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Apply => "apply",
            Self::Get => "get",
        }
    }

    /// Requests per second with this many clients.
    pub(crate) fn rate(self, clients: usize) -> Row {
        // The disk's sync is the limit: one client must not wait longer for ours.
        let durable = if clients == 1 { Budget::RatioAtLeast(1.0) } else { Budget::None };
        Row { name: Name::Of(self, clients), unit: "/s", memory: Budget::None, durable }
    }

    /// The server's CPU per request with this many clients.
    pub(crate) fn cpu(self, clients: usize) -> Row {
        let (memory, durable) = match clients {
            1 => (Budget::None, Budget::None),
            _ => (Budget::RatioAtMost(0.1), Budget::RatioAtMost(0.2)),
        };
        Row { name: Name::Of(self, clients), unit: "us CPU", memory, durable }
    }
}

/// What a figure may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Budget {
    None,
    AtMost(f64),
    RatioAtMost(f64),
    RatioAtLeast(f64),
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) name: Name,
    pub(crate) unit: &'static str,
    pub(crate) memory: Budget,
    pub(crate) durable: Budget,
}

/// What a row is called.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Name {
    Fixed(&'static str),
    Of(Operation, usize),
}

impl Row {
    const fn new(name: &'static str, unit: &'static str, budget: Budget) -> Self {
        Self { name: Name::Fixed(name), unit, memory: budget, durable: budget }
    }

    pub(crate) fn title(&self) -> String {
        match self.name {
            Name::Fixed(name) => name.to_owned(),
            Name::Of(operation, 1) => format!("{}, 1 client", operation.name()),
            Name::Of(operation, clients) => format!("{}, {clients} clients", operation.name()),
        }
    }
}

pub(crate) const START: Row = Row::new("start", "ms", Budget::AtMost(150.0));
pub(crate) const START_FULL: Row = Row {
    // What lies in memory is gone after a stop.
    memory: Budget::None,
    ..Row::new("start with 10,000 objects", "ms", Budget::AtMost(1000.0))
};
pub(crate) const START_RSS: Row = Row::new("memory after start", "MB", Budget::AtMost(40.0));
pub(crate) const WRITTEN_RSS: Row = Row::new("memory after the writes", "MB", Budget::AtMost(60.0));
pub(crate) const WRITTEN_ANONYMOUS: Row = Row::new("of that anonymous", "MB", Budget::None);
pub(crate) const LIST_TIME: Row = Row::new("list of 10,000", "ms", Budget::None);
pub(crate) const LIST_CPU: Row = Row::new("list of 10,000", "ms CPU", Budget::None);
pub(crate) const LIST_BYTES: Row = Row::new("list of 10,000", "MB", Budget::None);
pub(crate) const FAN_OUT_RATE: Row = Row::new("events to 100 watchers", "/s", Budget::None);
pub(crate) const FAN_OUT_CPU: Row = Row::new("events to 100 watchers", "us CPU", Budget::None);
pub(crate) const DELAY_MIDDLE: Row = Row::new("write to watcher, p50", "ms", Budget::None);
pub(crate) const DELAY_WORST: Row = Row::new("write to watcher, p99", "ms", Budget::None);

/// All that was measured.
#[derive(Default)]
pub(crate) struct Figures {
    all: Vec<(Who, Row, f64)>,
}

impl Figures {
    pub(crate) fn add(&mut self, who: Who, row: Row, value: f64) {
        self.all.push((who, row, value));
    }

    pub(crate) fn of(&self, who: Who, row: &Row) -> Option<f64> {
        self.all.iter().find(|(of, what, _)| *of == who && what == row).map(|(_, _, value)| *value)
    }

    /// The rows in the order in which they were first measured.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for (_, row, _) in &self.all {
            if !rows.contains(row) {
                rows.push(*row);
            }
        }
        rows
    }

    /// One line of JSON for each figure.
    pub(crate) fn json_lines(&self) -> String {
        let mut lines = String::new();
        for (who, row, value) in &self.all {
            let figure =
                json!({ "server": who.name(), "what": row.title(), "unit": row.unit, "value": value });
            // Writing to a String cannot fail.
            let _ = writeln!(lines, "{figure}");
        }
        lines
    }
}
