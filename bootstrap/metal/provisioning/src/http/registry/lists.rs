//! Lists: repositories, tags, referrers.

use bundle::{Catalogue, Descriptor, Digest, IMAGE_INDEX, Repository};
use http::header::{HeaderName, HeaderValue, LINK};
use http::{Response, StatusCode};
use serde_json::json;

use super::problem::Problem;
use super::query::Query;
use crate::http::file::{self, Body};

/// The header that says which filters were applied to a list of referrers.
const FILTERS: HeaderName = HeaderName::from_static("oci-filters-applied");

/// Returns the names of all repositories; with `ns`, those of this registry without its name.
pub(super) fn catalogue(catalogue: &Catalogue, query: &Query) -> Result<Response<Body>, Problem> {
    let names = catalogue.repositories.keys().map(String::as_str);
    let prefix = query.registry.as_ref().map(|registry| format!("{registry}/"));
    let names = names.filter_map(|name| match &prefix {
        Some(prefix) => name.strip_prefix(prefix.as_str()),
        None => Some(name),
    });
    let page = Page::of(names, query)?;
    Ok(page.response(json!({"repositories": page.names}), "/v2/_catalog", query))
}

/// Returns the tags of a repository.
pub(super) fn tags(repository: &Repository, name: &str, query: &Query) -> Result<Response<Body>, Problem> {
    let page = Page::of(repository.tags.keys().map(String::as_str), query)?;
    Ok(page.response(json!({"name": name, "tags": page.names}), &format!("/v2/{name}/tags/list"), query))
}

/// Returns the manifests about another manifest.
pub(super) fn referrers(repository: &Repository, subject: Digest, query: &Query) -> Response<Body> {
    let about = repository.manifests.values().filter(|manifest| manifest.subject == Some(subject));
    let is_wanted = |descriptor: &&Descriptor| {
        query.artifact_type.is_none() || query.artifact_type == descriptor.artifact_type
    };
    let manifests: Vec<&Descriptor> = about.map(|manifest| &manifest.descriptor).filter(is_wanted).collect();
    let index = json!({"schemaVersion": 2, "mediaType": IMAGE_INDEX, "manifests": manifests});
    let mut response = file::typed(StatusCode::OK, IMAGE_INDEX, index.to_string());
    if query.artifact_type.is_some() {
        response.headers_mut().insert(FILTERS, HeaderValue::from_static("artifactType"));
    }
    response
}

/// A part of a list.
struct Page<'a> {
    names: Vec<&'a str>,
    /// The size of the page if there are more names after it.
    more: Option<usize>,
}

impl<'a> Page<'a> {
    /// Returns the page that a request is about. `names` are sorted.
    fn of(names: impl Iterator<Item = &'a str>, query: &Query) -> Result<Self, Problem> {
        let invalid = |text: &String| Problem::PageInvalid(text.clone());
        let number = |text: &String| text.parse::<usize>().map_err(|_| invalid(text));
        let most = query.most.as_ref().map(number).transpose()?;
        let is_after = |name: &&str| query.last.as_deref().is_none_or(|last| *name > last);
        let mut names: Vec<&str> = names.filter(is_after).collect();
        let more = most.filter(|most| names.len() > *most && *most > 0);
        names.truncate(most.unwrap_or(usize::MAX));
        Ok(Self { names, more })
    }

    fn response(&self, body: serde_json::Value, path: &str, query: &Query) -> Response<Body> {
        let mut response = file::typed(StatusCode::OK, "application/json", body.to_string());
        if let (Some(most), Some(last)) = (self.more, self.names.last()) {
            let registry =
                query.registry.as_ref().map(|registry| format!("&ns={registry}")).unwrap_or_default();
            let link = format!("<{path}?n={most}&last={last}{registry}>; rel=\"next\"");
            if let Ok(link) = HeaderValue::from_str(&link) {
                response.headers_mut().insert(LINK, link);
            }
        }
        response
    }
}
