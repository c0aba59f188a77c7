//! Connections: TLS, client certificates, shutdown.

use access::authorize::AllowAll;
use http::StatusCode;
use http_body_util::BodyExt;
use machinery::clock::Clock;
use machinery::random::Random;
use serving::{Listener, Server};
use tokio::io::duplex;

use crate::serving::http::common::registry;
use crate::serving::http::connection::{Tested, authority, http1, http2, request, server_config};

#[tokio::test(start_paused = true)]
async fn the_certificate_says_who_asks() {
    let tested = Tested::new().await;
    let admin = tested.identity("admin", &["system:masters"]);
    let bob = tested.identity("bob", &["dev"]);
    for (identity, code) in [(Some(&admin), 200), (Some(&bob), 403), (None, 403)] {
        let mut client = http1(tested.connect_tls(identity, "http/1.1").await.unwrap()).await;
        let answer = client.send_request(request("/api/v1/namespaces")).await.unwrap();
        assert_eq!(answer.status().as_u16(), code);
    }
}

#[tokio::test(start_paused = true)]
async fn http2_by_alpn() {
    let tested = Tested::new().await;
    let admin = tested.identity("admin", &["system:masters"]);
    let stream = tested.connect_tls(Some(&admin), "h2").await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let mut client = http2(stream).await;
    let answers = futures::future::join_all(
        ["/version", "/api/v1/namespaces", "/nope"].map(|path| client.send_request(request(path))),
    );
    let codes: Vec<u16> = answers.await.into_iter().map(|answer| answer.unwrap().status().as_u16()).collect();
    assert_eq!(codes, [200, 200, 404]);
}

#[tokio::test(start_paused = true)]
async fn certificates_are_replaced_in_place() {
    let tested = Tested::new().await;
    let mut before = http1(tested.connect_tls(None, "http/1.1").await.unwrap()).await;
    let other = authority(&tested.clock, &Random::seeded(2));
    tested.tls.replace(server_config(&other, &tested.clock, &tested.random));
    assert!(tested.connect_tls(None, "http/1.1").await.is_err(), "the new certificate is not trusted");
    let answer = before.send_request(request("/version")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_watches_and_connections() {
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let server = Server::builder(registry(&clock).await, clock).authorizer(AllowAll).build();
    let listener = Listener::new(server, None);
    let (ours, theirs) = duplex(64 * 1024);
    let serving = {
        let listener = listener.clone();
        tokio::spawn(async move { listener.serve_stream(theirs).await })
    };
    let mut client = http1(ours).await;
    let path = "/api/v1/namespaces?watch=true&resourceVersion=0&fieldSelector=metadata.name=nobody";
    let watch = client.send_request(request(path)).await.unwrap();
    assert_eq!(watch.status(), StatusCode::OK);
    listener.close();
    assert!(watch.into_body().collect().await.unwrap().to_bytes().is_empty());
    serving.await.unwrap();
}
