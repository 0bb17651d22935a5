//! The state of the application: a blockchain node that comes up in phases and then adds a block each slot.
//!
//! Time moves only by [`Node::advance`], so that the state at a moment is the same however often somebody looked.

use std::{collections::VecDeque, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What the control endpoint may set, at most: a state is small.
pub const MOST_PHASES: usize = 100;
/// Blocks that are remembered, as many as a daemon keeps.
const CHAIN: usize = 290;

/// A time in which the state is what it was set to.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Phase {
    /// How long it takes; none: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
    /// Merged into the state when it begins: an object.
    #[serde(default = "nothing")]
    pub set: Value,
    /// A block is added each so many seconds; none: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_seconds: Option<u32>,
}

fn nothing() -> Value {
    json!({})
}

/// How a node begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Start {
    /// In sync.
    Synced,
    /// Alone: it connects, listens, bootstraps and catches up first, in half a minute.
    Cold,
}

/// A node.
#[derive(Debug)]
pub struct Node {
    began: Timestamp,
    root: Value,
    phase: Phase,
    phase_began: Timestamp,
    last_block: Timestamp,
    next: VecDeque<Phase>,
}

fn phase(seconds: Option<u32>, status: &str, block_seconds: Option<u32>) -> Phase {
    let peers = if status == "CONNECTING" { Vec::new() } else { peers() };
    let set = json!({ "daemonStatus": { "syncStatus": status, "peers": peers } });
    Phase { seconds, set, block_seconds }
}

fn peers() -> Vec<Value> {
    let peer = |number: u8| json!({ "host": format!("192.0.2.{number}"), "libp2pPort": 8302, "peerId": format!("12D3KooWdemo{number}") });
    (1..=3).map(peer).collect()
}

impl Node {
    /// A node that begins now with this state; `slot` is how often a block is added.
    pub fn new(first: Value, start: Start, slot: u32, now: Timestamp) -> Self {
        let cold = [
            phase(Some(5), "CONNECTING", None),
            phase(Some(5), "LISTENING", None),
            phase(Some(10), "BOOTSTRAP", None),
            phase(Some(10), "CATCHUP", Some(1)),
        ];
        let mut phases: VecDeque<_> = if start == Start::Cold { cold.into() } else { VecDeque::new() };
        phases.push_back(phase(None, "SYNCED", Some(slot.max(1))));
        let mut node = Self {
            began: now,
            root: first,
            phase: phase(None, "OFFLINE", None),
            phase_began: now,
            last_block: now,
            next: VecDeque::new(),
        };
        for _ in 0..3 {
            node.add_block();
        }
        node.set_phases(phases, now);
        node
    }

    /// Goes through these phases from now on.
    pub fn set_phases(&mut self, phases: impl Into<VecDeque<Phase>>, now: Timestamp) {
        self.next = phases.into();
        if let Some(first) = self.next.pop_front() {
            self.begin(first, now);
        }
    }

    fn begin(&mut self, phase: Phase, now: Timestamp) {
        json_patch::merge(&mut self.root, &phase.set);
        (self.phase, self.phase_began, self.last_block) = (phase, now, now);
    }

    /// Lets the time pass until `now`.
    pub fn advance(&mut self, now: Timestamp) {
        loop {
            let end = self.phase.seconds.map(|seconds| after(self.phase_began, seconds));
            let end = end.filter(|end| *end <= now && !self.next.is_empty());
            self.add_blocks(end.unwrap_or(now));
            match (end, end.and_then(|_| self.next.pop_front())) {
                (Some(end), Some(next)) => self.begin(next, end),
                _ => return,
            }
        }
    }

    fn add_blocks(&mut self, until: Timestamp) {
        let Some(every) = self.phase.block_seconds.filter(|every| *every > 0) else { return };
        // Who was asleep for a year has as many blocks as are remembered, not a year of work.
        let most = CHAIN + 1;
        let mut added = 0;
        while added < most && after(self.last_block, every) <= until {
            self.last_block = after(self.last_block, every);
            self.add_block();
            added += 1;
        }
        if added == most {
            self.last_block = until;
        }
    }

    fn add_block(&mut self) {
        let status = &mut self.root["daemonStatus"];
        let height = status["highestBlockLengthReceived"].as_i64().unwrap_or_default() + 1;
        let previous = status["stateHash"].clone();
        let hash = format!("3NKdemo{height:08}");
        for field in
            ["blockchainLength", "highestBlockLengthReceived", "highestUnvalidatedBlockLengthReceived"]
        {
            status[field] = json!(height);
        }
        status["stateHash"] = json!(hash);
        let slot = (height * 2).to_string();
        let consensus = json!({ "blockHeight": height.to_string(), "epoch": "0", "slot": slot });
        let block = json!({
            "stateHash": hash, "creator": "B62qdemo",
            "protocolState": { "previousStateHash": previous, "consensusState": consensus },
        });
        if let Some(chain) = self.root["bestChain"].as_array_mut() {
            chain.push(block);
            let surplus = chain.len().saturating_sub(CHAIN);
            chain.drain(..surplus);
        }
    }

    /// Merges a patch into the state.
    pub fn set(&mut self, patch: &Value) {
        json_patch::merge(&mut self.root, patch);
    }

    /// Whether it is in sync, as a readiness probe asks.
    pub fn is_synced(&self) -> bool {
        self.root["daemonStatus"]["syncStatus"] == "SYNCED"
    }

    /// What queries are about: the state, and what follows from it.
    pub fn state(&self, now: Timestamp) -> Value {
        let mut root = self.root.clone();
        let uptime = now.duration_since(self.began).as_secs().max(0);
        root["daemonStatus"]["uptimeSecs"] = json!(uptime);
        root["syncStatus"] = root["daemonStatus"]["syncStatus"].clone();
        root["getPeers"] = root["daemonStatus"]["peers"].clone();
        let status = root["syncStatus"].as_str().unwrap_or_default();
        if matches!(status, "CONNECTING" | "LISTENING" | "BOOTSTRAP") {
            root["daemonStatus"]["blockchainLength"] = Value::Null;
            root["bestChain"] = json!({ "$error": "Could not obtain best chain, still bootstrapping" });
        }
        root
    }

    /// The phase it is in and those to come, for the control endpoint.
    pub fn phases(&self) -> Value {
        json!({ "now": self.phase, "next": self.next })
    }
}

fn after(moment: Timestamp, seconds: u32) -> Timestamp {
    let seconds =
        SignedDuration::try_from(Duration::from_secs(seconds.into())).unwrap_or(SignedDuration::MAX);
    moment.saturating_add(seconds).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(start: Start, slot: u32) -> Node {
        let first = serde_json::from_str(include_str!("../first_state.json")).expect("our own state");
        Node::new(first, start, slot, at(0))
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + seconds).expect("a time")
    }

    fn status(node: &mut Node, seconds: i64) -> (String, Value) {
        node.advance(at(seconds));
        let state = node.state(at(seconds));
        (state["syncStatus"].as_str().unwrap().to_owned(), state["daemonStatus"]["blockchainLength"].clone())
    }

    #[test]
    fn a_cold_node_comes_up_in_phases() {
        let mut node = new(Start::Cold, 20);
        let seen: Vec<_> = [0, 5, 10, 20, 25, 30, 49, 50].map(|seconds| status(&mut node, seconds)).into();
        let expected = [
            ("CONNECTING", Value::Null),
            ("LISTENING", Value::Null),
            ("BOOTSTRAP", Value::Null),
            ("CATCHUP", json!(3)),
            ("CATCHUP", json!(8)),
            ("SYNCED", json!(13)),
            ("SYNCED", json!(13)),
            ("SYNCED", json!(14)),
        ];
        assert_eq!(seen, expected.map(|(status, height)| (status.to_owned(), height)));
    }

    #[test]
    fn it_does_not_matter_how_often_one_looks() {
        let (mut often, mut once) = (new(Start::Cold, 7), new(Start::Cold, 7));
        for second in 0..200 {
            often.advance(at(second));
        }
        once.advance(at(199));
        assert_eq!(often.state(at(199)), once.state(at(199)));
        once.advance(at(400_000_000));
        assert_eq!(once.state(at(0))["bestChain"].as_array().map(Vec::len), Some(CHAIN));
    }

    #[test]
    fn what_is_set_stays_until_a_phase_says_otherwise() {
        let mut node = new(Start::Synced, 20);
        node.set(&json!({ "daemonStatus": { "syncStatus": "OFFLINE" } }));
        assert!(!node.is_synced());
        let set = json!({ "daemonStatus": { "syncStatus": "SYNCED" } });
        let first = Phase { seconds: Some(3), set: nothing(), block_seconds: None };
        node.set_phases([first, Phase { seconds: None, set, block_seconds: None }], at(0));
        node.advance(at(2));
        assert!(!node.is_synced());
        node.advance(at(3));
        assert!(node.is_synced());
    }
}
