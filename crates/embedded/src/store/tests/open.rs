//! Opening a directory: alone, privately, and only what is understood.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::atomic::AtomicU32,
};

use redb::{Database, TableDefinition};

use super::*;

/// A directory that goes with the test.
struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let unique = format!("anneal-store-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(unique))
    }

    fn open(&self) -> Result<Store, OpenError> {
        Store::open(&self.0, Options::default())
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn objects_and_revisions_survive_a_restart_but_history_does_not() {
    let dir = TempDir::new();
    let store = dir.open().unwrap();
    assert_eq!(store.revision(), 1);
    let a = put(&store, pod("a"), Expect::Absent, 1).await.unwrap();
    put(&store, pod("b"), Expect::Absent, 2).await.unwrap();
    store.commit(pod("b"), Expect::Revision(3), Change::Delete(draft(3))).await.unwrap();
    assert_eq!(mode(&dir.0), 0o700);
    for file in ["store.redb", "store.head", "store.lock"] {
        assert_eq!(mode(&dir.0.join(file)), 0o600, "{file}");
    }
    store.close().await;
    assert!(matches!(put(&store, pod("c"), Expect::Absent, 1).await, Err(CommitError::Closed(_))));
    assert!(store.get(&pod("a")).is_some(), "a closed store is read still");

    let store = dir.open().unwrap();
    assert_eq!((store.revision(), store.get(&pod("b")).is_none()), (4, true));
    assert_eq!(store.get(&pod("a")).unwrap().json(), a.json());
    assert!(store.watch("pods", None, 3).is_err());
    assert!(store.list(&Range::all("pods"), Some(3)).is_err());
    let mut watch = store.watch("pods", None, 4).unwrap();
    put(&store, pod("a"), Expect::Revision(2), 2).await.unwrap();
    assert_eq!(watch.next(1).await.unwrap()[0].revision, 5);
    store.close().await;
}

#[tokio::test]
async fn a_second_opener_is_refused() {
    let dir = TempDir::new();
    let store = dir.open().unwrap();
    let Err(error) = dir.open() else { panic!("it was opened twice") };
    assert!(matches!(error, OpenError::InUse(_)));
    assert_eq!(error.to_string(), format!("{} is in use by another process", dir.0.display()));
    store.close().await;
    dir.open().unwrap().close().await;
}

#[tokio::test]
async fn a_newer_format_is_refused() {
    let dir = TempDir::new();
    dir.open().unwrap().close().await;
    {
        let database = Database::create(dir.0.join("store.redb")).unwrap();
        let transaction = database.begin_write().unwrap();
        let about: TableDefinition<&str, &[u8]> = TableDefinition::new("about");
        transaction.open_table(about).unwrap().insert("format", &2u32.to_le_bytes()[..]).unwrap();
        transaction.commit().unwrap();
    }
    let Err(error) = dir.open() else { panic!("it was opened") };
    assert!(matches!(error, OpenError::Newer { found: 2, known: 1, .. }), "{error}");
    assert!(error.to_string().contains("store.redb"));
}

#[tokio::test]
async fn a_missing_file_is_refused() {
    for file in ["store.redb", "store.head"] {
        let dir = TempDir::new();
        let store = dir.open().unwrap();
        put(&store, pod("a"), Expect::Absent, 1).await.unwrap();
        store.close().await;
        fs::remove_file(dir.0.join(file)).unwrap();
        for _ in 0..2 {
            let Err(error) = dir.open() else { panic!("it started without {file}") };
            assert!(error.to_string().contains(file), "{error}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn expiry_survives_a_restart() {
    let dir = TempDir::new();
    let hour = Duration::from_secs(3600);
    let open = |since: i64| {
        let clock = Clock::starting_at(Timestamp::from_second(since).unwrap());
        Store::open(&dir.0, Options { clock, ..Options::default() }).unwrap()
    };
    let store = open(0);
    store.commit(pod("a"), Expect::Absent, Change::Put(draft(1).expires_after(hour))).await.unwrap();
    store.close().await;
    let store = open(3500);
    assert!(store.get(&pod("a")).is_some());
    let mut watch = store.watch("pods", None, store.revision()).unwrap();
    assert_eq!(watch.next(1).await.unwrap()[0].kind, EventKind::Deleted);
    assert!(store.0.now() >= 3_600_000);
    store.close().await;
    assert!(open(0).get(&pod("a")).is_none());
}
