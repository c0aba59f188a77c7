//! Handler of the OpenAPI paths.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT_RANGES, ETAG, LOCATION, VARY};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use machinery::clock::Clock;
use parking_lot::Mutex;
use registry::Registry;

use super::documents::OpenApi;
use super::{range, v3_protobuf};
use crate::options::VersionInfo;
use crate::request::query::Query;
use crate::response::answer::{Answer, TEXT};
use crate::response::conditions::{entity_tag, precondition};
use crate::response::negotiate::{asks_nothing, clauses};

const JSON: &str = "application/json";
const V3_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The paths of OpenAPI.
pub(crate) struct OpenApiPaths {
    registry: Registry,
    version: VersionInfo,
    clock: Clock,
    /// The documents of the definitions for which they were last asked.
    documents: Mutex<Option<Arc<OpenApi>>>,
}

impl OpenApiPaths {
    pub(crate) fn new(registry: Registry, version: VersionInfo, clock: Clock) -> Self {
        Self { registry, version, clock, documents: Mutex::default() }
    }

    /// Returns the document at an OpenAPI path; `None` for any other path.
    pub(crate) fn answer(&self, path: &str, parts: &Parts) -> Option<Answer> {
        match path.trim_end_matches('/') {
            "/openapi/v3" => {
                let index = self.documents().index.clone();
                let tag = entity_tag(&index);
                Some(self.conditional(&index, &tag, TEXT, &parts.headers))
            }
            "/openapi/v2" => Some(self.v2(&parts.headers)),
            path => path.strip_prefix("/openapi/v3/").map(|path| self.v3(path, parts)),
        }
    }

    fn v3(&self, path: &str, parts: &Parts) -> Answer {
        let documents = self.documents();
        let Some((bytes, hash)) = documents.document(&self.version, path) else {
            return Answer::empty(404);
        };
        let clauses = clauses(&parts.headers);
        let protobuf = clauses.iter().any(|clause| clause.subtype.contains("proto-openapi.spec.v3"));
        if !protobuf && !accepts(&parts.headers, &["json"]) {
            return Answer::empty(406);
        }
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        let asked = query.get("hash").unwrap_or_default();
        let tag = HeaderValue::from_str(&format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static("\"\""));
        let mut answer = if protobuf && (asked.is_empty() || asked == hash) {
            let document = machinery::decode::own(bytes).unwrap_or_default();
            let bytes = Bytes::from(v3_protobuf::encode(&document));
            self.conditional(&bytes, &entity_tag(&bytes), V3_PROTOBUF, &parts.headers)
        } else if asked.is_empty() || asked == hash {
            self.conditional(bytes, &tag, JSON, &parts.headers)
        } else {
            let mut moved = Answer::new(301, JSON, "");
            let location = format!("/openapi/v3/{path}?hash={hash}");
            if let Ok(location) = HeaderValue::from_str(&location) {
                moved.headers.insert(LOCATION, location);
            }
            moved
        };
        if asked == hash {
            // A document requested by its hash never changes.
            answer.headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
        }
        answer.headers.insert(VARY, HeaderValue::from_static("Accept"));
        answer
    }

    fn v2(&self, request: &HeaderMap) -> Answer {
        let documents = self.documents();
        let v2 = documents.v2(&self.version);
        let protobuf = clauses(request).iter().any(|clause| clause.subtype.contains("proto-openapi.spec.v2"));
        let ((bytes, tag), content_type) = if protobuf {
            (&v2.protobuf, V2_PROTOBUF)
        } else if accepts(request, &["json"]) {
            (&v2.json, JSON)
        } else {
            return Answer::empty(406);
        };
        let mut answer = self.conditional(bytes, tag, content_type, request);
        answer.headers.insert(VARY, HeaderValue::from_static("Accept"));
        answer
    }

    /// Returns a document, unless the request's conditional headers decide otherwise.
    fn conditional(
        &self,
        bytes: &Bytes,
        tag: &HeaderValue,
        content_type: &'static str,
        request: &HeaderMap,
    ) -> Answer {
        let mut answer = match precondition(request, tag, self.clock.now()) {
            Some(412) if content_type != TEXT => Answer::new(412, content_type, ""),
            Some(code) => Answer::empty(code),
            None => range::answer(bytes, tag, content_type, request),
        };
        if answer.code != 416 {
            answer.headers.insert(ETAG, tag.clone());
            answer.headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        }
        answer
    }

    fn documents(&self) -> Arc<OpenApi> {
        let definitions = self.registry.definitions();
        let mut openapi = self.documents.lock();
        let current =
            openapi.as_ref().filter(|openapi| openapi.definitions.generation == definitions.generation);
        if let Some(current) = current {
            return current.clone();
        }
        let new = Arc::new(OpenApi::new(&self.version, definitions));
        *openapi = Some(new.clone());
        new
    }
}

fn accepts(request: &HeaderMap, subtypes: &[&str]) -> bool {
    asks_nothing(request)
        || clauses(request).iter().any(|clause| {
            clause.media_type == "*"
                || (clause.media_type == "application"
                    && (clause.subtype == "*" || subtypes.contains(&clause.subtype)))
        })
}
