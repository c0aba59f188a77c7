//! `/agent/v1/…`: what agents say, as HTTP ([`agent_protocol`]).

use axum::body::Body;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::file;
use super::peer::Peer;
use super::percent::percent_decoded;
use crate::agents::{Agents, Refusal};
use crate::limits;

/// The limit of the body of an enrolment, with its name in the metrics.
const ENROLMENT: (usize, &str) = (limits::ENROLMENT, "netboot_enrolment");

/// Answers a request for `path`, the part after `/agent/v1/`. `http` is `http://ADDRESS:PORT` of this server.
pub async fn answer(
    agents: &Agents,
    path: &str,
    request: Request<Body>,
    peer: &Peer,
    http: &str,
) -> Response<Body> {
    let Some(certificate) = &peer.certificate else {
        return file::text(StatusCode::FORBIDDEN, "agents speak HTTPS and show a certificate\n");
    };
    if !certificate.is_valid(agents.clock.now()) {
        return file::text(StatusCode::UNAUTHORIZED, "the certificate has expired or is not yet valid\n");
    }
    match respond(agents, path, request, peer, &certificate.sha256, http).await {
        Ok(response) => response,
        Err(refusal) => {
            if let Refusal::Limit(limit, _) = refusal {
                agents.metrics.limit(limit);
            }
            let status = match refusal {
                Refusal::Unknown => StatusCode::UNAUTHORIZED,
                Refusal::Forbidden(_)
                | Refusal::Token(_)
                | Refusal::Endorsement(_)
                | Refusal::Unproven(_) => StatusCode::FORBIDDEN,
                Refusal::Malformed(_) | Refusal::Limit(..) => StatusCode::BAD_REQUEST,
                Refusal::Failed(_) | Refusal::Full(_) => StatusCode::SERVICE_UNAVAILABLE,
            };
            file::text(status, format!("{refusal}\n"))
        }
    }
}

async fn respond(
    agents: &Agents,
    path: &str,
    request: Request<Body>,
    peer: &Peer,
    certificate: &str,
    http: &str,
) -> Result<Response<Body>, Refusal> {
    match (request.method().clone(), path) {
        (Method::POST, "challenge") => {
            let endorsement = read(request, ENROLMENT).await?;
            Ok(json(&agents.challenge(certificate, &endorsement)?))
        }
        (Method::POST, "enrol") => {
            let enrolment = read(request, ENROLMENT).await?;
            Ok(json(&agents.enrol(certificate, peer.address.ip(), &enrolment).await?))
        }
        (Method::GET, "instruction") => {
            let query = request.uri().query().unwrap_or_default();
            let after = query.split('&').find_map(|pair| pair.strip_prefix("after="));
            let after = percent_decoded(after.unwrap_or_default()).unwrap_or_default();
            let instruction = agents.instruction(certificate, &after).await?;
            Ok(instruction.map_or_else(nothing, |instruction| json(&instruction)))
        }
        (Method::POST, "report") => {
            let report = read(request, agents.largest_report(certificate)?).await?;
            agents.report(certificate, report).await.map(|()| nothing())
        }
        (Method::GET, "config-drive") => {
            let drive = agents.config_drive(certificate, http).await?;
            Ok(drive.map_or_else(file::not_found, |drive| json(&drive)))
        }
        _ => Ok(file::not_found()),
    }
}

/// Reads a body of at most `most` bytes; `limit` is the name of this limit.
pub(super) async fn read<T: DeserializeOwned>(
    request: Request<Body>,
    (most, limit): (usize, &'static str),
) -> Result<T, Refusal> {
    let body = Limited::new(request.into_body(), most).collect();
    let wrong = |error: String| Refusal::Malformed(format!("the body: {error}"));
    let late = || Refusal::Limit("netboot_handshake", "the body: it took too long".into());
    let body = tokio::time::timeout(limits::HANDSHAKE, body).await.map_err(|_| late())?;
    let body = body.map_err(|error| match error.downcast::<LengthLimitError>() {
        Ok(_) => Refusal::Limit(limit, format!("the body: it has more than {most} bytes")),
        Err(error) => wrong(error.to_string()),
    })?;
    serde_json::from_slice(&body.to_bytes()).map_err(|error| wrong(error.to_string()))
}

fn json(value: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(value) {
        Ok(text) => file::typed(StatusCode::OK, "application/json", text),
        Err(_) => file::text(StatusCode::INTERNAL_SERVER_ERROR, Bytes::new()),
    }
}

/// Returns an empty answer.
pub(super) fn nothing() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
