//! What a request is for: found once, from its path and the definitions.
//!
//! Permission and effect both come from a [`Target`]. Its fields are private: who may ask is decided by [`Target::resource`], handlers
//! get namespace and name from the accessors beside it, and the former is made of the latter. A path that a resource does
//! not have becomes no target, so nothing can be served for it.

mod path;

use access::attributes::Resource;
use http::HeaderMap;
use machinery::selector::FieldSelector;
use machinery::status::Status;
use registry::{Served, Subresource};

pub(crate) use path::{ResourcePath, unescaped};

use crate::answer::Answer;
use crate::handle::Reply;
use crate::query::Query;
use crate::server::Shared;
use crate::verb::Verb;

/// Where a request goes.
pub(crate) enum Route<'p> {
    /// To a resource.
    Target(Target<'p>),
    /// To a resource that nobody knows. Whoever may ask for it is told so.
    Unknown(Unknown<'p>),
    /// Nowhere: the resource has no such path.
    Nowhere(Missing),
}

/// What is answered where a resource has no such path.
pub(crate) enum Missing {
    /// The text that any path gets which nobody serves.
    Page,
    Path,
    /// The object has no such part. The second text is the warning for clients of that version, if there is one.
    Part(Status, Option<String>),
}

impl Missing {
    pub(crate) fn reply(&self, request: &HeaderMap) -> Reply {
        match self {
            Self::Page => Answer::page_not_found().into(),
            Self::Path => Answer::error(&Status::no_such_path(), request).into(),
            Self::Part(status, warning) => {
                Reply::Answer(Answer::error(status, request), warning.iter().cloned().collect())
            }
        }
    }
}

/// A path of a resource that is served, or of a part of it.
pub(crate) struct Target<'p> {
    path: ResourcePath<'p>,
    verb: Verb,
    served: Served,
    /// The place in the list of subresources written in Rust, when it is one of them.
    connect: Option<usize>,
    /// The one name that a list or watch selects; empty for none.
    selected: String,
}

/// A path below a resource that is not served: good for nothing but to refuse it.
pub(crate) struct Unknown<'p> {
    path: ResourcePath<'p>,
    selected: String,
}

impl Shared {
    /// Finds out what a path is for.
    pub(crate) fn route<'p>(&self, path: ResourcePath<'p>, verb: Verb, query: &Query) -> Route<'p> {
        let selected = selected_name(verb, query);
        let served = self.registry.served(path.group, path.version, path.resource);
        let Some(served) = served.filter(|served| !served.definition.verbs.is_empty()) else {
            return Route::Unknown(Unknown { path, selected });
        };
        let connect = self.connected(&path);
        let target = Target { path, verb, served, connect, selected };
        match target.missing() {
            None => Route::Target(target),
            Some(missing) => Route::Nowhere(missing),
        }
    }

    fn connected(&self, path: &ResourcePath<'_>) -> Option<usize> {
        if path.subresource.is_empty() {
            return None;
        }
        self.options.connects.iter().position(|(resource, _)| {
            (resource.group, resource.version) == (path.group, path.version)
                && (resource.resource, resource.subresource) == (path.resource, path.subresource)
        })
    }

    /// Groups of built-in kinds answer with a `Status`, everything else with a text, as on a real server.
    pub(crate) fn no_such_resource(&self, unknown: &Unknown<'_>) -> Result<Reply, Status> {
        let group = unknown.path.group;
        let definitions = self.registry.definitions();
        if group.is_empty() || definitions.iter().any(|one| one.built_in && one.group == group) {
            return Err(Status::no_such_path());
        }
        Ok(Answer::page_not_found().into())
    }
}

impl Target<'_> {
    /// The resource in the version that is asked for.
    pub(crate) fn served(&self) -> &Served {
        &self.served
    }

    /// What it does.
    pub(crate) fn verb(&self) -> Verb {
        self.verb
    }

    /// The namespace of the object or the collection; empty for cluster-scoped resources and across namespaces.
    pub(crate) fn namespace(&self) -> &str {
        self.path.namespace.unwrap_or_default()
    }

    /// The name of the object; empty for collections.
    pub(crate) fn name(&self) -> &str {
        // What is created has the name that its body says, whatever the path of a custom object does.
        let made = self.verb == Verb::Create && self.connect.is_none() && !self.served.definition.built_in;
        if made { "" } else { self.path.name }
    }

    /// The subresource, empty for none.
    pub(crate) fn subresource(&self) -> &str {
        self.path.subresource
    }

    /// What follows the subresource, without its leading slash.
    pub(crate) fn rest(&self) -> &str {
        self.path.rest
    }

    /// The part of the object that is asked for.
    pub(crate) fn part(&self) -> Subresource {
        Subresource::named(self.path.subresource).unwrap_or_default()
    }

    /// The place in the list of subresources written in Rust, when it is one of them.
    pub(crate) fn connect(&self) -> Option<usize> {
        self.connect
    }

    /// What it is as far as permissions are concerned.
    pub(crate) fn resource(&self) -> Resource<'_> {
        // A namespace is in itself, so that roles in it can name it.
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

    /// The name that the resource has in metrics: group, plural, subresource.
    pub(crate) fn labels(&self) -> (&str, &str, &str) {
        let definition = &self.served.definition;
        (&definition.group, &definition.plural, self.subresource())
    }

    fn is_namespace(&self) -> bool {
        let definition = &self.served.definition;
        definition.group.is_empty() && definition.plural == "namespaces"
    }

    /// What is answered when the resource has no such path, in the words of a real server; `None` when it has.
    fn missing(&self) -> Option<Missing> {
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

    /// Whether the path goes through a namespace exactly where the resource's objects stand in one. Collections are also listed
    /// across namespaces.
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

    /// Whether the path is no longer than what it names, and leaves nothing out.
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
    /// What it would be as far as permissions are concerned.
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

/// The one name that a list or watch selects: it is authorised as a request for that object.
fn selected_name(verb: Verb, query: &Query) -> String {
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

/// Whether a name can stand in a path.
fn is_segment(name: &str) -> bool {
    name != "." && name != ".." && !name.contains(['/', '%'])
}
