//! The arithmetic of a rolling update: how far new pods may go ahead of old ones, and old ones of new ones.

use serde_json::Value;

use crate::controllers::records::Deployment;

/// What a Deployment demands of the number of its pods.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bounds {
    pub wanted: i32,
    /// How many there may be beyond.
    pub surge: i32,
    /// How many of the wanted need not be available.
    pub unavailable: i32,
}

/// A ReplicaSet in numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    pub replicas: i32,
    /// Pods beyond the number asked for are on their way out, and do not count.
    available: i32,
}

impl Size {
    pub fn new(replicas: i32, available: i32) -> Self {
        Self { replicas, available: available.min(replicas) }
    }
}

impl Bounds {
    pub fn of(deployment: &Deployment) -> Self {
        let wanted = deployment.spec.replicas;
        if !deployment.is_rolling() {
            return Self { wanted, surge: 0, unavailable: 0 };
        }
        let rolling = &deployment.spec.strategy.rolling_update;
        let surge = share(&rolling.max_surge, wanted, Rounding::Up);
        let unavailable = share(&rolling.max_unavailable, wanted, Rounding::Down);
        // Shares may be rounded to nothing, and then nothing could ever move.
        let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
        Self { wanted, surge, unavailable: unavailable.min(wanted) }
    }

    /// The most pods there may be.
    pub fn most(&self) -> i32 {
        self.wanted.saturating_add(self.surge)
    }

    /// The fewest that must be available.
    pub fn least(&self) -> i32 {
        self.wanted - self.unavailable
    }
}

enum Rounding {
    Up,
    Down,
}

/// A number, or a share of `whole`: `3` or `"25%"`.
fn share(amount: &Value, whole: i32, rounding: Rounding) -> i32 {
    let percent = amount.as_str().and_then(|text| text.strip_suffix('%')?.parse::<i64>().ok());
    let exact = match percent {
        Some(percent) => {
            let hundredfold = i64::from(whole).saturating_mul(percent);
            match rounding {
                Rounding::Up => hundredfold.saturating_add(99) / 100,
                Rounding::Down => hundredfold / 100,
            }
        }
        None => amount.as_i64().unwrap_or_default(),
    };
    i32::try_from(exact.max(0)).unwrap_or(i32::MAX)
}

/// How many pods the new set should have, beside old ones of these numbers.
pub fn grown(bounds: Bounds, new: i32, old: i32) -> i32 {
    if new >= bounds.wanted {
        return bounds.wanted;
    }
    let room = bounds.most().saturating_sub(old.saturating_add(new)).max(0);
    new + room.min(bounds.wanted - new)
}

/// How many pods each set should have: the new one, and the old ones in their order, oldest first.
pub fn roll(bounds: Bounds, new: Size, old: &[Size]) -> (i32, Vec<i32>) {
    let grown = grown(bounds, new.replicas, old.iter().map(|set| set.replicas).sum());
    let new = Size::new(grown, new.available);
    (grown, shrunk(bounds, new, old))
}

/// What the old sets can give up: first pods that are not available, whose loss is none, then as many as the new
/// ones have made up for.
fn shrunk(bounds: Bounds, new: Size, old: &[Size]) -> Vec<i32> {
    let mut sizes: Vec<_> = old.iter().map(|set| set.replicas).collect();
    let total = sizes.iter().sum::<i32>() + new.replicas;
    // Pods of the new set that are not available yet are as good as lost: none may be given up for them.
    let mut lame = total - bounds.least() - (new.replicas - new.available);
    if lame <= 0 {
        return sizes;
    }
    for (size, set) in sizes.iter_mut().zip(old) {
        let part = (set.replicas - set.available).clamp(0, lame);
        (*size, lame) = (*size - part, lame - part);
    }
    let available = old.iter().map(|set| set.available).sum::<i32>() + new.available;
    let mut spare = (available - bounds.least()).max(0);
    for size in &mut sizes {
        let part = spare.min(*size);
        (*size, spare) = (*size - part, spare - part);
    }
    sizes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::plan::tests::deployment, *};

    #[test]
    fn shares_are_rounded_towards_moving() {
        for (wanted, surge, unavailable, expected) in [
            (10, json!("25%"), json!("25%"), (3, 2)),
            (3, json!("25%"), json!("25%"), (1, 0)),
            (1, json!("25%"), json!("25%"), (1, 0)),
            (0, json!("25%"), json!("25%"), (0, 0)),
            (2, json!("0%"), json!("1%"), (0, 1)),
            (2, json!(0), json!(5), (0, 2)),
            (2, json!(5), json!(0), (5, 0)),
            (4, json!("100%"), json!("100%"), (4, 4)),
        ] {
            let mut deployment = deployment(wanted);
            let rolling = &mut deployment.spec.strategy.rolling_update;
            (rolling.max_surge, rolling.max_unavailable) = (surge, unavailable);
            let bounds = Bounds::of(&deployment);
            assert_eq!(
                (bounds.surge, bounds.unavailable),
                expected,
                "{:?} of {wanted}",
                deployment.spec.strategy
            );
        }
    }

    /// Of (pods, available ones).
    fn rolled(
        (wanted, surge, unavailable): (i32, i32, i32),
        new: (i32, i32),
        old: &[(i32, i32)],
    ) -> (i32, Vec<i32>) {
        let size = |(replicas, available)| Size::new(replicas, available);
        let old: Vec<_> = old.iter().copied().map(size).collect();
        roll(Bounds { wanted, surge, unavailable }, size(new), &old)
    }

    #[test]
    fn new_pods_come_and_old_ones_go_within_the_bounds() {
        for (bounds, new, old, expected) in [
            // One more at a time, and one less when that one is available.
            ((3, 1, 0), (0, 0), &[(3, 3)][..], (1, vec![3])),
            ((3, 1, 0), (1, 0), &[(3, 3)], (1, vec![3])),
            ((3, 1, 0), (1, 1), &[(3, 3)], (1, vec![2])),
            ((3, 1, 0), (1, 1), &[(2, 2)], (2, vec![2])),
            ((3, 1, 0), (3, 3), &[(1, 1)], (3, vec![0])),
            // One less first.
            ((3, 0, 1), (0, 0), &[(3, 3)], (0, vec![2])),
            ((3, 0, 1), (0, 0), &[(2, 2)], (1, vec![2])),
            ((3, 0, 1), (1, 0), &[(2, 2)], (1, vec![2])),
            // The set has not deleted its pod yet: it is not counted twice.
            ((3, 0, 1), (1, 1), &[(2, 3)], (1, vec![1])),
            // Pods that are not available go first, the oldest set's before the others'.
            ((10, 3, 2), (0, 0), &[(4, 0), (6, 6)], (3, vec![2, 6])),
            ((10, 3, 2), (3, 3), &[(4, 0), (6, 6)], (3, vec![0, 5])),
            ((10, 3, 2), (5, 0), &[(8, 7)], (5, vec![8])),
            // Another template while the last one is stuck.
            ((10, 3, 2), (0, 0), &[(8, 8), (5, 0)], (0, vec![8, 0])),
            // More new ones than wanted.
            ((2, 1, 0), (5, 5), &[(1, 1)], (2, vec![0])),
            ((0, 0, 0), (0, 0), &[(2, 2)], (0, vec![0])),
        ] {
            assert_eq!(rolled(bounds, new, old), expected, "{bounds:?} {new:?} {old:?}");
        }
    }
}
