//! A watch as a stream of lines.

use anyhow::{Context, Result, bail, ensure};
use bytes::BytesMut;
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;

use crate::PATIENCE;

/// An event of a watch.
#[derive(Clone, Debug)]
pub struct WatchEvent {
    /// ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
    pub kind: String,
    /// The object, or the Status of an ERROR.
    pub object: Value,
}

impl WatchEvent {
    /// The object's name.
    pub fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// The object's resource version.
    pub fn version(&self) -> &str {
        self.object["metadata"]["resourceVersion"].as_str().unwrap_or_default()
    }
}

/// An open watch. Dropping it closes the connection.
pub struct Watch {
    request: String,
    body: Body,
    buffer: BytesMut,
}

impl Watch {
    pub(crate) fn new(request: String, body: Body) -> Self {
        Self { request, body, buffer: BytesMut::new() }
    }

    /// The next event that is not a bookmark.
    ///
    /// # Errors
    /// When none comes within [`PATIENCE`], or the stream ends.
    pub async fn next(&mut self) -> Result<WatchEvent> {
        loop {
            let event = self.next_or_bookmark().await?;
            if event.kind != "BOOKMARK" {
                return Ok(event);
            }
        }
    }

    /// The next event, which must be of this kind and about this object.
    ///
    /// # Errors
    /// When it is another, or none comes.
    pub async fn expect(&mut self, kind: &str, name: &str) -> Result<WatchEvent> {
        let event = self.next().await?;
        ensure!(
            event.kind == kind && event.name() == name,
            "expected {kind} {name}, got {} {}: {}",
            event.kind,
            event.name(),
            event.object
        );
        Ok(event)
    }

    /// The next event, a bookmark too.
    ///
    /// # Errors
    /// As [`Watch::next`].
    pub async fn next_or_bookmark(&mut self) -> Result<WatchEvent> {
        match self.next_or_end().await? {
            Some(event) => Ok(event),
            None => bail!("{}: the watch ended", self.request),
        }
    }

    /// The next event, or nothing once the server has ended the stream.
    ///
    /// # Errors
    /// When neither comes within [`PATIENCE`], or the stream breaks off inside a line.
    pub async fn next_or_end(&mut self) -> Result<Option<WatchEvent>> {
        tokio::time::timeout(PATIENCE, self.read())
            .await
            .with_context(|| format!("{}: no event within {} s", self.request, PATIENCE.as_secs()))?
    }

    async fn read(&mut self) -> Result<Option<WatchEvent>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(end + 1);
                let mut event: Value = serde_json::from_slice(&line)
                    .with_context(|| format!("not an event: {}", String::from_utf8_lossy(&line)))?;
                let kind = event["type"].as_str().context("an event must have a type")?.to_owned();
                return Ok(Some(WatchEvent { kind, object: event["object"].take() }));
            }
            match self.body.frame().await {
                Some(frame) => {
                    if let Ok(data) = frame?.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
                None if self.buffer.is_empty() => return Ok(None),
                None => bail!("{}: the watch broke off inside an event", self.request),
            }
        }
    }
}
