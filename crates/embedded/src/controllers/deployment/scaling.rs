//! The arithmetic of scaling in the middle of a rollout: each set gets its share, so that the rollout neither gets
//! ahead nor falls behind.

use super::rolling::Bounds;

/// A set that has pods, and how many the Deployment could have at most when it was last sized.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub replicas: i32,
    pub most_before: i32,
}

/// The new sizes of sets, of which the first is the largest: what rounding leaves over goes to it.
pub fn proportional(bounds: Bounds, parts: &[Part]) -> Vec<i32> {
    let allowed = if bounds.wanted > 0 { bounds.most() } else { 0 };
    let to_add = allowed - parts.iter().map(|part| part.replicas).sum::<i32>();
    let mut added = 0;
    let mut sizes: Vec<_> = parts
        .iter()
        .map(|part| {
            let (fraction, left) = (fraction(bounds, *part), to_add - added);
            let change = match to_add {
                0 => 0,
                1.. => fraction.min(left),
                _ => fraction.max(left),
            };
            added += change;
            part.replicas + change
        })
        .collect();
    if let Some(largest) = sizes.first_mut() {
        *largest = (*largest + to_add - added).max(0);
    }
    sizes
}

/// What a set gains or loses when it keeps its share.
fn fraction(bounds: Bounds, part: Part) -> i32 {
    if bounds.wanted == 0 {
        return -part.replicas;
    }
    if part.most_before <= 0 {
        return 0;
    }
    let share = f64::from(part.replicas) * f64::from(bounds.most()) / f64::from(part.most_before);
    // Both are counts of pods: their product may be large, its share is not.
    #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
    let share = share.round() as i32;
    share - part.replicas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_keep_their_shares_and_the_largest_gets_what_is_left() {
        for (wanted, surge, before, sizes, expected) in [
            (15, 0, 10, &[5, 5][..], &[8, 7][..]),
            (20, 0, 10, &[5, 5], &[10, 10]),
            (6, 0, 10, &[8, 2], &[5, 1]),
            (30, 3, 13, &[8, 5], &[20, 13]),
            (10, 3, 13, &[8, 5], &[8, 5]),
            (0, 0, 13, &[8, 5], &[0, 0]),
            (4, 0, 10, &[4, 3, 3], &[2, 1, 1]),
            // Without knowing the size before, the largest takes all of it.
            (8, 0, 0, &[3, 1], &[7, 1]),
        ] {
            let parts: Vec<_> =
                sizes.iter().map(|replicas| Part { replicas: *replicas, most_before: before }).collect();
            let bounds = Bounds { wanted, surge, unavailable: 0 };
            assert_eq!(proportional(bounds, &parts), expected, "{wanted}+{surge} of {before}: {sizes:?}");
        }
    }
}
