//! What a request does.

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
    /// A method that the API has no verb for.
    Other,
}

impl Verb {
    /// The verb of a request for an object (`named`) or a collection.
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

    /// As authorisation and metrics write it; empty for [`Verb::Other`].
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
