//! Serves `pods/{name}/portforward` over a WebSocket with the protocol `v4.channel.k8s.io`, like a real API
//! server.
//!
//! Each port has two channels, data and errors; the first frame of each contains the port, little-endian.
//! Every frame begins with the number of its channel.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, SinkExt, StreamExt};
use http::{HeaderValue, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use machinery::status::Status;
use serving::{Body, Connect, ConnectRequest, ConnectResource};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::{Message, protocol::Role};

const PROTOCOL: &str = "v4.channel.k8s.io";
/// Buffer size in bytes for each direction of a port.
const BUFFER: usize = 64 * 1024;

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

/// Connects to the servers inside Pods.
pub trait Ports: Send + Sync + 'static {
    /// Connects `stream` to a port of a Pod.
    ///
    /// # Errors
    /// Says in words that nothing listens on the port.
    fn connect(&self, namespace: &str, pod: &str, port: u16, stream: DuplexStream) -> Result<(), String>;
}

/// The handler of the subresource.
pub struct PortForward<P>(pub Arc<P>);

impl<P: Ports> Connect for PortForward<P> {
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> {
        let ports = self.0.clone();
        async move { accept(ports, request) }.boxed()
    }
}

fn accept<P: Ports>(pods: Arc<P>, request: ConnectRequest) -> Result<Response<Body>, Status> {
    let text =
        |name: header::HeaderName| request.parts.headers.get(name).and_then(|value| value.to_str().ok());
    let websocket = text(header::UPGRADE).is_some_and(|value| value.eq_ignore_ascii_case("websocket"));
    let offered = text(header::SEC_WEBSOCKET_PROTOCOL).unwrap_or_default();
    let key = text(header::SEC_WEBSOCKET_KEY).map(str::to_owned);
    let (true, Some(key)) = (websocket, key) else {
        return Err(Status::bad_request("port-forward needs a WebSocket upgrade"));
    };
    if !offered.split(',').any(|protocol| protocol.trim() == PROTOCOL) {
        return Err(Status::bad_request(format!("port-forward needs the WebSocket protocol {PROTOCOL}")));
    }
    let ports = request.query("ports").unwrap_or_default();
    let ports: Result<Vec<u16>, _> = ports.split(',').map(str::parse).collect();
    let ports = ports.map_err(|_| Status::bad_request("query parameter \"ports\" must be port numbers"))?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    if let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    tokio::spawn(async move {
        let (namespace, pod) = (request.namespace, request.name);
        let upgraded = hyper::upgrade::on(http::Request::from_parts(request.parts, ())).await;
        match upgraded {
            Ok(upgraded) => {
                let socket =
                    WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
                forward(pods, &namespace, &pod, &ports, socket).await;
            }
            Err(error) => tracing::debug!(%error, "port-forward: no upgrade"),
        }
    });
    Ok(response)
}

/// A frame of one channel; empty content means that the channel's sender has closed.
type Outgoing = (u8, Vec<u8>);

async fn forward<P, S>(
    pods: Arc<P>,
    namespace: &str,
    pod: &str,
    ports: &[u16],
    mut socket: WebSocketStream<S>,
) where
    P: Ports,
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let (sender, mut outgoing) = mpsc::channel::<Outgoing>(16);
    let mut writers = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let (data, errors) = (2 * index as u8, 2 * index as u8 + 1);
        for channel in [data, errors] {
            let [low, high] = port.to_le_bytes();
            if socket.send(Message::binary(vec![channel, low, high])).await.is_err() {
                return;
            }
        }
        let (near, far) = tokio::io::duplex(BUFFER);
        if let Err(error) = pods.connect(namespace, pod, *port, far) {
            let mut frame = vec![errors];
            frame.extend(error.into_bytes());
            drop(socket.send(Message::binary(frame)).await);
        }
        let (reader, writer) = tokio::io::split(near);
        tokio::spawn(pump(reader, data, sender.clone()));
        writers.push(writer);
    }
    drop(sender);
    loop {
        tokio::select! {
            biased;
            frame = outgoing.recv() => {
                let Some((channel, content)) = frame else { break };
                let mut message = vec![channel];
                message.extend(content);
                if socket.send(Message::binary(message)).await.is_err() {
                    break;
                }
            }
            message = socket.next() => match message {
                Some(Ok(Message::Binary(content))) => {
                    let Some((channel, content)) = content.split_first() else { break };
                    let writer = (channel % 2 == 0).then(|| writers.get_mut(usize::from(channel / 2))).flatten();
                    let Some(writer) = writer else { break };
                    if writer.write_all(content).await.is_err() {
                        break;
                    }
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => break,
            },
        }
    }
    drop(socket.close(None).await);
}

/// Forwards data from the Pod to the WebSocket until either side closes.
async fn pump(mut reader: tokio::io::ReadHalf<DuplexStream>, channel: u8, sender: mpsc::Sender<Outgoing>) {
    let mut buffer = vec![0; BUFFER];
    while let Ok(length @ 1..) = reader.read(&mut buffer).await {
        if sender.send((channel, buffer[..length].to_vec())).await.is_err() {
            return;
        }
    }
}
