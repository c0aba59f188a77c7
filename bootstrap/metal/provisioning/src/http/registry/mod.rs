//! A read-only registry of the container images of bundles (OCI distribution specification 1.1).
//!
//! Repositories have the names of their registries (`registry.k8s.io/pause`), so this registry is a mirror of all of them: containerd and CRI-O
//! send the name of the registry as the parameter `ns`, and other clients pull `ADDRESS:PORT/registry.k8s.io/pause`.

mod accept;
mod lists;
pub mod problem;
mod query;
pub mod target;

use std::sync::Arc;

use bundle::{Catalogue, Digest, Manifest, Repository};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response};

use super::file::{self, Body};
use super::percent::percent_decoded;
use accept::Accept;
use problem::Problem;
use query::Query;
use target::Target;

/// The first part of all paths.
pub const PREFIX: &str = "/v2/";
/// The header with the digest of what is sent.
const CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");
/// The header by which old clients know the version of the protocol.
const API_VERSION: HeaderName = HeaderName::from_static("docker-distribution-api-version");
/// The end of the name under which the image server has the checksum of a disk image, in the format of `sha256sum`.
const CHECKSUM: &str = ".sha256sum";

/// The registry, and the disk images of the same bundles.
#[derive(Clone, Debug, Default)]
pub struct Registry(Arc<Catalogue>);

impl Registry {
    /// Creates a registry of the images in a catalogue.
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        Self(catalogue)
    }

    /// Returns the response to a request, and `None` if it is none for the registry.
    pub fn answer<B>(&self, request: &Request<B>) -> Option<Response<Body>> {
        let path = request.uri().path();
        let rest = path.strip_prefix(PREFIX).or_else(|| (path == "/v2").then_some(""))?;
        if self.0.repositories.is_empty() {
            return None;
        }
        let mut response = self.respond(rest, request).unwrap_or_else(Problem::response);
        response.headers_mut().insert(API_VERSION, HeaderValue::from_static("registry/2.0"));
        Some(response)
    }

    /// Returns the response with a disk image or its checksum, and `None` if the bundles do not have it.
    pub fn image(&self, name: &str, method: &Method, asked: &HeaderMap) -> Option<Response<Body>> {
        let name = percent_decoded(name)?;
        if let Some(stored) = self.0.disk(&name) {
            return Some(file::blob(stored, method, asked));
        }
        let name = name.strip_suffix(CHECKSUM)?;
        let digest = self.0.disk(name)?.digest;
        let line = format!("{}  {name}\n", digest.hex());
        Some(file::memory(line.into(), &digest.to_string(), method, asked))
    }

    fn respond<B>(&self, path: &str, request: &Request<B>) -> Result<Response<Body>, Problem> {
        let path = percent_decoded(path).ok_or(Problem::NameInvalid)?;
        let target = Target::parse(&path)?;
        let (method, asked) = (request.method(), request.headers());
        if !matches!(*method, Method::GET | Method::HEAD) || target == Target::Upload {
            return Err(Problem::Unsupported);
        }
        let query = Query::parse(request.uri().query().unwrap_or_default());
        match target {
            Target::Root | Target::Upload => Ok(file::typed(http::StatusCode::OK, "application/json", "{}")),
            Target::Catalogue => lists::catalogue(&self.0, &query),
            Target::Tags(name) => lists::tags(self.repository(name, &query)?, name, &query),
            Target::Referrers(name, digest) => {
                Ok(lists::referrers(self.repository(name, &query)?, digest, &query))
            }
            Target::Manifest(name, reference) => {
                let repository = self.repository(name, &query)?;
                let found = find(repository, reference, &Accept::of(asked))?;
                let digest = found.descriptor.digest;
                let response = file::memory(found.content.clone(), &digest.to_string(), method, asked);
                Ok(described(response, digest, &found.descriptor.media_type))
            }
            Target::Blob(name, digest) => {
                let repository = self.repository(name, &query)?;
                let stored = repository.blobs.get(&digest).ok_or(Problem::BlobUnknown(digest))?;
                Ok(described(file::blob(stored, method, asked), digest, "application/octet-stream"))
            }
        }
    }

    /// Returns the repository of a request. Docker asks its mirrors for images of `docker.io` without naming it.
    fn repository(&self, name: &str, query: &Query) -> Result<&Repository, Problem> {
        let all = &self.0.repositories;
        let found = match &query.registry {
            Some(registry) => all.get(&format!("{registry}/{name}")),
            None => all.get(name).or_else(|| all.get(&format!("docker.io/{name}"))),
        };
        found.ok_or_else(|| Problem::NameUnknown(name.to_owned()))
    }
}

/// Finds a manifest by its tag or digest. If a tag is that of an index, and the client does not accept indexes, it gets the index's only
/// manifest.
fn find<'a>(
    repository: &'a Repository,
    reference: &str,
    accept: &Accept,
) -> Result<&'a Arc<Manifest>, Problem> {
    let unknown = || Problem::ManifestUnknown(reference.to_owned());
    if reference.contains(':') {
        let digest: Digest = reference.parse().map_err(|_| Problem::DigestInvalid(reference.to_owned()))?;
        return repository.manifests.get(&digest).ok_or_else(unknown);
    }
    let digest = repository.tags.get(reference).ok_or_else(unknown)?;
    let found = repository.manifests.get(digest).ok_or_else(unknown)?;
    if accept.has(&found.descriptor.media_type) {
        return Ok(found);
    }
    let [only] = found.images.as_slice() else { return Err(unknown()) };
    let only = repository.manifests.get(only).ok_or_else(unknown)?;
    if accept.has(&only.descriptor.media_type) { Ok(only) } else { Err(unknown()) }
}

/// Adds the headers that describe a manifest or blob.
fn described(mut response: Response<Body>, digest: Digest, media_type: &str) -> Response<Body> {
    let headers = response.headers_mut();
    for (name, value) in [(CONTENT_DIGEST, digest.to_string()), (header::CONTENT_TYPE, media_type.to_owned())]
    {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
    response
}
