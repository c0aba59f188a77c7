//! The data of a server, which all handlers use. Handlers are methods of [`Shared`]; `server.rs` assembles it, and no handler
//! imports that file.

use std::sync::Arc;

use access::{Authenticator, Authorizer, Tokens};
use machinery::clock::Clock;
use machinery::random::Random;
use parking_lot::Mutex;
use registry::Registry;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::options::VersionInfo;
use crate::paths::discovery::documents::Documents;
use crate::paths::given::GivenPath;
use crate::paths::openapi::documents::OpenApi;
use crate::request::flows::Flows;
use crate::request::turns::Large;
use crate::resources::connect::{Connect, ConnectResource};
use crate::resources::event_lines::EventLines;
use crate::resources::pods::node::Node;

/// The data of one server.
pub(crate) struct Shared {
    pub(crate) registry: Registry,
    pub(crate) clock: Clock,
    pub(crate) options: Options,
    pub(crate) metrics: Metrics,
    pub(crate) flows: Arc<Flows>,
    /// The seats of `system:masters`, whose requests never wait for those of other users.
    pub(crate) masters: Arc<Flows>,
    /// The seats of watches.
    pub(crate) watches: Arc<Flows>,
    /// The seats of large requests.
    pub(crate) large: Arc<Large>,
    pub(crate) documents: Mutex<Arc<Documents>>,
    pub(crate) openapi: Mutex<Option<Arc<OpenApi>>>,
    pub(crate) lines: Arc<EventLines>,
    /// Cancelled when the server stops; watches then end.
    pub(crate) stop: CancellationToken,
    /// The source of the ids of requests.
    pub(crate) audit_ids: Random,
    /// The impersonation mode that each user used last.
    pub(crate) last_modes: access::impersonate::LastModes,
}

/// The options of the embedding program.
pub(crate) struct Options {
    pub(crate) version: VersionInfo,
    pub(crate) authenticator: Arc<dyn Authenticator>,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) tokens: Option<Tokens>,
    pub(crate) connects: Vec<(ConnectResource, Arc<dyn Connect>)>,
    /// The Node whose Pods run in this process.
    pub(crate) node: Option<Arc<dyn Node>>,
    pub(crate) checks: Vec<(String, Check)>,
    pub(crate) paths: Vec<GivenPath>,
    /// The metrics that `/metrics` returns, including those of the embedding program.
    pub(crate) metrics: metrics::Metrics,
}

/// A health check of one part of the process. Its error is logged, not sent to the client.
pub(crate) type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;
