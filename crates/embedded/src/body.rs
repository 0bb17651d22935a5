//! Bodies on their way to a client: what they hold, and for how long.
//!
//! A body is asked for more only when its client has room for it, and of a client that stops reading nothing is
//! heard any more. So what a body holds must go by itself when its time is over, polled or not.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::body::{Body, Bytes, HttpBody};
use futures::{Stream, StreamExt};
use http_body::{Frame, SizeHint};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// How long a client may leave untaken what a stream has for it.
pub const STALL: Duration = Duration::from_secs(60);

/// A stream of bytes on its way to a client.
pub trait Bytestream: Stream<Item = io::Result<Bytes>> + Send + 'static {}

impl<S: Stream<Item = io::Result<Bytes>> + Send + 'static> Bytestream for S {}

/// A body of a stream that is gone, with all it holds, at a deadline or when its client has taken nothing for
/// [`STALL`]; who asks for more then learns that it broke off.
pub fn perishable(stream: impl Bytestream, deadline: Instant) -> Body {
    let shelf = Arc::new(Mutex::new(Shelf { stream: Some(stream.boxed()), offered: None }));
    let reaper = tokio::spawn(reap(shelf.clone(), deadline));
    Body::from_stream(Perishable { shelf, _reaper: AbortOnDropHandle::new(reaper) })
}

struct Perishable {
    shelf: Arc<Mutex<Shelf>>,
    _reaper: AbortOnDropHandle<()>,
}

struct Shelf {
    /// None once it has perished.
    stream: Option<futures::stream::BoxStream<'static, io::Result<Bytes>>>,
    /// Since when the client has been offered something without coming back for more.
    offered: Option<Instant>,
}

/// Clears the shelf when its time is over.
async fn reap(shelf: Arc<Mutex<Shelf>>, deadline: Instant) {
    loop {
        let now = Instant::now();
        let stalls = locked(&shelf).offered.map_or(now, |since| since) + STALL;
        if deadline.min(stalls) <= now {
            // Its own drop may be long, and needs no lock.
            let perished = locked(&shelf).stream.take();
            return drop(perished);
        }
        tokio::time::sleep_until(deadline.min(stalls)).await;
    }
}

fn locked(shelf: &Mutex<Shelf>) -> MutexGuard<'_, Shelf> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stream for Perishable {
    type Item = io::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut shelf = locked(&self.shelf);
        shelf.offered = None;
        let Some(stream) = &mut shelf.stream else {
            return Poll::Ready(Some(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the client did not read in time",
            ))));
        };
        let next = stream.poll_next_unpin(context);
        if next.is_ready() {
            shelf.offered = Some(Instant::now());
        }
        next
    }
}

/// A body that holds something until it is sent or dropped.
pub fn holding(body: Body, held: impl Send + Unpin + 'static) -> Body {
    // An empty body is dropped before anybody could wait for its end.
    if body.is_end_stream() { body } else { Body::new(Holding { body, _held: held }) }
}

struct Holding<T> {
    body: Body,
    _held: T,
}

impl<T: Unpin> HttpBody for Holding<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use http_body_util::BodyExt;

    use super::*;

    /// A stream of so many chunks, then of nothing for ever, and a way to see whether it is still there.
    fn chunks(count: usize) -> (impl Bytestream, Arc<()>) {
        let (held, seen) = (Arc::new(()), Arc::new(()));
        let watched = seen.clone();
        let stream = stream::iter((0..count).map(|_| Ok(Bytes::from_static(b"x")))).chain(stream::pending());
        let stream = stream.map(move |item| {
            let _ = (&held, &watched);
            item
        });
        (stream, seen)
    }

    async fn later(seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_takes_is_gone_after_a_while() {
        let (stream, held) = chunks(3);
        let mut body = perishable(stream, Instant::now() + Duration::from_secs(3600));
        body.frame().await.expect("a chunk must come").expect("it must be whole");
        later(59).await;
        assert_eq!(Arc::strong_count(&held), 2);
        body.frame().await.expect("a chunk must come").expect("it must be whole");
        later(61).await;
        assert_eq!(Arc::strong_count(&held), 1, "held though nobody reads");
        assert!(body.frame().await.expect("an error must come").is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_more_may_wait_until_the_deadline() {
        let (stream, held) = chunks(1);
        let mut body = perishable(stream, Instant::now() + Duration::from_secs(3600));
        body.frame().await.expect("a chunk must come").expect("it must be whole");
        assert!(tokio::time::timeout(Duration::from_secs(3599), body.frame()).await.is_err());
        assert_eq!(Arc::strong_count(&held), 2, "gone though somebody waits");
        later(2).await;
        assert_eq!(Arc::strong_count(&held), 1, "held beyond its deadline");
    }

    #[tokio::test]
    async fn a_body_holds_until_it_is_sent_or_dropped() {
        let held = Arc::new(());
        let body = holding(Body::from("x"), held.clone());
        assert_eq!(body.size_hint().exact(), Some(1));
        assert_eq!(Arc::strong_count(&held), 2);
        body.collect().await.expect("it must be read");
        assert_eq!(Arc::strong_count(&held), 1);
        assert!(holding(Body::empty(), held.clone()).is_end_stream());
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
