//! Answers: what came of a request, and how it is shown.
//!
//! Stored objects are shown as the bytes they are whenever the form allows; only tables, YAML, metadata alone
//! and converted versions are parsed.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use jiff::Timestamp;
use serde_json::{Value, json};

use axum::body::Body;

use super::{
    error::Result,
    list::Listed,
    options::IncludeObject,
    resource::Resource,
    table::{self, TableMaker},
    watch::Frames,
    wire::{self, Form, Format, ListMeta},
    write::Written,
};
use crate::store::Record;

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

impl Rendering {
    /// The answer as it crosses the wire.
    pub fn response(
        &self,
        answer: Answer,
        accept_encoding: Option<&str>,
        now: Timestamp,
    ) -> Result<Response<Body>> {
        let (code, body) = match answer {
            Answer::Object(code, resource, written) => {
                table::check_form(self.format.form, false, &resource.kind)?;
                (code, self.object(&resource, written, now)?)
            }
            Answer::List(resource, listed) => {
                table::check_form(self.format.form, true, &resource.kind)?;
                (StatusCode::OK, self.list(&resource, &listed, now)?)
            }
            Answer::Value(code, value) => (code, wire::encode(&value, self.format)?),
            Answer::Nothing(code) => {
                let mut response = Response::new(Body::empty());
                *response.status_mut() = code;
                return Ok(response);
            }
            Answer::Watch(frames) => {
                let mut response = Response::new(Body::from_stream(frames));
                let json = HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, json);
                return Ok(response);
            }
        };
        let compressed = wire::compress(&body, accept_encoding);
        let gzip = compressed.is_some();
        let mut response = Response::new(Body::from(compressed.unwrap_or(body)));
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

    fn object(&self, resource: &Resource, written: Written, now: Timestamp) -> Result<Bytes> {
        let value = match (self.format.form, written) {
            (Form::Object, Written::Stored(record)) => {
                return wire::encode_raw(shown(resource, &record, None), self.format);
            }
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
                let metadata = table::partial_metadata(value.to_string().as_bytes(), version)?;
                return wire::encode_raw(metadata, self.format);
            }
        };
        wire::encode(&value, self.format)
    }

    fn list(&self, resource: &Resource, listed: &Listed, now: Timestamp) -> Result<Bytes> {
        let meta = ListMeta {
            resource_version: listed.revision.to_string(),
            next: listed.next.as_ref().map(|token| token.encode()).unwrap_or_default(),
            remaining_item_count: listed.remaining.map(|count| count as u64),
        };
        let objects = || listed.records.iter().map(|record| resource.read(record));
        let value = match self.format.form {
            Form::Object | Form::Discovery => {
                let items: Vec<Bytes> =
                    listed.records.iter().map(|record| untyped(resource, record)).collect();
                // Items of built-in kinds carry no type, those of custom ones do.
                let item_type =
                    resource.custom().map(|_| (resource.api_version.as_str(), resource.kind.as_str()));
                let items = items.iter().map(|item| &item[..]);
                let json =
                    wire::encode_list(&resource.api_version, &resource.list_kind, &meta, item_type, items);
                return wire::encode_raw(json, self.format);
            }
            Form::Table(version) => {
                let tables = self.tables(version);
                let rows = objects().map(|object| tables.row(resource.cells(&object, now), &object));
                tables.list(&resource.columns(), &meta, rows.collect())
            }
            Form::Metadata(version) | Form::MetadataList(version) => {
                let items =
                    listed.records.iter().map(|record| table::partial_metadata(record.json(), version));
                let items: Vec<Bytes> = items.collect::<Result<_>>()?;
                let (api_version, kind) = (format!("meta.k8s.io/{version}"), "PartialObjectMetadataList");
                let items = items.iter().map(|item| item.trim_ascii_end());
                let json = wire::encode_list(&api_version, kind, &meta, None, items);
                return wire::encode_raw(json, self.format);
            }
        };
        wire::encode(&value, self.format)
    }

    /// An object in a watch's event. The first event of a table names its columns.
    pub fn watched(
        &self,
        resource: &Resource,
        record: &Record,
        at: Option<u64>,
        now: Timestamp,
        first: bool,
    ) -> Bytes {
        if self.format.form == Form::Object {
            return shown(resource, record, at);
        }
        let object = match at {
            Some(revision) => resource.read_json(&record.at_revision(revision)),
            None => resource.read(record),
        };
        match self.format.form {
            Form::Table(version) => {
                let columns = first.then(|| resource.columns());
                let cells = resource.cells(&object, now);
                self.tables(version).single(columns.as_deref(), cells, &object).to_string().into()
            }
            Form::Metadata(version) | Form::MetadataList(version) => metadata_of(&object, version),
            Form::Object | Form::Discovery => object.to_string().into(),
        }
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

/// Metadata alone, of an object that is sure to be JSON.
fn metadata_of(object: &Value, version: &str) -> Bytes {
    let metadata = table::partial_metadata(object.to_string().as_bytes(), version).unwrap_or_default();
    Bytes::copy_from_slice(metadata.trim_ascii_end())
}

/// A stored object with its type, perhaps with another version's number on it.
fn shown(resource: &Resource, record: &Record, at: Option<u64>) -> Bytes {
    let json = at.map(|revision| record.at_revision(revision));
    let json = json.as_ref().unwrap_or(record.json());
    if resource.reads_raw(record) {
        wire::splice_type(json, &resource.api_version, &resource.kind)
    } else {
        resource.read_json(json).to_string().into()
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
