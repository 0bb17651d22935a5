//! Clients that read too much, or nothing at all.

use std::time::Duration;

use anneal_harness::{Http, Identity, PatchKind};
use anyhow::{Context, Result, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use h2::client::{ResponseFuture, SendRequest};
use http::Request;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::victim::Victim;

/// What is listed: some 20 MB.
const OBJECTS: usize = 200;
const OBJECT_BYTES: usize = 100_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_watches_miss_nothing() -> Result<()> {
    const WATCHES: usize = 1000;
    const EVENTS: usize = 50;
    let victim = Victim::start().await?;
    victim.fill("watched", 0, 0).await?;
    let path = "/api/v1/namespaces/watched/configmaps";
    let before = victim.peak_megabytes()?;
    let watching = async {
        let clients: Vec<Http> =
            (0..10).map(|_| victim.server.http(&Identity::Admin)).collect::<Result<_>>()?;
        let clients = (0..WATCHES).map(|number| &clients[number % clients.len()]);
        let opened = stream::iter(clients).map(|http| http.watch(path, "")).buffered(50);
        let watches: Vec<_> = opened.try_collect().await?;
        for number in 0..EVENTS {
            let object = json!({ "metadata": { "name": format!("event-{number}") } });
            victim.admin.post(path, &object).await?.is(201)?;
        }
        let expected: Vec<String> = (0..EVENTS).map(|number| format!("event-{number}")).collect();
        for mut watch in watches {
            let mut names = Vec::new();
            // The trusted authorities of the namespace come from elsewhere.
            while names.len() < EVENTS {
                let event = watch.next().await?;
                if event.name().starts_with("event-") {
                    names.push(event.name().to_owned());
                }
            }
            ensure!(names == expected, "a watch saw {names:?}");
        }
        Ok(())
    };
    victim.under("1,000 watches", watching).await?;
    println!("1,000 watches: memory before {before:?} MB");
    victim.stayed_below(200.0)
}

/// Asks over HTTP/2 and grants no room for any answer.
async fn ask(sender: &mut SendRequest<bytes::Bytes>, victim: &Victim, path: &str) -> Result<ResponseFuture> {
    let request = Request::get(format!("https://{}{path}", victim.address))
        .header("authorization", format!("Bearer {}", victim.token))
        .body(())?;
    *sender = sender.clone().ready().await?;
    Ok(sender.send_request(request, true)?.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_that_nobody_reads_cost_little() -> Result<()> {
    let victim = Victim::start().await?;
    victim.fill("large", OBJECTS, OBJECT_BYTES).await?;
    let stored = victim.peak_megabytes()?;
    let path = "/api/v1/namespaces/large/configmaps";
    let reading_nothing = async {
        // Twenty connections of each kind ask for some 8 GB.
        let mut held = Vec::new();
        for _ in 0..20 {
            let stream = victim.connect("h2").await?;
            let (mut sender, connection) =
                h2::client::Builder::new().initial_window_size(0).handshake(stream).await?;
            let connection = tokio::spawn(connection);
            let mut answers = Vec::new();
            for _ in 0..10 {
                answers.push(ask(&mut sender, &victim, path).await?);
            }
            for answer in answers {
                let answer = answer.await?;
                ensure!(answer.status().is_success() || answer.status() == 429, "{}", answer.status());
                held.push((answer, sender.clone()));
            }
            ensure!(!connection.is_finished(), "the connection was cut");
        }
        let mut plain = Vec::new();
        for _ in 0..20 {
            let mut stream = victim.connect("http/1.1").await?;
            let head =
                format!("GET {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\r\n", victim.token);
            stream.write_all(head.as_bytes()).await?;
            let mut status = [0; 15];
            stream.read_exact(&mut status).await?;
            ensure!(&status == b"HTTP/1.1 200 OK", "{:?}", String::from_utf8_lossy(&status));
            plain.push(stream);
        }
        // The objects are replaced meanwhile: what was listed is held by those lists alone.
        for round in 0..2 {
            for number in 0..OBJECTS {
                let patch = json!({ "data": { "a": "y".repeat(OBJECT_BYTES + round) } });
                victim
                    .admin
                    .patch(&format!("{path}/large-{number}"), PatchKind::Merge, &patch)
                    .await?
                    .ok()?;
            }
        }
        Ok(())
    };
    victim.under("220 lists of 20 MB that nobody reads", reading_nothing).await?;
    println!("220 lists of 20 MB that nobody reads: memory before {stored:?} MB");
    victim.stayed_below(400.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_that_nobody_reads_cost_little() -> Result<()> {
    let victim = Victim::start().await?;
    victim.fill("large", 1, OBJECT_BYTES).await?;
    let path = "/api/v1/namespaces/large/configmaps";
    let reading_nothing = async {
        let mut held = Vec::new();
        for _ in 0..10 {
            let stream = victim.connect("h2").await?;
            let (mut sender, connection) =
                h2::client::Builder::new().initial_window_size(0).handshake(stream).await?;
            tokio::spawn(connection);
            let mut answers = Vec::new();
            for _ in 0..100 {
                answers.push(ask(&mut sender, &victim, &format!("{path}?watch=true")).await?);
            }
            for answer in answers {
                let answer = answer.await?;
                ensure!(answer.status().is_success(), "{}", answer.status());
                held.push((answer, sender.clone()));
            }
        }
        for round in 0..300 {
            let patch = json!({ "data": { "a": "y".repeat(OBJECT_BYTES + round) } });
            victim.admin.patch(&format!("{path}/large-0"), PatchKind::Merge, &patch).await?.ok()?;
        }
        Ok(())
    };
    victim.under("1,000 watches of 100 kB events that nobody reads", reading_nothing).await?;
    victim.stayed_below(400.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn large_lists_arrive_whole_in_every_form() -> Result<()> {
    let victim = Victim::start().await?;
    victim.fill("large", OBJECTS, OBJECT_BYTES).await?;
    let path = "/api/v1/namespaces/large/configmaps";
    let reading = async {
        let forms = [
            ("application/json", "items"),
            ("application/yaml", "items"),
            ("application/json;as=Table;v=v1;g=meta.k8s.io", "rows"),
            ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "items"),
        ];
        for (accept, items) in forms {
            let http = victim.admin.with_header("accept", accept);
            let reply = http.get(path).await?;
            ensure!(reply.status == 200, "{accept}: {}", reply.status);
            let list: Value = match accept {
                "application/yaml" => serde_saphyr::from_slice(&reply.bytes)?,
                _ => serde_json::from_slice(&reply.bytes)?,
            };
            let count = list[items].as_array().with_context(|| format!("{accept}: {items}"))?.len();
            ensure!(count >= OBJECTS, "{accept}: {count} of {OBJECTS}");
        }
        let pretty = victim.admin.get(&format!("{path}?pretty=true")).await?;
        ensure!(pretty.ok()?["items"].as_array().is_some_and(|items| items.len() >= OBJECTS));
        Ok(())
    };
    tokio::time::timeout(Duration::from_secs(120), victim.under("large lists in every form", reading)).await?
}
