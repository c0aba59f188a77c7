//! `pods/proxy`: forwards an HTTP request to a port of a Pod.

use bytes::Bytes;
use futures::StreamExt;
use http::header::{CONNECTION, HOST, HeaderName, HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE};
use http::{Request, Response, Uri};
use http_body_util::{BodyStream, Full};
use machinery::status::Status;
use serde_json::Value;

use super::node::Node;
use crate::resources::connect::ConnectRequest;
use crate::transport::body::Body;

/// Headers that concern one connection only, and those that prove the client's identity to this server.
const DROPPED: [HeaderName; 6] =
    [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, http::header::AUTHORIZATION];

/// Forwards a request to a port of a Pod, which the path names by number or by the name of a port.
pub(super) async fn proxy(
    node: &dyn Node,
    pod: &Value,
    (scheme, port): (&str, &str),
    request: ConnectRequest,
) -> Result<Response<Body>, Status> {
    if scheme == "https" {
        return Err(Status::bad_request("this server forwards requests to Pods over HTTP only"));
    }
    let number =
        number(pod, port).ok_or_else(|| Status::bad_request(format!("the Pod has no port {port:?}")))?;
    let failed =
        |why: String| Status::new(503, "ServiceUnavailable", format!("error trying to reach the Pod: {why}"));
    let stream = node.dial(pod, number).await.map_err(|error| failed(error.to_string()))?;
    let mut sender = net::http1(stream).await.map_err(|error| failed(error.to_string()))?;
    let forwarded = forwarded(request, number).map_err(|error| failed(error.to_string()))?;
    let answer = sender.send_request(forwarded).await.map_err(|error| failed(error.to_string()))?;
    let (mut parts, body) = answer.into_parts();
    DROPPED.iter().for_each(|name| drop(parts.headers.remove(name)));
    let frames = BodyStream::new(body);
    let bytes = frames.filter_map(|frame| async { frame.ok().and_then(|frame| frame.into_data().ok()) });
    Ok(Response::from_parts(parts, Body::stream(bytes)))
}

fn forwarded(request: ConnectRequest, port: u16) -> http::Result<Request<Full<Bytes>>> {
    let query = request.parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let uri: Uri = format!("/{}{query}", request.rest).parse()?;
    let mut forwarded =
        Request::builder().method(request.parts.method).uri(uri).body(Full::new(request.body))?;
    let headers = forwarded.headers_mut();
    *headers = request.parts.headers;
    DROPPED.iter().for_each(|name| drop(headers.remove(name)));
    headers.insert(HOST, HeaderValue::try_from(format!("localhost:{port}"))?);
    Ok(forwarded)
}

/// Returns the number of a port; without a name, that of the first port of the Pod.
fn number(pod: &Value, port: &str) -> Option<u16> {
    let containers = pod["spec"]["containers"].as_array()?;
    let mut ports =
        containers.iter().flat_map(|container| container["ports"].as_array().into_iter().flatten());
    let found = match port {
        "" => ports.next()?["containerPort"].as_u64(),
        _ => match port.parse::<u64>() {
            Ok(number) => Some(number),
            Err(_) => ports.find(|one| one["name"] == port)?["containerPort"].as_u64(),
        },
    };
    u16::try_from(found?).ok()
}
