//! HTTP: routing, decoding, negotiation, watch streams, discovery, OpenAPI, health, metrics, TLS.
//!
//! [`Server`] is a `tower::Service`: sockets, in-memory streams and in-process clients use the same code path.
//!
//! ```ignore
//! let server = Server::builder(registry, clock).build();
//! let client = kube::Client::new(server.client_service(User::master("firstlight:core")), "default");
//! let listener = Listener::new(server.clone(), Some(Tls::new(config)));
//! listener.serve(tcp, shutdown).await;
//! ```

pub mod body;
pub mod connect;
pub mod health;
pub mod limits;
pub mod listener;
pub mod options;
pub mod server;

mod answer;
mod columns;
mod discovery;
mod flows;
mod handle;
mod input;
mod metrics;
mod negotiate;
mod nonresource;
mod openapi;
mod path;
mod query;
mod reads;
mod refusal;
mod reviews;
mod splice;
mod table;
mod transform;
mod verb;
mod watch;
mod writes;
mod yaml;

pub use body::Body;
pub use connect::{Connect, ConnectRequest, ConnectResource};
pub use listener::{Listener, Tls};
pub use options::VersionInfo;
pub use server::{Builder, ClientService, Server};
