//! One bit that is wrong, or an end that is missing, is noticed or does no harm.

use std::collections::BTreeMap;

use anneal_kit::Rng;
use futures::future::join_all;

use super::{
    sim::{Images, Sim},
    *,
};

const PAGE: usize = 4096;
const NAMES: [&str; 2] = ["store.redb", "store.head"];

type Content = BTreeMap<Key, bytes::Bytes>;

fn content(store: &Store) -> Content {
    let records = store.list(&Range::all("pods"), None).unwrap().records;
    records.into_iter().map(|(key, record)| (key, record.json().clone())).collect()
}

/// The files of a store after a kill and after a clean stop, and what is in it.
async fn stores() -> ([Images; 2], Content) {
    let sim = Sim::default();
    let store = Store::open_on(Box::new(sim.clone()), Options::default()).unwrap();
    let mut revisions = Vec::new();
    for n in 0..60 {
        let large = json!({"note": n, "data": "x".repeat(if n % 20 == 0 { 20_000 } else { 500 })});
        let change = Change::Put(Draft::encode(&large));
        revisions.push(store.commit(pod(&n.to_string()), Expect::Absent, change).await.unwrap().revision());
    }
    for n in (0..60).step_by(7) {
        let expect = Expect::Revision(revisions[n]);
        store.commit(pod(&n.to_string()), expect, Change::Delete(draft(0))).await.unwrap();
    }
    let content = content(&store);
    let killed = sim.images();
    store.close().await;
    ([killed, sim.images()], content)
}

/// Opens damaged files. If that works, all must be there, also after further writes.
async fn refused_or_whole(images: Images, damaged: usize, what: &str, content_before: &Content) -> bool {
    let sim = Sim::holding(images);
    let store = match Store::open_on(Box::new(sim.clone()), Options::default()) {
        Ok(store) => store,
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains(NAMES[damaged]), "{what}: {text}");
            return true;
        }
    };
    assert!(content(&store) == *content_before, "{what}: something is missing");
    // Many at once, so that pages are taken which a damaged list of free pages may name.
    let others = (0..100).map(|n| put(&store, Key::new("others", "", n.to_string()), Expect::Absent, n));
    assert!(join_all(others).await.iter().all(Result::is_ok), "{what}");
    store.close().await;
    let store = Store::open_on(Box::new(sim), Options::default()).unwrap();
    assert!(content(&store) == *content_before, "{what}: something is missing later");
    store.close().await;
    false
}

/// The bits to flip in a page: one of any, but many of the first page, where each has a meaning of its own.
fn bits(page: usize, content: &[u8], rng: &Rng) -> Vec<u64> {
    const HEADER: u64 = 400 * 8;
    match page {
        0 if soak() => (0..HEADER).collect(),
        0 => (0..24).map(|_| rng.below(HEADER)).collect(),
        // Pages that were never written are not in use; of the others there are many of each kind.
        _ if soak() || content.iter().any(|byte| *byte != 0) && rng.below(3) == 0 => {
            vec![rng.below(PAGE as u64 * 8)]
        }
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn a_flipped_bit_is_noticed_or_does_no_harm() {
    let (stores, content) = stores().await;
    let rng = Rng::seeded(3);
    let mut refused = 0;
    for (images, how) in stores.iter().zip(["killed", "stopped"]) {
        for file in 0..2 {
            for (page, bytes) in images[file].chunks(PAGE).enumerate() {
                for bit in bits(page, bytes, &rng) {
                    let mut images = images.clone();
                    images[file][page * PAGE + bit as usize / 8] ^= 1 << (bit % 8);
                    let what = format!("bit {bit} of page {page} of {} ({how})", NAMES[file]);
                    refused += usize::from(refused_or_whole(images, file, &what, &content).await);
                }
            }
        }
    }
    assert!(refused > 20, "only {refused} were noticed");
}

#[tokio::test]
async fn a_missing_end_is_noticed_or_does_no_harm() {
    let (stores, content) = stores().await;
    let rng = Rng::seeded(4);
    for (images, how) in stores.iter().zip(["killed", "stopped"]) {
        for file in 0..2 {
            for page in 0..images[file].len() / PAGE {
                if page > 3 && !soak() && rng.below(10) > 0 {
                    continue;
                }
                let mut images = images.clone();
                images[file].truncate(page * PAGE);
                let what = format!("{} ended at page {page} ({how})", NAMES[file]);
                let refused = refused_or_whole(images, file, &what, &content).await;
                assert!(refused || page > 0, "{what}: it was not noticed");
            }
        }
    }
}

#[tokio::test]
async fn a_log_from_earlier_is_refused() {
    let sim = Sim::default();
    let store = Store::open_on(Box::new(sim.clone()), Options::default()).unwrap();
    put(&store, pod("a"), Expect::Absent, 1).await.unwrap();
    let [earlier, _] = sim.images();
    put(&store, pod("b"), Expect::Absent, 1).await.unwrap();
    store.close().await;
    let [_, head] = sim.images();
    let error = Store::open_on(Box::new(Sim::holding([earlier, head])), Options::default()).err().unwrap();
    assert!(error.to_string().contains("at revision 2, but 3"), "{error}");
}
