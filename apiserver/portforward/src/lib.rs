//! Serves `pods/{name}/portforward` like a real API server, in the three forms that clients use:
//!
//! | form | who uses it |
//! |---|---|
//! | SPDY/3.1 with the protocol `portforward.k8s.io` ([`streams`]) | client-go |
//! | the same over a WebSocket ([`tunnel`]), whose protocol is `SPDY/3.1+portforward.k8s.io` | client-go, which tries it first |
//! | a WebSocket with the protocol `v4.channel.k8s.io` ([`channels`]) | kube and clients in other languages |
//!
//! `cargo xtask test portforward` runs what holds it, Pods of the program `firstlight` among it.

mod channels;
pub mod limits;
pub mod spdy;
pub mod streams;
mod tunnel;

use std::future::Future;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::header::{self, HeaderName};
use http::{HeaderValue, Response, StatusCode};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use machinery::status::Status;
use net::Stream;
use serving::{Body, Connect, ConnectRequest, ConnectResource, header_values, switching};
use tokio::sync::Semaphore;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::limits::{PORT_FORWARDS, PORT_MESSAGE, PORTS};

/// The value of the header `Upgrade` for SPDY.
const SPDY: &str = "SPDY/3.1";
/// The protocol of port-forwards on top of SPDY.
const PROTOCOL: &str = "portforward.k8s.io";
/// The header with this protocol.
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("x-stream-protocol-version");
/// The header of a refusal, with the protocol that would be accepted.
const ACCEPTED: HeaderName = HeaderName::from_static("x-accepted-stream-protocol-versions");
/// The protocols of WebSockets.
const TUNNEL: &str = "SPDY/3.1+portforward.k8s.io";
const CHANNELS: &str = "v4.channel.k8s.io";

/// The path and methods of the subresource.
pub const RESOURCE: ConnectResource = ConnectResource {
    group: "",
    version: "v1",
    resource: "pods",
    subresource: "portforward",
    kind: "PodPortForwardOptions",
    kind_group_version: None,
    methods: &[http::Method::GET, http::Method::POST],
};

/// Connects a stream to a server inside a Pod.
pub type Connector = Box<dyn FnOnce(Box<dyn Stream>) + Send>;

/// Finds the servers inside Pods.
pub trait Ports: Send + Sync + 'static {
    /// Returns the server that listens on a port of a Pod.
    ///
    /// # Errors
    /// Says in words that nothing listens on the port.
    fn listener(
        &self,
        namespace: &str,
        pod: &str,
        port: u16,
    ) -> BoxFuture<'static, Result<Connector, String>>;
}

/// The handler of the subresource.
pub struct PortForward<P> {
    ports: Arc<P>,
    places: Arc<Semaphore>,
}

impl<P> PortForward<P> {
    /// Creates the handler of the port-forwards of one API server.
    pub fn new(ports: Arc<P>) -> Self {
        Self { ports, places: Arc::new(Semaphore::new(PORT_FORWARDS)) }
    }
}

impl<P: Ports> Connect for PortForward<P> {
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> {
        let accepted = self.accept(request);
        async move { accepted }.boxed()
    }
}

/// The servers of one Pod.
struct Pod<P> {
    ports: Arc<P>,
    namespace: String,
    name: String,
}

impl<P: Ports> Pod<P> {
    fn listener(&self, port: u16) -> BoxFuture<'static, Result<Connector, String>> {
        self.ports.listener(&self.namespace, &self.name, port)
    }
}

impl<P: Ports> PortForward<P> {
    fn accept(&self, request: ConnectRequest) -> Result<Response<Body>, Status> {
        let headers = &request.parts.headers;
        let upgrade = header_values(headers, header::UPGRADE).next().unwrap_or_default();
        if upgrade.eq_ignore_ascii_case(SPDY) {
            return self.accept_spdy(request);
        }
        if !upgrade.eq_ignore_ascii_case("websocket") {
            return Err(Status::bad_request(format!(
                "port-forward needs an upgrade to {SPDY} or to a WebSocket"
            )));
        }
        let own = |offered: &str| [TUNNEL, CHANNELS].into_iter().find(|own| *own == offered);
        let refusal = || {
            Status::bad_request(format!("port-forward needs the WebSocket protocol {TUNNEL} or {CHANNELS}"))
        };
        let protocol = header_values(headers, header::SEC_WEBSOCKET_PROTOCOL).find_map(own);
        let protocol = protocol.ok_or_else(refusal)?;
        let key = headers.get(header::SEC_WEBSOCKET_KEY).map(|key| derive_accept_key(key.as_bytes()));
        let accept = key.and_then(|key| HeaderValue::from_str(&key).ok());
        let accept =
            accept.ok_or_else(|| Status::bad_request("port-forward needs the header Sec-WebSocket-Key"))?;
        let ports = if protocol == CHANNELS { ports(&request)? } else { Vec::new() };
        let mut response = switching("websocket");
        response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
        response.headers_mut().insert(header::SEC_WEBSOCKET_ACCEPT, accept);
        self.serve(request, response, move |pod, upgraded| async move {
            let config = WebSocketConfig::default()
                .max_message_size(Some(PORT_MESSAGE))
                .max_frame_size(Some(PORT_MESSAGE));
            let socket = WebSocketStream::from_raw_socket(upgraded, Role::Server, Some(config)).await;
            match protocol {
                TUNNEL => streams::forward(pod, tunnel::Tunnel::new(socket)).await,
                _ => channels::forward(pod, &ports, socket).await,
            }
        })
    }

    fn accept_spdy(&self, request: ConnectRequest) -> Result<Response<Body>, Status> {
        let headers = &request.parts.headers;
        if !headers.contains_key(PROTOCOL_VERSION) {
            return Err(Status::bad_request(format!("port-forward needs the header {PROTOCOL_VERSION}")));
        }
        if !header_values(headers, PROTOCOL_VERSION).any(|offered| offered == PROTOCOL) {
            let mut refusal = Response::new(Body::empty());
            *refusal.status_mut() = StatusCode::FORBIDDEN;
            refusal.headers_mut().insert(ACCEPTED, HeaderValue::from_static(PROTOCOL));
            return Ok(refusal);
        }
        let mut response = switching(SPDY);
        response.headers_mut().insert(PROTOCOL_VERSION, HeaderValue::from_static(PROTOCOL));
        self.serve(request, response, streams::forward)
    }

    /// Returns `response`, and then serves the upgraded connection with `forward`.
    fn serve<F>(
        &self,
        request: ConnectRequest,
        response: Response<Body>,
        forward: impl FnOnce(Pod<P>, TokioIo<Upgraded>) -> F + Send + 'static,
    ) -> Result<Response<Body>, Status>
    where
        F: Future<Output = ()> + Send,
    {
        let place = self.places.clone().try_acquire_owned().map_err(|_| {
            let message = format!("the server has {PORT_FORWARDS} port-forwards already");
            Status::new(429, "TooManyRequests", message)
        })?;
        let pod = Pod { ports: self.ports.clone(), namespace: request.namespace, name: request.name };
        tokio::spawn(async move {
            match hyper::upgrade::on(http::Request::from_parts(request.parts, ())).await {
                Ok(upgraded) => forward(pod, TokioIo::new(upgraded)).await,
                Err(error) => tracing::debug!(%error, "port-forward: no upgrade"),
            }
            drop(place);
        });
        Ok(response)
    }
}

/// Returns the ports in the query.
fn ports(request: &ConnectRequest) -> Result<Vec<u16>, Status> {
    let ports = request.query("ports").unwrap_or_default();
    let ports: Result<Vec<u16>, _> = ports.split(',').map(str::parse).collect();
    let ports = ports.map_err(|_| Status::bad_request("query parameter \"ports\" must be port numbers"))?;
    if ports.len() > PORTS {
        return Err(Status::bad_request(format!("query parameter \"ports\" has more than {PORTS} ports")));
    }
    Ok(ports)
}
