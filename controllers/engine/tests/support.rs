//! The manager of all tests: over a server of the test, at a simulated time, in a simulated network.

use std::convert::Infallible;
use std::sync::Arc;

use engine::{Manager, ManagerOptions, Settings};
use http::Response;
use kube::Client;
use kube::client::Body;
use machinery::clock::Clock;
use machinery::random::Random;
use net::SimulatedNetwork;

pub fn manager_of<S>(service: S, settings: Settings) -> Manager
where
    S: tower::Service<http::Request<Body>, Response = Response<Body>, Error = Infallible>
        + Send
        + Clone
        + 'static,
    S::Future: Send + 'static,
{
    Manager::new(ManagerOptions {
        client: Client::new(service, "default"),
        clock: Clock::simulated(machinery::clock::parse_rfc3339("2026-01-01T00:00:00Z").unwrap()),
        random: Random::seeded(1),
        network: Arc::new(SimulatedNetwork::new()),
        metrics: Default::default(),
        settings,
    })
}
