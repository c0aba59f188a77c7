//! Connections through proxies of a test.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty, Full};
use net::limits::PROXY_ANSWER;
use net::{Client, Error, Proxies, Scheme, dial, refusal};
use rustls::RootCertStore;
use test_proxy::Proxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tracing::Instrument as _;

use super::log::Log;

const HOST: &str = "far.test:7777";
const TEXT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nfar";

/// A server that answers each request with the text `far`.
async fn far() -> SocketAddr {
    answering(TEXT).await
}

async fn answering(text: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut seen = Vec::new();
                while !seen.ends_with(b"\r\n\r\n") {
                    seen.push(stream.read_u8().await.unwrap());
                }
                stream.write_all(text).await.unwrap();
            });
        }
    });
    address
}

async fn known(proxy: Proxy) -> Proxy {
    proxy.knows(HOST, far().await);
    proxy
}

/// What a connection through `url` to the host says.
async fn said(url: &str, scheme: Scheme) -> Result<String, Error> {
    let proxies = Proxies::fixed("HTTPS_PROXY", url);
    let mut stream = dial(&proxies, scheme, "far.test", 7777).await?;
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await?;
    let mut answer = vec![0; TEXT.len()];
    stream.read_exact(&mut answer).await?;
    Ok(String::from_utf8(answer).unwrap().split("\r\n\r\n").last().unwrap().to_owned())
}

fn refused(outcome: Result<String, Error>) -> (String, bool) {
    let error = outcome.unwrap_err();
    (error.to_string(), error.is_lasting())
}

#[tokio::test]
async fn a_proxy_for_http_connects() {
    let proxy = known(Proxy::http().await.unwrap()).await;
    assert_eq!(said(&format!("http://{}", proxy.address()), Scheme::Https).await.unwrap(), "far");
    assert_eq!(proxy.asked(), [format!("CONNECT {HOST}")]);
}

#[tokio::test]
async fn a_proxy_for_socks_connects() {
    let proxy = known(Proxy::socks().await.unwrap()).await;
    for scheme in [Scheme::Https, Scheme::Http] {
        assert_eq!(said(&format!("socks5h://{}", proxy.address()), scheme).await.unwrap(), "far");
    }
    assert_eq!(proxy.asked(), [format!("SOCKS {HOST}"), format!("SOCKS {HOST}")]);
    let proxies = Proxies::fixed("proxy-url", &format!("socks5://{}", proxy.address()));
    let error = dial(&proxies, Scheme::Https, "2001:db8::1", 443).await.unwrap_err();
    assert!(error.to_string().ends_with("to [2001:db8::1]:443: the host is unreachable"), "{error}");
    assert_eq!(proxy.asked().pop().unwrap(), "SOCKS [2001:db8::1]:443");
}

#[tokio::test]
async fn credentials_are_decoded_and_sent() {
    let wanted = Some(("us:er".to_owned(), "p@ss%".to_owned()));
    for (proxy, scheme) in [(Proxy::http().await.unwrap(), "http"), (Proxy::socks().await.unwrap(), "socks5")]
    {
        let proxy = known(proxy).await;
        proxy.with(|state| state.credentials = wanted.clone());
        let address = proxy.address();
        let right = said(&format!("{scheme}://us%3Aer:p%40ss%25@{address}"), Scheme::Https).await;
        assert_eq!(right.unwrap(), "far");
        for url in [format!("{scheme}://{address}"), format!("{scheme}://us%3Aer:wrong@{address}")] {
            let (message, is_lasting) = refused(said(&url, Scheme::Https).await);
            let expected = format!("the proxy {scheme}://{address} wants credentials, or others");
            assert!(message.starts_with(&expected) && is_lasting, "{message}");
        }
    }
}

#[tokio::test]
async fn what_a_proxy_answers_is_named() {
    let proxy = known(Proxy::http().await.unwrap()).await;
    let url = format!("http://{}", proxy.address());
    let head = |length: usize| {
        let start = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        let filling = vec![b'x'; length - start.len() - 4];
        [start, filling, b"\r\n\r\n".to_vec()].concat()
    };
    for (answer, expected, is_lasting) in [
        (&b"HTTP/1.1 401 Unauthorized\r\n\r\n"[..], "wants credentials, or others", true),
        (&b"HTTP/1.1 403 Forbidden\r\n\r\n"[..], "forbids connections to far.test:7777: 403 Forbidden", true),
        (
            b"HTTP/1.1 503 Service Unavailable\r\n\r\n",
            "makes no connection to far.test:7777: 503 Service",
            false,
        ),
        (b"SSH-2.0-OpenSSH_9\r\n\r\n", "cannot be reached: it answers in no HTTP", false),
        (b"HTTP/1.1 200", "cannot be reached: it closes the connection without an answer", false),
        (
            &head(PROXY_ANSWER + 1),
            "cannot be reached: the head of its answer has more than 16384 bytes",
            false,
        ),
    ] {
        proxy.with(|state| state.answer = Some(answer.to_vec()));
        let (message, lasting) = refused(said(&url, Scheme::Https).await);
        assert!(message.contains(expected), "{message}");
        assert_eq!(lasting, is_lasting, "{message}");
    }
    for length in [PROXY_ANSWER - 1, PROXY_ANSWER] {
        proxy.with(|state| state.answer = Some(head(length)));
        let proxies = Proxies::fixed("HTTPS_PROXY", &url);
        dial(&proxies, Scheme::Https, "far.test", 7777).await.unwrap();
    }
}

#[tokio::test]
async fn a_host_is_no_way_into_the_request_of_a_proxy() {
    let proxy = Proxy::http().await.unwrap();
    let proxies = Proxies::fixed("HTTPS_PROXY", &format!("http://{}", proxy.address()));
    for host in ["far.test:1\r\nX: y\r\n\r\n", "user@far.test", "far test", ""] {
        let error = dial(&proxies, Scheme::Https, host, 443).await.unwrap_err();
        assert!(error.to_string().ends_with("is not the name of a host"), "{error}");
    }
    assert!(proxy.asked().is_empty());
}

#[tokio::test]
async fn a_client_lets_the_proxy_read_requests_without_tls() {
    let proxy = known(Proxy::http().await.unwrap()).await;
    proxy.with(|state| state.credentials = Some(("user".to_owned(), "word".to_owned())));
    let url = |credentials: &str| format!("http://{credentials}{}", proxy.address());
    let client = |url: String| {
        let proxies = Arc::new(Proxies::fixed("HTTP_PROXY", &url));
        Client::<Empty<Bytes>>::new((RootCertStore::empty(), "none".to_owned()), proxies).unwrap()
    };
    let request = || Request::get(format!("http://{HOST}/file")).body(Empty::new()).unwrap();
    let answer = client(url("user:word@")).request(request()).await.unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "far");
    assert_eq!(proxy.asked(), [format!("GET http://{HOST}/file")]);
    let error = client(url("")).request(request()).await.unwrap_err();
    assert!(matches!(refusal(&error), Some(Error::Credentials { .. })), "{error}");
    let secure = Request::get("https://far.test/").body(Empty::new()).unwrap();
    let error = client(url("")).request(secure).await.unwrap_err();
    let expected = "this machine has no certificate authorities, so far.test cannot be trusted: none";
    assert_eq!(refusal(&error).unwrap().to_string(), expected);
}

/// What a proxy only carries is not its answer.
#[tokio::test]
async fn the_407_of_another_machine_is_an_answer() {
    let proxy = Proxy::socks().await.unwrap();
    let text = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n";
    proxy.knows(HOST, answering(text).await);
    let proxies = Arc::new(Proxies::fixed("HTTP_PROXY", &format!("socks5://{}", proxy.address())));
    let client = Client::<Empty<Bytes>>::new((RootCertStore::empty(), "none".to_owned()), proxies).unwrap();
    let request = Request::get(format!("http://{HOST}/file")).body(Empty::new()).unwrap();
    assert_eq!(client.request(request).await.unwrap().status(), 407);
}

#[tokio::test]
async fn a_request_has_a_span_within_that_of_its_caller_and_tells_no_secret() {
    let (log, address) = (Log::of_this_thread(), far().await);
    let authorities = (RootCertStore::empty(), "none".to_owned());
    let client = Client::<Full<Bytes>>::new(authorities, Arc::new(Proxies::none())).unwrap();
    let closed = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap();
    let caller = tracing::info_span!("caller", id = "mine");
    for (to, outcome) in [(address, "answered code=200 elapsed="), (closed, "not answered elapsed=")] {
        let request = Request::put(format!("http://user:secret@{to}/file?signature=secret"))
            .header("authorization", "Bearer secret")
            .body(Full::from("secret"))
            .unwrap();
        let is_answered = client.request(request).instrument(caller.clone()).await.is_ok();
        assert_eq!(is_answered, to == address);
        let written = log.written();
        let line = written.lines().find(|line| line.contains(outcome)).unwrap();
        let span = "caller{id=\"mine\"}:outgoing request{method=PUT host=\"127.0.0.1\" path=\"/file\"}: ";
        assert!(line.contains(span), "{line}");
    }
    assert!(!log.written().contains("secret"), "{}", log.written());
}

#[tokio::test]
async fn names_that_mean_nothing_are_said_and_last() {
    for proxies in [Proxies::none(), Proxies::fixed("HTTPS_PROXY", "http://nowhere.invalid:3128")] {
        let error = dial(&proxies, Scheme::Https, "nowhere.invalid", 443).await.unwrap_err();
        assert!(error.to_string().starts_with("cannot resolve nowhere.invalid: "), "{error}");
        assert!(error.is_lasting());
    }
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_says_nothing_is_given_up() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = tokio::time::timeout(Duration::from_secs(3600), said(&url, Scheme::Https));
    let (message, is_lasting) = refused(asked.await.unwrap());
    assert_eq!(message, format!("no connection to the proxy {url} within 30 s"));
    assert!(!is_lasting);
}

#[tokio::test]
async fn a_direct_connection_fails_in_the_words_of_the_system() {
    let closed = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap();
    let error = dial(&Proxies::none(), Scheme::Https, "127.0.0.1", closed.port()).await.unwrap_err();
    assert_eq!(error.to_string(), "Connection refused (os error 111)");
    assert_eq!(error.into_io().kind(), std::io::ErrorKind::ConnectionRefused);
}
