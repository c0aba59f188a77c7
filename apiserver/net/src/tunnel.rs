//! A connection through a proxy for HTTP: CONNECT, and then the bytes of both ends.

use http::uri::Authority;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::error::Error;
use crate::limits::PROXY_ANSWER;
use crate::proxy::Proxy;

/// Asks the proxy at the other end of `stream` for a connection to `host` and `port`.
///
/// # Errors
/// The proxy does not make it.
pub(crate) async fn open(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    proxy: &Proxy,
    to: &Authority,
) -> Result<(), Error> {
    let broken = |cause: String| Error::Unreachable { proxy: proxy.to_string(), cause };
    let mut request = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\nUser-Agent: firstlight\r\n");
    if let Some(authorization) = proxy.authorization() {
        let value = authorization.to_str().unwrap_or_default();
        request.push_str(&format!("Proxy-Authorization: {value}\r\n"));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await.map_err(|error| broken(error.to_string()))?;
    stream.flush().await.map_err(|error| broken(error.to_string()))?;
    let head = head(stream).await.map_err(broken)?;
    let (code, answer) = status(&head).ok_or_else(|| broken("it answers in no HTTP".to_owned()))?;
    let (proxy, to) = (proxy.to_string(), to.to_string());
    match code {
        200..=299 => Ok(()),
        // tinyproxy says 401 for credentials that are wrong.
        401 | 407 => Err(Error::Credentials { proxy }),
        403 | 405 => Err(Error::Forbidden { proxy, to, answer }),
        _ => Err(Error::Refused { proxy, to, answer }),
    }
}

/// Reads the head of the answer, and not a byte more: what follows is the other end's.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>, String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == PROXY_ANSWER {
            return Err(format!("the head of its answer has more than {PROXY_ANSWER} bytes"));
        }
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err("it closes the connection without an answer".to_owned());
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(head)
}

/// The status code of an answer, and the code with its phrase.
fn status(head: &[u8]) -> Option<(u16, String)> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let line = String::from_utf8_lossy(line);
    let (version, status) = line.split_once(' ')?;
    let code = status.trim().split(' ').next()?.parse().ok()?;
    let status = status.trim().chars().filter(|letter| !letter.is_control()).take(100).collect();
    version.starts_with("HTTP/1.").then_some((code, status))
}
