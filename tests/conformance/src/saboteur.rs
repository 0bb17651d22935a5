//! Breaks a good server on purpose, to show that the suite would notice.
//!
//! Each sabotage stands between the cases and the server and makes one mistake that a server could
//! make. A suite that stays silent under one of them proves nothing about that behaviour.

use anneal_harness::{Http, PatchKind, Reply, Server};
use anyhow::{Result, bail, ensure};
use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt, stream};
use http::{Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use tower::service_fn;

use crate::{Case, cases};

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;
type Answer = Response<AnswerBody>;

/// A mistake that a server could make.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Sabotage {
    /// None: what passes is not touched. Shows that standing in between breaks nothing by itself.
    Nothing,
    /// An update is taken whatever version it was made from.
    IgnoresTheVersionOnUpdate,
    /// The second event of every watch gets lost.
    DropsAWatchEvent,
    /// An apply that changes nothing still makes a new version.
    BumpsTheVersionOnNoOpApply,
    /// An apply loses a field of another manager.
    LosesAFieldOfAnotherManager,
    /// A conflict is reported as an internal error.
    AnswersInternalErrorForConflict,
}

impl Sabotage {
    /// All of them, the harmless one first.
    pub const ALL: [Self; 6] = [
        Self::Nothing,
        Self::IgnoresTheVersionOnUpdate,
        Self::DropsAWatchEvent,
        Self::BumpsTheVersionOnNoOpApply,
        Self::LosesAFieldOfAnotherManager,
        Self::AnswersInternalErrorForConflict,
    ];

    /// What the suite must show about it, as a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Nothing => "standing_in_between_breaks_nothing",
            Self::IgnoresTheVersionOnUpdate => "an_ignored_version_on_update_is_noticed",
            Self::DropsAWatchEvent => "a_dropped_watch_event_is_noticed",
            Self::BumpsTheVersionOnNoOpApply => "a_new_version_without_a_change_is_noticed",
            Self::LosesAFieldOfAnotherManager => "a_lost_field_of_another_manager_is_noticed",
            Self::AnswersInternalErrorForConflict => "an_internal_error_for_a_conflict_is_noticed",
        }
    }

    /// The case that is about this very mistake and must notice it; others may as well.
    fn accuser(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::IgnoresTheVersionOnUpdate => {
                Some("update::stale_version_is_a_conflict_and_changes_nothing")
            }
            Self::DropsAWatchEvent => Some("watch::rapid_changes_all_arrive_once_and_in_order"),
            Self::BumpsTheVersionOnNoOpApply => Some("apply::repeated_apply_changes_nothing"),
            Self::LosesAFieldOfAnotherManager => Some("apply::managers_own_different_entries_of_a_map"),
            Self::AnswersInternalErrorForConflict => Some("create::second_create_already_exists"),
        }
    }

    /// The areas that are run under it; the suite as a whole need not run six times.
    fn areas(self) -> &'static [&'static str] {
        match self {
            Self::Nothing => &["create", "update", "watch", "apply"],
            Self::IgnoresTheVersionOnUpdate => &["update"],
            Self::DropsAWatchEvent => &["watch"],
            Self::BumpsTheVersionOnNoOpApply | Self::LosesAFieldOfAnotherManager => &["apply"],
            Self::AnswersInternalErrorForConflict => &["create", "update"],
        }
    }

    /// Runs the cases of its areas and returns those that fail, by name, with what they say.
    async fn noticed_by(self, server: &Server) -> Vec<(String, anyhow::Error)> {
        let broken = server.through(&format!("{self:?}"), move |client| self.stand_before(client));
        let mine = |case: &Case| {
            let area = case.name.split("::").next().unwrap_or_default();
            self.areas().contains(&area) && server.satisfies(&case.needs)
        };
        let broken = &broken;
        stream::iter(cases::all().into_iter().filter(mine))
            .map(|case| async move { Some((case.name.clone(), case.run(broken).await.err()?)) })
            .buffer_unordered(32)
            .filter_map(async |noticed| noticed)
            .collect()
            .await
    }

    fn stand_before(self, client: Client) -> Client {
        let service = service_fn(move |request| {
            let client = client.clone();
            async move { self.answer(client, request).await.map_err(|error| error.into_boxed_dyn_error()) }
        });
        Client::new(service, "default")
    }

    async fn answer(self, client: Client, request: Request<Body>) -> Result<Answer> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let is_apply = head.method == Method::PATCH
            && head.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == PatchKind::Apply.media_type());
        let is_watch = head.uri.query().is_some_and(|query| query.contains("watch=true"));
        let path = head.uri.path().to_owned();
        let http = Http::new(client.clone());
        let forward = async |body: Bytes| {
            let request = Request::from_parts(head.clone(), Body::from(body.to_vec()));
            let response = client.send(request).await?;
            Ok::<Answer, kube::Error>(response.map(|body| body.map_err(BoxError::from).boxed_unsync()))
        };

        match self {
            Self::IgnoresTheVersionOnUpdate if head.method == Method::PUT => {
                let live = http.get(&path).await?;
                let mut object: Value = match serde_json::from_slice(&body) {
                    Ok(object) if live.status == 200 => object,
                    _ => return Ok(forward(body).await?),
                };
                object["metadata"]["resourceVersion"] = live.json()?["metadata"]["resourceVersion"].take();
                Ok(forward(object.to_string().into()).await?)
            }
            Self::DropsAWatchEvent if is_watch => {
                let response = forward(body).await?;
                Ok(response.map(|body| StreamBody::new(without_second_line(body)).boxed_unsync()))
            }
            Self::BumpsTheVersionOnNoOpApply if is_apply => {
                let before = http.get(&path).await?;
                let response = forward(body).await?;
                let after = http.get(&path).await?;
                if !response.status().is_success() || version(&before) != version(&after) {
                    return Ok(response);
                }
                // There and back again: nothing is different but the version.
                for value in [json!("sabotage"), Value::Null] {
                    let patch = json!({ "metadata": { "annotations": { "sabotage": value } } });
                    http.patch(&path, PatchKind::Merge, &patch).await?.ok()?;
                }
                replace_body(response, &http.get(&path).await?.ok()?)
            }
            Self::LosesAFieldOfAnotherManager if is_apply => {
                let response = forward(body).await?;
                let live = http.get(&path).await?;
                let manager = parameter(head.uri.query().unwrap_or_default(), "fieldManager");
                let lost = live.json().ok().and_then(|live| field_of_another(&live, manager));
                match lost {
                    Some(field) if response.status().is_success() => {
                        let patch = json!([{ "op": "remove", "path": field }]);
                        let reply = http.patch(&path, PatchKind::Json, &patch).await?;
                        if reply.status == 200 {
                            replace_body(response, &reply.json()?)
                        } else {
                            Ok(response)
                        }
                    }
                    _ => Ok(response),
                }
            }
            Self::AnswersInternalErrorForConflict => {
                let mut response = forward(body).await?;
                if response.status() != StatusCode::CONFLICT {
                    return Ok(response);
                }
                *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
                let status = json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                    "message": "sabotage", "reason": "InternalError", "code": 500
                });
                replace_body(response, &status)
            }
            _ => Ok(forward(body).await?),
        }
    }
}

fn version(reply: &Reply) -> Option<Value> {
    Some(reply.json().ok()?["metadata"]["resourceVersion"].take())
}

fn parameter<'a>(query: &'a str, name: &str) -> &'a str {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value).unwrap_or_default()
}

fn replace_body(response: Answer, body: &Value) -> Result<Answer> {
    let body = Full::new(Bytes::from(body.to_string()));
    let mut response = response.map(|_| body.map_err(|never| match never {}).boxed_unsync());
    response.headers_mut().remove(http::header::CONTENT_LENGTH);
    Ok(response)
}

/// A JSON pointer to a field that another manager applied.
fn field_of_another(live: &Value, manager: &str) -> Option<String> {
    let entries = live["metadata"]["managedFields"].as_array()?;
    let other = entries.iter().find(|entry| entry["manager"] != manager && entry["operation"] == "Apply")?;
    first_leaf(&other["fieldsV1"])
}

fn first_leaf(fields: &Value) -> Option<String> {
    let fields = fields.as_object()?;
    fields.iter().find_map(|(name, inner)| {
        let name = name.strip_prefix("f:")?;
        let below = if inner == &json!({}) { String::new() } else { first_leaf(inner)? };
        Some(format!("/{}{below}", name.replace('~', "~0").replace('/', "~1")))
    })
}

/// A body without its second line.
fn without_second_line(body: AnswerBody) -> impl Stream<Item = Result<Frame<Bytes>, BoxError>> + Send {
    struct State {
        body: AnswerBody,
        buffer: BytesMut,
        seen: u32,
    }
    let state = State { body, buffer: BytesMut::new(), seen: 0 };
    stream::try_unfold(state, |mut state: State| async move {
        loop {
            if let Some(end) = state.buffer.iter().position(|byte| *byte == b'\n') {
                let line = state.buffer.split_to(end + 1).freeze();
                state.seen += 1;
                if state.seen != 2 {
                    return Ok(Some((Frame::data(line), state)));
                }
                continue;
            }
            match state.body.frame().await {
                Some(frame) => {
                    if let Ok(data) = frame?.into_data() {
                        state.buffer.extend_from_slice(&data);
                    }
                }
                None => return Ok(None),
            }
        }
    })
}

/// Runs one sabotage and judges the suite; tells which cases noticed it.
///
/// # Errors
/// When the suite did not notice a mistake, or complained where there was none.
pub async fn judge(sabotage: Sabotage, server: &Server) -> Result<Vec<String>> {
    let noticed_by = sabotage.noticed_by(server).await;
    match sabotage.accuser() {
        None => {
            if let Some((name, error)) = noticed_by.first() {
                bail!("standing in between breaks {} cases, among them {name}: {error:#}", noticed_by.len());
            }
        }
        Some(accuser) => {
            ensure!(noticed_by.iter().any(|(name, _)| name == accuser), "{accuser} did not notice");
        }
    }
    Ok(noticed_by.into_iter().map(|(name, _)| name).collect())
}
