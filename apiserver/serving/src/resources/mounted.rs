//! Handler of subresources that are implemented in Rust.

use bytes::Bytes;
use machinery::status::Status;

use super::connect::ConnectRequest;
use crate::request::asked::Asked;
use crate::request::read_body::RequestBody;
use crate::response::reply::Reply;
use crate::services::Services;

/// Answers a request for a subresource implemented in Rust.
pub(crate) async fn connect(
    services: &Services,
    asked: Asked<'_>,
    body: RequestBody,
) -> Result<Reply, Status> {
    let place = asked.target.connect().and_then(|place| services.connects.get(place));
    let (resource, connect) = place.ok_or_else(Status::no_such_path)?;
    if !resource.methods.contains(&asked.parts.method) {
        return Err(Status::method_not_allowed(
            "the server does not allow this method on the requested resource",
        ));
    }
    let upgrade = asked.parts.extensions.get::<hyper::upgrade::OnUpgrade>().is_some();
    // An upgraded connection may last long, so it takes no seat.
    let _seat = if upgrade { None } else { services.seats.enter(&asked).await? };
    let body = if upgrade { Bytes::new() } else { services.uploads.read(body).await? };
    let bytes = body.len();
    let request = ConnectRequest {
        namespace: asked.target.namespace().to_owned(),
        name: asked.target.name().to_owned(),
        rest: asked.target.rest().to_owned(),
        parts: asked.parts.clone(),
        body,
        context: asked.context(),
    };
    let response = asked.aside.perform(bytes, connect.connect(request)).await?;
    response.map(|response| Reply::Response(Box::new(response)))
}
