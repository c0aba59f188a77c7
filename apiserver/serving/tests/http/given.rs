//! Paths of the embedding program.

use ::access::User;
use bytes::Bytes;
use futures::FutureExt;
use http::{Method, Response};
use machinery::clock::Clock;
use machinery::status::Status;
use serving::{Body, PathRequest, Server};

use crate::serving::http::common::{Harness, registry};

const READ: &[Method] = &[Method::GET];
const WRITE: &[Method] = &[Method::GET, Method::POST];

/// Answers with what the handler was given.
fn echo(
    name: &'static str,
) -> impl Fn(PathRequest) -> futures::future::BoxFuture<'static, Result<Response<Body>, Status>> {
    move |request| {
        let PathRequest { method, path, uri, headers, user, body } = request;
        let agent = headers.get("user-agent").map_or("", |agent| agent.to_str().unwrap());
        let body = String::from_utf8(body.to_vec()).unwrap();
        let text = format!("{name}: {method} {uri} {agent} {} {body}", user.name);
        let answer = if path.ends_with("/none") {
            Err(Status::no_such_path())
        } else {
            Ok(Response::new(Body::from(Bytes::from(text))))
        };
        futures::future::ready(answer).boxed()
    }
}

async fn harness() -> Harness {
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let server = Server::builder(registry(&clock).await, clock.clone())
        .path("/pages", READ, echo("pages"))
        .path("/pages/", WRITE, echo("below"))
        .path("/pages/deep/", READ, echo("deep"))
        .build();
    Harness { server, user: Some(User::master("admin")), clock }
}

#[tokio::test]
async fn the_most_specific_path_gets_its_request() {
    let harness = harness().await;
    let rows = [
        ("GET", "/pages?a=b", 200, "pages: GET /pages?a=b me admin "),
        ("GET", "/pages/one", 200, "below: GET /pages/one me admin "),
        ("POST", "/pages/one?x", 200, "below: POST /pages/one?x me admin text"),
        ("GET", "/pages/deep/er", 200, "deep: GET /pages/deep/er me admin "),
        ("GET", "/pages/n%6Fne", 404, "the server could not find the requested resource"),
        ("POST", "/pages", 405, "the server does not allow this method on the requested resource"),
        ("POST", "/pages/deep/", 405, "the server does not allow this method on the requested resource"),
        ("GET", "/pagesandmore", 404, "404 page not found\n"),
    ];
    for (method, path, code, expected) in rows {
        let body: &[u8] = if method == "POST" { b"text" } else { b"" };
        let answer = harness.call(method, path, &[("user-agent", "me")], body).await;
        let found = if code == 405 || path.ends_with("%6Fne") { answer.message() } else { answer.text() };
        assert_eq!((answer.code, found.as_str()), (code, expected), "{method} {path}");
    }
}

#[tokio::test]
async fn only_users_who_may_access_the_path_reach_it_and_bodies_have_a_limit() {
    let mut harness = harness().await;
    let long = vec![b'a'; serving::testing::limits::BODY_BYTES + 1];
    assert_eq!(harness.call("POST", "/pages/one", &[], &long).await.code, 413);
    harness.user = Some(User { name: "alice".to_owned(), ..User::default() });
    assert_eq!(harness.call("POST", "/pages/one", &[], b"text").await.code, 403);
    let listed = Harness { user: Some(User::master("admin")), ..harness }.get("/").await.text();
    assert!(listed.contains("\"/pages/deep/\""), "{listed}");
}
