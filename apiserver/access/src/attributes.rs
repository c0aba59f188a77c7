//! The attributes of a request that authorization depends on.

use kinds::user::User;

/// The attributes of one request.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// The requesting user.
    pub user: &'a User,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, `impersonate`; for
    /// non-resource paths the method in lower case.
    pub verb: &'a str,
    /// The path as it was sent.
    pub path: &'a str,
    /// The requested resource; `None` for non-resource paths such as `/version`.
    pub resource: Option<Resource<'a>>,
}

/// The resource that a request names.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resource<'a> {
    /// API group; empty for the core group.
    pub group: &'a str,
    /// API version.
    pub version: &'a str,
    /// Plural name of the resource.
    pub resource: &'a str,
    /// Subresource, for example `status` or `scale`; empty if there is none.
    pub subresource: &'a str,
    /// Namespace; empty for cluster-scoped resources and across namespaces.
    pub namespace: &'a str,
    /// Name of the object; empty for collections.
    pub name: &'a str,
}
