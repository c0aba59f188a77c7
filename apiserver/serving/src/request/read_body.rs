//! Reads request bodies, with limits of size and time.

use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use machinery::clock::Clock;
use machinery::status::Status;
use tokio_util::sync::CancellationToken;

use crate::limits;
use crate::metrics::Metrics;

/// The body of any request. The handlers are compiled once, and not once for each type of body in each
/// program that contains a server.
pub(crate) type RequestBody = UnsyncBoxBody<Bytes, Unreadable>;

/// The connection of a request broke before the body was complete.
pub(crate) struct Unreadable;

/// Hides the type of `body`.
pub(crate) fn boxed<B>(body: B) -> RequestBody
where
    B: http_body::Body + Send + 'static,
    B::Data: Into<Bytes>,
{
    body.map_frame(|frame| frame.map_data(Into::into)).map_err(|_| Unreadable).boxed_unsync()
}

/// Reads the bodies of requests.
pub(crate) struct Uploads {
    clock: Clock,
    metrics: Metrics,
    /// Cancelled when the server stops.
    stop: CancellationToken,
}

impl Uploads {
    pub(crate) fn new(clock: Clock, metrics: Metrics, stop: CancellationToken) -> Self {
        Self { clock, metrics, stop }
    }

    /// Reads the complete body.
    ///
    /// # Errors
    /// 413 above [`limits::BODY_BYTES`], 504 if it takes longer than [`limits::BODY`], 503 if the server
    /// stops in the meantime, 400 if the connection breaks.
    pub(crate) async fn read(&self, body: RequestBody) -> Result<Bytes, Status> {
        if body.is_end_stream() {
            return Ok(Bytes::new());
        }
        let stopped = async {
            self.stop.cancelled().await;
            self.clock.sleep(limits::UPLOAD_AT_SHUTDOWN).await;
        };
        let read = async {
            tokio::select! {
                biased;
                read = collect(body) => read,
                () = stopped => {
                    self.metrics.limit("upload_at_shutdown");
                    let why = "the server stops, and the request's body has not arrived";
                    Err(Status::new(503, "ServiceUnavailable", why))
                }
            }
        };
        match tokio::time::timeout(limits::BODY, read).await {
            Ok(read) => read.inspect_err(|status| {
                if status.code == 413 {
                    self.metrics.limit("body_bytes");
                }
            }),
            Err(_) => {
                self.metrics.limit("body");
                Err(Status::timeout("the request's body did not arrive in time"))
            }
        }
    }
}

async fn collect(mut body: RequestBody) -> Result<Bytes, Status> {
    let mut first = Bytes::new();
    let mut more = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Status::bad_request("unable to read the request's body"))?;
        let Ok(data) = frame.into_data() else { continue };
        let so_far = if more.is_empty() { first.len() } else { more.len() };
        if so_far + data.len() > limits::BODY_BYTES {
            let limit = limits::BODY_BYTES;
            return Err(Status::too_large(format!("Request entity too large: limit is {limit}")));
        }
        // Most bodies arrive in one frame and need no copy.
        if so_far == 0 {
            first = data;
            continue;
        }
        if more.is_empty() {
            more.extend_from_slice(&first);
        }
        more.extend_from_slice(&data);
    }
    Ok(if more.is_empty() { first } else { more.freeze() })
}
