//! JSON patches, one operation after the other, as Kubernetes reads them: an index may count from the end,
//! `replace` may set what is not there yet, a missing value is null, and so is the copy of a missing field.
//!
//! Patches are small and what they can make of an object is not: copies are bounded in sum, nesting in depth.

use json_patch::PatchOperation;
use serde_json::{Value, json};

use super::unprocessable;
use crate::api::error::ApiError;

/// As many as upstream takes.
const MAX_OPERATIONS: usize = 10_000;
/// How much all copies of a patch may add, in bytes of JSON, as upstream has it.
const MAX_COPIED: usize = 3 * 1024 * 1024;
/// How many items of lists all operations together may push back or draw up. A second's work; without a bound a small
/// patch could take from the front of a large list for minutes.
const MAX_SHIFTED: usize = 50_000_000;
/// How deep a body may be nested, and so its object.
const MAX_DEPTH: usize = 128;

/// Applies the operations of a patch in order.
///
/// # Errors
/// See [`super::apply`].
pub fn apply(live: &Value, body: &Value) -> Result<Value, ApiError> {
    let Some(operations) = body.as_array() else {
        return Err(ApiError::bad_request("error decoding patch: expected a list of operations"));
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(ApiError::too_large(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    let operations: Vec<_> = operations.iter().map(read).collect::<Result<_, _>>()?;
    let mut patched = Patched { object: live.clone(), copied: 0, shifted: 0, depth: MAX_DEPTH };
    for operation in &operations {
        patched.carry_out(operation).map_err(|why| unprocessable(&why))?;
    }
    patched.bound_depth(MAX_DEPTH).map_err(|why| unprocessable(&why))?;
    Ok(patched.object)
}

/// An operation whose parts have the right types.
struct Operation<'a> {
    op: &'a str,
    path: Option<&'a str>,
    from: Option<&'a str>,
    value: &'a Value,
}

fn read(operation: &Value) -> Result<Operation<'_>, ApiError> {
    let Some(fields) = operation.as_object() else {
        return Err(ApiError::bad_request("error decoding patch: an operation must be an object"));
    };
    let text = |field: &str| match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(ApiError::bad_request(format!("error decoding patch: {field} must be a string"))),
    };
    Ok(Operation {
        op: text("op")?.unwrap_or_default(),
        path: text("path")?,
        from: text("from")?,
        value: fields.get("value").unwrap_or(&Value::Null),
    })
}

struct Patched {
    object: Value,
    /// Bytes that copies have added.
    copied: usize,
    /// Items of lists that had to make room or close up.
    shifted: usize,
    /// The object is nested at most this deep.
    depth: usize,
}

impl Patched {
    fn carry_out(&mut self, operation: &Operation<'_>) -> Result<(), String> {
        let op = operation.op;
        let path = operation.path.ok_or_else(|| format!("{op} operation without a path"))?;
        let path = self.counted_from_the_front(path, matches!(op, "add" | "move" | "copy"));
        let from = || operation.from.ok_or_else(|| format!("{op} operation without a from"));
        let value = operation.value;
        if matches!(op, "add" | "remove" | "copy" | "move") {
            self.count_shifted(&path)?;
        }
        match op {
            "add" => self.deepen(steps(&path) + depth_of(value))?,
            "replace" => {
                self.deepen(steps(&path) + depth_of(value))?;
                // A field that is not there is set; an item that is not there is missed.
                if self.lacks(&path) {
                    return self.run(json!({ "op": "add", "path": path, "value": value }));
                }
            }
            "test" => {
                if self.lacks(&path) && value.is_null() {
                    return Ok(());
                }
            }
            "remove" => {}
            "move" | "copy" => {
                let from = self.counted_from_the_front(from()?, false);
                self.deepen((steps(&path) + self.depth).saturating_sub(steps(&from)))?;
                if op == "move" {
                    self.count_shifted(&from)?;
                }
                if op == "copy" {
                    self.count_copy(&from)?;
                    if self.lacks(&from) {
                        return self.run(json!({ "op": "add", "path": path, "value": null }));
                    }
                }
                return self.run(json!({ "op": op, "path": path, "from": from }));
            }
            op => return Err(format!("Unexpected kind: {op}")),
        }
        self.run(json!({ "op": op, "path": path, "value": value }))
    }

    fn run(&mut self, operation: Value) -> Result<(), String> {
        let operation: PatchOperation =
            serde_json::from_value(operation).map_err(|error| format!("malformed operation: {error}"))?;
        // What a failed operation leaves behind is thrown away with the patch.
        json_patch::patch_unsafe(&mut self.object, &[operation]).map_err(|error| error.to_string())
    }

    /// Whether a path leads to a field that its object does not have. To upstream such a field is null.
    fn lacks(&self, path: &str) -> bool {
        let parent = path.rsplit_once('/').and_then(|(parent, _)| self.object.pointer(parent));
        self.object.pointer(path).is_none() && parent.is_some_and(Value::is_object)
    }

    fn count_copy(&mut self, from: &str) -> Result<(), String> {
        let Some(source) = self.object.pointer(from) else { return Ok(()) };
        self.copied += source.to_string().len();
        if self.copied > MAX_COPIED {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit {MAX_COPIED}",
                self.copied
            ));
        }
        Ok(())
    }

    fn count_shifted(&mut self, path: &str) -> Result<(), String> {
        let Some((parent, index)) = path.rsplit_once('/') else { return Ok(()) };
        let Some(Value::Array(items)) = self.object.pointer(parent) else { return Ok(()) };
        let index = index.parse().unwrap_or(items.len());
        self.shifted += items.len().saturating_sub(index);
        if self.shifted > MAX_SHIFTED {
            return Err(format!("the operations would move more than {MAX_SHIFTED} items of lists"));
        }
        Ok(())
    }

    /// Notes that the object may be this deep from now on, and looks when that gets too deep to ignore.
    fn deepen(&mut self, depth: usize) -> Result<(), String> {
        self.depth = self.depth.max(depth);
        if self.depth > 4 * MAX_DEPTH { self.bound_depth(MAX_DEPTH) } else { Ok(()) }
    }

    fn bound_depth(&mut self, max: usize) -> Result<(), String> {
        if self.depth > max {
            self.depth = depth_of(&self.object);
        }
        if self.depth > max { Err(format!("the result is nested more than {max} deep")) } else { Ok(()) }
    }

    /// The path with indexes from the front: `-1` is the last item, or when adding the place after it.
    fn counted_from_the_front(&self, path: &str, adding: bool) -> String {
        if !path.contains("/-") {
            return path.to_owned();
        }
        let mut front = String::with_capacity(path.len());
        let mut tokens = path.split('/').skip(1).peekable();
        while let Some(token) = tokens.next() {
            let list = self.object.pointer(&front).and_then(Value::as_array);
            let last = tokens.peek().is_none();
            let index = list.and_then(|list| {
                let back = token.parse::<i64>().ok().filter(|index| *index < 0)?;
                let len = list.len() + usize::from(adding && last);
                len.checked_sub(usize::try_from(back.unsigned_abs()).ok()?)
            });
            front.push('/');
            match index {
                Some(index) => front.push_str(&index.to_string()),
                None => front.push_str(token),
            }
        }
        front
    }
}

fn steps(path: &str) -> usize {
    path.matches('/').count()
}

/// How deep a value is nested, a scalar counting none. Without recursion: the value may be deeper than the
/// stack.
fn depth_of(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        deepest = deepest.max(depth);
        match value {
            Value::Object(fields) => open.extend(fields.values().map(|value| (value, depth + 1))),
            Value::Array(items) => open.extend(items.iter().map(|value| (value, depth + 1))),
            _ => {}
        }
    }
    deepest
}
