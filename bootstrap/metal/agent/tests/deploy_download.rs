//! Tests of `deploy::download`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent::testing::{Journal, Source, authorities, https, image_client_config};
use anyhow::Result;
use machinery::clock::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;

/// The behaviour of a test server.
#[derive(Clone, Copy, PartialEq)]
enum Server {
    /// Supports ranges, and closes each connection after some bytes.
    Breaks,
    /// Closes each connection after some bytes, and always starts at the beginning.
    BreaksWithoutRanges,
    /// Has another file at the second request.
    Replaces,
    /// Answers the first two requests with 503.
    Busy,
    /// Redirects the first request.
    Redirects,
    /// Does not have the file.
    Missing,
}

const SENT_AT_ONCE: usize = 100_000;

fn file() -> Vec<u8> {
    (0..350_000u32).map(|n| (n / 100) as u8).collect()
}

async fn serve(server: Server) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(answer(stream, server, count.fetch_add(1, Ordering::SeqCst)));
        }
    });
    format!("{base}/image")
}

async fn answer(mut stream: TcpStream, server: Server, number: usize) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(stream.read_u8().await.unwrap());
    }
    let request = String::from_utf8(request).unwrap().to_lowercase();
    let empty = |status: &str, header: &str| {
        format!("HTTP/1.1 {status}\r\n{header}content-length: 0\r\nconnection: close\r\n\r\n")
    };
    let early = match server {
        Server::Missing => Some(empty("404 Not Found", "")),
        Server::Busy if number < 2 => Some(empty("503 Service Unavailable", "")),
        Server::Redirects if !request.starts_with("get /other") => {
            Some(empty("302 Found", "location: /other\r\n"))
        }
        _ => None,
    };
    if let Some(early) = early {
        stream.write_all(early.as_bytes()).await.unwrap();
        return;
    }
    let file = file();
    let range = request
        .lines()
        .find_map(|line| line.strip_prefix("range: bytes="))
        .filter(|_| server != Server::BreaksWithoutRanges);
    let (from, to) = range.map_or((0, file.len()), |range| {
        let (from, to) = range.split_once('-').unwrap();
        (from.parse().unwrap(), to.parse().map_or(file.len(), |to: usize| (to + 1).min(file.len())))
    });
    let status = if range.is_some() { "206 Partial Content" } else { "200 OK" };
    let tag = if server == Server::Replaces { number } else { 0 };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\ncontent-range: bytes {from}-{}/{}\r\netag: \"{tag}\"\r\n\r\n",
        to - from,
        to - 1,
        file.len()
    );
    // Without ranges each connection must deliver more than the one before.
    let sent = if server == Server::BreaksWithoutRanges { SENT_AT_ONCE * (number + 1) } else { SENT_AT_ONCE };
    stream.write_all(head.as_bytes()).await.unwrap();
    // An error means that the client has closed the connection.
    let _ = stream.write_all(&file[from..to.min(from + sent)]).await;
}

fn try_source(url: &str) -> Result<Source> {
    let roots = {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::default().self_signed(&key).unwrap();
        authorities(&certificate.pem()).unwrap()
    };
    let clock = Clock::system();
    Source::new(url, https(image_client_config(roots).unwrap(), None), clock.clone(), Journal::new(clock))
}

fn source(url: &str) -> Source {
    try_source(url).unwrap()
}

async fn fetched(server: Server) -> Result<Vec<u8>> {
    let mut stream = source(&serve(server).await).stream(0);
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        for piece in stream.by_ref() {
            bytes.extend(piece?);
        }
        anyhow::Ok((bytes, *stream.total().borrow()))
    });
    let (bytes, total) = read.await.unwrap()?;
    assert_eq!(total, Some(bytes.len() as u64));
    Ok(bytes)
}

#[tokio::test]
async fn a_broken_connection_is_taken_up_where_it_broke() {
    for server in [Server::Breaks, Server::BreaksWithoutRanges, Server::Busy, Server::Redirects] {
        assert!(fetched(server).await.unwrap() == file());
    }
}

#[tokio::test]
async fn what_cannot_be_fetched_is_said() {
    let error = |server| async move { format!("{:#}", fetched(server).await.unwrap_err()) };
    assert!(error(Server::Replaces).await.contains("replaced while it was fetched"));
    assert!(error(Server::Missing).await.contains("404 Not Found"));
    for url in ["ftp://host/image", "image", "http:///image"] {
        assert!(try_source(url).is_err(), "{url}");
    }
}

#[tokio::test]
async fn ranges() {
    let of_ranges = source(&serve(Server::Redirects).await);
    let without = source(&serve(Server::BreaksWithoutRanges).await);
    let runtime = Handle::current();
    let read = tokio::task::spawn_blocking(move || {
        assert_eq!(of_ranges.range(1000, 5000, &runtime).unwrap(), file()[1000..6000]);
        assert!(of_ranges.range(349_999, 5, &runtime).is_err());
        without.range(0, 10, &runtime).unwrap_err().to_string()
    });
    assert!(read.await.unwrap().contains("knows no ranges"));
}
