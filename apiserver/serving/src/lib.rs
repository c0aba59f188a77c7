//! HTTP: routing, decoding, negotiation, watch streams, discovery, OpenAPI, health, metrics, TLS.
//!
//! [`Server`] is a `tower::Service`: sockets, in-memory streams and in-process clients use the same code path.
//!
//! ```no_run
//! # use access::User;
//! # use serving::{Listener, Server, Tls};
//! # async fn example(registry: registry::Registry, clock: machinery::clock::Clock, tls: Tls, tcp: tokio::net::TcpListener) {
//! let server = Server::builder(registry, clock).build();
//! let in_process = server.client_service(User::master("admin"));
//! let listener = Listener::new(server.clone(), Some(tls));
//! listener.serve(tcp, async { drop(tokio::signal::ctrl_c().await) }).await;
//! # }
//! ```

mod limits;
mod metrics;
mod options;
mod paths;
mod request;
mod resources;
mod response;
mod server;
mod services;
pub mod testing;
mod transport;

pub use access::header_values;
pub use options::VersionInfo;
pub use paths::given::PathRequest;
pub use resources::connect::{Connect, ConnectRequest, ConnectResource, switching};
pub use resources::pods::node;
pub use server::{Builder, ClientService, Server};
pub use transport::body::Body;
pub use transport::listener::{Listener, Tls};
