//! The servers of a site, with and without TLS.

use std::net::IpAddr;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use machinery::random::Random;
use metal_boot::shares::Shares;
use net::server::{Patience, Place, Places, Server, Times};
use rustls::ServerConfig;

use super::routes::router;
use super::site::Site;
use crate::limits;
use crate::metrics::Metrics;

const TIMES: Times = Times {
    head: (limits::HANDSHAKE, Some("netboot_handshake")),
    handshake: (limits::HANDSHAKE, "netboot_handshake"),
    // It may take any time for all of a large file.
    stalled: (Patience::Some(limits::STALLED), "netboot_stalled"),
};

/// Returns a server of `site`, with TLS if `tls` is given. It counts in `metrics`, and makes the ids of requests with `random`.
pub fn server(site: Arc<Site>, tls: Option<Arc<ServerConfig>>, metrics: &Metrics, random: &Random) -> Server {
    let connections = Shares::new(
        (limits::CONNECTIONS, "netboot_connections"),
        (limits::CONNECTIONS_OF_ONE, "netboot_connections_of_one"),
        (limits::CONNECTIONS_OF_STRANGERS, "netboot_connections_of_strangers"),
    );
    let places = Shared { connections, site: site.clone() };
    Server::new(router(site, metrics), tls, TIMES, places, metrics.limits(), random)
}

/// Places that are shared out among clients. Machines that a BareMetalHost describes have more of them.
struct Shared {
    connections: Arc<Shares>,
    site: Arc<Site>,
}

impl Places for Shared {
    fn take(&self, client: IpAddr) -> BoxFuture<'_, Result<Place, &'static str>> {
        let place = self.connections.take(client, self.site.is_known(client));
        std::future::ready(place.map(|place| Box::new(place) as Place)).boxed()
    }
}
