//! Resolves the target of a request once, from its path and the definitions.
//!
//! Authorization and handlers both use the [`Target`]. Its fields are private to this folder: [`Target::resource`]
//! determines the required permission, and is derived from the same accessors from which handlers get
//! namespace and name. A path that its resource does not have yields no target, so nothing can be served for
//! it.

use access::attributes::Resource;
use machinery::selector::FieldSelector;
use machinery::status::Status;
use registry::{Served, Subresource};

use super::missing::Missing;
use super::path::ResourcePath;
use crate::request::query::Query;
use crate::request::verb::Verb;

/// A path of a served resource or of one of its subresources.
pub(crate) struct Target<'p> {
    pub(super) path: ResourcePath<'p>,
    pub(super) verb: Verb,
    pub(super) served: Served,
    /// Index into the list of subresources implemented in Rust, if it is one of them.
    pub(super) connect: Option<usize>,
    /// The single name that a list or watch selects; empty if there is none.
    pub(super) selected: String,
}

/// A path below a resource that is not served; only used to refuse it.
pub(crate) struct Unknown<'p> {
    pub(super) path: ResourcePath<'p>,
    pub(super) selected: String,
}

impl Target<'_> {
    /// Returns the resource in the requested version.
    pub(crate) fn served(&self) -> &Served {
        &self.served
    }

    /// Returns the verb of the request.
    pub(crate) fn verb(&self) -> Verb {
        self.verb
    }

    /// Returns the namespace of the object or collection; empty for cluster-scoped resources and across
    /// namespaces.
    pub(crate) fn namespace(&self) -> &str {
        self.path.namespace.unwrap_or_default()
    }

    /// Returns the name of the object; empty for collections.
    pub(crate) fn name(&self) -> &str {
        // A custom object is created under the name in its body, not under the one in the path.
        let made = self.verb == Verb::Create && self.connect.is_none() && !self.served.definition.built_in;
        if made { "" } else { self.path.name }
    }

    /// Returns the subresource; empty if there is none.
    pub(crate) fn subresource(&self) -> &str {
        self.path.subresource
    }

    /// Returns the path after the subresource, without its leading slash.
    pub(crate) fn rest(&self) -> &str {
        self.path.rest
    }

    /// Returns the part of the object that is requested.
    pub(crate) fn part(&self) -> Subresource {
        Subresource::named(self.path.subresource).unwrap_or_default()
    }

    /// Returns the index into the list of subresources implemented in Rust, if it is one of them.
    pub(crate) fn connect(&self) -> Option<usize> {
        self.connect
    }

    /// Returns the resource attributes for authorization.
    pub(crate) fn resource(&self) -> Resource<'_> {
        // A Namespace counts as being in itself, so that roles in it can grant access to it.
        let name = self.name();
        let namespace = if self.is_namespace() { name } else { self.namespace() };
        Resource {
            group: &self.served.definition.group,
            version: &self.served.version.name,
            resource: &self.served.definition.plural,
            subresource: self.subresource(),
            namespace,
            name: if name.is_empty() { &self.selected } else { name },
        }
    }

    fn is_namespace(&self) -> bool {
        let definition = &self.served.definition;
        definition.group.is_empty() && definition.plural == "namespaces"
    }

    /// Returns the refusal, in kube-apiserver's words, if the resource has no such path; otherwise `None`.
    pub(super) fn missing(&self) -> Option<Missing> {
        let shaped = self.has_scope() && self.has_form();
        if shaped && (self.connect.is_some() || self.has_part()) {
            return None;
        }
        let not_found = || Status::not_found(self.served.resource(), self.path.name);
        Some(match (self.served.definition.built_in, shaped) {
            (true, _) => Missing::Path,
            (false, false) => Missing::Page,
            (false, true) => Missing::Part(not_found(), self.served.version.deprecation_warning.clone()),
        })
    }

    /// Returns whether the path contains a namespace exactly if the resource is namespaced. Collections may
    /// also be listed across namespaces.
    fn has_scope(&self) -> bool {
        let definition = &self.served.definition;
        match (definition.namespaced, self.path.namespace) {
            (true, Some(namespace)) => !namespace.is_empty(),
            (false, None) => true,
            (false, Some(_)) => false,
            (true, None) => {
                let across = definition.built_in || matches!(self.verb, Verb::List | Verb::Watch);
                self.path.name.is_empty() && definition.is_stored() && across
            }
        }
    }

    /// Returns whether the path has no superfluous and no missing segments.
    fn has_form(&self) -> bool {
        let path = &self.path;
        let takes_rest = self.connect.is_some() && path.subresource == "proxy";
        let whole = path.subresource.is_empty() || !path.name.is_empty();
        let review = !self.served.definition.is_stored() && !path.name.is_empty();
        let watch = path.watch && !path.subresource.is_empty();
        let names = is_segment(path.name) && is_segment(self.namespace());
        (path.rest.is_empty() || takes_rest) && whole && names && !review && !watch
    }

    fn has_part(&self) -> bool {
        match Subresource::named(self.path.subresource) {
            Some(Subresource::None) => true,
            Some(Subresource::Status) => self.served.version.status,
            Some(Subresource::Scale) => self.served.version.scale.is_some(),
            Some(Subresource::Finalize) => self.is_namespace(),
            Some(part) => self.served.version.parts.contains(&part),
            None => false,
        }
    }
}

impl Unknown<'_> {
    /// Returns the resource attributes for authorization, as far as the path has them.
    pub(crate) fn resource(&self) -> Resource<'_> {
        let path = &self.path;
        Resource {
            group: path.group,
            version: path.version,
            resource: path.resource,
            subresource: path.subresource,
            namespace: path.namespace.unwrap_or_default(),
            name: if path.name.is_empty() { &self.selected } else { path.name },
        }
    }
}

/// Returns the single name that a list or watch selects; such a request is authorized like one for that
/// object.
pub(crate) fn selected_name(verb: Verb, query: &Query) -> String {
    let selector = match verb {
        Verb::List | Verb::Watch => query.get("fieldSelector").unwrap_or_default(),
        _ => "",
    };
    if selector.is_empty() {
        return String::new();
    }
    let terms = FieldSelector::parse(selector).map(|selector| selector.terms).unwrap_or_default();
    let name = terms.into_iter().find(|term| term.equal && term.field == "metadata.name");
    name.map(|term| term.value).filter(|name| is_segment(name)).unwrap_or_default()
}

/// Returns whether a name can be a path segment.
fn is_segment(name: &str) -> bool {
    name != "." && name != ".." && !name.contains(['/', '%'])
}
