//! Sets of completion indexes, as a Job's status writes them: `1,3-5,7`.

use std::fmt;

/// Indexes, as ranges in order that neither overlap nor touch. A Job may have a hundred thousand.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Indexes(Vec<(u32, u32)>);

impl Indexes {
    /// Reads those below `bound`; what is malformed is left out.
    pub fn parse(text: &str, bound: u32) -> Self {
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let first = first.parse().ok()?;
            let last = last.parse::<u32>().ok()?.min(bound.checked_sub(1)?);
            (first <= last).then_some((first, last))
        };
        Self::of(text.split(',').filter_map(range))
    }

    fn of(ranges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut sorted: Vec<_> = ranges.into_iter().collect();
        sorted.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(sorted.len());
        for (first, last) in sorted {
            match joined.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }

    /// These and those.
    #[must_use]
    pub fn with(&self, others: &Self) -> Self {
        Self::of(self.0.iter().chain(&others.0).copied())
    }

    pub fn total(&self) -> u32 {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    pub fn contains(&self, index: u32) -> bool {
        let after = self.0.partition_point(|(_, last)| *last < index);
        self.0.get(after).is_some_and(|(first, _)| *first <= index)
    }

    /// How many are in both.
    pub fn in_common(&self, others: &Self) -> u32 {
        self.total() + others.total() - self.with(others).total()
    }

    /// The indexes below `bound` that are not among these, in order.
    pub fn missing(&self, bound: u32) -> impl Iterator<Item = u32> + '_ {
        let begins = std::iter::once(0).chain(self.0.iter().map(|(_, last)| last.saturating_add(1)));
        let ends = self.0.iter().map(|(first, _)| *first).chain(std::iter::once(bound));
        begins.zip(ends).flat_map(move |(begin, end)| begin..end.min(bound))
    }
}

impl FromIterator<u32> for Indexes {
    fn from_iter<I: IntoIterator<Item = u32>>(indexes: I) -> Self {
        Self::of(indexes.into_iter().map(|index| (index, index)))
    }
}

impl fmt::Display for Indexes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (first, last)) in self.0.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            match last - first {
                0 => write!(formatter, "{comma}{first}")?,
                1 => write!(formatter, "{comma}{first},{last}")?,
                _ => write!(formatter, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_written_as_upstream_writes_them() {
        for (indexes, text) in [
            (vec![], ""),
            (vec![3], "3"),
            (vec![1, 0], "0,1"),
            (vec![0, 1, 2, 4], "0-2,4"),
            (vec![9, 3, 5, 4, 3], "3-5,9"),
        ] {
            let set: Indexes = indexes.into_iter().collect();
            assert_eq!(set.to_string(), text);
            assert_eq!(Indexes::parse(text, 10), set, "{text}");
        }
    }

    #[test]
    fn what_a_job_no_longer_has_is_left_out() {
        assert_eq!(Indexes::parse("0,2-7,9", 4).to_string(), "0,2,3");
        assert_eq!(Indexes::parse("x,1-,5-3,2", 4).to_string(), "2");
        assert_eq!(Indexes::parse("0", 0), Indexes::default());
    }

    #[test]
    fn sets_know_their_members() {
        let (set, other) = (Indexes::parse("1,3-5", 10), Indexes::parse("0,4-6", 10));
        assert_eq!((set.total(), set.contains(4), set.contains(2), set.contains(6)), (4, true, false, false));
        assert_eq!((set.with(&other).to_string(), set.in_common(&other)), ("0,1,3-6".to_owned(), 2));
        assert_eq!(set.missing(8).collect::<Vec<_>>(), [0, 2, 6, 7]);
        assert_eq!(set.missing(4).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(Indexes::default().missing(2).collect::<Vec<_>>(), [0, 1]);
    }
}
