//! The one source of chance.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rand::{Rng as _, RngCore, SeedableRng, rngs::StdRng};

/// Draws at random. Clones draw from one sequence.
///
/// The generator is cryptographically strong, so that names, uids and keys may come from it alike.
#[derive(Clone, Debug)]
pub struct Rng(Arc<Mutex<StdRng>>);

/// What Kubernetes makes generated names of: no vowels, so no words, and nothing that looks like another.
const NAME_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

impl Rng {
    /// Seeded by the operating system.
    pub fn machine() -> Self {
        Self(Arc::new(Mutex::new(StdRng::from_os_rng())))
    }

    /// The same sequence for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    /// A number below `bound`, 0 if that is 0.
    pub fn below(&self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.draw().random_range(0..bound) }
    }

    /// Bytes.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.draw().fill_bytes(&mut bytes);
        bytes
    }

    /// The random end of a generated name.
    pub fn name_suffix(&self, length: usize) -> String {
        let mut rng = self.draw();
        (0..length).map(|_| char::from(NAME_ALPHABET[rng.random_range(0..NAME_ALPHABET.len())])).collect()
    }

    /// A UUID of version 4.
    pub fn uuid(&self) -> String {
        let mut bytes = self.bytes::<16>();
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex = bytes.map(|byte| format!("{byte:02x}")).concat();
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    /// Between `duration` and `duration * (1 + share)`, so that many who wait do not come at once.
    pub fn jitter(&self, duration: Duration, share: f64) -> Duration {
        duration + duration.mul_f64(share.max(0.0) * self.draw().random::<f64>())
    }

    fn draw(&self) -> MutexGuard<'_, StdRng> {
        // A panic between two draws leaves a generator that is as good as before.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_tells_the_whole_sequence() {
        let draw = |rng: Rng| (rng.uuid(), rng.name_suffix(5), rng.below(1_000_000));
        assert_eq!(draw(Rng::seeded(7)), draw(Rng::seeded(7)));
        assert_ne!(draw(Rng::seeded(7)), draw(Rng::seeded(8)));
    }

    #[test]
    fn uuids_are_of_version_four() {
        let uuid = Rng::machine().uuid();
        assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"));
        assert!(["8", "9", "a", "b"].contains(&&uuid[19..20]), "{uuid}");
    }
}
