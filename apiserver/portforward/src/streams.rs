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
pub(crate) async fn forward<P: Ports>(pod: Pod<P>, connection: impl AsyncRead + AsyncWrite) {
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
pub struct Pair {
    /// The port of the Pod.
    pub port: u16,
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
pub struct Waiting(BTreeMap<String, Half>);

impl Waiting {
    /// Adds a stream. Returns it with its counterpart, once both are there.
    ///
    /// # Errors
    /// Says why the stream is refused.
    pub fn add(&mut self, headers: &Headers, stream: DuplexStream) -> Result<Option<Pair>, &'static str> {
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
