//! Subresources implemented in Rust: `pods/{name}/portforward`, `pods/{name}/eviction` and others.

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderValue, Method, Response, StatusCode, header};
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
    /// Namespace; empty for cluster-scoped resources.
    pub namespace: String,
    /// Name of the parent object.
    pub name: String,
    /// The path after the subresource, without a leading slash; `metrics` for `proxy/metrics`.
    pub rest: String,
    /// Method, headers and query.
    pub parts: http::request::Parts,
    /// The complete body; empty if the connection is to be upgraded. To upgrade, answer with [`switching`] and use
    /// `hyper::upgrade::on(http::Request::from_parts(parts, ()))`.
    pub body: Bytes,
    /// The registry's context of the request: with its user, without the options of its query.
    pub context: Context,
}

impl ConnectRequest {
    /// Returns the first value of a query parameter, decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        crate::options::query_value(self.parts.uri.query().unwrap_or_default(), name)
    }

    /// Returns the context of the write for which the request asks, by this field manager. It is a dry run if the query says so.
    pub fn write_context(&self, manager: &str) -> Context {
        Context {
            dry_run: self.query("dryRun").as_deref() == Some("All"),
            field_manager: manager.to_owned(),
            ..self.context.clone()
        }
    }
}

/// Returns the answer 101, after which the connection is of this protocol.
pub fn switching(protocol: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static(protocol));
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    response
}

/// Handles the requests for one subresource.
pub trait Connect: Send + Sync + 'static {
    /// Handles one request.
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>>;
}
