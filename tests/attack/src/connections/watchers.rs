//! Watchers that do not read while many updates are written.

use std::time::Duration;

use anyhow::{Result, ensure};
use http::Method;
use machinery::clock::Clock;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::Field;
use crate::caller::Ask;

/// Size in bytes of the updated object.
const OBJECT: usize = 100_000;
const WRITERS: usize = 4;

/// Watchers stall while updates of 100 KB are written.
pub async fn stalled(field: &Field<'_>) -> Result<String> {
    let (watchers, updates) = if field.options.full { (500, 10_000) } else { (200, 1_200) };
    let tls = field.lab.endpoint.tls(None, "http/1.1")?;
    let token = field.lab.token("reader").await?;
    let head = format!(
        "GET /api/v1/namespaces/other/configmaps?watch=true HTTP/1.1\r\nHost: kubernetes\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    let mut held = Vec::new();
    for _ in 0..watchers {
        let mut stream = field.lab.endpoint.connect(tls.clone(), field.from).await?;
        stream.write_all(head.as_bytes()).await?;
        held.push(stream);
    }
    let start = Clock::system().monotonic();
    let writers = (0..WRITERS).map(async |writer| -> Result<()> {
        let mut admin = field.lab.admin()?;
        let path = "/api/v1/namespaces/other/configmaps";
        let object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("w{writer}")}});
        admin.post(path, &object).await?;
        for at in 0..updates / WRITERS {
            let word = format!("{at:08}").repeat(OBJECT / 8);
            let change = json!({"data": {"word": word}}).to_string();
            let ask = Ask::new(Method::PATCH, format!("{path}/w{writer}"))
                .body("application/merge-patch+json", change);
            let answer = admin.send(&ask).await?;
            ensure!(answer.is_done(), "{} {}", answer.code, answer.text());
        }
        Ok(())
    });
    for outcome in futures::future::join_all(writers).await {
        outcome?;
    }
    let seconds = start.elapsed().as_secs();
    Clock::system().sleep(Duration::from_secs(1)).await;
    let now = field.lab.memory().map(|(now, _)| now >> 20).unwrap_or_default();
    Ok(format!("{watchers} watchers, {updates} updates of 100 KB in {seconds} s, {now} MB behind them"))
}
