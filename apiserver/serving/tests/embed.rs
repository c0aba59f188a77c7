//! Runs `apiserver/examples/embed.rs` as a process, and checks its kind, its subresource, and the discovery
//! of both.
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "http/common.rs"]
#[allow(dead_code, reason = "the tests over HTTP use more of it")]
mod common;
#[path = "http/log.rs"]
mod log;

use std::path::PathBuf;
use std::process::Stdio;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::Command;

/// Returns the path of the example, which `cargo test` builds beside the tests.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(2).unwrap().join("examples/embed");
    assert!(
        path.exists(),
        "{} is not there: `cargo build -p firstlight-serving --examples` makes it",
        path.display()
    );
    path
}

async fn ask(address: &str, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut client, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    let answer = client.send_request(request.body(Full::new(body)).unwrap()).await.unwrap();
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap())
}

#[tokio::test]
async fn a_kind_and_a_subresource_of_ones_own() {
    let mut process = Command::new(example())
        .arg("127.0.0.1:0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    let address = line.strip_prefix("http://").unwrap();

    let lamps = "/apis/example.com/v1/namespaces/default/lamps";
    let lamp = json!({"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": "hall"}});
    let (code, created) = ask(address, Method::POST, lamps, &lamp).await;
    assert_eq!((code, &created["spec"]["on"]), (201, &json!(false)));
    for (query, on) in [("", true), ("?to=off", false)] {
        let switch = format!("{lamps}/hall/switch{query}");
        let (code, lamp) = ask(address, Method::POST, &switch, &Value::Null).await;
        assert_eq!((code, &lamp["spec"]["on"]), (200, &json!(on)));
    }
    let (_, stored) = ask(address, Method::GET, &format!("{lamps}/hall"), &Value::Null).await;
    assert_eq!(stored["metadata"]["generation"], 3);
    let (code, status) = ask(address, Method::POST, &format!("{lamps}/none/switch"), &Value::Null).await;
    assert_eq!((code, &status["reason"]), (404, &json!("NotFound")));
    let (_, resources) = ask(address, Method::GET, "/apis/example.com/v1", &Value::Null).await;
    let names: Vec<&Value> =
        resources["resources"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["lamps", "lamps/switch"]);
}
