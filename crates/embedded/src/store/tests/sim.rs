//! A disk in memory that writes down all that happens to it: what it would hold after a crash at any moment
//! can be made from that. It can run out of space, too.

use std::{
    io::{self, ErrorKind},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard},
};

use anneal_kit::Rng;
use redb::StorageBackend;

use crate::store::durable::{Disk, File};

/// The content of both files.
pub type Images = [Vec<u8>; 2];

#[derive(Clone, Debug, Default)]
pub struct Sim(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    files: Images,
    journal: Vec<Step>,
    recording: bool,
    /// Whether there is no space now and then.
    scarce: bool,
    writes: u64,
    syncs_fail: bool,
}

/// Something that happened, in the order in which it did.
#[derive(Clone, Debug)]
pub enum Step {
    Write(usize, usize, Vec<u8>),
    Resize(usize, usize),
    Sync(usize),
    /// What the test wants to remember at this place.
    Mark(Mark),
}

#[derive(Clone, Copy, Debug)]
pub enum Mark {
    /// Somebody has asked for a state of an object: a number, or none for its end.
    Asked { key: usize, state: Option<u64> },
    /// It was acknowledged to whom had asked, at a revision.
    Acknowledged { key: usize, state: Option<u64>, revision: u64 },
    /// Somebody else has seen it.
    Shown { key: usize, state: Option<u64>, revision: u64 },
}

impl Sim {
    pub fn holding(files: Images) -> Self {
        Self(Arc::new(Mutex::new(State { files, ..State::default() })))
    }

    pub fn recording() -> Self {
        Self(Arc::new(Mutex::new(State { recording: true, ..State::default() })))
    }

    pub fn mark(&self, mark: Mark) {
        self.state().journal.push(Step::Mark(mark));
    }

    pub fn images(&self) -> Images {
        self.state().files.clone()
    }

    pub fn journal(&self) -> Vec<Step> {
        std::mem::take(&mut self.state().journal)
    }

    /// Lets some writes in a row fail for want of space, again and again.
    pub fn run_out_of_space(&self) {
        self.state().scarce = true;
    }

    pub fn fail_syncs(&self) {
        self.state().syncs_fail = true;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

/// What the files hold if the machine stops after these steps: all that was synced, and of what was written
/// since any part.
pub fn after_crash(steps: &[Step], rng: &Rng) -> Images {
    let mut files = Images::default();
    let mut unsynced: [Vec<&Step>; 2] = Default::default();
    for step in steps {
        match step {
            Step::Sync(file) => unsynced[*file].drain(..).for_each(|step| apply(&mut files, step)),
            Step::Write(file, ..) | Step::Resize(file, _) => unsynced[*file].push(step),
            Step::Mark(_) => {}
        }
    }
    // Out of four: none of it, all of it, or what chance leaves of it.
    let share = [0, 4, 2, 3][rng.below(4) as usize];
    for step in unsynced.iter().flatten().filter(|_| rng.below(4) < share) {
        apply(&mut files, step);
    }
    files
}

fn apply(files: &mut Images, step: &Step) {
    match step {
        Step::Resize(file, len) => files[*file].resize(*len, 0),
        Step::Write(file, offset, data) => {
            // What lies behind the end of a file whose growth was lost is lost with it.
            let bytes = &mut files[*file];
            let end = (offset + data.len()).min(bytes.len());
            if *offset < end {
                bytes[*offset..end].copy_from_slice(&data[..end - offset]);
            }
        }
        Step::Sync(_) | Step::Mark(_) => {}
    }
}

impl Disk for Sim {
    fn open(&self, file: File) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(SimFile { sim: self.clone(), file: file as usize }))
    }

    fn path(&self, file: File) -> PathBuf {
        ["sim/store.redb", "sim/store.head"][file as usize].into()
    }
}

#[derive(Debug)]
struct SimFile {
    sim: Sim,
    file: usize,
}

impl SimFile {
    fn step(&self, step: Step) -> io::Result<()> {
        let mut state = self.sim.state();
        state.writes += 1;
        if state.scarce && state.writes % 47 < 3 {
            return Err(ErrorKind::StorageFull.into());
        }
        apply(&mut state.files, &step);
        if state.recording {
            state.journal.push(step);
        }
        Ok(())
    }
}

impl StorageBackend for SimFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.sim.state().files[self.file].len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.sim.state();
        let found = state.files[self.file].get(offset as usize..).and_then(|rest| rest.get(..out.len()));
        out.copy_from_slice(found.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.step(Step::Resize(self.file, len as usize))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.sim.state();
        if state.syncs_fail {
            return Err(io::Error::other("the disk is gone"));
        }
        if state.recording {
            state.journal.push(Step::Sync(self.file));
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.step(Step::Write(self.file, offset as usize, data.to_vec()))
    }
}
