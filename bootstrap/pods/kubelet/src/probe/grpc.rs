//! Probes over gRPC: `grpc.health.v1.Health/Check`, as in gRPC's health checking protocol. Its two messages have one field each.

use anyhow::{Context, Result, anyhow, bail, ensure};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::HeaderMap;
use k8s_openapi::api::core::v1::GRPCAction;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::http::AGENT;
use super::target::Target;
use crate::limits;

/// gRPC's code for a method that does not exist.
const UNIMPLEMENTED: &str = "12";
/// `HealthCheckResponse.SERVING`.
const SERVING: u64 = 1;

/// Asks whether a service is healthy.
///
/// # Errors
/// Nothing answers, or it is not.
pub(super) async fn check(action: &GRPCAction, target: &Target) -> Result<()> {
    let service = action.service.as_deref().unwrap_or_default();
    let (stream, host, port) = target.dial(None, &IntOrString::Int(action.port)).await?;
    let mut sender = net::http2(stream).await?;
    let request = hyper::Request::post(format!("http://{host}:{port}/grpc.health.v1.Health/Check"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("user-agent", AGENT)
        .body(Full::new(Bytes::from(message(service))))?;
    let answer = sender.send_request(request).await.context("no answer")?;
    ensure!(answer.status().is_success(), "the server answers with {}, which is not gRPC", answer.status());
    let head = answer.headers().clone();
    let body = Limited::new(answer.into_body(), limits::HEALTH_ANSWER).collect().await;
    let body = body.map_err(|error| anyhow!("the answer cannot be read: {error}"))?;
    // An error without a message has everything in its head.
    let end = body.trailers().cloned().unwrap_or(head);
    verdict(&end, &body.to_bytes())
}

/// Returns the request for a service as gRPC has it on the wire: a flag, a length, and the message.
pub fn message(service: &str) -> Vec<u8> {
    let mut content = Vec::new();
    if !service.is_empty() {
        content.push(0x0a);
        varint(&mut content, service.len());
        content.extend_from_slice(service.as_bytes());
    }
    let mut message = vec![0];
    message.extend_from_slice(&u32::try_from(content.len()).unwrap_or_default().to_be_bytes());
    message.extend(content);
    message
}

fn varint(into: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        into.push(u8::try_from(number & 0x7f).unwrap_or_default() | 0x80);
        number >>= 7;
    }
    into.push(u8::try_from(number).unwrap_or_default());
}

/// Judges an answer by its last headers and its message.
pub fn verdict(end: &HeaderMap, body: &[u8]) -> Result<()> {
    let text = |name: &str| end.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match text("grpc-status") {
        "0" => {}
        UNIMPLEMENTED => bail!(
            "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): {}",
            text("grpc-message")
        ),
        code => bail!("error: health rpc probe failed with gRPC code {code:?}: {}", text("grpc-message")),
    }
    let status = status(body).context("the answer is no message of the grpc health protocol")?;
    ensure!(status == SERVING, "service unhealthy (responded with {:?})", name(status));
    Ok(())
}

fn name(status: u64) -> &'static str {
    match status {
        0 => "UNKNOWN",
        2 => "NOT_SERVING",
        3 => "SERVICE_UNKNOWN",
        _ => "?",
    }
}

/// Reads the field `status` of a message; without it, it is 0.
fn status(body: &[u8]) -> Option<u64> {
    let content = body.strip_prefix(&[0])?;
    let (length, content) = content.split_first_chunk::<4>()?;
    (usize::try_from(u32::from_be_bytes(*length)).ok()? == content.len()).then_some(())?;
    match content {
        [] => Some(0),
        [0x08, number] if *number < 0x80 => Some(u64::from(*number)),
        _ => None,
    }
}
