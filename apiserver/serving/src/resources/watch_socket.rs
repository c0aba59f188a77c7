//! Watches over a WebSocket, one message for each event.
//!
//! The rules are those of `golang.org/x/net/websocket`, with which kube-apiserver serves them: a request without an origin is refused, as is
//! one that offers several protocols, and the one that is offered is named in the answer, whatever it is. Nothing is decoded or encoded by it.

use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use http::header::{self, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};
use hyper_util::rt::TokioIo;
use machinery::clock::Clock;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};

use super::connect::switching;
use super::watch::{self, Stage};
use crate::limits::{SOCKET_MESSAGE_BYTES, STALLED};
use crate::response::negotiate::Encoding;
use crate::transport::body::Body;

/// The version of the protocol.
const VERSION: &str = "13";
/// The length that precedes an event in a stream of protobuf. A message needs none.
const LENGTH_BYTES: usize = 4;

/// Answers the request, and sends the events of the watch over the upgraded connection.
pub(crate) fn serve(parts: &Parts, stage: Stage) -> Response<Body> {
    let answer = match handshake(&parts.headers) {
        Ok(answer) => answer,
        Err(refusal) => return *refusal,
    };
    let request = http::Request::from_parts(parts.clone(), ());
    tokio::spawn(async move {
        match hyper::upgrade::on(request).await {
            Ok(upgraded) => send(TokioIo::new(upgraded), stage).await,
            Err(error) => tracing::debug!(%error, "watch: no upgrade"),
        }
    });
    answer
}

/// Returns the answer that accepts the upgrade.
///
/// # Errors
/// The refusal.
fn handshake(headers: &HeaderMap) -> Result<Response<Body>, Box<Response<Body>>> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let key = text(header::SEC_WEBSOCKET_KEY);
    if key.is_empty() {
        return Err(refusal(StatusCode::BAD_REQUEST, "mismatch challenge/response"));
    }
    if text(header::SEC_WEBSOCKET_VERSION) != VERSION {
        let mut refusal = refusal(StatusCode::BAD_REQUEST, "missing or bad WebSocket Version");
        refusal.headers_mut().insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static(VERSION));
        return Err(refusal);
    }
    if machinery::url::parse_request_uri(text(header::ORIGIN)).is_err() {
        return Err(refusal(StatusCode::FORBIDDEN, ""));
    }
    let mut protocols = access::header_values(headers, header::SEC_WEBSOCKET_PROTOCOL)
        .filter(|one| !one.is_empty() && !access::is_token_protocol(one));
    let protocol = protocols.next();
    if protocols.next().is_some() {
        return Err(refusal(StatusCode::BAD_REQUEST, ""));
    }
    let mut answer = switching("websocket");
    let sent = answer.headers_mut();
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
    sent.insert(header::SEC_WEBSOCKET_ACCEPT, accept.map_err(|_| refusal(StatusCode::BAD_REQUEST, ""))?);
    if let Some(protocol) = protocol {
        let protocol = HeaderValue::from_str(protocol);
        sent.insert(
            header::SEC_WEBSOCKET_PROTOCOL,
            protocol.map_err(|_| refusal(StatusCode::BAD_REQUEST, ""))?,
        );
    }
    Ok(answer)
}

fn refusal(code: StatusCode, why: &'static str) -> Box<Response<Body>> {
    let mut refusal = Response::new(Body::pieces([Bytes::from_static(why.as_bytes())]));
    *refusal.status_mut() = code;
    Box::new(refusal)
}

/// What comes next of a watch.
enum Next {
    /// A message of the client, or the end of what it sends.
    Received(Option<Result<Message, tokio_tungstenite::tungstenite::Error>>),
    /// An event, or the end of the watch.
    Event(Option<Bytes>),
}

/// Sends the events until the watch ends, or the client goes. What the client sends is ignored, and after each of its messages it is the
/// turn of the watch: a client that sends without pause gets its events, and cannot outlive the end of the watch.
async fn send<S: AsyncRead + AsyncWrite + Unpin>(connection: S, stage: Stage) {
    let config = WebSocketConfig::default()
        .max_message_size(Some(SOCKET_MESSAGE_BYTES))
        .max_frame_size(Some(SOCKET_MESSAGE_BYTES));
    let mut socket = WebSocketStream::from_raw_socket(connection, Role::Server, Some(config)).await;
    let (encoding, clock) = (stage.encoding, stage.clock.clone());
    let mut events = std::pin::pin!(watch::events(stage));
    let mut heard = false;
    loop {
        let next = if heard {
            tokio::select! {
                biased;
                event = events.next() => Next::Event(event),
                received = socket.next() => Next::Received(received),
            }
        } else {
            tokio::select! {
                biased;
                received = socket.next() => Next::Received(received),
                event = events.next() => Next::Event(event),
            }
        };
        heard = matches!(next, Next::Received(_));
        let event = match next {
            Next::Received(Some(Ok(Message::Close(_)) | Err(_)) | None) => return,
            // The answer to a ping is sent with the flush.
            Next::Received(Some(Ok(_))) if in_time(&clock, socket.flush()).await => continue,
            Next::Received(Some(Ok(_))) => return,
            Next::Event(event) => event,
        };
        let Some(event) = event else { break };
        if !in_time(&clock, socket.send(message(encoding, event))).await {
            return;
        }
    }
    let end = CloseFrame { code: CloseCode::Normal, reason: "".into() };
    in_time(&clock, socket.send(Message::Close(Some(end)))).await;
}

/// Returns whether something was sent before the client counts as one that does not read.
async fn in_time<E>(clock: &Clock, sending: impl Future<Output = Result<(), E>>) -> bool {
    tokio::select! {
        biased;
        sent = sending => sent.is_ok(),
        () = clock.sleep(STALLED) => false,
    }
}

/// Returns the message with an event.
fn message(encoding: Encoding, event: Bytes) -> Message {
    if encoding == Encoding::Protobuf {
        return Message::Binary(event.slice(LENGTH_BYTES.min(event.len())..));
    }
    match tokio_tungstenite::tungstenite::Utf8Bytes::try_from(event.clone()) {
        Ok(text) => Message::Text(text),
        Err(_) => Message::Binary(event),
    }
}
