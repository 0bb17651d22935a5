//! The objects that are written: ConfigMaps of 1 KiB as a client would send them.

use anneal_harness::Reply;
use anyhow::{Context, Result, ensure};

/// The size of the value that makes a body come to about 1 KiB.
const FILLING: usize = 880;

/// Where a namespace's ConfigMaps are.
pub(crate) fn path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

/// A body. `turn` changes with each write and is what a watcher looks for; `version` is empty when there is none.
pub(crate) fn body(name: &str, version: &str, turn: u64) -> String {
    let version =
        if version.is_empty() { String::new() } else { format!(r#","resourceVersion":"{version}""#) };
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"{version}}},"data":{{"filling":"{:x<FILLING$}","turn":"{turn}"}}}}"#,
        ""
    )
}

/// The version in an answer, found without parsing it: the client's work is to be small.
pub(crate) fn version(reply: &Reply) -> Result<String> {
    ensure!((200..300).contains(&reply.status), "expected success: {reply}");
    text_after(&reply.bytes, br#""resourceVersion":""#).context("an answer must have a version")
}

/// The turn in a watch event.
pub(crate) fn turn(event: &[u8]) -> Result<usize> {
    let turn = text_after(event, br#""turn":""#).context("an event must have a turn")?;
    Ok(turn.parse()?)
}

/// The text from a mark to the next quotation mark.
fn text_after(bytes: &[u8], mark: &[u8]) -> Option<String> {
    let start = bytes.windows(mark.len()).position(|window| window == mark)? + mark.len();
    let length = bytes[start..].iter().position(|byte| *byte == b'"')?;
    String::from_utf8(bytes[start..start + length].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::{body, turn};

    #[test]
    fn body_is_json_of_a_kibibyte_with_its_turn() {
        let body = body("bench-1", "123", 7);
        assert!((1000..=1050).contains(&body.len()), "{}", body.len());
        let parsed: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(parsed["metadata"]["resourceVersion"], "123");
        assert_eq!(turn(body.as_bytes()).unwrap(), 7);
    }
}
