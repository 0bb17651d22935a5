//! A list as chunks of JSON, made while it is sent.
//!
//! However large a list is, one chunk of it is in memory: its items are taken from the store's own bytes when the
//! client has room for them, and large ones are passed on without a copy.

use std::{io::Write, iter::FusedIterator};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};

use super::{
    error::{ApiError, Result},
    wire::Encoded,
};

/// About how large a chunk is. What is larger is passed on as it is.
pub const CHUNK: usize = 64 << 10;

/// The chunks of `head`, the items with commas between them, and `tail`.
pub struct Chunks<I> {
    buffer: Vec<u8>,
    /// A large item that follows the buffer.
    large: Option<Bytes>,
    items: I,
    first: bool,
    /// None once it is written.
    tail: Option<&'static [u8]>,
}

impl<I: Iterator<Item = Result<Encoded>>> Chunks<I> {
    pub fn new(head: Vec<u8>, items: I, tail: &'static [u8]) -> Self {
        Self { buffer: head, large: None, items, first: true, tail: Some(tail) }
    }
}

impl<I: Iterator<Item = Result<Encoded>>> Iterator for Chunks<I> {
    type Item = Result<Bytes>;

    fn next(&mut self) -> Option<Result<Bytes>> {
        if let Some(large) = self.large.take() {
            return Some(Ok(large));
        }
        while self.buffer.len() < CHUNK && self.tail.is_some() {
            match self.items.next() {
                Some(Err(error)) => {
                    self.tail = None;
                    self.buffer.clear();
                    return Some(Err(error));
                }
                Some(Ok(item)) => {
                    if !std::mem::take(&mut self.first) {
                        self.buffer.push(b',');
                    }
                    self.buffer.extend_from_slice(&item.head);
                    if item.rest.len() >= CHUNK {
                        self.large = Some(item.rest);
                        break;
                    }
                    self.buffer.extend_from_slice(&item.rest);
                }
                None => self.buffer.extend_from_slice(self.tail.take()?),
            }
        }
        if self.buffer.is_empty() {
            return self.large.take().map(Ok);
        }
        Some(Ok(std::mem::take(&mut self.buffer).into()))
    }
}

impl<I: Iterator<Item = Result<Encoded>>> FusedIterator for Chunks<I> {}

/// Chunks, compressed on the way.
pub struct Gzip<C> {
    chunks: C,
    /// None once it is finished.
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl<C: Iterator<Item = Result<Bytes>>> Gzip<C> {
    pub fn new(chunks: C) -> Self {
        Self { chunks, encoder: Some(GzEncoder::new(Vec::new(), Compression::fast())) }
    }
}

impl<C: Iterator<Item = Result<Bytes>>> Iterator for Gzip<C> {
    type Item = Result<Bytes>;

    fn next(&mut self) -> Option<Result<Bytes>> {
        loop {
            let encoder = self.encoder.as_mut()?;
            let written = match self.chunks.next() {
                Some(Ok(chunk)) => encoder.write_all(&chunk).map(|()| std::mem::take(encoder.get_mut())),
                Some(Err(error)) => {
                    self.encoder = None;
                    return Some(Err(error));
                }
                None => self.encoder.take()?.finish(),
            };
            match written {
                Ok(bytes) if bytes.is_empty() => {}
                written => return Some(written.map(Bytes::from).map_err(ApiError::internal)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn chunks(sizes: &[usize]) -> (Vec<Bytes>, Vec<Bytes>) {
        let items: Vec<Bytes> = sizes.iter().map(|size| Bytes::from(vec![b'x'; *size])).collect();
        let made = Chunks::new(b"[".to_vec(), items.clone().into_iter().map(|item| Ok(item.into())), b"]\n");
        (items, made.collect::<Result<_>>().expect("no item fails"))
    }

    #[test]
    fn chunks_are_the_whole_list_in_order() {
        let (items, made) = chunks(&[1, CHUNK - 1, 3 * CHUNK, 2 * CHUNK, 5, 10_000, 60_000, 0, 7]);
        let expected = [b"[".as_slice(), &items.join(&b','), b"]\n"].concat();
        assert_eq!(made.concat(), expected);
        assert!(made.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= 3 * CHUNK));
        assert!(made.iter().any(|chunk| chunk.as_ptr() == items[2].as_ptr()), "a large item was copied");
        assert_eq!(chunks(&[]).1.concat(), b"[]\n");
    }

    #[test]
    fn a_failing_item_ends_the_list_without_its_tail() {
        let items = [Ok(Bytes::from_static(b"1").into()), Err(ApiError::bad_request("x"))];
        let mut made = Chunks::new(b"[".to_vec(), items.into_iter(), b"]");
        assert!(made.next().expect("an error must come").is_err());
        assert!(made.next().is_none());
    }

    #[test]
    fn compressed_chunks_are_one_archive() {
        let items = (0..1000).map(|n| Ok(Bytes::from(format!("{{\"number\":{n}}}")).into()));
        let plain = Chunks::new(b"[".to_vec(), items.clone(), b"]").collect::<Result<Vec<_>>>();
        let gzip = Gzip::new(Chunks::new(b"[".to_vec(), items, b"]")).collect::<Result<Vec<_>>>();
        let mut read = Vec::new();
        let gzip = gzip.expect("no item fails").concat();
        flate2::read::GzDecoder::new(&gzip[..]).read_to_end(&mut read).expect("it must be an archive");
        assert_eq!(read, plain.expect("no item fails").concat());
    }
}
