//! The files of a data directory. Tests put others in their place, which fail and forget.

use std::{
    fs,
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use redb::{StorageBackend, backends::FileBackend};

use super::OpenError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// All objects.
    Log,
    /// The last acknowledged summary.
    Head,
}

/// Where a durable store keeps its files.
pub trait Disk: Send + 'static {
    /// Opens a file, an empty one if there is none. The store opens one again when a write has failed.
    fn open(&self, file: File) -> io::Result<Box<dyn StorageBackend>>;

    /// What to call a file in a message.
    fn path(&self, file: File) -> PathBuf;
}

/// A directory of its own, held by this process.
pub struct DataDir {
    path: PathBuf,
    /// Locked for as long as it is open.
    _lock: fs::File,
}

impl DataDir {
    /// Takes hold of a directory, which is made if there is none.
    pub fn hold(path: &Path) -> Result<Self, OpenError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| OpenError::Io { path, source }
        };
        make_private(path).map_err(failed(path))?;
        let lock_path = path.join("store.lock");
        let lock = open_private(&lock_path).map_err(failed(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(fs::TryLockError::WouldBlock) => Err(OpenError::InUse(path.to_owned())),
            Err(fs::TryLockError::Error(source)) => Err(OpenError::Io { path: lock_path, source }),
        }
    }
}

impl Disk for DataDir {
    fn open(&self, file: File) -> io::Result<Box<dyn StorageBackend>> {
        let path = self.path(file);
        let is_new = !path.try_exists()?;
        let opened = open_private(&path)?;
        if is_new {
            sync_names(&self.path)?;
        }
        Ok(Box::new(FileBackend::new(opened).map_err(|error| io::Error::other(error.to_string()))?))
    }

    fn path(&self, file: File) -> PathBuf {
        self.path.join(match file {
            File::Log => "store.redb",
            File::Head => "store.head",
        })
    }
}

/// Makes a directory that only its owner enters, unless there is one, and those above it.
fn make_private(path: &Path) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    let missing: Vec<_> = path.ancestors().take_while(|path| !path.exists()).collect();
    for path in missing.into_iter().rev() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        sync_names(path.parent().unwrap_or(path))?;
    }
    Ok(())
}

/// Syncs what a directory calls its files. A file whose name is lost in a crash is lost with all that is in it.
fn sync_names(directory: &Path) -> io::Result<()> {
    fs::File::open(directory)?.sync_all()
}

/// Opens a file that only its owner reads: there are Secrets in it.
fn open_private(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// A file that remembers whether a sync of it has ever failed. The system may have dropped what it did not
/// write, and tells so only once: nothing that is read from the file later proves that it is on the disk.
#[derive(Clone, Debug)]
pub struct Watched {
    file: Arc<dyn StorageBackend>,
    sync_failed: Arc<AtomicBool>,
}

impl Watched {
    pub fn new(file: Box<dyn StorageBackend>, sync_failed: Arc<AtomicBool>) -> Self {
        Self { file: file.into(), sync_failed }
    }
}

impl StorageBackend for Watched {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data().inspect_err(|_| self.sync_failed.store(true, Ordering::Release))
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}

/// Whether an error says that there is no space.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}
