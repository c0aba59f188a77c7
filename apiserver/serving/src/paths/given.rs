//! Non-resource paths of the embedding program.

use std::sync::Arc;

use access::User;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::request::Parts;
use http::{HeaderMap, Method, Response, Uri};
use machinery::status::Status;

use crate::request::read_body::RequestBody;
use crate::response::answer::Answer;
use crate::response::reply::Reply;
use crate::shared::Shared;
use crate::transport::body::Body;

/// A request for a path of the embedding program, from a user who may access it.
#[derive(Debug)]
pub struct PathRequest {
    /// One of the methods that the path answers.
    pub method: Method,
    /// The path and the query, as they were sent.
    pub uri: Uri,
    /// The headers.
    pub headers: HeaderMap,
    /// The user who asks, or on whose behalf.
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
    fn matches(&self, path: &str) -> bool {
        path == self.path || self.path.ends_with('/') && path.starts_with(self.path)
    }
}

impl Shared {
    /// Returns what the embedding program answers to requests for a path: the most specific of its paths.
    pub(crate) fn given(&self, path: &str) -> Option<&GivenPath> {
        let given = self.options.paths.iter().filter(|given| given.matches(path));
        given.max_by_key(|given| given.path.len())
    }

    /// Answers a request for a path of the embedding program.
    pub(crate) async fn answer_given(
        &self,
        given: &GivenPath,
        parts: &Parts,
        user: &User,
        body: RequestBody,
    ) -> Reply {
        match self.handled(given, parts, user, body).await {
            Ok(response) => Reply::Response(Box::new(response)),
            Err(status) => Answer::error(&status, &parts.headers).into(),
        }
    }

    async fn handled(
        &self,
        given: &GivenPath,
        parts: &Parts,
        user: &User,
        body: RequestBody,
    ) -> Result<Response<Body>, Status> {
        if !given.methods.contains(&parts.method) {
            let message = "the server does not allow this method on the requested resource";
            return Err(Status::method_not_allowed(message));
        }
        let body = self.read(body).await?;
        let (method, uri, headers) = (parts.method.clone(), parts.uri.clone(), parts.headers.clone());
        (given.handler)(PathRequest { method, uri, headers, user: user.clone(), body }).await
    }
}
