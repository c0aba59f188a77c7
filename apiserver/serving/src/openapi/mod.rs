//! OpenAPI v3 and v2. Made once for each change of the definitions, when somebody asks.

mod document;
mod paths;
mod schemas;
mod v2;
mod v2_protobuf;
mod v3_protobuf;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ETAG, LOCATION, VARY};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use sha2::{Digest, Sha512};

use crate::answer::{Answer, TEXT};
use crate::discovery::{entity_tag, is_known, tagged};
use crate::negotiate::{asks_nothing, clauses};
use crate::query::Query;
use crate::server::Shared;

/// All documents of one generation of definitions.
#[derive(Default)]
pub(crate) struct OpenApi {
    generation: u64,
    built: bool,
    /// `api/v1`, `apis/{group}/{version}` to the document and its hash.
    documents: BTreeMap<String, (Bytes, String)>,
    index: Bytes,
    v2: Option<V2>,
}

/// OpenAPI v2 in both its forms, with their entity tags.
#[derive(Clone)]
struct V2 {
    json: (Bytes, HeaderValue),
    protobuf: (Bytes, HeaderValue),
}

const JSON: &str = "application/json";
const V3_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
const V2_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

impl OpenApi {
    fn build(shared: &Shared, definitions: &registry::Definitions) -> Self {
        let mut documents = BTreeMap::new();
        let mut index = serde_json::Map::new();
        for (path, document) in document::all(shared, definitions) {
            let bytes = Bytes::from(document.to_string());
            let hash: String = Sha512::digest(&bytes).iter().map(|byte| format!("{byte:02X}")).collect();
            let url = format!("/openapi/v3/{path}?hash={hash}");
            index.insert(path.clone(), json!({"serverRelativeURL": url}));
            documents.insert(path, (bytes, hash));
        }
        let index = Bytes::from(json!({"paths": Value::Object(index)}).to_string());
        Self { generation: definitions.generation, built: true, documents, index, v2: None }
    }
}

impl Shared {
    /// The document at an OpenAPI path; `None` when it is none.
    pub(crate) fn openapi(&self, path: &str, parts: &Parts) -> Option<Answer> {
        match path.trim_end_matches('/') {
            "/openapi/v3" => {
                let index = self.openapi_documents().index.clone();
                let tag = entity_tag(&index);
                Some(tagged(&index, &tag, TEXT, &parts.headers))
            }
            "/openapi/v2" => Some(self.openapi_v2(&parts.headers)),
            path => path.strip_prefix("/openapi/v3/").map(|path| self.openapi_v3(path, parts)),
        }
    }

    fn openapi_v3(&self, path: &str, parts: &Parts) -> Answer {
        let documents = self.openapi_documents();
        let Some((bytes, hash)) = documents.documents.get(path) else {
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
            let document = serde_json::from_slice(bytes).unwrap_or_default();
            let bytes = Bytes::from(v3_protobuf::encode(&document));
            tagged(&bytes, &entity_tag(&bytes), V3_PROTOBUF, &parts.headers)
        } else if asked.is_empty() || asked == hash {
            tagged(bytes, &tag, JSON, &parts.headers)
        } else {
            let mut moved = Answer::new(301, JSON, "");
            let location = format!("/openapi/v3/{path}?hash={hash}");
            if let Ok(location) = HeaderValue::from_str(&location) {
                moved.headers.insert(LOCATION, location);
            }
            moved
        };
        if asked == hash {
            // Whoever asks for a hash gets what never changes.
            answer.headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
        }
        answer.headers.insert(VARY, HeaderValue::from_static("Accept"));
        answer
    }

    fn openapi_v2(&self, request: &HeaderMap) -> Answer {
        let v2 = self.openapi_v2_documents();
        let protobuf = clauses(request).iter().any(|clause| clause.subtype.contains("proto-openapi.spec.v2"));
        let ((bytes, tag), content_type) = if protobuf {
            (&v2.protobuf, V2_PROTOBUF)
        } else if accepts(request, &["json"]) {
            (&v2.json, JSON)
        } else {
            return Answer::empty(406);
        };
        let mut answer = if is_known(request, tag) {
            Answer::empty(304)
        } else {
            Answer::new(200, content_type, bytes.clone())
        };
        answer.headers.insert(ETAG, tag.clone());
        answer.headers.insert(VARY, HeaderValue::from_static("Accept"));
        answer
    }

    fn openapi_documents(&self) -> Arc<OpenApi> {
        let definitions = self.registry.definitions();
        let mut openapi = self.openapi.lock();
        if !openapi.built || openapi.generation != definitions.generation {
            *openapi = Arc::new(OpenApi::build(self, &definitions));
        }
        openapi.clone()
    }

    fn openapi_v2_documents(&self) -> V2 {
        let documents = self.openapi_documents();
        if let Some(v2) = &documents.v2 {
            return v2.clone();
        }
        let document = v2::document(documents.documents.values().map(|(bytes, _)| bytes), &self.options);
        let json = Bytes::from(document.to_string());
        let protobuf = Bytes::from(v2_protobuf::encode(&document));
        let (json_tag, protobuf_tag) = (entity_tag(&json), entity_tag(&protobuf));
        let v2 = V2 { json: (json, json_tag), protobuf: (protobuf, protobuf_tag) };
        let mut openapi = self.openapi.lock();
        if openapi.generation == documents.generation {
            let with = OpenApi {
                generation: documents.generation,
                built: true,
                documents: documents.documents.clone(),
                index: documents.index.clone(),
                v2: Some(v2.clone()),
            };
            *openapi = Arc::new(with);
        }
        v2
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
