//! HTTP/2 frames built by hand, which no regular client would send.

use anyhow::Result;
use rustls::ClientConfig;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::caller::Endpoint;

/// Frame types.
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;
/// Frame flags.
pub const ACK: u8 = 1;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;

/// Encodes a frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or_default().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Encodes request headers without compression: method, path, and an optional token.
pub fn head(is_post: bool, path: &str, token: Option<&str>) -> Vec<u8> {
    let mut block = vec![if is_post { 0x83 } else { 0x82 }, 0x87];
    block.push(0x04);
    text(&mut block, path);
    block.push(0x01);
    text(&mut block, "kubernetes");
    if let Some(token) = token {
        // A never-indexed literal, with the name `authorization` from the static table.
        block.extend([0x1f, 23 - 15]);
        text(&mut block, &format!("Bearer {token}"));
    }
    if is_post {
        block.extend([0x0f, 31 - 15]);
        text(&mut block, "application/json");
    }
    block
}

fn text(block: &mut Vec<u8>, text: &str) {
    let mut length = text.len();
    if length < 0x7f {
        block.push(length as u8);
    } else {
        block.push(0x7f);
        length -= 0x7f;
        while length > 0x7f {
            block.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        block.push(length as u8);
    }
    block.extend_from_slice(text.as_bytes());
}

/// Opens an HTTP/2 connection with these settings (pairs of ID and value).
pub async fn connect(
    endpoint: &Endpoint,
    tls: Arc<ClientConfig>,
    from: u8,
    settings: &[(u16, u32)],
) -> Result<TlsStream<TcpStream>> {
    let mut stream = endpoint.connect(tls, from).await?;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await?;
    let payload: Vec<u8> = settings
        .iter()
        .flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
        .collect();
    stream.write_all(&frame(SETTINGS, 0, 0, &payload)).await?;
    Ok(stream)
}

/// Answers settings and pings until the connection ends.
pub async fn stay(mut stream: TlsStream<TcpStream>) {
    let mut head = [0; 9];
    let mut payload = vec![0; 1 << 14];
    while stream.read_exact(&mut head).await.is_ok() {
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        if length > payload.len() || stream.read_exact(&mut payload[..length]).await.is_err() {
            return;
        }
        let [kind, flags] = [head[3], head[4]];
        let answer = match kind {
            SETTINGS if flags & ACK == 0 => frame(SETTINGS, ACK, 0, &[]),
            PING if flags & ACK == 0 => frame(PING, ACK, 0, &payload[..length]),
            _ => continue,
        };
        if stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

/// Reads for a while; returns how many streams were answered.
pub async fn answered(stream: &mut TlsStream<TcpStream>, limit: Duration) -> usize {
    let mut count = 0;
    let read = async {
        let mut head = [0; 9];
        while stream.read_exact(&mut head).await.is_ok() {
            let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
            let mut payload = vec![0; length];
            if stream.read_exact(&mut payload).await.is_err() {
                return;
            }
            count += usize::from(head[3] == HEADERS);
        }
    };
    let _over = tokio::time::timeout(limit, read).await;
    count
}
