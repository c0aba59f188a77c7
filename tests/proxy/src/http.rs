//! The side of HTTP.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::{Shared, carry, reach};

/// Serves one connection, which is for one request or one connection to a host.
pub(crate) async fn serve(mut client: impl AsyncRead + AsyncWrite + Unpin, state: Shared) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await?);
    }
    let head = String::from_utf8(head).map_err(io::Error::other)?;
    let (line, headers) = head.split_once("\r\n").unwrap_or_default();
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    state.lock().asked.push(format!("{method} {target}"));
    if let Some(answer) = refusal(&state, headers) {
        return client.write_all(&answer).await;
    }
    if method == "CONNECT" {
        return match reach(&state, target).await {
            Ok(server) => {
                client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
                carry(client, server).await
            }
            Err(_) => client.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await,
        };
    }
    let rest = target.strip_prefix("http://").unwrap_or(target);
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
    let Ok(mut server) = reach(&state, &host).await else {
        return client.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n").await;
    };
    let own = |header: &&str| !header.to_lowercase().starts_with("proxy-");
    let headers: Vec<&str> = headers.trim_end().split("\r\n").filter(own).collect();
    let request =
        format!("{method} /{path} HTTP/1.1\r\n{}\r\nConnection: close\r\n\r\n", headers.join("\r\n"));
    server.write_all(request.as_bytes()).await?;
    carry(client, server).await
}

/// The answer to a client that gets no connection.
fn refusal(state: &Shared, headers: &str) -> Option<Vec<u8>> {
    let state = state.lock();
    if let Some((user, password)) = &state.credentials {
        let wanted = format!("Proxy-Authorization: Basic {}", STANDARD.encode(format!("{user}:{password}")));
        if !headers.split("\r\n").any(|header| header.eq_ignore_ascii_case(&wanted)) {
            let answer = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"test\"\r\nContent-Length: 0\r\n\r\n";
            return Some(answer.as_bytes().to_vec());
        }
    }
    state.answer.clone()
}
