//! Connections and HTTP, in both directions.
//!
//! This process reaches other machines through the proxies that its environment names ([`Proxies`]), with the certificate authorities of
//! this machine ([`authorities`]), and with errors that say what to do ([`Error`]). What runs on this machine is never reached through a
//! proxy. [`Connector`] and [`Client`] are for hyper; [`dial`] is for everything else that wants a [`Stream`]. What may be simulated
//! connects by a [`Dial`], or a [`Network`] if it listens, too. [`http1`] and [`http2`] begin HTTP over such a stream.
//!
//! `server` serves a handful of HTTP paths, with limits on connections and on time. It needs the feature of its name, because who embeds
//! the API server needs neither this module nor axum.

mod accept;
mod addresses;
pub mod authorities;
mod bypass;
mod client;
mod connection;
mod connector;
mod dial;
mod error;
mod handshake;
mod inside;
pub mod limits;
mod network;
mod pods;
mod proxies;
mod proxy;
mod request_id;
#[cfg(feature = "server")]
pub mod server;
mod socks;
mod stream;
mod tunnel;

pub use accept::{Acceptor, accept_tls};
pub use addresses::{is_own_address, without_brackets};
pub use client::Client;
pub use connection::Connection;
pub use connector::{Connector, DialConnector};
pub use dial::{Scheme, dial};
pub use error::{Error, Failure, refusal};
pub use handshake::{http1, http2};
pub use network::{Dial, Listener, Network, RealNetwork, SimulatedNetwork};
pub use pods::for_pods;
pub use proxies::Proxies;
pub use proxy::Proxy;
pub use request_id::request_id;
pub use stream::{BoxStream, Stream};
