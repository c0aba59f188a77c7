//! Manifests that `up -f` fetches from web servers.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::path::PathBuf;
use std::sync::Arc;

use machinery::clock::Clock;
use machinery::random::Random;
use pki::tls::{ClientCertificates, ServerCertificates, server_config};
use pki::{CertificateAuthority, KeyAlgorithm, Leaf};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_rustls::TlsAcceptor;

const MANIFEST: &str = include_str!("../../../examples/minimal.yaml");

/// A web server with a certificate of an authority of its own.
struct Site {
    address: String,
    folder: TempDir,
    authority: PathBuf,
}

/// Returns the answer to a request: the status line, headers and the body.
fn answer(path: &str) -> Vec<u8> {
    let (head, body): (String, &[u8]) = match path {
        "/cluster.yaml" => ("200 OK".to_owned(), MANIFEST.as_bytes()),
        "/moved.yaml" => ("302 Found\r\nLocation: /cluster.yaml".to_owned(), b""),
        "/round.yaml" => ("302 Found\r\nLocation: /round.yaml".to_owned(), b""),
        "/picture" => ("200 OK".to_owned(), b"\xff\xfe\x00"),
        "/empty.yaml" => ("200 OK".to_owned(), b"# nothing\n"),
        "/page.html" => ("200 OK".to_owned(), b"<html><body>Please sign in</body></html>\n"),
        _ => ("404 Not Found".to_owned(), b"no such page"),
    };
    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

impl Site {
    async fn new() -> Self {
        let (clock, random, folder) = (Clock::system(), Random::system(), tempfile::tempdir().unwrap());
        let now = clock.now();
        let ca = CertificateAuthority::generate("site", KeyAlgorithm::default(), None, now, &random).unwrap();
        let leaf = ca.issue(&Leaf::server("page", vec!["127.0.0.1".to_owned()]), now, &random).unwrap();
        let authority = folder.path().join("ca.pem");
        std::fs::write(&authority, ca.certificate()).unwrap();
        let certificates = Arc::new(ServerCertificates::new(&leaf).unwrap());
        let config = server_config(certificates, &ClientCertificates::None, &["http/1.1"], &clock).unwrap();
        let tls = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = format!("https://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let tls = tls.clone();
                tokio::spawn(async move {
                    // A client that does not trust the certificate goes away.
                    let Ok(mut stream) = tls.accept(stream).await else { return };
                    let mut request = Vec::new();
                    while !request.ends_with(b"\r\n\r\n") {
                        request.push(stream.read_u8().await.unwrap());
                    }
                    let request = String::from_utf8(request).unwrap();
                    stream.write_all(&answer(request.split(' ').nth(1).unwrap())).await.unwrap();
                    stream.shutdown().await.ok();
                });
            }
        });
        Self { address, folder, authority }
    }

    /// Runs `up` with a page of the site, which is trusted or not; returns its exit code and what it printed.
    async fn up(&self, page: &str, is_trusted: bool) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
        command.args(["up", "--exit", "--wait", "3m", "--listen", "127.0.0.1:0", "--data-dir"]);
        command.arg(self.folder.path().join("data")).arg("-f").arg(format!("{}{page}", self.address));
        command.env("HOME", self.folder.path()).env("RUST_LOG", "warn");
        if is_trusted {
            command.env("SSL_CERT_FILE", &self.authority);
        }
        let output = command.output().await.unwrap();
        let printed = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(printed).unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_comes_from_a_web_server_that_is_trusted() {
    let site = Site::new().await;
    for (page, outcome) in [("/cluster.yaml", "minimal created"), ("/moved.yaml", "minimal unchanged")] {
        let (code, printed) = site.up(page, true).await;
        assert_eq!(code, Some(0), "{page}: {printed}");
        assert!(printed.contains(outcome), "{page}: {printed}");
    }
    let (code, printed) = site.up("/cluster.yaml", false).await;
    assert_eq!(code, Some(1), "{printed}");
    assert!(printed.contains("certificate"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_manifest_is_said_with_its_address() {
    let site = Site::new().await;
    for (page, cause) in [
        ("/none.yaml", "the server answered 404"),
        ("/round.yaml", "redirects"),
        ("/picture", "is no text"),
        ("/empty.yaml", "has only comments or nothing"),
        ("/page.html", "page.html:1"),
    ] {
        let (code, printed) = site.up(page, true).await;
        assert_eq!(code, Some(1), "{page}: {printed}");
        assert!(printed.contains(cause) && printed.contains(&site.address), "{page}: {printed}");
        assert_eq!(printed.lines().filter(|line| !line.is_empty()).count(), 1, "{page}: {printed}");
    }
    assert!(!site.folder.path().join("data").exists(), "nothing was begun");
}
