//! What all the objects of a store come to: enough to tell that one is missing, or that all are from earlier.

use super::{
    super::{Event, EventKind, Key, Record},
    entry,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The revision of the store, 0 for one that is only being made.
    pub revision: u64,
    /// The number of live objects.
    pub objects: u64,
    /// The sum of their checksums.
    pub digest: u64,
}

impl Summary {
    const SIZE: usize = 3 * 8 + 4;

    /// A store without objects.
    pub const fn empty(revision: u64) -> Self {
        Self { revision, objects: 0, digest: 0 }
    }

    /// Counts an object in.
    pub fn add(&mut self, checksum: u32) {
        self.objects = self.objects.wrapping_add(1);
        self.digest = self.digest.wrapping_add(checksum.into());
    }

    fn remove(&mut self, checksum: u32) {
        self.objects = self.objects.wrapping_sub(1);
        self.digest = self.digest.wrapping_sub(checksum.into());
    }

    /// What it is after a change.
    pub fn apply(&mut self, event: &Event) {
        let sum = |key: &Key, record: &Record| entry::checksum(&entry::encode_key(key), record);
        if let Some(previous) = &event.previous {
            self.remove(sum(&event.key, previous));
        }
        if event.kind != EventKind::Deleted {
            self.add(sum(&event.key, &event.record));
        }
        self.revision = event.revision;
    }

    pub fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..8].copy_from_slice(&self.revision.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.objects.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.digest.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..24]);
        bytes[24..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The summary, if the bytes are one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        let summary = Self { revision: number(0)?, objects: number(8)?, digest: number(16)? };
        // Zeroes, which an unwritten file is made of, have another checksum than zero.
        (bytes.get(..Self::SIZE)? == summary.encode()).then_some(summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_with_a_flipped_bit_is_none() {
        let summary = Summary { revision: 7, objects: 3, digest: 1 << 40 };
        assert_eq!(Summary::decode(&summary.encode()), Some(summary));
        assert_eq!(Summary::decode(&[0; 64]), None);
        for bit in 0..Summary::SIZE * 8 {
            let mut bytes = summary.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Summary::decode(&bytes), None);
        }
    }
}
