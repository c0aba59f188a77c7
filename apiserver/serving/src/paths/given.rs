//! Non-resource paths of the embedding program.

use std::sync::Arc;

use access::User;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderMap, Method, Response, Uri};
use machinery::status::Status;

use crate::transport::body::Body;

/// A request for a path of the embedding program, from a user who may access it.
#[derive(Debug)]
pub struct PathRequest {
    /// One of the methods that the path answers.
    pub method: Method,
    /// The path without percent escapes, which was authorized.
    pub path: String,
    /// The path and the query, as they were sent.
    pub uri: Uri,
    /// The headers of the request.
    pub headers: HeaderMap,
    /// The user: the impersonated one, if there is one.
    pub user: User,
    /// The complete body.
    pub body: Bytes,
}

/// Answers requests for a path.
pub(crate) type Handler =
    Arc<dyn Fn(PathRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> + Send + Sync>;

/// A path, with the methods that it answers. One that ends with `/` stands for all paths below it.
pub(crate) struct GivenPath {
    pub(crate) path: &'static str,
    pub(crate) methods: &'static [Method],
    pub(crate) handler: Handler,
}

impl GivenPath {
    pub(crate) fn matches(&self, path: &str) -> bool {
        path == self.path || self.path.ends_with('/') && path.starts_with(self.path)
    }
}
