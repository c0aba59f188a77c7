//! Discovery, plain and aggregated. The documents are rebuilt for each change of the definitions.

mod aggregated;
mod groups;
mod resources;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::header::{ETAG, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, VARY};
use http::{HeaderMap, HeaderValue};
use machinery::status::Status;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::answer::Answer;
use crate::negotiate::{
    ACCEPTED, Encoding, JSON, Media, asks_nothing, clauses, meets, no_representation, not_acceptable,
};
use crate::server::Shared;

/// The content type of aggregated discovery.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// All discovery documents for one generation of definitions.
#[derive(Default)]
pub(crate) struct Documents {
    generation: u64,
    /// Documents by path: `/api`, `/apis`, `/api/v1`, `/apis/{group}`, `/apis/{group}/{version}`.
    plain: BTreeMap<String, Bytes>,
    /// Aggregated documents for `/api` and `/apis`, with their entity tags.
    aggregated: BTreeMap<&'static str, (Bytes, HeaderValue)>,
}

impl Documents {
    fn build(shared: &Shared, definitions: &registry::Definitions) -> Self {
        let connects: Vec<_> = shared.options.connects.iter().map(|(resource, _)| resource).collect();
        let groups = groups::groups(definitions);
        let mut plain = BTreeMap::new();
        let mut put = |path: String, value: &Value| plain.insert(path, Bytes::from(value.to_string()));
        put("/api".into(), &groups::versions());
        put("/apis".into(), &groups::list(&groups));
        for group in &groups {
            let root =
                if group.name.is_empty() { "/api".to_owned() } else { format!("/apis/{}", group.name) };
            if !group.name.is_empty() {
                let mut document = group.to_value();
                document["kind"] = "APIGroup".into();
                document["apiVersion"] = "v1".into();
                put(root.clone(), &document);
            }
            for version in &group.versions {
                let list = resources::list(definitions, &group.name, version, &connects);
                put(format!("{root}/{version}"), &list);
            }
        }
        let aggregate = |core: bool| {
            let groups = groups.iter().filter(|group| group.name.is_empty() == core);
            let list = aggregated::list(definitions, groups, &connects).to_string();
            let tag = entity_tag(list.as_bytes());
            (Bytes::from(list), tag)
        };
        let aggregated = BTreeMap::from([("/api", aggregate(true)), ("/apis", aggregate(false))]);
        Self { generation: definitions.generation, plain, aggregated }
    }
}

/// Returns a strong entity tag for these bytes.
pub(crate) fn entity_tag(bytes: &[u8]) -> HeaderValue {
    let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02X}")).collect();
    HeaderValue::from_str(&format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// Returns whether the client's `If-None-Match` has this tag.
fn is_known(request: &HeaderMap, tag: &HeaderValue) -> bool {
    let tag = tag.to_str().unwrap_or_default();
    let values = request.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).any(|one| one == tag)
}

/// Evaluates conditional headers: 304 if the client has the document, 412 if a condition fails, `None` to
/// send the document. A document counts as last modified before `now`.
pub(crate) fn precondition(request: &HeaderMap, tag: &HeaderValue, now: DateTime<Utc>) -> Option<u16> {
    let texts = |name: HeaderName| {
        let values: Vec<&str> =
            request.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
        values
    };
    let listed = |values: &[&str], weak: bool| {
        values.iter().flat_map(|value| value.split(',')).map(str::trim).any(|one| {
            let one = if weak { one.strip_prefix("W/").unwrap_or(one) } else { one };
            one == "*" || tag.to_str().is_ok_and(|tag| tag == one)
        })
    };
    let date = |name: HeaderName| {
        let text = texts(name).first().copied()?;
        DateTime::parse_from_rfc2822(text).ok().map(|date| date.to_utc())
    };
    let (matching, known) = (texts(IF_MATCH), texts(IF_NONE_MATCH));
    if matching.is_empty() {
        if date(IF_UNMODIFIED_SINCE).is_some_and(|date| date < now) {
            return Some(412);
        }
    } else if !listed(&matching, false) {
        return Some(412);
    }
    let unchanged = if known.is_empty() {
        date(IF_MODIFIED_SINCE).is_some_and(|date| date >= now)
    } else {
        listed(&known, true)
    };
    unchanged.then_some(304)
}

impl Shared {
    /// Returns the document at a discovery path; `None` for any other path.
    pub(crate) fn discovery(&self, path: &str, request: &HeaderMap) -> Option<Result<Answer, Status>> {
        let path = path.trim_end_matches('/');
        let documents = self.documents();
        let plain = documents.plain.get(path)?.clone();
        let Some((bytes, tag)) = documents.aggregated.get(path) else {
            return Some(plain_media(path, self, request).map(|media| Answer::json(200, vec![plain], media)));
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
    pub(crate) fn discovery_paths(&self) -> Vec<String> {
        self.documents().plain.keys().cloned().collect()
    }

    fn documents(&self) -> Arc<Documents> {
        let definitions = self.registry.definitions();
        let mut documents = self.documents.lock();
        if documents.plain.is_empty() || documents.generation != definitions.generation {
            *documents = Arc::new(Documents::build(self, &definitions));
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
fn plain_media(path: &str, shared: &Shared, request: &HeaderMap) -> Result<Media, Status> {
    if shared.is_routed(path) && !meets(request, &SUBTYPES) {
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

/// Returns the `storageVersionHash`, by which clients see whether two versions are stored alike.
fn storage_hash(group: &str, version: &str, kind: &str) -> String {
    use base64::Engine as _;
    // The storage versions that kube-apiserver uses for these kinds.
    let (group, version) = match (group, kind) {
        ("events.k8s.io", "Event") => ("", "v1"),
        ("apiextensions.k8s.io", "CustomResourceDefinition")
        | ("admissionregistration.k8s.io", "MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding") => {
            (group, "v1beta1")
        }
        _ => (group, version),
    };
    let hash = Sha256::digest(format!("{group}/{version}/{kind}"));
    base64::engine::general_purpose::STANDARD.encode(hash.get(..8).unwrap_or_default())
}

/// Returns the verbs of subresources that read and write a part of an object.
fn part_verbs() -> Value {
    json!(["get", "patch", "update"])
}
