//! Subresources implemented in Rust: `pods/{name}/portforward`, `pods/{name}/eviction` and others.

use access::User;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Method, Response};
use machinery::status::Status;
use registry::Context;

use crate::transport::body::Body;

/// The path of a [`Connect`] and its entry in discovery.
#[derive(Debug, Clone)]
pub struct ConnectResource {
    /// API group of the parent resource; empty for the core group.
    pub group: &'static str,
    /// Version of the parent resource.
    pub version: &'static str,
    /// Plural name of the parent resource, for example `pods`.
    pub resource: &'static str,
    /// Name of the subresource, for example `portforward`.
    pub subresource: &'static str,
    /// Kind of the request body or options, for example `PodPortForwardOptions` or `Eviction`.
    pub kind: &'static str,
    /// Group and version of that kind if they differ from the parent's, for example `("policy", "v1")`.
    pub kind_group_version: Option<(&'static str, &'static str)>,
    /// The allowed HTTP methods.
    pub methods: &'static [Method],
}

/// A request to a [`Connect`], already authorized.
pub struct ConnectRequest {
    /// The requesting user.
    pub user: User,
    /// Namespace; empty for cluster-scoped resources.
    pub namespace: String,
    /// Name of the parent object.
    pub name: String,
    /// The path after the subresource, without a leading slash; `metrics` for `proxy/metrics`.
    pub rest: String,
    /// Method, headers and query.
    pub parts: http::request::Parts,
    /// The complete body; empty if the connection is to be upgraded. To upgrade, answer 101 and use
    /// `hyper::upgrade::on(http::Request::from_parts(parts, ()))`.
    pub body: Bytes,
    /// The registry's context of the request, without the options of its query.
    pub context: Context,
}

impl ConnectRequest {
    /// Returns the first value of a query parameter, decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        crate::options::query_value(self.parts.uri.query().unwrap_or_default(), name)
    }
}

/// Handles the requests for one subresource.
pub trait Connect: Send + Sync + 'static {
    /// Handles one request.
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>>;
}
