//! The kinds that a workload cluster serves, from its discovery documents.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::HttpRequest;
use super::problem::Problem;
use crate::resource_set::manifests::text;

/// The resource of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    plural: String,
    /// Whether its objects have a namespace.
    pub is_namespaced: bool,
}

impl Resource {
    /// Returns the path of the resource.
    pub fn path(&self, api_version: &str, namespace: &str) -> String {
        let root = root(api_version);
        if self.is_namespaced {
            format!("{root}/namespaces/{namespace}/{}", self.plural)
        } else {
            format!("{root}/{}", self.plural)
        }
    }
}

/// The kinds of each API version that was asked for.
#[derive(Default)]
pub struct Kinds {
    asked: BTreeSet<String>,
    resources: BTreeMap<(String, String), Resource>,
}

impl Kinds {
    /// Returns the resource of a kind, if it is known.
    pub fn get(&self, api_version: &str, kind: &str) -> Option<&Resource> {
        self.resources.get(&(api_version.to_owned(), kind.to_owned()))
    }

    /// Returns whether the kinds of an API version are known.
    pub fn knows(&self, api_version: &str) -> bool {
        self.asked.contains(api_version)
    }

    /// Learns the kinds of an API version from the answer to [`request`]. A version that is not served has none.
    ///
    /// # Errors
    /// There is no answer, or it cannot be read.
    pub fn learn(&mut self, api_version: &str, answer: Result<String, Problem>) -> Result<(), Problem> {
        let answer = match answer {
            Err(problem) if problem.is_not_found() => "{}".to_owned(),
            answer => answer?,
        };
        let unreadable =
            |_| Problem::Unreadable("the workload cluster's discovery cannot be read".to_owned());
        let list: Value = machinery::decode::own(answer.as_bytes()).map_err(unreadable)?;
        self.asked.insert(api_version.to_owned());
        for resource in list["resources"].as_array().into_iter().flatten() {
            let plural = text(resource, "name");
            // The others are subresources.
            if !plural.contains('/') {
                let is_namespaced = resource["namespaced"].as_bool().unwrap_or(false);
                let key = (api_version.to_owned(), text(resource, "kind").to_owned());
                self.resources.entry(key).or_insert(Resource { plural: plural.to_owned(), is_namespaced });
            }
        }
        Ok(())
    }
}

/// Returns the request for the kinds of an API version.
pub fn request(api_version: &str) -> HttpRequest {
    http::Request::get(root(api_version)).body(Vec::new()).map_err(kube::core::request::Error::BuildRequest)
}

fn root(api_version: &str) -> String {
    let root = if api_version.contains('/') { "apis" } else { "api" };
    format!("/{root}/{api_version}")
}
