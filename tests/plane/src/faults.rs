//! What goes wrong with the requests of the controllers: with single writes, and with single events of their watches.

use std::convert::Infallible;
use std::time::Duration;

use bytes::BytesMut;
use futures::StreamExt;
use http::{Method, Request, header};
use http_body_util::BodyDataStream;
use kube::client::Body as ClientBody;
use serving::{Body, ClientService};
use tower_service::Service;

use crate::requests::Requests;

/// What goes wrong with a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The server answers with this status, and does not execute the write.
    Refused(u16),
    /// The server executes the write, and the answer is replaced by status 504.
    Lost,
    /// The write reaches the server after this time.
    Slow(Duration),
    /// A user changes the object immediately before the write, so that its `resourceVersion` is outdated.
    Edited,
}

/// What goes wrong with an event of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The event does not arrive.
    Dropped,
    /// The event arrives twice.
    Repeated,
}

/// The annotation that a user changes.
const EDITED: &str = "simulation.firstlight.dev/edited";

/// Returns whether the request is a watch.
pub(crate) fn is_watch<B>(request: &Request<B>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    request.method() == Method::GET && query.split('&').any(|part| part == "watch=true" || part == "watch=1")
}

/// Returns the path of the object that a write changes; `None` for a creation.
pub(crate) fn changed_object<B>(request: &Request<B>) -> Option<String> {
    let changes = [Method::PUT, Method::PATCH, Method::DELETE].contains(request.method());
    let path = request.uri().path();
    changes.then(|| path.strip_suffix("/status").unwrap_or(path).to_owned())
}

/// Changes an annotation of the object with this path as the user. An object that does not exist is no error.
pub(crate) async fn edit(mut user: ClientService, path: String, number: u64) {
    let patch = format!(r#"{{"metadata":{{"annotations":{{"{EDITED}":"{number}"}}}}}}"#);
    let request = Request::patch(path).header(header::CONTENT_TYPE, "application/merge-patch+json");
    if let Ok(request) = request.body(ClientBody::from(patch.into_bytes())) {
        let Ok(_) = user.call(request).await;
    }
}

/// Returns the body of a watch, in which events are dropped and repeated as planned.
pub(crate) fn deliver(body: Body, requests: Requests) -> Body {
    let mut rest = BytesMut::new();
    let pieces = BodyDataStream::new(body).map(move |piece: Result<_, Infallible>| {
        let Ok(piece) = piece;
        rest.extend_from_slice(&piece);
        let mut whole = BytesMut::new();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line = rest.split_to(end + 1);
            for _ in 0..copies(&line, &requests) {
                whole.extend_from_slice(&line);
            }
        }
        whole.freeze()
    });
    Body::stream(pieces.filter(|piece| std::future::ready(!piece.is_empty())))
}

/// Returns how often a line of a watch arrives. Only events of objects are counted.
fn copies(line: &[u8], requests: &Requests) -> usize {
    let is_change = [&b"{\"type\":\"ADDED\""[..], b"{\"type\":\"MODIFIED\"", b"{\"type\":\"DELETED\""]
        .iter()
        .any(|start| line.starts_with(start));
    match is_change.then(|| requests.next_delivery()).flatten() {
        None => 1,
        Some(Delivery::Dropped) => 0,
        Some(Delivery::Repeated) => 2,
    }
}
