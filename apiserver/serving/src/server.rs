//! The API server: one value that answers requests from any transport.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};

use access::authenticate::Identities;
use access::authorize::MastersOnly;
use access::{Authenticator, Authorizer, Tokens, User};
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::USER_AGENT;
use http::{HeaderValue, Method, Request, Response};
use machinery::clock::Clock;
use machinery::random::Random;
use machinery::status::Status;
use registry::Registry;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::options::VersionInfo;
use crate::paths::given::{GivenPath, PathRequest};
use crate::paths::health::Check;
use crate::paths::nonresource::{self, NonResourcePaths};
use crate::request::audit::{AUDIT_ID, AuditRecord};
use crate::request::authorization::Authorization;
use crate::request::handle;
use crate::request::read_body::{RequestBody, Uploads, boxed};
use crate::request::seats::Seats;
use crate::request::turns::Large;
use crate::resources::connect::{Connect, ConnectResource};
use crate::resources::event_lines::EventLines;
use crate::resources::pods::node::Node;
use crate::resources::reviews::token_request::{TOKEN, TokenRequests};
use crate::response::answer::Answer;
use crate::services::Services;
use crate::transport::body::Body;

/// An API server; clones share all state.
#[derive(Clone)]
pub struct Server {
    pub(crate) services: Arc<Services>,
}

/// The options of the embedding program.
struct Options {
    version: VersionInfo,
    authenticator: Arc<dyn Authenticator>,
    authorizer: Arc<dyn Authorizer>,
    tokens: Option<Tokens>,
    connects: Vec<(ConnectResource, Arc<dyn Connect>)>,
    /// The Node whose Pods run in this process.
    node: Option<Arc<dyn Node>>,
    checks: Vec<(String, Check)>,
    paths: Vec<GivenPath>,
    /// The metrics that `/metrics` returns, including those of the embedding program.
    metrics: metrics::Metrics,
}

/// Collects the options of a [`Server`].
pub struct Builder {
    registry: Registry,
    clock: Clock,
    options: Options,
}

impl Builder {
    /// Sets the version that `/version` reports.
    #[must_use]
    pub fn version(mut self, version: VersionInfo) -> Self {
        self.options.version = version;
        self
    }

    /// Sets the authenticator; by default only client certificates and in-process identities are accepted.
    fn authenticator(mut self, authenticator: impl Authenticator) -> Self {
        self.options.authenticator = Arc::new(authenticator);
        self
    }

    /// Accepts bearer tokens, and issues those of service accounts (`serviceaccounts/NAME/token`).
    #[must_use]
    pub fn tokens(mut self, tokens: Tokens) -> Self {
        let registry = self.registry.clone();
        let requests = TokenRequests { registry, tokens: tokens.clone(), clock: self.clock.clone() };
        self.options.tokens = Some(tokens.clone());
        self.authenticator(tokens).connect(TOKEN, requests)
    }

    /// Sets the authorizer; by default only `system:masters` are allowed.
    #[must_use]
    pub fn authorizer(mut self, authorizer: impl Authorizer) -> Self {
        self.options.authorizer = Arc::new(authorizer);
        self
    }

    /// Adds a subresource implemented in Rust.
    #[must_use]
    pub fn connect(mut self, resource: ConnectResource, connect: impl Connect) -> Self {
        self.options.connects.push((resource, Arc::new(connect)));
        self
    }

    /// Sets the Node whose Pods run in this process.
    #[must_use]
    pub fn node(mut self, node: Option<Arc<dyn Node>>) -> Self {
        self.options.node = node;
        self
    }

    /// Adds a non-resource path that answers these methods; one that ends with `/` stands for all paths below it. Users whose roles list it
    /// in `nonResourceURLs` with the method as a verb may access it.
    #[must_use]
    pub fn path(
        mut self,
        path: &'static str,
        methods: &'static [Method],
        handler: impl Fn(PathRequest) -> BoxFuture<'static, Result<Response<Body>, Status>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.options.paths.push(GivenPath { path, methods, handler: Arc::new(handler) });
        self
    }

    /// Counts in `metrics`, which `/metrics` writes with all that others count in it; by default the server has metrics of its own.
    #[must_use]
    pub fn metrics(mut self, metrics: metrics::Metrics) -> Self {
        self.options.metrics = metrics;
        self
    }

    /// Builds the server.
    pub fn build(mut self) -> Server {
        // Subresources of the embedding program take precedence.
        let given =
            |(one, _): &(ConnectResource, Arc<dyn Connect>)| (one.group, one.resource, one.subresource);
        let taken: Vec<_> = self.options.connects.iter().map(given).collect();
        let mut own =
            crate::resources::pods::mounted::all(&self.registry, &self.clock, self.options.node.as_ref());
        own.retain(|one| {
            !taken.contains(&given(one)) && self.registry.served(one.0.group, "v1", one.0.resource).is_some()
        });
        self.options.connects.extend(own);
        let Self { registry, clock, options } = self;
        let metrics = Metrics::of(&options.metrics, registry.store());
        let stop = CancellationToken::new();
        let paths = nonresource::Options {
            version: options.version,
            tokens: options.tokens,
            metrics: options.metrics,
            given: options.paths,
            checks: options.checks,
            connects: options.connects.iter().map(|(resource, _)| resource.clone()).collect(),
        };
        Server {
            services: Arc::new(Services {
                authenticator: options.authenticator,
                authorization: Authorization::new(options.authorizer),
                seats: Seats::new(metrics.clone()),
                large: Large::new(metrics.clone()),
                uploads: Uploads::new(clock.clone(), metrics.clone(), stop.clone()),
                paths: NonResourcePaths::new(&registry, &clock, &stop, paths),
                connects: options.connects,
                lines: EventLines::of_all_servers(),
                // Numbers of their own, so that a read changes no name or uid that a seed determines.
                audit_ids: Random::seeded(registry.random().number()),
                stop,
                metrics,
                registry,
                clock,
            }),
        }
    }
}

impl Server {
    /// Creates a builder for a server over `registry`.
    pub fn builder(registry: Registry, clock: Clock) -> Builder {
        let store = registry.store().clone();
        Builder {
            registry,
            clock,
            options: Options {
                version: VersionInfo::default(),
                authenticator: Arc::new(Identities),
                authorizer: Arc::new(MastersOnly),
                tokens: None,
                connects: Vec::new(),
                node: None,
                // Monitoring tools ask for a check of this name.
                checks: vec![("etcd".to_owned(), Arc::new(move || store.health()))],
                paths: Vec::new(),
                metrics: metrics::Metrics::default(),
            },
        }
    }

    /// Returns a service for in-process clients that act as `user`: `kube::Client::new(service, "default")`.
    /// It uses no socket and no TLS; everything else works as for any request.
    pub fn client_service(&self, user: User) -> ClientService {
        // Without `fieldManager` the user agent becomes the field manager of the client's writes.
        let agent = HeaderValue::from_str(&user.name).unwrap_or(HeaderValue::from_static("firstlight"));
        ClientService { server: self.clone(), user, agent }
    }

    /// Returns the registry of the served objects.
    pub fn registry(&self) -> &Registry {
        &self.services.registry
    }

    /// Tells clients that the server is at `address`: in discovery, and by the Service `kubernetes` ([`Registry::advertise`]).
    pub fn advertise(&self, address: SocketAddr) {
        self.services.paths.advertise(address);
        self.services.registry.advertise(address);
    }

    /// Ends all watches and makes `/readyz` fail; other requests are still answered.
    pub fn stop(&self) {
        self.services.stop.cancel();
    }

    /// Answers one request. The identity is in its extensions ([`User`]). A panic ends this request only.
    pub fn handle<B>(&self, request: Request<B>) -> BoxFuture<'static, Response<Body>>
    where
        B: http_body::Body + Send + 'static,
        B::Data: Into<Bytes>,
    {
        self.answer(request.map(boxed))
    }

    fn answer(&self, request: Request<RequestBody>) -> BoxFuture<'static, Response<Body>> {
        let services = self.services.clone();
        let (parts, body) = request.into_parts();
        async move {
            let record = AuditRecord::new(&parts, &services.audit_ids);
            let answer =
                AssertUnwindSafe(handle::answer(&services, &record, &parts, body)).catch_unwind().await;
            let mut response = answer.unwrap_or_else(|_| {
                tracing::error!(audit_id = record.id(), user = record.user(), "a request panicked");
                let text = "This request caused apiserver to panic. Look in the logs for details.\n";
                Answer::text(500, text).finish(&http::HeaderMap::new(), &[])
            });
            response.headers_mut().insert(AUDIT_ID, record.header());
            response
        }
        .boxed()
    }
}

impl<B> tower_service::Service<Request<B>> for Server
where
    B: http_body::Body + Send + 'static,
    B::Data: Into<Bytes>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.handle(request).map(Ok).boxed()
    }
}

/// A [`Server`] for in-process clients that act as one user.
#[derive(Clone)]
pub struct ClientService {
    server: Server,
    user: User,
    agent: HeaderValue,
}

impl<B> tower_service::Service<Request<B>> for ClientService
where
    B: http_body::Body + Send + 'static,
    B::Data: Into<Bytes>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        request.extensions_mut().insert(self.user.clone());
        request.headers_mut().entry(USER_AGENT).or_insert_with(|| self.agent.clone());
        self.server.call(request)
    }
}
