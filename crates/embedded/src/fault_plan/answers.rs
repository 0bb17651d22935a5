//! What was answered before, for those who are to be told something old.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;

/// How far back one can go, for one question.
const MAX_VERSIONS: usize = 16;
/// How many questions are remembered; the seam is for tests, whose questions are few.
const MAX_QUESTIONS: usize = 1024;

/// Answers by question, the latest last, each different from the one before.
#[derive(Default)]
pub(super) struct Answers(HashMap<String, VecDeque<Bytes>>);

impl Answers {
    /// Remembers an answer.
    pub(super) fn add(&mut self, question: &str, answer: Bytes) {
        if self.0.len() >= MAX_QUESTIONS && !self.0.contains_key(question) {
            return;
        }
        let answers = self.0.entry(question.to_owned()).or_default();
        if answers.back() == Some(&answer) {
            return;
        }
        if answers.len() == MAX_VERSIONS {
            answers.pop_front();
        }
        answers.push_back(answer);
    }

    /// The answer so many versions before the latest, or the oldest there is; `None` if that is the latest.
    pub(super) fn earlier(&self, question: &str, versions: usize) -> Option<Bytes> {
        let answers = self.0.get(question)?;
        let latest = answers.len().checked_sub(1)?;
        let index = latest.saturating_sub(versions);
        (index != latest).then(|| answers[index].clone())
    }
}
