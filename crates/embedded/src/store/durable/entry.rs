//! An object as bytes in the log: a checksum, what the store knows about it, and its JSON.

use std::sync::Arc;

use super::super::{Key, Record};

/// In place of a time, for an object that does not expire.
const NEVER: i64 = i64::MAX;
/// The checksum, the revision and the time when it expires.
const HEAD: usize = 4 + 8 + 8;

/// The bytes of a key. No two keys have the same: each part but the last says how long it is.
pub fn encode_key(key: &Key) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 + key.collection.len() + key.namespace.len() + key.name.len());
    for part in [&key.collection, &key.namespace] {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes()[..4]);
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes.extend_from_slice(key.name.as_bytes());
    bytes
}

pub fn decode_key(bytes: &[u8]) -> Option<Key> {
    let (collection, rest) = take_part(bytes)?;
    let (namespace, rest) = take_part(rest)?;
    Some(Key::new(collection, namespace, str::from_utf8(rest).ok()?))
}

fn take_part(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((str::from_utf8(part).ok()?, rest))
}

/// The bytes of a record, which stand under a key and under no other.
pub fn encode(key: &[u8], record: &Record) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + record.rest().len());
    bytes.extend_from_slice(&checksum(key, record).to_le_bytes());
    bytes.extend_from_slice(&record.revision().to_le_bytes());
    bytes.extend_from_slice(&record.expires().unwrap_or(NEVER).to_le_bytes());
    bytes.extend_from_slice(record.rest());
    bytes
}

/// The record and its checksum, if that is right.
pub fn decode(key: &[u8], bytes: &[u8]) -> Option<(Arc<Record>, u32)> {
    let (sum, rest) = bytes.split_first_chunk::<4>()?;
    let (revision, rest) = rest.split_first_chunk::<8>()?;
    let (expires, rest) = rest.split_first_chunk::<8>()?;
    let expires = Some(i64::from_le_bytes(*expires)).filter(|time| *time != NEVER);
    let record = Record::new(u64::from_le_bytes(*revision), expires, rest);
    let sum = u32::from_le_bytes(*sum);
    (checksum(key, &record) == sum).then(|| (Arc::new(record), sum))
}

/// The checksum of a record under a key.
pub fn checksum(key: &[u8], record: &Record) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&(key.len() as u64).to_le_bytes());
    sum.update(key);
    sum.update(&record.revision().to_le_bytes());
    sum.update(&record.expires().unwrap_or(NEVER).to_le_bytes());
    sum.update(record.rest());
    sum.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Draft;
    use serde_json::json;
    use std::time::Duration;

    #[test]
    fn an_entry_comes_back_as_it_was_and_never_under_another_key() {
        let key = Key::new("pods", "", "a");
        assert_eq!(decode_key(&encode_key(&key)).unwrap(), key);
        assert_ne!(encode_key(&Key::new("po", "ds", "a")), encode_key(&Key::new("pod", "s", "a")));
        for draft in [
            Draft::encode(&json!({"spec": 1})),
            Draft::encode(&json!({})).expires_after(Duration::from_secs(9)),
        ] {
            let record = draft.commit(77, 5);
            let bytes = encode(b"key", &record);
            let (read, _) = decode(b"key", &bytes).unwrap();
            assert_eq!((read.json(), read.revision(), read.expires()), (record.json(), 77, record.expires()));
            assert!(decode(b"kez", &bytes).is_none());
            for bit in 0..bytes.len() * 8 {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(decode(b"key", &bytes).is_none(), "bit {bit} may be flipped");
            }
        }
    }
}
