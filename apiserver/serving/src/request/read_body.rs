//! Reads request bodies, with limits of size and time.

use std::future::poll_fn;
use std::pin::pin;

use bytes::{Bytes, BytesMut};
use machinery::status::Status;

use crate::limits;
use crate::shared::Shared;

impl Shared {
    /// Reads the complete body.
    ///
    /// # Errors
    /// 413 above [`limits::BODY_BYTES`], 504 if it takes longer than [`limits::BODY`], 503 if the server
    /// stops in the meantime, 400 if the connection breaks.
    pub(crate) async fn read<B>(&self, body: B) -> Result<Bytes, Status>
    where
        B: http_body::Body,
        B::Data: Into<Bytes>,
    {
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
            Ok(read) => read,
            Err(_) => {
                self.metrics.limit("body");
                Err(Status::timeout("the request's body did not arrive in time"))
            }
        }
    }
}

async fn collect<B>(body: B) -> Result<Bytes, Status>
where
    B: http_body::Body,
    B::Data: Into<Bytes>,
{
    let mut body = pin!(body);
    let mut first = Bytes::new();
    let mut more = BytesMut::new();
    while let Some(frame) = poll_fn(|context| body.as_mut().poll_frame(context)).await {
        let frame = frame.map_err(|_| Status::bad_request("unable to read the request's body"))?;
        let Ok(data) = frame.into_data() else { continue };
        let data: Bytes = data.into();
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
