//! A list as chunks, made while it is sent.
//!
//! However large a list is, one chunk of it is in memory: its items are taken from the store's own bytes when the
//! client has room for them, and large ones are passed on without a copy.

use std::io::Write;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};

use super::{
    error::{ApiError, Result},
    wire::{Encoded, ListFrame},
};

/// About how large a chunk is. What is larger is passed on as it is.
pub const CHUNK: usize = 64 << 10;

/// The chunks of a list: its frame and the items in it.
pub struct Chunks<I> {
    buffer: Vec<u8>,
    /// A large item that follows the buffer.
    large: Option<Bytes>,
    frame: ListFrame,
    items: I,
    place: Place,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Place {
    First,
    Further,
    End,
}

impl<I: Iterator<Item = Result<Encoded>>> Chunks<I> {
    pub fn new(mut frame: ListFrame, items: I) -> Self {
        Self { buffer: std::mem::take(&mut frame.head), large: None, frame, items, place: Place::First }
    }

    /// Writes what comes next: an item with what stands before it, or the end.
    fn write_next(&mut self) -> Result<()> {
        let Some(item) = self.items.next() else {
            let end = if self.place == Place::First { self.frame.empty } else { self.frame.tail };
            self.buffer.extend_from_slice(end.as_bytes());
            self.place = Place::End;
            return Ok(());
        };
        let item = self.frame.item(item?)?;
        let before = if self.place == Place::First { self.frame.first } else { self.frame.between };
        self.buffer.extend_from_slice(before.as_bytes());
        self.buffer.extend_from_slice(&item.head);
        if item.rest.len() >= CHUNK {
            self.large = Some(item.rest);
        } else {
            self.buffer.extend_from_slice(&item.rest);
        }
        self.place = Place::Further;
        Ok(())
    }
}

impl<I: Iterator<Item = Result<Encoded>>> Iterator for Chunks<I> {
    type Item = Result<Bytes>;

    fn next(&mut self) -> Option<Result<Bytes>> {
        if let Some(large) = self.large.take() {
            return Some(Ok(large));
        }
        while self.buffer.len() < CHUNK && self.large.is_none() && self.place != Place::End {
            if let Err(error) = self.write_next() {
                self.place = Place::End;
                self.buffer.clear();
                return Some(Err(error));
            }
        }
        if self.buffer.is_empty() {
            return self.large.take().map(Ok);
        }
        Some(Ok(std::mem::take(&mut self.buffer).into()))
    }
}

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

    use serde_json::{Value, json};

    use super::*;
    use crate::api::wire::{Encoding, Form, Format};

    fn frame(encoding: Encoding, pretty: bool) -> ListFrame {
        let format = Format { encoding, pretty, form: Form::Object };
        ListFrame::new(&json!({ "kind": "List" }), "items", format).expect("a frame must be made")
    }

    fn compact() -> ListFrame {
        frame(Encoding::Json, false)
    }

    fn collect(frame: ListFrame, items: &[Bytes]) -> Vec<Bytes> {
        let items = items.iter().cloned().map(|item| Ok(item.into()));
        Chunks::new(frame, items).collect::<Result<_>>().expect("no item fails")
    }

    #[test]
    fn chunks_are_the_whole_list_in_order() {
        let sizes = [1, CHUNK - 1, 3 * CHUNK, 2 * CHUNK, 5, 10_000, 60_000, 0, 7];
        let items = sizes.map(|size| Bytes::from(vec![b'x'; size]));
        let made = collect(compact(), &items);
        let expected = [b"{\"kind\":\"List\",\"items\":[".as_slice(), &items.join(&b','), b"]}\n"].concat();
        assert_eq!(made.concat(), expected);
        assert!(made.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= 3 * CHUNK));
        assert!(made.iter().any(|chunk| chunk.as_ptr() == items[2].as_ptr()), "a large item was copied");
    }

    #[test]
    fn lists_are_the_same_in_every_format() {
        let text = "a\n\n  b\n# c\n\n";
        let item = json!({ "metadata": { "name": "x" }, "text": text, "list": [[1, {}], []], "long": "y ".repeat(200) });
        for count in 0..3 {
            let items = vec![Bytes::from(item.to_string()); count];
            let list = json!({ "kind": "List", "items": vec![item.clone(); count] });
            for (encoding, pretty) in
                [(Encoding::Json, false), (Encoding::Json, true), (Encoding::Yaml, false)]
            {
                let made = collect(frame(encoding, pretty), &items).concat();
                let read: Value = match encoding {
                    Encoding::Json => serde_json::from_slice(&made).expect("it must be JSON"),
                    Encoding::Yaml => serde_saphyr::from_slice(&made).expect("it must be YAML"),
                };
                assert_eq!(read, list, "{}", String::from_utf8_lossy(&made));
                if pretty {
                    let whole = serde_json::to_string_pretty(&read).expect("it must be written");
                    assert_eq!(String::from_utf8_lossy(&made).lines().count(), whole.lines().count());
                }
            }
        }
    }

    #[test]
    fn a_failing_item_ends_the_list_without_its_tail() {
        let items = [Ok(Bytes::from_static(b"1").into()), Err(ApiError::bad_request("x"))];
        let mut made = Chunks::new(compact(), items.into_iter());
        assert!(made.next().expect("an error must come").is_err());
        assert!(made.next().is_none());
    }

    #[test]
    fn compressed_chunks_are_one_archive() {
        let items = (0..1000).map(|n| Ok(Bytes::from(format!("{{\"number\":{n}}}")).into()));
        let plain = Chunks::new(compact(), items.clone()).collect::<Result<Vec<_>>>();
        let gzip = Gzip::new(Chunks::new(compact(), items)).collect::<Result<Vec<_>>>();
        let mut read = Vec::new();
        let gzip = gzip.expect("no item fails").concat();
        flate2::read::GzDecoder::new(&gzip[..]).read_to_end(&mut read).expect("it must be an archive");
        assert_eq!(read, plain.expect("no item fails").concat());
    }
}
