//! What a request asks for, as far as authorisation is concerned.

use crate::user::User;

/// The attributes of one request.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// Who asks.
    pub user: &'a User,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, `impersonate`; for paths that
    /// are no resources the method in lower case.
    pub verb: &'a str,
    /// The path as it was sent.
    pub path: &'a str,
    /// What is asked for; `None` for paths that are no resources (`/version`).
    pub resource: Option<Resource<'a>>,
}

/// A resource that a request names.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resource<'a> {
    /// API group, empty for the core group.
    pub group: &'a str,
    /// API version.
    pub version: &'a str,
    /// The plural.
    pub resource: &'a str,
    /// `status`, `scale` …; empty for none.
    pub subresource: &'a str,
    /// Empty for cluster-scoped resources and across namespaces.
    pub namespace: &'a str,
    /// Empty for collections.
    pub name: &'a str,
}
