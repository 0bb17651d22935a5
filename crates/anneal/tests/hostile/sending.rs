//! Clients that send too much, too deep or too slowly.

use std::time::Duration;

use anneal_harness::PatchKind;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, future::try_join_all, stream};
use http::{Method, Request};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::victim::Victim;

const PATH: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test(flavor = "multi_thread")]
async fn huge_bodies_are_refused_without_being_kept() -> Result<()> {
    const HUGE: usize = 100_000_000;
    let victim = Victim::start().await?;
    let sending = async {
        let body = Bytes::from(vec![b' '; HUGE]);
        // A client that waits for the end of what it sends before it reads learns of it too.
        let requests =
            (0..6).map(|_| victim.admin.send(Method::POST, PATH, Some("application/json"), body.clone()));
        let replies: Vec<_> = stream::iter(requests).buffer_unordered(3).try_collect().await?;
        for reply in replies {
            ensure!(reply.status == 413, "{}", reply.status);
        }
        // Without a length, the end is seen only when it comes.
        let (mut sender, connection) = h2::client::handshake(victim.connect("h2").await?).await?;
        tokio::spawn(connection);
        let request = Request::post(format!("https://{}{PATH}", victim.address))
            .header("authorization", format!("Bearer {}", victim.token))
            .body(())?;
        sender = sender.ready().await?;
        let (answer, mut upload) = sender.send_request(request, false)?;
        let chunk = Bytes::from(vec![b' '; 1 << 20]);
        for _ in 0..16 {
            upload.reserve_capacity(chunk.len());
            upload.send_data(chunk.clone(), false)?;
        }
        upload.send_data(Bytes::new(), true)?;
        ensure!(answer.await?.status() == 413);
        Ok(())
    };
    victim.under("6 bodies of 100 MB", sending).await?;
    victim.stayed_below(250.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn deep_bodies_are_refused() -> Result<()> {
    const DEPTH: usize = 10_000;
    let victim = Victim::start().await?;
    let object = victim.admin.post(PATH, &serde_json::json!({ "metadata": { "name": "deep" } })).await?;
    object.is(201)?;
    let sending = async {
        let deep = |open: &str, close: &str| Bytes::from(open.repeat(DEPTH) + &close.repeat(DEPTH));
        let bodies = [deep("[", "]"), deep(r#"{"a":"#, "}"), deep("{a: ", "}"), deep("- ", "")];
        for body in bodies {
            for media_type in ["application/json", "application/yaml"] {
                let reply = victim.admin.send(Method::POST, PATH, Some(media_type), body.clone()).await?;
                ensure!(reply.status == 400, "{media_type}: {}", reply.status);
            }
            for kind in [PatchKind::Json, PatchKind::Merge, PatchKind::Strategic, PatchKind::Apply] {
                let path = format!("{PATH}/deep?fieldManager=me");
                let media_type = Some(kind.media_type());
                let reply = victim.admin.send(Method::PATCH, &path, media_type, body.clone()).await?;
                ensure!(reply.status == 400, "{kind:?}: {}", reply.status);
            }
        }
        // A patch can dig deeper than any body: each step copies all there is under itself.
        let step = r#"{"op":"copy","from":"/data","path":"/data/a"}"#;
        let digging = Bytes::from(format!("[{}]", vec![step; DEPTH].join(",")));
        let media_type = Some(PatchKind::Json.media_type());
        let reply = victim.admin.send(Method::PATCH, &format!("{PATH}/deep"), media_type, digging).await?;
        ensure!((400..500).contains(&reply.status), "digging: {}", reply.status);
        Ok(())
    };
    victim.under("bodies that are 10,000 levels deep", sending).await?;
    victim.stayed_below(250.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_byte_a_second_keeps_nobody_out() -> Result<()> {
    const SLOW: usize = 300;
    let victim = Victim::start().await?;
    let dripping = async {
        let mut slow = Vec::new();
        for number in 0..SLOW {
            let mut stream = victim.connect("http/1.1").await?;
            let head =
                format!("POST {PATH} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n", victim.token);
            stream.write_all(head.as_bytes()).await?;
            let with_body = number % 2 == 0;
            if with_body {
                stream
                    .write_all(b"content-type: application/json\r\ncontent-length: 2000000\r\n\r\n{")
                    .await?;
            }
            slow.push((stream, with_body));
        }
        // Bodies may take their minute; heads that are not there after ten seconds never come.
        let dripping = slow.into_iter().map(|(mut stream, with_body)| async move {
            for _ in 0..15 {
                let byte: &[u8] = if with_body { b" " } else { b"x" };
                let mut answer = [0; 1];
                tokio::select! {
                    ended = stream.read(&mut answer) => return anyhow::Ok((with_body, ended.unwrap_or(0) == 0)),
                    () = tokio::time::sleep(Duration::from_secs(1)) => {}
                }
                if stream.write_all(byte).await.is_err() {
                    return Ok((with_body, true));
                }
            }
            Ok((with_body, false))
        });
        let ended: Vec<(bool, bool)> = stream::iter(dripping).buffer_unordered(SLOW).try_collect().await?;
        for (with_body, cut) in ended {
            ensure!(with_body || cut, "a head was waited for");
        }
        Ok(())
    };
    victim.under("300 clients that send a byte a second", dripping).await?;
    victim.stayed_below(250.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_without_a_token_learn_little_and_cost_little() -> Result<()> {
    let victim = Victim::start().await?;
    let sending = async {
        let requests = (0..200).map(|_| async {
            let mut stream = victim.connect("http/1.1").await?;
            let head = format!("POST {PATH} HTTP/1.1\r\nhost: a\r\ncontent-length: 3000000\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
            // The body is taken and thrown away, for an answer that comes in the middle of it may get lost.
            stream.write_all(&vec![b' '; 3_000_000]).await?;
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).await.context("no answer")?;
            ensure!(
                &answer == b"HTTP/1.1 403" || &answer == b"HTTP/1.1 401",
                "{:?}",
                answer.escape_ascii().to_string()
            );
            Ok(())
        });
        stream::iter(requests).buffer_unordered(50).try_collect::<()>().await
    };
    victim.under("200 strangers with bodies of 3 MB", sending).await?;
    victim.stayed_below(250.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn laborious_bodies_leave_others_their_turn() -> Result<()> {
    const AT_ONCE: usize = 8;
    let victim = Victim::start().await?;
    let texts = json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set" });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "crowds.hostile.example" },
        "spec": {
            "group": "hostile.example",
            "scope": "Namespaced",
            "names": { "plural": "crowds", "kind": "Crowd", "singular": "crowd" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "texts": texts } } },
            }],
        },
    });
    victim
        .admin
        .post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition)
        .await?
        .is(201)?;
    let path = "/apis/hostile.example/v1/namespaces/default/crowds";
    let served = || async { Ok((victim.admin.get(path).await?.status == 200).then_some(())) };
    anneal_harness::eventually("the kind to be served", served).await?;
    let texts: Vec<_> = (0..40_000).map(|number| number.to_string()).collect();
    let applying = try_join_all((0..AT_ONCE).map(|number| {
        let crowd = json!({
            "apiVersion": "hostile.example/v1", "kind": "Crowd",
            "metadata": { "name": format!("crowd-{number}") }, "texts": texts,
        });
        let (victim, path) = (&victim, format!("{path}/crowd-{number}?fieldManager=me"));
        async move { victim.admin.patch(&path, PatchKind::Apply, &crowd).await?.is(201) }
    }));
    let (_, rounds) = victim.rounds_under("8 sets of 40,000 items applied at once", applying).await?;
    ensure!(rounds > AT_ONCE, "others had {rounds} rounds while {AT_ONCE} large bodies were worked on");
    victim.stayed_below(400.0)
}
