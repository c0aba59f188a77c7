//! Responses: status, headers, encoding, compression.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{
    ACCEPT_ENCODING, ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER, USER_AGENT, VARY,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use machinery::status::Status;
use serde_json::Value;

use super::negotiate::{Encoding, Media, negotiate_error};
use super::warnings;
use crate::limits;
use crate::request::aside::aside;
use crate::transport::body::Body;

/// The content type of plain text.
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";

/// A response before compression.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) content_type: Option<HeaderValue>,
    pub(crate) pieces: Vec<Bytes>,
    pub(crate) headers: HeaderMap,
}

impl Answer {
    /// Creates a response with this content type and body.
    pub(crate) fn new(code: u16, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            code,
            content_type: Some(HeaderValue::from_static(content_type)),
            pieces: vec![body.into()],
            headers: HeaderMap::new(),
        }
    }

    /// Creates a plain text response.
    pub(crate) fn text(code: u16, text: impl Into<String>) -> Self {
        Self::new(code, TEXT, text.into())
    }

    /// Creates a response without body and content type.
    pub(crate) fn empty(code: u16) -> Self {
        Self { code, content_type: None, pieces: Vec::new(), headers: HeaderMap::new() }
    }

    /// Creates the response for a path that does not exist.
    pub(crate) fn page_not_found() -> Self {
        let mut answer = Self::text(404, "404 page not found\n");
        answer.headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
        answer
    }

    /// Creates a response from JSON text, converted to the negotiated media type.
    pub(crate) fn json(code: u16, pieces: Vec<Bytes>, media: Media) -> Self {
        let pieces = match (media.encoding, media.pretty) {
            (Encoding::Protobuf, _) => rewritten(&pieces, protobuf),
            (Encoding::Yaml, _) => rewritten(&pieces, yaml),
            (_, true) => vec![Bytes::from(machinery::json::indented(&pieces.concat()))],
            _ => with_line_end(pieces),
        };
        let content_type = Some(HeaderValue::from_static(media.encoding.media_type()));
        Self { code, content_type, pieces, headers: HeaderMap::new() }
    }

    /// Creates a response from a value that is a struct in Go, converted to the negotiated media type.
    pub(crate) fn value(code: u16, value: &Value, media: Media) -> Self {
        Self::json(code, vec![Bytes::from(kinds::json::text(value))], media)
    }

    /// Creates an error response, in a media type that the client accepts if there is one, else JSON.
    pub(crate) fn error(status: &Status, request: &HeaderMap) -> Self {
        let encoding = negotiate_error(request);
        let value = status.to_value();
        let mut answer = if encoding == Encoding::Protobuf {
            Self::new(status.code, encoding.media_type(), Bytes::from(protobuf(&value)))
        } else {
            let media = Media { encoding, convert: None, pretty: wants_pretty(request, None) };
            Self::value(status.code, &value, media)
        };
        let retry = status.details.as_ref().and_then(|details| details["retryAfterSeconds"].as_u64());
        if let Some(seconds) = retry {
            answer.headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status.code == 405 {
            answer.headers.insert(ALLOW, HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE"));
        }
        answer
    }

    /// Compresses a large body if the client accepts gzip. What is compressed already stays as it is.
    pub(crate) fn compressed(mut self, request: &HeaderMap) -> Self {
        let size: usize = self.pieces.iter().map(Bytes::len).sum();
        let is_to_be = size >= limits::GZIP_FROM_BYTES && !self.headers.contains_key(CONTENT_ENCODING);
        if is_to_be && accepts_gzip(request) {
            if let Some(compressed) = aside(size, || gzip(&self.pieces)) {
                self.pieces = vec![compressed];
                self.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            }
            self.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        self
    }

    /// Builds the HTTP response: warnings become headers, large bodies are compressed if the client accepts
    /// gzip.
    pub(crate) fn finish(mut self, request: &HeaderMap, warnings: &[String]) -> Response<Body> {
        self = self.compressed(request);
        let mut response = Response::new(Body::pieces(self.pieces));
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        *response.headers_mut() = self.headers;
        let headers = response.headers_mut();
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache, private"));
        if let Some(content_type) = self.content_type {
            headers.insert(CONTENT_TYPE, content_type);
        }
        warnings::add(headers, warnings);
        response
    }
}

/// Returns whether to indent the response: as the query parameter `pretty` says, else if the client is a
/// browser, curl or Wget.
pub(crate) fn wants_pretty(request: &HeaderMap, parameter: Option<bool>) -> bool {
    parameter.unwrap_or_else(|| {
        let agent = request.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        ["curl", "Wget", "Mozilla/5.0"].iter().any(|prefix| agent.starts_with(prefix))
    })
}

/// Returns whether the client accepts a compressed response.
pub(crate) fn accepts_gzip(request: &HeaderMap) -> bool {
    let values = request.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|one| {
        let mut parts = one.split(';').map(str::trim);
        parts.next() == Some("gzip") && !parts.any(|parameter| parameter == "q=0")
    })
}

/// Compresses at the fastest level: the network to clients is fast, and the CPU is shared.
pub(crate) fn gzip(pieces: &[Bytes]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(1));
    for piece in pieces {
        encoder.write_all(piece).ok()?;
    }
    encoder.finish().ok().map(Bytes::from)
}

fn rewritten(pieces: &[Bytes], write: impl Fn(&Value) -> Vec<u8>) -> Vec<Bytes> {
    match machinery::decode::own(&pieces.concat()) {
        Ok(value) => vec![Bytes::from(write(&value))],
        Err(_) => pieces.to_vec(),
    }
}

/// Encodes an object, a list or a `Status` as protobuf; returns no bytes for a kind without a protobuf
/// message.
pub(crate) fn protobuf(value: &Value) -> Vec<u8> {
    kinds::protobuf::encode(value).unwrap_or_default()
}

fn yaml(value: &Value) -> Vec<u8> {
    machinery::yaml::write(value).unwrap_or_default().into_bytes()
}

fn with_line_end(mut pieces: Vec<Bytes>) -> Vec<Bytes> {
    if pieces.last().is_none_or(|last| !last.ends_with(b"\n")) {
        pieces.push(Bytes::from_static(b"\n"));
    }
    pieces
}
