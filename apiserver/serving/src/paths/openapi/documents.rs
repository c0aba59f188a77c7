//! The OpenAPI documents, each built at its first request.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::HeaderValue;
use registry::Definitions;
use serde_json::{Value, json};

use super::{document, v2, v2_protobuf};
use crate::options::VersionInfo;
use crate::response::conditions::entity_tag;

/// The documents for one generation of definitions, each built on first use.
pub(crate) struct OpenApi {
    pub(super) definitions: Arc<Definitions>,
    /// Documents by `api/v1` or `apis/{group}/{version}`.
    documents: BTreeMap<String, Document>,
    pub(super) index: Bytes,
    v2: OnceLock<V2>,
}

struct Document {
    hash: String,
    bytes: OnceLock<Bytes>,
}

/// OpenAPI v2 as JSON and protobuf, with entity tags.
pub(super) struct V2 {
    pub(super) json: (Bytes, HeaderValue),
    pub(super) protobuf: (Bytes, HeaderValue),
}

impl OpenApi {
    pub(super) fn new(version: &VersionInfo, definitions: Arc<Definitions>) -> Self {
        let mut documents = BTreeMap::new();
        let mut index = serde_json::Map::new();
        for (path, served) in document::all(&definitions) {
            let hash = document::hash(version, &served);
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
    pub(super) fn document(&self, version: &VersionInfo, path: &str) -> Option<(&Bytes, &str)> {
        let document = self.documents.get(path)?;
        let bytes = document.bytes.get_or_init(|| {
            let served = document::all(&self.definitions).remove(path).unwrap_or_default();
            Bytes::from(document::document(version, &served).to_string())
        });
        Some((bytes, &document.hash))
    }

    /// OpenAPI v2.
    pub(super) fn v2(&self, version: &VersionInfo) -> &V2 {
        self.v2.get_or_init(|| {
            let documents = self.documents.keys().filter_map(|path| self.document(version, path));
            let document = v2::document(documents.map(|(bytes, _)| bytes), version);
            let json = Bytes::from(document.to_string());
            let protobuf = Bytes::from(v2_protobuf::encode(&document));
            let (json_tag, protobuf_tag) = (entity_tag(&json), entity_tag(&protobuf));
            V2 { json: (json, json_tag), protobuf: (protobuf, protobuf_tag) }
        })
    }
}
