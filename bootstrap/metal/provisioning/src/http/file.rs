//! Serves files over HTTP, whole or in ranges, with the headers that a client needs to resume after a broken connection.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

pub use axum::body::Body;
use bundle::Stored;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures::{StreamExt, stream};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Response, StatusCode};
use metal_boot::pieces::Pieces;
use net::limits::FILE_PART;
use net::server::FileRange;

use super::range::{Part, part};

/// Returns a response with plain text.
pub fn text(status: StatusCode, content: impl Into<Bytes>) -> Response<Body> {
    typed(status, "text/plain; charset=utf-8", content)
}

/// Returns a response with the given media type.
pub fn typed(status: StatusCode, media_type: &'static str, content: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from(content.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// Returns a response with the file at `path`.
pub async fn answer(path: &Path, method: &Method, asked: &HeaderMap) -> Response<Body> {
    let opened = {
        let path = path.to_owned();
        tokio::task::spawn_blocking(move || Opened::open(&path))
            .await
            .unwrap_or_else(|error| Err(error.into()))
    };
    match opened {
        Ok(opened) => opened.answer(method, asked),
        Err(error) if error.kind() == io::ErrorKind::NotFound => not_found(),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "the file cannot be served");
            text(StatusCode::INTERNAL_SERVER_ERROR, "the file cannot be read; the server's log says why\n")
        }
    }
}

/// Returns the response 404.
pub fn not_found() -> Response<Body> {
    text(StatusCode::NOT_FOUND, "not found\n")
}

/// Serves a file that is assembled from pieces. `tag` must change when the content changes.
pub fn made(pieces: Pieces, tag: &str, method: &Method, asked: &HeaderMap) -> Response<Body> {
    let length = pieces.len();
    Opened::new(Source::Made(pieces), length, tag).answer(method, asked)
}

/// Serves a blob of a bundle. Its digest is the entity tag.
pub(super) fn blob(blob: &Stored, method: &Method, asked: &HeaderMap) -> Response<Body> {
    let source = Source::File { file: blob.file.clone(), start: blob.offset };
    Opened::new(source, blob.size, &blob.digest.to_string()).answer(method, asked)
}

/// Serves bytes in memory. `tag` must change when the content changes.
pub(super) fn memory(content: Bytes, tag: &str, method: &Method, asked: &HeaderMap) -> Response<Body> {
    let length = content.len() as u64;
    Opened::new(Source::Memory(content), length, tag).answer(method, asked)
}

/// The content of a response.
#[derive(Clone)]
enum Source {
    /// A file, whose content begins at this offset.
    File {
        file: Arc<File>,
        start: u64,
    },
    Made(Pieces),
    Memory(Bytes),
}

impl Source {
    fn read_at(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let mut content = Vec::with_capacity(length);
        match self {
            Self::File { file, start } => {
                // The memory is not cleared before.
                while content.len() < length {
                    let at = start + offset + content.len() as u64;
                    if rustix::io::pread(file, rustix::buffer::spare_capacity(&mut content), at)? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                content.truncate(length);
            }
            Self::Made(pieces) => {
                content.resize(length, 0);
                pieces.range(offset, length as u64).read_exact(&mut content)?;
            }
            Self::Memory(bytes) => {
                let first = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                return Ok(bytes.slice(first..first.saturating_add(length).min(bytes.len())));
            }
        }
        Ok(content.into())
    }
}

struct Opened {
    source: Source,
    length: u64,
    /// The entity tag, which changes with the file.
    tag: String,
    modified: Option<String>,
}

impl Opened {
    fn new(source: Source, length: u64, tag: &str) -> Self {
        Self { source, length, tag: format!("\"{tag}\""), modified: None }
    }

    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let changed = metadata.modified()?;
        let nanoseconds = changed.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let length = metadata.len();
        let modified = DateTime::<Utc>::from(changed).format("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let tag = format!("\"{length:x}-{nanoseconds:x}\"");
        Ok(Self {
            source: Source::File { file: Arc::new(file), start: 0 },
            length,
            tag,
            modified: Some(modified),
        })
    }

    fn answer(self, method: &Method, asked: &HeaderMap) -> Response<Body> {
        let header = |name| asked.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let known = header(header::IF_NONE_MATCH);
        let unchanged =
            known.is_some_and(|tags| tags.split(',').any(|tag| tag.trim() == self.tag || tag.trim() == "*"));
        // If the file has changed, the client needs the whole file instead of a range (RFC 9110, section 13.1.5).
        let same = header(header::IF_RANGE)
            .is_none_or(|known| known == self.tag || Some(known) == self.modified.as_deref());
        let range = header(header::RANGE).filter(|_| same && *method == Method::GET);
        let (status, first, length) = match part(range, self.length) {
            _ if unchanged => (StatusCode::NOT_MODIFIED, 0, 0),
            Part::Whole => (StatusCode::OK, 0, self.length),
            Part::Bytes(first, last) => (StatusCode::PARTIAL_CONTENT, first, last - first + 1),
            Part::Impossible => (StatusCode::RANGE_NOT_SATISFIABLE, 0, 0),
        };
        let has_body = *method != Method::HEAD && length > 0;
        let range = match &self.source {
            Source::File { file, start } if has_body => {
                Some(FileRange { file: file.clone(), offset: start + first, length })
            }
            _ => None,
        };
        let content = if has_body { parts(self.source, first, length) } else { Body::empty() };
        let mut response = Response::new(content);
        // Nothing of the body is read before it is polled, and a connection without TLS replaces it.
        if let Some(range) = range {
            response.extensions_mut().insert(range);
        }
        *response.status_mut() = status;
        let headers = response.headers_mut();
        let mut set = |name, value: String| {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        };
        set(header::ETAG, self.tag);
        if let Some(modified) = self.modified {
            set(header::LAST_MODIFIED, modified);
        }
        set(header::ACCEPT_RANGES, "bytes".into());
        match status {
            StatusCode::PARTIAL_CONTENT => {
                set(header::CONTENT_RANGE, format!("bytes {first}-{}/{}", first + length - 1, self.length));
            }
            StatusCode::RANGE_NOT_SATISFIABLE => {
                set(header::CONTENT_RANGE, format!("bytes */{}", self.length))
            }
            _ => {}
        }
        if status != StatusCode::NOT_MODIFIED {
            set(header::CONTENT_LENGTH, length.to_string());
            set(header::CONTENT_TYPE, "application/octet-stream".into());
        }
        response
    }
}

/// Returns a body of `length` bytes from offset `first`, read ahead while earlier parts are sent.
fn parts(source: Source, first: u64, length: u64) -> Body {
    let end = first + length;
    let offsets = (first..end).step_by(FILE_PART);
    let reads = stream::iter(offsets).map(move |offset| {
        let source = source.clone();
        let length = usize::try_from(end - offset).unwrap_or(usize::MAX).min(FILE_PART);
        async move {
            let read = tokio::task::spawn_blocking(move || source.read_at(offset, length)).await;
            read.unwrap_or_else(|error| Err(error.into()))
        }
    });
    Body::from_stream(reads.buffered(2))
}
