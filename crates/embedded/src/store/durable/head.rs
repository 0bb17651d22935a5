//! The file with the last acknowledged summary.
//!
//! It has two places, written in turn, so that a crash in the middle of a write leaves the other one.

use std::io;

use redb::StorageBackend;

use super::{disk::Watched, summary::Summary};

/// The places are this far apart, so that no disk writes both at once.
const PLACE: u64 = 4096;

#[derive(Debug)]
pub struct Head {
    file: Watched,
    /// The place to be written next: not the one with the last summary.
    next: u64,
}

impl Head {
    /// Reads the last summary. There is none if the file was not written to the end yet, or is damaged.
    pub fn open(file: Watched) -> io::Result<(Self, Option<Summary>)> {
        if file.len()? < 2 * PLACE {
            file.set_len(2 * PLACE)?;
        }
        let places = [read(&file, 0)?, read(&file, 1)?];
        let revision = |place: &Option<Summary>| place.map(|summary| summary.revision);
        // A place without a summary is behind any other.
        let last = usize::from(revision(&places[1]) > revision(&places[0]));
        let next = if last == 0 { 1 } else { 0 };
        Ok((Self { file, next }, places[last]))
    }

    /// Writes the summary of a store that is only being made to both places.
    pub fn create(&mut self, summary: &Summary) -> io::Result<()> {
        self.write(summary)?;
        self.write(summary)
    }

    /// Writes a summary and syncs it. If it fails, the last one is still there.
    pub fn write(&mut self, summary: &Summary) -> io::Result<()> {
        self.file.write(self.next * PLACE, &summary.encode())?;
        self.file.sync_data()?;
        self.next = 1 - self.next;
        Ok(())
    }
}

fn read(file: &Watched, place: u64) -> io::Result<Option<Summary>> {
    let mut bytes = [0; 64];
    file.read(place * PLACE, &mut bytes)?;
    Ok(Summary::decode(&bytes))
}
