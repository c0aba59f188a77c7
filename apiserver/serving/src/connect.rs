//! Subresources written in Rust: `pods/{name}/portforward`, `pods/{name}/eviction` and the like.

use access::User;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Method, Response};
use machinery::status::Status;

use crate::body::Body;
use crate::handle::{Asked, Reply};
use crate::server::Shared;

/// Where a [`Connect`] is mounted and how discovery lists it.
#[derive(Debug, Clone)]
pub struct ConnectResource {
    /// API group of the parent resource, empty for the core group.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The parent resource, `pods`.
    pub resource: &'static str,
    /// The subresource, `portforward`.
    pub subresource: &'static str,
    /// What is sent to it, `PodPortForwardOptions`, `Eviction`.
    pub kind: &'static str,
    /// Group and version of that kind when they are not those of the parent, `("policy", "v1")`.
    pub kind_group_version: Option<(&'static str, &'static str)>,
    /// The methods it answers.
    pub methods: &'static [Method],
}

/// One request to a [`Connect`], authorised already.
pub struct ConnectRequest {
    /// Who asks.
    pub user: User,
    /// Empty for cluster-scoped resources.
    pub namespace: String,
    /// Name of the parent object.
    pub name: String,
    /// What follows the subresource in the path (`proxy/metrics` has `metrics`), without a leading slash.
    pub rest: String,
    /// Method, headers and query.
    pub parts: http::request::Parts,
    /// The body, read already; empty when the connection is to be upgraded. To upgrade, answer 101 and
    /// `hyper::upgrade::on(http::Request::from_parts(parts, ()))`.
    pub body: Bytes,
}

impl ConnectRequest {
    /// The first value of a query parameter, decoded.
    pub fn query(&self, name: &str) -> Option<String> {
        crate::options::query_value(self.parts.uri.query().unwrap_or_default(), name)
    }
}

/// Answers the requests of one subresource.
pub trait Connect: Send + Sync + 'static {
    /// Answers one request.
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>>;
}

impl Shared {
    /// Answers a request for a subresource written in Rust.
    pub(crate) async fn connect<B>(&self, asked: Asked<'_>, body: B) -> Result<Reply, Status>
    where
        B: http_body::Body,
        B::Data: Into<Bytes>,
    {
        let place = asked.target.connect().and_then(|place| self.options.connects.get(place));
        let (resource, connect) = place.ok_or_else(Status::no_such_path)?;
        if !resource.methods.contains(&asked.parts.method) {
            return Err(Status::method_not_allowed(
                "the server does not allow this method on the requested resource",
            ));
        }
        let upgrade = asked.parts.extensions.get::<hyper::upgrade::OnUpgrade>().is_some();
        // What takes a connection over goes on for long, so that it takes no seat.
        let _seat = if upgrade { None } else { self.seat(&asked).await? };
        let body = if upgrade { Bytes::new() } else { self.read(body).await? };
        let (user, bytes) = (asked.user.name.clone(), body.len());
        let request = ConnectRequest {
            namespace: asked.target.namespace().to_owned(),
            name: asked.target.name().to_owned(),
            rest: asked.target.rest().to_owned(),
            user: asked.user,
            parts: asked.parts.clone(),
            body,
        };
        let response = self.aside(&user, bytes, connect.connect(request)).await;
        response.map(|response| Reply::Response(Box::new(response)))
    }
}
