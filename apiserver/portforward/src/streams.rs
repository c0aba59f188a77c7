//! Port-forwards over SPDY, with the protocol `portforward.k8s.io`.
//!
//! For each connection to a port the client opens two streams with the same `requestID`: one of type `error`, on which the server tells what
//! went wrong, and one of type `data`. The server closes both when the connection ends.

use std::collections::BTreeMap;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};

use super::{Pod, Ports};
use crate::limits::SPDY_STREAMS;
use crate::spdy::headers::Headers;
use crate::spdy::session;

/// Forwards what the client of a session asks for, until the session ends.
pub async fn forward<P: Ports>(pod: Pod<P>, connection: impl AsyncRead + AsyncWrite) {
    let mut waiting = Waiting::default();
    let served = session::serve(connection, |headers, stream| match waiting.add(headers, stream) {
        Ok(None) => true,
        Ok(Some(pair)) => {
            connect(&pod, pair);
            true
        }
        Err(reason) => {
            tracing::debug!(pod = pod.name, reason, "port-forward: a stream was refused");
            false
        }
    });
    if let Err(error) = served.await {
        tracing::debug!(pod = pod.name, %error, "port-forward: the session ended");
    }
}

fn connect<P: Ports>(pod: &Pod<P>, mut pair: Pair) {
    let (listener, name) = (pod.listener(pair.port), pod.name.clone());
    tokio::spawn(async move {
        match listener.await {
            Ok(connect) => connect(Box::new(pair)),
            Err(message) => {
                let message = format!("error forwarding port {} to pod {name}: {message}", pair.port);
                // The buffer has room for it. A client that is gone reads nothing.
                pair.error.write_all(message.as_bytes()).await.ok();
            }
        }
    });
}

/// The two streams of a connection. The connection's end closes both.
struct Pair {
    port: u16,
    data: DuplexStream,
    error: DuplexStream,
}

impl AsyncRead for Pair {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.data).poll_read(context, buffer)
    }
}

impl AsyncWrite for Pair {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.data).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.data).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.data).poll_shutdown(context)
    }
}

/// A stream of either type.
enum Half {
    Data(u16, DuplexStream),
    Error(DuplexStream),
}

/// The streams whose counterpart is not there yet, by `requestID`.
#[derive(Default)]
struct Waiting(BTreeMap<String, Half>);

impl Waiting {
    /// Adds a stream. Returns it with its counterpart, once both are there.
    ///
    /// # Errors
    /// Says why the stream is refused.
    fn add(&mut self, headers: &Headers, stream: DuplexStream) -> Result<Option<Pair>, &'static str> {
        let header = |wanted: &str| {
            let found = headers.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.as_str()).ok_or("a header is missing")
        };
        let request = header("requestid")?;
        let port = match header("port")?.parse() {
            Ok(port @ 1..) => port,
            _ => return Err("the header \"port\" is no port"),
        };
        let half = match header("streamtype")? {
            "data" => Half::Data(port, stream),
            "error" => Half::Error(stream),
            _ => return Err("the stream has an unknown type"),
        };
        match (self.0.remove(request), half) {
            (Some(Half::Data(port, data)), Half::Error(error))
            | (Some(Half::Error(error)), Half::Data(port, data)) => Ok(Some(Pair { port, data, error })),
            (Some(first), _) => {
                self.0.insert(request.to_owned(), first);
                Err("there is already such a stream with this \"requestID\"")
            }
            (None, _) if self.0.len() >= SPDY_STREAMS => Err("too many streams wait for their counterpart"),
            (None, half) => {
                self.0.insert(request.to_owned(), half);
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the headers of a stream as client-go sends them, and a stream.
    fn stream(kind: &str, port: &str, request: &str) -> (Headers, DuplexStream) {
        let headers = [("streamtype", kind), ("port", port), ("requestid", request)];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        (headers.to_vec(), tokio::io::duplex(1).0)
    }

    #[test]
    fn streams_are_paired_by_their_request() {
        let mut waiting = Waiting::default();
        let mut add = |kind: &str, port: &str, request: &str| {
            let (headers, stream) = stream(kind, port, request);
            waiting.add(&headers, stream).map(|pair| pair.map(|pair| pair.port))
        };
        assert_eq!(add("error", "2379", "0"), Ok(None));
        assert_eq!(add("data", "6443", "1"), Ok(None));
        assert_eq!(add("data", "2379", "0"), Ok(Some(2379)));
        assert_eq!(add("error", "6443", "1"), Ok(Some(6443)));
        assert_eq!(add("data", "2379", "0"), Ok(None), "a number can be used again");
        assert!(add("data", "2379", "0").is_err(), "a second stream of the same type");
        assert_eq!(add("error", "2379", "0"), Ok(Some(2379)));
        for (kind, port) in [("data", "0"), ("data", "65536"), ("data", ""), ("stdin", "80")] {
            assert!(add(kind, port, "2").is_err(), "{kind} {port}");
        }
    }

    #[test]
    fn streams_without_counterpart_are_limited() {
        let mut waiting = Waiting::default();
        for request in 0..SPDY_STREAMS {
            let (headers, stream) = stream("error", "80", &request.to_string());
            assert!(waiting.add(&headers, stream).is_ok());
        }
        let (headers, last) = stream("error", "80", "more");
        assert!(waiting.add(&headers, last).is_err());
        let (headers, last) = stream("data", "80", "0");
        assert!(waiting.add(&headers, last).is_ok_and(|pair| pair.is_some()));
    }
}
