//! Handler of the discovery paths, with content negotiation.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::header::{ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue};
use machinery::status::Status;
use parking_lot::Mutex;
use registry::{Definitions, Registry};

use super::documents::Documents;
use crate::paths::routed::is_routed;
use crate::resources::connect::ConnectResource;
use crate::response::answer::Answer;
use crate::response::negotiate::{
    ACCEPTED, Encoding, JSON, Media, asks_nothing, clauses, meets, no_representation, not_acceptable,
};

/// The content type of aggregated discovery.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Returns whether the client's `If-None-Match` has this tag.
fn is_known(request: &HeaderMap, tag: &HeaderValue) -> bool {
    let tag = tag.to_str().unwrap_or_default();
    let values = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).any(|one| one == tag)
}

/// The paths of discovery.
pub(crate) struct DiscoveryPaths {
    registry: Registry,
    /// The subresources that are implemented in Rust.
    connects: Vec<ConnectResource>,
    /// Where clients reach the server, once it is known.
    address: OnceLock<SocketAddr>,
    /// The documents of the definitions for which they were last asked.
    documents: Mutex<Arc<Documents>>,
}

impl DiscoveryPaths {
    pub(crate) fn new(registry: Registry, connects: Vec<ConnectResource>) -> Self {
        Self { registry, connects, address: OnceLock::new(), documents: Mutex::default() }
    }

    /// Lets the documents name the address of the server.
    pub(crate) fn advertise(&self, address: SocketAddr) {
        if self.address.set(address).is_ok() {
            *self.documents.lock() = Arc::default();
        }
    }

    /// Returns the document at a discovery path; `None` for any other path.
    pub(crate) fn answer(&self, path: &str, request: &HeaderMap) -> Option<Result<Answer, Status>> {
        let path = path.trim_end_matches('/');
        let documents = self.documents();
        let plain = documents.plain.get(path)?.clone();
        let Some((bytes, tag)) = documents.aggregated.get(path) else {
            return Some(
                plain_media(path, &self.registry.definitions(), request)
                    .map(|media| Answer::json(200, vec![plain], media)),
            );
        };
        if path == "/api" && !meets(request, &SUBTYPES) {
            return Some(Err(no_representation(ACCEPTED)));
        }
        Some(
            match aggregated_media(request) {
                Ok(Some(media)) => Ok(Answer::json(200, vec![plain], media)),
                Ok(None) => Ok(tagged(bytes, tag, AGGREGATED, request)),
                Err(status) => Err(status),
            }
            .map(vary),
        )
    }

    /// Returns every discovery path.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.documents().plain.keys().cloned().collect()
    }

    fn documents(&self) -> Arc<Documents> {
        let definitions = self.registry.definitions();
        let mut documents = self.documents.lock();
        if documents.plain.is_empty() || documents.generation != definitions.generation {
            *documents = Arc::new(Documents::build(&self.connects, &definitions, self.address.get()));
        }
        documents.clone()
    }
}

fn vary(mut answer: Answer) -> Answer {
    answer.headers.insert(VARY, HeaderValue::from_static("Accept"));
    answer
}

/// Returns a response with an entity tag, or 304 if the client has it.
fn tagged(bytes: &Bytes, tag: &HeaderValue, content_type: &'static str, request: &HeaderMap) -> Answer {
    let mut answer = if is_known(request, tag) {
        Answer::empty(304)
    } else {
        Answer::new(200, content_type, bytes.clone())
    };
    answer.headers.insert(ETAG, tag.clone());
    answer
}

/// Returns `None` if the client wants the aggregated form, else the media type for the plain one.
fn aggregated_media(request: &HeaderMap) -> Result<Option<Media>, Status> {
    if asks_nothing(request) {
        return Ok(Some(JSON));
    }
    for clause in clauses(request) {
        let is_json = clause.media_type == "*"
            || (clause.media_type == "application" && ["json", "*"].contains(&clause.subtype));
        let asked = (clause.parameter("g"), clause.parameter("v"), clause.parameter("as"));
        match asked {
            ("", "", "") if is_json => return Ok(Some(JSON)),
            ("", "", "") if clause.subtype == "vnd.kubernetes.protobuf" => {
                return Ok(Some(Media { encoding: Encoding::Protobuf, ..JSON }));
            }
            ("", "", "") if clause.subtype == "yaml" => {
                return Ok(Some(Media { encoding: Encoding::Yaml, ..JSON }));
            }
            ("apidiscovery.k8s.io", "v2", "APIGroupDiscoveryList") if is_json => return Ok(None),
            _ => {}
        }
    }
    Err(not_acceptable())
}

/// The subtypes in which every built-in resource is offered.
const SUBTYPES: [&str; 3] = ["json", "yaml", "vnd.kubernetes.protobuf"];

/// Negotiates a document that exists in one form only; requests for a conversion are skipped.
fn plain_media(path: &str, definitions: &Definitions, request: &HeaderMap) -> Result<Media, Status> {
    if is_routed(definitions, path) && !meets(request, &SUBTYPES) {
        return Err(no_representation(ACCEPTED));
    }
    if asks_nothing(request) {
        return Ok(JSON);
    }
    for clause in clauses(request).into_iter().filter(|clause| !clause.converts()) {
        let encoding = match (clause.media_type, clause.subtype) {
            ("*", "*") | ("application", "*" | "json") => Encoding::Json,
            ("application", "yaml") => Encoding::Yaml,
            ("application", "vnd.kubernetes.protobuf") => Encoding::Protobuf,
            _ => continue,
        };
        return Ok(Media { encoding, pretty: clause.parameter("pretty") == "1", ..JSON });
    }
    Err(not_acceptable())
}
