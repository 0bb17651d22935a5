//! Tables as `kubectl get` asks for them, and metadata without the rest.
//!
//! Columns and cells come from a kind's behaviour or from its definition; here they become a
//! `meta.k8s.io` Table. The type of an object is put into rows only where the whole object is asked for.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    behaviour::Column,
    error::{ApiError, Result},
    options::IncludeObject,
    wire::{Form, ListMeta},
};

/// A column, of a built-in kind or from a definition.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TableColumn {
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    pub format: String,
    pub description: String,
    pub priority: i32,
}

impl From<&Column> for TableColumn {
    fn from(column: &Column) -> Self {
        Self {
            name: column.name.to_owned(),
            kind: column.kind.to_owned(),
            format: column.format.to_owned(),
            description: column.description.to_owned(),
            priority: column.priority,
        }
    }
}

/// How tables are to be made for one request.
#[derive(Clone, Copy, Debug)]
pub struct TableMaker {
    /// The version of `meta.k8s.io` that was asked for.
    pub version: &'static str,
    pub include: IncludeObject,
}

impl TableMaker {
    /// A row. The object is whole, with its type.
    pub fn row(&self, cells: Vec<Value>, object: &Value) -> Value {
        let object = match self.include {
            IncludeObject::Object => object.clone(),
            IncludeObject::Metadata => self.metadata(object),
            // The end of the initial events must not be lost on those who want no objects.
            IncludeObject::None if ends_initial_events(object) => self.metadata(object),
            IncludeObject::None => Value::Null,
        };
        json!({ "cells": cells, "object": object })
    }

    /// A list without its rows.
    pub fn list(&self, columns: &[TableColumn], meta: &ListMeta) -> Value {
        let mut table = self.table(json!(meta), Some(columns), Vec::new());
        if let Some(fields) = table.as_object_mut() {
            fields.remove("rows");
        }
        table
    }

    /// A single object, or an event of a watch, which describes the columns only the first time (`Some`).
    pub fn single(&self, columns: Option<&[TableColumn]>, cells: Vec<Value>, object: &Value) -> Value {
        let meta = json!({ "resourceVersion": object["metadata"]["resourceVersion"] });
        self.table(meta, columns, vec![self.row(cells, object)])
    }

    fn table(&self, meta: Value, columns: Option<&[TableColumn]>, rows: Vec<Value>) -> Value {
        let describe = |column: &TableColumn| {
            json!({
                "name": column.name,
                "type": column.kind,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            })
        };
        json!({
            "kind": "Table",
            "apiVersion": format!("meta.k8s.io/{}", self.version),
            "metadata": meta,
            "columnDefinitions": columns.map(|columns| columns.iter().map(describe).collect::<Vec<_>>()),
            "rows": rows,
        })
    }

    fn metadata(&self, object: &Value) -> Value {
        let api_version = format!("meta.k8s.io/{}", self.version);
        json!({ "kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": object["metadata"] })
    }
}

fn ends_initial_events(object: &Value) -> bool {
    object["metadata"]["annotations"]["k8s.io/initial-events-end"] == "true"
}

/// The metadata of an encoded object, encoded and with its type, for answers in that form. For a list, give
/// these the frame of a `PartialObjectMetadataList`.
pub fn partial_metadata(object: &[u8], version: &str) -> Result<Bytes> {
    #[derive(Deserialize)]
    struct Object<'a> {
        #[serde(borrow)]
        metadata: Option<&'a RawValue>,
    }
    let object: Object<'_> = serde_json::from_slice(object).map_err(ApiError::internal)?;
    let metadata = object.metadata.map_or("{}", RawValue::get);
    let api_version = format!("meta.k8s.io/{version}");
    let head = format!("{{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"{api_version}\",\"metadata\":");
    Ok([head.as_bytes(), metadata.as_bytes(), b"}"].concat().into())
}

/// Refuses the metadata of an object where there is a list, and the other way round.
pub fn check_form(form: Form, list: bool, kind: &str) -> Result<()> {
    let message = match (form, list) {
        (Form::Metadata(_), true) => {
            format!("you requested PartialObjectMetadata, but the requested object is a list ({kind}List)")
        }
        (Form::MetadataList(_), false) => {
            format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list ({kind})"
            )
        }
        _ => return Ok(()),
    };
    Err(ApiError::not_acceptable(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::behaviour::{AGE, NAME};

    fn maker(include: IncludeObject) -> TableMaker {
        TableMaker { version: "v1", include }
    }

    fn object() -> Value {
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "resourceVersion": "7" },
            "data": { "key": "1" } })
    }

    #[test]
    fn rows_carry_as_much_of_the_object_as_asked() {
        let row = |include| maker(include).row(vec!["a".into()], &object())["object"].clone();
        assert_eq!(row(IncludeObject::None), Value::Null);
        assert_eq!(row(IncludeObject::Object), object());
        let metadata = json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": { "name": "a", "resourceVersion": "7" } });
        assert_eq!(row(IncludeObject::Metadata), metadata);
        let end = json!({ "metadata": { "annotations": { "k8s.io/initial-events-end": "true" } } });
        assert!(maker(IncludeObject::None).row(vec![], &end)["object"].is_object());
    }

    #[test]
    fn columns_are_described_once() {
        let columns: Vec<TableColumn> = [NAME, AGE].iter().map(Into::into).collect();
        let maker = maker(IncludeObject::default());
        let first = maker.single(Some(&columns), vec!["a".into(), "1s".into()], &object());
        assert_eq!(first["columnDefinitions"][0]["format"], "name");
        assert_eq!(first["metadata"]["resourceVersion"], "7");
        let second = maker.single(None, vec!["a".into(), "1s".into()], &object());
        assert!(second["columnDefinitions"].is_null() && second["rows"][0]["cells"] == json!(["a", "1s"]));
        let meta = ListMeta { resource_version: "9".into(), remaining_item_count: Some(2), next: "x".into() };
        let list = maker.list(&columns, &meta);
        assert_eq!(
            list["metadata"],
            json!({ "resourceVersion": "9", "continue": "x", "remainingItemCount": 2 })
        );
        assert!(list.get("rows").is_none());
    }

    #[test]
    fn metadata_are_cut_out_of_what_is_encoded() {
        let cut = partial_metadata(object().to_string().as_bytes(), "v1").expect("an object must be cut");
        let cut: Value = serde_json::from_slice(&cut).expect("metadata must be JSON");
        assert_eq!(cut, maker(IncludeObject::default()).metadata(&object()));
        assert!(partial_metadata(b"{", "v1").is_err());
    }

    #[test]
    fn metadata_of_a_list_are_not_those_of_an_object() {
        assert_eq!(check_form(Form::Metadata("v1"), true, "Pod").expect_err("a list").code.as_u16(), 406);
        assert_eq!(check_form(Form::MetadataList("v1"), false, "Pod").expect_err("one").code.as_u16(), 406);
        assert!(check_form(Form::Table("v1"), true, "Pod").is_ok());
    }
}
