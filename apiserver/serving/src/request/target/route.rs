//! Maps the path of a request to its target.

use std::sync::Arc;

use access::attributes::Resource;
use machinery::status::Status;
use registry::Registry;

use super::missing::Missing;
use super::path::ResourcePath;
use super::resource::{Target, Unknown, selected_name};
use crate::request::query::Query;
use crate::request::verb::Verb;
use crate::resources::connect::{Connect, ConnectResource};
use crate::response::answer::Answer;
use crate::response::reply::Reply;
use crate::services::Services;

/// The result of resolving a path.
pub(crate) enum Route<'p> {
    /// A served resource.
    Target(Target<'p>),
    /// A resource that is not served. Users who are allowed to access it learn that it does not exist.
    Unknown(Unknown<'p>),
    /// A path that its resource does not have.
    Nowhere(Missing),
}

impl Route<'_> {
    /// Returns the resource that the path names, served or not.
    pub(crate) fn resource(&self) -> Option<Resource<'_>> {
        match self {
            Self::Target(target) => Some(target.resource()),
            Self::Unknown(unknown) => Some(unknown.resource()),
            Self::Nowhere(_) => None,
        }
    }
}

/// Resolves a path.
pub(crate) fn route<'p>(services: &Services, path: ResourcePath<'p>, verb: Verb, query: &Query) -> Route<'p> {
    let selected = selected_name(verb, query);
    let served = services.registry.served(path.group, path.version, path.resource);
    let Some(served) = served.filter(|served| !served.definition.verbs.is_empty()) else {
        return Route::Unknown(Unknown { path, selected });
    };
    let connect = connected(&services.connects, &path);
    let target = Target { path, verb, served, connect, selected };
    match target.missing() {
        None => Route::Target(target),
        Some(missing) => Route::Nowhere(missing),
    }
}

fn connected(connects: &[(ConnectResource, Arc<dyn Connect>)], path: &ResourcePath<'_>) -> Option<usize> {
    if path.subresource.is_empty() {
        return None;
    }
    connects.iter().position(|(resource, _)| {
        (resource.group, resource.version) == (path.group, path.version)
            && (resource.resource, resource.subresource) == (path.resource, path.subresource)
    })
}

/// Returns 404: as a `Status` in groups of built-in kinds, as plain text elsewhere, as in kube-apiserver.
pub(crate) fn no_such_resource(registry: &Registry, unknown: &Unknown<'_>) -> Result<Reply, Status> {
    let group = unknown.path.group;
    let definitions = registry.definitions();
    if group.is_empty() || definitions.iter().any(|one| one.built_in && one.group == group) {
        return Err(Status::no_such_path());
    }
    Ok(Answer::page_not_found().into())
}
