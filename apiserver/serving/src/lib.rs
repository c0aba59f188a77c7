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

pub mod body;
pub mod connect;
pub mod limits;
pub mod listener;
pub mod server;

mod admit;
mod answer;
mod aside;
mod asked;
mod conditions;
mod connections;
mod discovery;
mod flows;
mod gather;
mod handle;
mod health;
mod input;
mod lines;
mod metrics;
mod mounted;
mod negotiate;
mod nonresource;
mod older;
mod openapi;
mod options;
mod partial;
mod pods;
mod query;
mod read_body;
mod reads;
mod refusal;
mod reply;
mod reviews;
mod shared;
mod table;
mod target;
mod transform;
mod verb;
mod warnings;
mod watch;
mod work;
mod writes;
mod yaml;

pub use body::Body;
pub use connect::{Connect, ConnectRequest, ConnectResource};
pub use listener::{Listener, Tls};
pub use options::VersionInfo;
pub use server::{Builder, ClientService, Server};
