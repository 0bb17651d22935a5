//! Answers: what came of a request, and how it is shown.
//!
//! Stored objects are shown as the bytes they are whenever the form allows; only tables, YAML, metadata alone
//! and converted versions are parsed.

use std::{io, sync::Arc, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use http::{HeaderValue, Response, StatusCode, header};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

use super::{
    chunks::{CHUNK, Chunks, Gzip},
    error::{ApiError, Result},
    list::Listed,
    options::IncludeObject,
    resource::Resource,
    server::{SMALL_BODY, Server},
    table::{self, TableMaker},
    watch::Frames,
    wire::{self, Encoded, Form, Format, ListFrame, ListMeta},
    write::Written,
};
use crate::{body, store::Record};

/// How long a watch may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(5);

/// What came of a request.
pub enum Answer {
    Object(StatusCode, Arc<Resource>, Written),
    List(Arc<Resource>, Listed),
    /// A Status, a Scale, a review: shown as it is.
    Value(StatusCode, Value),
    Watch(Frames),
    /// A success without a body.
    Nothing(StatusCode),
}

/// How a client wants to see objects.
#[derive(Clone, Copy, Debug)]
pub struct Rendering {
    pub format: Format,
    pub include: IncludeObject,
}

/// How an answer gets to its client.
pub struct Delivery<'a> {
    pub server: &'a Server,
    pub accept_encoding: Option<&'a str>,
    /// Whether the client is part of this process, which reads what it asks for.
    pub inside: bool,
}

/// A body, and whether it is compressed.
type Parcel = (Body, bool);

impl Answer {
    /// How many bytes have to be parsed at once to show it in a format. Lists are parsed object by object.
    pub fn parsed(&self, format: Format) -> usize {
        match self {
            Self::Object(_, _, Written::Stored(record)) if !format.is_raw() => record.json().len(),
            _ => 0,
        }
    }
}

impl Rendering {
    /// The answer as it crosses the wire.
    pub fn response(&self, answer: Answer, delivery: &Delivery<'_>) -> Result<Response<Body>> {
        let now = delivery.server.clock.now();
        let (code, (body, gzip)) = match answer {
            Answer::Object(code, resource, written) => {
                table::check_form(self.format.form, false, &resource.kind)?;
                let object = self.object(&resource, written, now)?;
                if self.format.is_raw() {
                    let pieces = [object.head, object.rest].into_iter().filter(|piece| !piece.is_empty());
                    (code, delivery.streamed(pieces.map(Ok))?)
                } else {
                    (code, delivery.built(wire::encode_raw(object.join(), self.format)?)?)
                }
            }
            Answer::List(resource, listed) => {
                table::check_form(self.format.form, true, &resource.kind)?;
                (StatusCode::OK, self.list(resource, listed, now, delivery)?)
            }
            Answer::Value(code, value) => (code, delivery.built(wire::encode(&value, self.format)?)?),
            Answer::Nothing(code) => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = code;
                return Ok(response);
            }
            Answer::Watch(Frames { frames, deadline }) => {
                // It ends by itself at its deadline, unless nobody listens.
                let mut response = Response::new(body::perishable(frames, deadline + FAREWELL));
                let json = HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, json);
                return Ok(response);
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = code;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.format.content_type()));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        if gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        Ok(response)
    }

    fn object(&self, resource: &Resource, written: Written, now: Timestamp) -> Result<Encoded> {
        let value = match (self.format.form, written) {
            (Form::Object, Written::Stored(record)) => return Ok(shown(resource, &record, None)),
            (_, Written::Stored(record)) => resource.read(&record),
            (_, Written::Dry(value)) => value,
        };
        let value = match self.format.form {
            Form::Object | Form::Discovery => value,
            Form::Table(version) => {
                let cells = resource.cells(&value, now);
                self.tables(version).single(Some(&resource.columns()), cells, &value)
            }
            Form::Metadata(version) | Form::MetadataList(version) => {
                return table::partial_metadata(value.to_string().as_bytes(), version).map(Encoded::from);
            }
        };
        Ok(Bytes::from(value.to_string()).into())
    }

    fn list(
        &self,
        resource: Arc<Resource>,
        listed: Listed,
        now: Timestamp,
        delivery: &Delivery<'_>,
    ) -> Result<Parcel> {
        let meta = ListMeta {
            resource_version: listed.revision.to_string(),
            next: listed.next.as_ref().map(|token| token.encode()).unwrap_or_default(),
            remaining_item_count: listed.remaining.map(|count| count as u64),
        };
        let records = listed.records.into_iter();
        let frame = |api_version: &str, kind: &str| {
            let fields = json!({ "apiVersion": api_version, "kind": kind, "metadata": meta });
            ListFrame::new(&fields, "items", self.format)
        };
        match self.format.form {
            Form::Object | Form::Discovery => {
                let frame = frame(&resource.api_version, &resource.list_kind)?;
                // Items of built-in kinds carry no type, those of custom ones do.
                let item_head =
                    resource.custom().map(|_| wire::type_head(&resource.api_version, &resource.kind));
                let items = records.map(move |record| {
                    let item = untyped(&resource, &record);
                    Ok(match &item_head {
                        Some(head) => Encoded::typed(head, &item),
                        None => item.into(),
                    })
                });
                delivery.streamed(Chunks::new(frame, items))
            }
            Form::Table(version) => {
                let tables = self.tables(version);
                let frame = ListFrame::new(&tables.list(&resource.columns(), &meta), "rows", self.format)?;
                let rows = records.map(move |record| {
                    let object = resource.read(&record);
                    Ok(Bytes::from(tables.row(resource.cells(&object, now), &object).to_string()).into())
                });
                delivery.streamed(Chunks::new(frame, rows))
            }
            Form::Metadata(version) | Form::MetadataList(version) => {
                let frame = frame(&format!("meta.k8s.io/{version}"), "PartialObjectMetadataList")?;
                let items = records
                    .map(move |record| table::partial_metadata(record.json(), version).map(Encoded::from));
                delivery.streamed(Chunks::new(frame, items))
            }
        }
    }

    /// An object in a watch's event. The first event of a table names its columns.
    pub fn watched(
        &self,
        resource: &Resource,
        record: &Record,
        at: Option<u64>,
        now: Timestamp,
        first: bool,
    ) -> Encoded {
        if self.format.form == Form::Object {
            return shown(resource, record, at);
        }
        let object = match at {
            Some(revision) => resource.read_json(&record.at_revision(revision)),
            None => resource.read(record),
        };
        let json: Bytes = match self.format.form {
            Form::Table(version) => {
                let columns = first.then(|| resource.columns());
                let cells = resource.cells(&object, now);
                self.tables(version).single(columns.as_deref(), cells, &object).to_string().into()
            }
            Form::Metadata(version) | Form::MetadataList(version) => metadata_of(&object, version),
            Form::Object | Form::Discovery => object.to_string().into(),
        };
        json.into()
    }

    /// The object of a bookmark: its metadata and nothing else.
    pub fn bookmark(&self, resource: &Resource, metadata: Value, first: bool) -> Bytes {
        let object =
            json!({ "apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata });
        match self.format.form {
            Form::Table(version) => {
                let columns = first.then(|| resource.columns());
                let cells = resource.columns().iter().map(|_| Value::Null).collect();
                self.tables(version).single(columns.as_deref(), cells, &object).to_string().into()
            }
            Form::Metadata(version) | Form::MetadataList(version) => metadata_of(&object, version),
            Form::Object | Form::Discovery => object.to_string().into(),
        }
    }

    fn tables(&self, version: &'static str) -> TableMaker {
        TableMaker { version, include: self.include }
    }
}

impl Delivery<'_> {
    /// A body that is made while it is sent, unless it is small.
    fn streamed(&self, mut chunks: impl Iterator<Item = Result<Bytes>> + Send + 'static) -> Result<Parcel> {
        let (mut begun, mut size): (Vec<Bytes>, _) = (Vec::new(), 0);
        while size <= wire::WORTH_COMPRESSING {
            let Some(chunk) = chunks.next().transpose()? else {
                let whole = if begun.len() == 1 { begun.swap_remove(0) } else { begun.concat().into() };
                return self.whole(whole, false);
            };
            size += chunk.len();
            begun.push(chunk);
        }
        // What it may hold at a time: its beginning, and the chunk it is at.
        let room = self.room(2 * wire::WORTH_COMPRESSING)?;
        let chunks = begun.into_iter().map(Ok).chain(chunks);
        if wire::reads_gzip(self.accept_encoding) {
            return Ok((self.body(Gzip::new(chunks), room), true));
        }
        Ok((self.body(chunks, room), false))
    }

    /// A body that was built as a whole.
    fn built(&self, body: Bytes) -> Result<Parcel> {
        match wire::compress(&body, self.accept_encoding) {
            Some(compressed) => self.whole(compressed, true),
            None => self.whole(body, false),
        }
    }

    fn whole(&self, body: Bytes, gzip: bool) -> Result<Parcel> {
        if body.len() <= SMALL_BODY {
            return Ok((Body::from(body), gzip));
        }
        let room = self.room(body.len())?;
        let chunks = (0..body.len()).step_by(CHUNK);
        let chunks = chunks.map(move |start| Ok(body.slice(start..body.len().min(start + CHUNK))));
        Ok((self.body(chunks, room), gzip))
    }

    /// A body that holds its room for as long as a request may take.
    fn body(
        &self,
        chunks: impl Iterator<Item = Result<Bytes>> + Send + 'static,
        room: Option<OwnedSemaphorePermit>,
    ) -> Body {
        let chunks = chunks.map(move |chunk| {
            let _held = &room;
            chunk.map_err(|error| io::Error::other(error.message))
        });
        let deadline = Instant::now() + Duration::from_secs(self.server.limits.request_seconds);
        body::perishable(stream::iter(chunks), deadline)
    }

    /// Room among the answers that are on their way.
    fn room(&self, bytes: usize) -> Result<Option<OwnedSemaphorePermit>> {
        if self.inside {
            return Ok(None);
        }
        self.server.downloads.try_claim(bytes).map(Some).ok_or_else(|| {
            ApiError::too_many_requests(
                "too many large answers are on their way, please try again later",
                Some(1),
            )
        })
    }
}

/// Metadata alone, of an object that is sure to be JSON.
fn metadata_of(object: &Value, version: &str) -> Bytes {
    table::partial_metadata(object.to_string().as_bytes(), version).unwrap_or_default()
}

/// A stored object with its type, perhaps with another version's number on it.
fn shown(resource: &Resource, record: &Record, at: Option<u64>) -> Encoded {
    let json = at.map(|revision| record.at_revision(revision));
    let json = json.as_ref().unwrap_or(record.json());
    if resource.reads_raw(record) {
        Encoded::typed(&wire::type_head(&resource.api_version, &resource.kind), json)
    } else {
        Bytes::from(resource.read_json(json).to_string()).into()
    }
}

/// A stored object without its type.
fn untyped(resource: &Resource, record: &Record) -> Bytes {
    if resource.reads_raw(record) {
        return record.json().clone();
    }
    let mut object = resource.read(record);
    if let Some(fields) = object.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    object.to_string().into()
}
