//! The log: every live object in one transactional file, checked as a whole when it is opened.

use std::{
    collections::BTreeMap,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use redb::{Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition};

use super::{
    super::{Event, EventKind, Key, Record, memory::FIRST_REVISION},
    OpenError, WriteError,
    disk::{Disk, File, Watched, is_full},
    entry,
    head::Head,
    summary::Summary,
};

/// The format of the log. One that is newer is left alone.
const FORMAT: u32 = 1;

/// Enough for the upper pages of the tree and for one batch; objects are read once, when the log is opened.
const CACHE_BYTES: usize = 4 << 20;

const OBJECTS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("objects");
const ABOUT: TableDefinition<&str, &[u8]> = TableDefinition::new("about");
const FORMAT_KEY: &str = "format";
const SUMMARY_KEY: &str = "summary";

/// What the head says before the log is there.
const BEING_MADE: Summary = Summary::empty(0);
const EMPTY: &str = "it is empty, and something was stored in it";

type Objects = Vec<(Key, Arc<Record>)>;

pub struct Log {
    disk: Box<dyn Disk>,
    head: Head,
    /// None after a write has failed, until it is opened again.
    database: Option<Database>,
    /// What is acknowledged.
    summary: Summary,
    /// The acknowledged state of every object that a failed write may have changed.
    doubtful: BTreeMap<Key, Option<Arc<Record>>>,
    /// The last revision that a write has tried. None is tried twice: a log that fell back to a write which
    /// had failed could pass for one that holds what was acknowledged later.
    attempted: u64,
    sync_failed: Arc<AtomicBool>,
}

impl Log {
    /// Opens the log and reads all objects, or refuses it: after this nothing is missing.
    pub fn open(disk: Box<dyn Disk>) -> Result<(Self, u64, Objects), OpenError> {
        let sync_failed = Arc::new(AtomicBool::new(false));
        let open = |file| match disk.open(file) {
            Ok(opened) => Ok(Watched::new(opened, sync_failed.clone())),
            Err(source) => Err(OpenError::Io { path: disk.path(file), source }),
        };
        let failed = |file| {
            let path = disk.path(file);
            move |source| OpenError::Io { path, source }
        };
        let damaged = |file, reason: String| OpenError::Damaged { path: disk.path(file), reason };

        let mut log = open(File::Log)?;
        let is_empty = log.len().map_err(failed(File::Log))? == 0;
        let (mut head, found) = Head::open(open(File::Head)?).map_err(failed(File::Head))?;
        let acknowledged = match found {
            Some(acknowledged) => acknowledged,
            // The log is made only when the head is there: this is a new store.
            None if is_empty => {
                head.create(&BEING_MADE).map_err(failed(File::Head))?;
                BEING_MADE
            }
            None => return Err(damaged(File::Head, "it does not say what was stored last".to_owned())),
        };
        if acknowledged == BEING_MADE {
            // Nothing was ever acknowledged: a log that is there was not finished.
            create(log, &mut head).map_err(|error| error.opening(&*disk))?;
            log = open(File::Log)?;
        } else if is_empty {
            return Err(damaged(File::Log, EMPTY.to_owned()));
        }

        let (database, summary, objects) = guarded(|| read(log)).map_err(|error| error.opening(&*disk))?;
        compare(&summary, &acknowledged).map_err(|reason| damaged(File::Log, reason))?;
        // Whatever is in the log is shown from now on, so it must not be lost any more.
        head.write(&summary).map_err(failed(File::Head))?;
        let (doubtful, attempted) = (BTreeMap::new(), summary.revision);
        let log = Self { disk, head, database: Some(database), summary, doubtful, attempted, sync_failed };
        Ok((log, summary.revision, objects))
    }

    pub fn attempted(&self) -> u64 {
        self.attempted
    }

    /// Writes changes. When it returns they are on the disk; when it fails they are not there for anybody,
    /// and what they would have changed is written again before the next ones.
    pub fn append(&mut self, events: &[Arc<Event>]) -> Result<(), WriteError> {
        let mut summary = self.summary;
        for event in events {
            summary.apply(event);
        }
        self.attempted = summary.revision;
        match self.write(events, &summary) {
            Ok(()) => {
                self.summary = summary;
                self.doubtful.clear();
                Ok(())
            }
            Err(error) => {
                // redb takes nothing more after an error.
                self.database = None;
                for event in events {
                    self.doubtful.entry(event.key.clone()).or_insert_with(|| event.previous.clone());
                }
                Err(error.writing(&*self.disk, self.sync_failed.load(Ordering::Acquire)))
            }
        }
    }

    fn write(&mut self, events: &[Arc<Event>], summary: &Summary) -> Result<(), Failure> {
        let database = match self.database.take() {
            Some(database) => database,
            None => self.reopen()?,
        };
        let database = self.database.insert(database);
        // One sync of redb's: the head's is the second phase. redb's own second phase would add a third, and
        // tell less: only the head tells a commit that was torn by a crash from one that was damaged later.
        let transaction = database.begin_write()?;
        {
            let mut objects = transaction.open_table(OBJECTS)?;
            let undone = self.doubtful.iter().map(|(key, record)| (key, record.as_ref()));
            let done = events
                .iter()
                .map(|event| (&event.key, (event.kind != EventKind::Deleted).then_some(&event.record)));
            for (key, record) in undone.chain(done) {
                let key = entry::encode_key(key);
                match record {
                    Some(record) => objects.insert(&*key, &*entry::encode(&key, record))?,
                    None => objects.remove(&*key)?,
                };
            }
            transaction.open_table(ABOUT)?.insert(SUMMARY_KEY, &summary.encode()[..])?;
        }
        transaction.commit()?;
        self.head.write(summary).map_err(|error| Failure::Io(File::Head, error))
    }

    /// Opens the file once more, after a write has failed. It may hold the failed batch or not.
    fn reopen(&self) -> Result<Database, Failure> {
        let file = self.disk.open(File::Log).map_err(|error| Failure::Io(File::Log, error))?;
        let file = Watched::new(file, self.sync_failed.clone());
        if file.len().map_err(|error| Failure::Io(File::Log, error))? == 0 {
            return Err(Failure::Damaged(EMPTY.to_owned()));
        }
        let database = guarded(|| Ok(open_database(file)?.0))?;
        let about = database.begin_read()?.open_table(ABOUT)?;
        let found = about.get(SUMMARY_KEY)?.and_then(|bytes| Summary::decode(bytes.value()));
        if found.is_none_or(|found| found.revision < self.summary.revision) {
            return Err(Failure::Damaged("what was stored last is missing".to_owned()));
        }
        Ok(database)
    }
}

/// Whether a log holds what was acknowledged. It may hold more, when a crash came before that was said.
fn compare(found: &Summary, acknowledged: &Summary) -> Result<(), String> {
    match found.revision.cmp(&acknowledged.revision) {
        std::cmp::Ordering::Less => Err(format!(
            "it is at revision {}, but {} was stored already",
            found.revision, acknowledged.revision
        )),
        std::cmp::Ordering::Equal if found != acknowledged => {
            Err("it holds other objects than were stored".to_owned())
        }
        _ => Ok(()),
    }
}

/// Makes an empty log and says that it is there.
fn create(log: Watched, head: &mut Head) -> Result<(), Failure> {
    let summary = Summary::empty(FIRST_REVISION);
    log.set_len(0).map_err(|error| Failure::Io(File::Log, error))?;
    let database = guarded(|| Ok(open_database(log)?.0))?;
    let transaction = database.begin_write()?;
    transaction.open_table(OBJECTS)?;
    {
        let mut about = transaction.open_table(ABOUT)?;
        about.insert(FORMAT_KEY, &FORMAT.to_le_bytes()[..])?;
        about.insert(SUMMARY_KEY, &summary.encode()[..])?;
    }
    transaction.commit()?;
    head.create(&summary).map_err(|error| Failure::Io(File::Head, error))
}

/// Opens the file, and says whether redb has looked at every page while doing so.
fn open_database(file: Watched) -> Result<(Database, bool), Failure> {
    let checked = Arc::new(AtomicBool::new(false));
    let repairs = checked.clone();
    let database = Database::builder()
        .set_cache_size(CACHE_BYTES)
        .set_repair_callback(move |_| repairs.store(true, Ordering::Release))
        .create_with_backend(file)?;
    let checked = checked.load(Ordering::Acquire);
    Ok((database, checked))
}

/// Opens the file and reads it to the end.
fn read(file: Watched) -> Result<(Database, Summary, Objects), Failure> {
    let (mut database, checked) = open_database(file)?;
    if !checked && !database.check_integrity()? {
        tracing::warn!("The store's list of free pages was wrong and has been made anew");
    }
    let transaction = database.begin_read()?;
    let about = transaction.open_table(ABOUT)?;
    let format =
        about.get(FORMAT_KEY)?.and_then(|bytes| bytes.value().try_into().ok().map(u32::from_le_bytes));
    match format {
        Some(FORMAT) => {}
        Some(found) if found > FORMAT => return Err(Failure::Newer(found)),
        _ => return Err(Failure::Damaged("it does not say what its format is".to_owned())),
    }
    let said = about.get(SUMMARY_KEY)?.and_then(|bytes| Summary::decode(bytes.value()));
    let said = said.ok_or_else(|| Failure::Damaged("its summary is damaged".to_owned()))?;

    let mut summary = Summary::empty(said.revision);
    let mut objects = Vec::new();
    for row in transaction.open_table(OBJECTS)?.iter()? {
        let (key, value) = row?;
        let decoded = entry::decode_key(key.value()).zip(entry::decode(key.value(), value.value()));
        let Some((key, (record, sum))) = decoded else {
            let reason = format!("the checksum of an object is wrong: {}", key.value().escape_ascii());
            return Err(Failure::Damaged(reason));
        };
        summary.add(sum);
        objects.push((key, record));
    }
    if summary != said || objects.iter().any(|(_, record)| record.revision() > said.revision) {
        return Err(Failure::Damaged(format!(
            "it holds {} objects, which are not the {} that were stored",
            summary.objects, said.objects
        )));
    }
    Ok((database, said, objects))
}

/// Does something with a file that may be damaged. redb asserts much about what it reads.
fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Failure::Damaged("its pages contradict each other".to_owned())))
}

enum Failure {
    Io(File, io::Error),
    Newer(u32),
    Damaged(String),
}

impl Failure {
    fn opening(self, disk: &dyn Disk) -> OpenError {
        match self {
            Self::Io(file, source) => OpenError::Io { path: disk.path(file), source },
            Self::Newer(found) => OpenError::Newer { path: disk.path(File::Log), found, known: FORMAT },
            Self::Damaged(reason) => OpenError::Damaged { path: disk.path(File::Log), reason },
        }
    }

    fn writing(self, disk: &dyn Disk, sync_failed: bool) -> WriteError {
        match self {
            Self::Io(file, error) if sync_failed => WriteError::Fatal(format!(
                "failed to sync {}: {error}; nothing is stored until a restart finds the disk well",
                disk.path(file).display()
            )),
            Self::Io(file, error) if is_full(&error) => {
                WriteError::Retryable(format!("no space is left for {}: {error}", disk.path(file).display()))
            }
            Self::Io(file, error) => {
                WriteError::Retryable(format!("failed to write {}: {error}", disk.path(file).display()))
            }
            other => WriteError::Fatal(other.opening(disk).to_string()),
        }
    }
}

impl<E: Into<redb::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        match error.into() {
            redb::Error::Io(error) => Self::Io(File::Log, error),
            redb::Error::PreviousIo => Self::Io(File::Log, io::Error::other("an earlier write has failed")),
            other => Self::Damaged(other.to_string()),
        }
    }
}
