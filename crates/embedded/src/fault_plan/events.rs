//! The events of a watch: lines of JSON, each of which may be left out, repeated, held back or be the end.

use bytes::{Bytes, BytesMut};
use futures::{StreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use serde::Deserialize;
use tower::BoxError;

use super::{
    call::Call,
    layer::{Answer, Seam, broken},
    plan::EventFault,
};

/// The same stream, with what is planned for its events.
pub(super) fn planned(seam: Seam, watch: Call, body: Answer) -> Answer {
    let stream = Events { seam, watch, body, rest: BytesMut::new(), repeated: None, ended: false };
    let frames = stream::unfold(stream, |mut events| async move {
        let line = events.next().await?;
        Some((line.map(Frame::data), events))
    });
    StreamBody::new(frames.fuse()).boxed_unsync()
}

struct Events {
    seam: Seam,
    watch: Call,
    body: Answer,
    /// The beginning of a line whose end has not come yet.
    rest: BytesMut,
    /// A line that goes out once more.
    repeated: Option<Bytes>,
    ended: bool,
}

impl Events {
    /// The next line for the actor, `None` at the end.
    async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            if let Some(line) = self.repeated.take() {
                self.seam.running().await;
                return Some(Ok(line));
            }
            let line = self.line().await;
            // A stopped actor hears nothing more, not even the end.
            self.seam.running().await;
            let line = match line? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            let Some((fault, point)) = self.seam.event(&self.event(&line)) else { return Some(Ok(line)) };
            match fault {
                EventFault::Drop => continue,
                EventFault::Duplicate => self.repeated = Some(line.clone()),
                EventFault::Delay(duration) => {
                    self.seam.plan.clock().sleep(duration).await;
                    self.seam.running().await;
                }
                EventFault::Cut => return self.end(None),
                EventFault::Break => return self.end(Some(broken())),
                EventFault::Stop => self.seam.plan.stop(&self.seam.actor, point).await,
            }
            return Some(Ok(line));
        }
    }

    fn end(&mut self, error: Option<BoxError>) -> Option<Result<Bytes, BoxError>> {
        self.ended = true;
        self.rest.clear();
        error.map(Err)
    }

    /// The next whole line of the server, with its end.
    async fn line(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                return Some(Ok(self.rest.split_to(end + 1).freeze()));
            }
            if self.ended {
                let rest = self.rest.split().freeze();
                return (!rest.is_empty()).then_some(Ok(rest));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.rest.extend_from_slice(&data);
                    }
                }
                Some(Err(error)) => {
                    self.ended = true;
                    return Some(Err(error));
                }
                None => self.ended = true,
            }
        }
    }

    /// An event in the terms of a point.
    fn event(&self, line: &[u8]) -> Call {
        let line: Line = serde_json::from_slice(line).unwrap_or_default();
        let Metadata { namespace, name } = line.object.metadata;
        Call { verb: line.event.to_lowercase(), namespace, name, ..self.watch.clone() }
    }
}

/// What a point says of an event.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Line {
    #[serde(rename = "type")]
    event: String,
    object: Object,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Object {
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    namespace: String,
    name: String,
}
