//! Watches over a WebSocket.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::{SinkExt, StreamExt};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use serving::Listener;
use tokio::io::duplex;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::serving::http::common::Harness;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SOCKET: [(&str, &str); 5] = [
    ("connection", "Upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("origin", "https://dashboard.example.com"),
];
type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Sends a request over a connection of its own, with these headers instead of or beside those of [`SOCKET`].
async fn ask(harness: &Harness, path: &str, headers: &[(&str, &str)]) -> Response<Incoming> {
    let (ours, theirs) = duplex(64 * 1024);
    let listener = Listener::new(harness.server.clone(), None);
    tokio::spawn(async move { listener.serve_stream(theirs).await });
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(ours)).await.unwrap();
    tokio::spawn(connection.with_upgrades());
    let mut request = Request::get(path).header("host", "localhost");
    let usual = SOCKET.iter().filter(|(name, _)| headers.iter().all(|(other, _)| other != name));
    for (name, value) in usual.chain(headers).filter(|(_, value)| !value.is_empty()) {
        request = request.header(*name, *value);
    }
    sender.send_request(request.body(Empty::<bytes::Bytes>::new()).unwrap()).await.unwrap()
}

async fn open(harness: &Harness, path: &str, headers: &[(&str, &str)]) -> Socket {
    let answer = ask(harness, path, headers).await;
    assert_eq!(answer.status(), StatusCode::SWITCHING_PROTOCOLS);
    let upgraded = hyper::upgrade::on(answer).await.unwrap();
    WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Client, None).await
}

async fn text(socket: &mut Socket) -> String {
    match socket.next().await.unwrap().unwrap() {
        Message::Text(text) => text.to_string(),
        other => panic!("{other:?}"),
    }
}

async fn event(socket: &mut Socket) -> Value {
    serde_json::from_str(&text(socket).await).unwrap()
}

fn map(name: &str, data: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": data}})
}

#[tokio::test(start_paused = true)]
async fn each_event_is_a_message() {
    let harness = Harness::open_to_all().await;
    let mut socket = open(&harness, &format!("{MAPS}?watch=1&resourceVersion=0"), &[]).await;
    harness.post(MAPS, &map("small", "x")).await;
    // A large event is one message, too.
    harness.post(MAPS, &map("large", &"x".repeat(500_000))).await;
    harness.call("DELETE", &format!("{MAPS}/small"), &[], b"").await;
    for (kind, name) in [("ADDED", "small"), ("ADDED", "large"), ("DELETED", "small")] {
        let text = text(&mut socket).await;
        assert!(text.ends_with("}\n"), "a line, as in a stream");
        let event: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&json!(kind), &json!(name)));
    }
}

#[tokio::test(start_paused = true)]
async fn bookmarks_other_forms_and_the_end() {
    let harness = Harness::open_to_all().await;
    harness.post(MAPS, &map("a", "x")).await;
    let initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let table = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let path = format!("{MAPS}?watch=1&{initial}&timeoutSeconds=30");
    let started = harness.clock.monotonic();
    let mut socket = open(&harness, &path, &[table]).await;
    let first = event(&mut socket).await;
    assert_eq!((&first["type"], &first["object"]["kind"]), (&json!("ADDED"), &json!("Table")));
    assert_eq!(event(&mut socket).await["type"], "BOOKMARK");
    let end = loop {
        match socket.next().await.unwrap().unwrap() {
            Message::Close(end) => break end.unwrap(),
            Message::Text(text) => assert!(text.contains("BOOKMARK"), "{text}"),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(u16::from(end.code), 1000);
    assert_eq!(started.elapsed(), Duration::from_secs(30));
    let protobuf = ("accept", "application/vnd.kubernetes.protobuf");
    let mut socket = open(&harness, &format!("{MAPS}?watch=1"), &[protobuf]).await;
    let Message::Binary(event) = socket.next().await.unwrap().unwrap() else { panic!("no binary message") };
    assert_eq!(event.get(..7), Some(&b"\x0a\x05ADDED"[..]), "no length precedes it");
}

#[tokio::test(start_paused = true)]
async fn pings_are_answered_and_a_close_ends_the_watch() {
    let harness = Harness::open_to_all().await;
    let mut socket = open(&harness, &format!("{MAPS}?watch=1&resourceVersion=0"), &[]).await;
    socket.send(Message::Text("ignored".into())).await.unwrap();
    socket.send(Message::Ping(b"there?".as_slice().into())).await.unwrap();
    let answer = socket.next().await.unwrap().unwrap();
    assert_eq!(answer, Message::Pong(b"there?".as_slice().into()));
    socket.close(None).await.unwrap();
    // The server closes the connection after its own close.
    while let Some(Ok(message)) = socket.next().await {
        assert!(matches!(message, Message::Close(_)), "{message:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_handshake_is_refused() {
    let harness = Harness::open_to_all().await;
    // The headers, and then the code, the protocol in the answer, and its text.
    type Row<'a> = (&'a [(&'a str, &'a str)], u16, &'a str, &'a str);
    let table: [Row<'_>; 9] = [
        (&[("origin", "")], 403, "", ""),
        (&[("origin", "null")], 403, "", ""),
        (&[("sec-websocket-key", "")], 400, "", "mismatch challenge/response"),
        (&[("sec-websocket-version", "8")], 400, "", "missing or bad WebSocket Version"),
        (&[("sec-websocket-protocol", "a, b")], 400, "", ""),
        (&[("sec-websocket-protocol", "base64.binary.k8s.io")], 101, "base64.binary.k8s.io", ""),
        (&[("sec-websocket-protocol", "whatever")], 101, "whatever", ""),
        (&[("upgrade", "other")], 200, "", ""),
        (&[("connection", "keep-alive, upgrade")], 101, "", ""),
    ];
    let path = format!("{MAPS}?watch=1&resourceVersion=0&timeoutSeconds=1");
    for (headers, code, protocol, why) in table {
        let answer = ask(&harness, &path, headers).await;
        assert_eq!(answer.status(), code, "{headers:?}");
        let named = answer.headers().get("sec-websocket-protocol").map_or("", |name| name.to_str().unwrap());
        assert_eq!(named, protocol, "{headers:?}");
        if code >= 400 {
            assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), why, "{headers:?}");
        }
    }
    // What is wrong with the watch itself is an answer without an upgrade.
    let answer = ask(&harness, &format!("{MAPS}?watch=1&fieldSelector=spec.nope%3D1"), &[]).await;
    assert_eq!(answer.status(), 400);
}

#[tokio::test(start_paused = true)]
async fn a_browser_says_who_it_is_in_a_protocol() {
    let harness = Harness::guarded().await;
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"});
    let account = json!({"kind": "ServiceAccount", "name": "default", "namespace": "default"});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "b"}, "roleRef": role, "subjects": [account]});
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    assert_eq!(harness.post(bindings, &binding).await.code, 201);
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    harness
        .post(
            accounts,
            &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}),
        )
        .await;
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let issued = harness.post(&format!("{accounts}/default/token"), &request).await.json();
    let token = issued["status"]["token"].as_str().unwrap();
    let protocol =
        |token: &str| format!("base64url.bearer.authorization.k8s.io.{}, v1", URL_SAFE_NO_PAD.encode(token));
    let path = format!("{MAPS}?watch=1&resourceVersion=0");
    let answer = ask(&harness, &path, &[("sec-websocket-protocol", &protocol(token))]).await;
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["sec-websocket-protocol"]),
        (101, &"v1".parse().unwrap())
    );
    let answer = ask(&harness, &path, &[("sec-websocket-protocol", &protocol("nobody's"))]).await;
    assert_eq!(answer.status(), 401);
}
