//! The services of a server. `server.rs` assembles them, and no handler imports that file.

use std::sync::Arc;

use access::Authenticator;
use machinery::clock::Clock;
use machinery::random::Random;
use registry::Registry;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::paths::nonresource::NonResourcePaths;
use crate::request::authorization::Authorization;
use crate::request::read_body::Uploads;
use crate::request::seats::Seats;
use crate::request::turns::Large;
use crate::resources::connect::{Connect, ConnectResource};
use crate::resources::event_lines::EventLines;

/// What handlers need, by name. Each service keeps its state to itself; a handler is a function of a request and of these, or of some.
pub(crate) struct Services {
    pub(crate) registry: Registry,
    pub(crate) clock: Clock,
    pub(crate) metrics: Metrics,
    pub(crate) authenticator: Arc<dyn Authenticator>,
    pub(crate) authorization: Authorization,
    pub(crate) seats: Seats,
    /// The seats of large requests.
    pub(crate) large: Arc<Large>,
    pub(crate) uploads: Uploads,
    pub(crate) paths: NonResourcePaths,
    /// The subresources that are implemented in Rust.
    pub(crate) connects: Vec<(ConnectResource, Arc<dyn Connect>)>,
    pub(crate) lines: Arc<EventLines>,
    /// Cancelled when the server stops; watches then end.
    pub(crate) stop: CancellationToken,
    /// The source of the ids of requests.
    pub(crate) audit_ids: Random,
}
