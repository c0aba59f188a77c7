//! OpenAPI v3 and v2. Each document is built on first use, and again after a change of the definitions.

mod document;
mod paths;
mod range;
mod schemas;
mod v2;
mod v2_protobuf;
mod v3_protobuf;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::header::{ACCEPT_RANGES, ETAG, LOCATION, VARY};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use registry::Definitions;
use serde_json::{Value, json};

use crate::answer::{Answer, TEXT};
use crate::discovery::{entity_tag, precondition};
use crate::negotiate::{asks_nothing, clauses};
use crate::query::Query;
use crate::server::Shared;

/// The documents for one generation of definitions, each built on first use.
pub(crate) struct OpenApi {
    definitions: Arc<Definitions>,
    /// Documents by `api/v1` or `apis/{group}/{version}`.
    documents: BTreeMap<String, Document>,
    index: Bytes,
    v2: OnceLock<V2>,
}

struct Document {
    hash: String,
    bytes: OnceLock<Bytes>,
}

/// OpenAPI v2 as JSON and protobuf, with entity tags.
struct V2 {
    json: (Bytes, HeaderValue),
    protobuf: (Bytes, HeaderValue),
}

const JSON: &str = "application/json";
const V3_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

impl OpenApi {
    fn new(shared: &Shared, definitions: Arc<Definitions>) -> Self {
        let mut documents = BTreeMap::new();
        let mut index = serde_json::Map::new();
        for (path, served) in document::all(&definitions) {
            let hash = document::hash(shared, &served);
            index.insert(
                path.clone(),
                json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash={hash}")}),
            );
            documents.insert(path, Document { hash, bytes: OnceLock::new() });
        }
        let index = Bytes::from(json!({"paths": Value::Object(index)}).to_string());
        Self { definitions, documents, index, v2: OnceLock::new() }
    }

    /// Returns a document and its hash.
    fn document(&self, shared: &Shared, path: &str) -> Option<(&Bytes, &str)> {
        let document = self.documents.get(path)?;
        let bytes = document.bytes.get_or_init(|| {
            let served = document::all(&self.definitions).remove(path).unwrap_or_default();
            Bytes::from(document::document(shared, &served).to_string())
        });
        Some((bytes, &document.hash))
    }

    fn v2(&self, shared: &Shared) -> &V2 {
        self.v2.get_or_init(|| {
            let documents = self.documents.keys().filter_map(|path| self.document(shared, path));
            let document = v2::document(documents.map(|(bytes, _)| bytes), &shared.options);
            let json = Bytes::from(document.to_string());
            let protobuf = Bytes::from(v2_protobuf::encode(&document));
            let (json_tag, protobuf_tag) = (entity_tag(&json), entity_tag(&protobuf));
            V2 { json: (json, json_tag), protobuf: (protobuf, protobuf_tag) }
        })
    }
}

impl Shared {
    /// Returns the document at an OpenAPI path; `None` for any other path.
    pub(crate) fn openapi(&self, path: &str, parts: &Parts) -> Option<Answer> {
        match path.trim_end_matches('/') {
            "/openapi/v3" => {
                let index = self.openapi_documents().index.clone();
                let tag = entity_tag(&index);
                Some(self.conditional(&index, &tag, TEXT, &parts.headers))
            }
            "/openapi/v2" => Some(self.openapi_v2(&parts.headers)),
            path => path.strip_prefix("/openapi/v3/").map(|path| self.openapi_v3(path, parts)),
        }
    }

    fn openapi_v3(&self, path: &str, parts: &Parts) -> Answer {
        let documents = self.openapi_documents();
        let Some((bytes, hash)) = documents.document(self, path) else {
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

    fn openapi_v2(&self, request: &HeaderMap) -> Answer {
        let documents = self.openapi_documents();
        let v2 = documents.v2(self);
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

    fn openapi_documents(&self) -> Arc<OpenApi> {
        let definitions = self.registry.definitions();
        let mut openapi = self.openapi.lock();
        let current =
            openapi.as_ref().filter(|openapi| openapi.definitions.generation == definitions.generation);
        if let Some(current) = current {
            return current.clone();
        }
        let new = Arc::new(OpenApi::new(self, definitions));
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
