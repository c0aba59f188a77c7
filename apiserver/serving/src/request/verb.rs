//! The verb of a request.

use http::Method;

/// The verbs of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
    /// A method without a verb in the API.
    Other,
}

impl Verb {
    /// Returns the verb of a request for an object (`named`) or a collection.
    pub(crate) fn of(method: &Method, named: bool, watch: bool) -> Self {
        match *method {
            Method::GET | Method::HEAD if watch => Self::Watch,
            Method::GET | Method::HEAD if named => Self::Get,
            Method::GET | Method::HEAD => Self::List,
            Method::POST => Self::Create,
            Method::PUT => Self::Update,
            Method::PATCH => Self::Patch,
            Method::DELETE if named => Self::Delete,
            Method::DELETE => Self::DeleteCollection,
            _ => Self::Other,
        }
    }

    /// Returns the verb's name for authorization and metrics; empty for [`Verb::Other`].
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "",
        }
    }
}
