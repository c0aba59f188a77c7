//! Tests of files and scripts over HTTP, through sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::dhcp::MacAddress;
use machinery::random::Random;
use metal_boot::boot_files::BootFiles;
use metal_boot::client::Processor;
use metal_boot::machine::{Boot, Machine};
use metal_boot::table::MachineTable;
use metal_provisioning::http::registry::Registry;
use metal_provisioning::http::server::server;
use metal_provisioning::http::site::Site;
use metal_provisioning::metrics::Metrics;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) struct Bench {
    pub(crate) address: SocketAddr,
    folder: tempfile::TempDir,
    metrics: metrics::Metrics,
    shutdown: CancellationToken,
    tasks: TaskTracker,
}

/// More bytes than are read into memory at a time.
const LENGTH: usize = 5_300_000;

fn content() -> Vec<u8> {
    (0..LENGTH).map(|at| (at % 253) as u8).collect()
}

impl Bench {
    pub(crate) async fn new() -> Self {
        Self::with(Registry::default()).await
    }

    /// Starts a server that also has the images of a registry.
    pub(crate) async fn with(registry: Registry) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("images")).unwrap();
        std::fs::write(path("uki"), content()).unwrap();
        std::fs::write(path("images/a b.raw"), "image").unwrap();
        std::fs::write(path("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(path("secret"), path("images/link")).unwrap();
        let directory = MachineTable::default();
        let agent = Machine { boot: Boot::Agent, ..Machine::default() };
        directory.set(MacAddress([0x52, 0x54, 0, 0, 0, 1]), agent);
        let site = Site {
            bootstrap: None,
            boot: BootFiles { unified: [(Processor::X86_64, path("uki"))].into(), ..BootFiles::default() },
            tftp: Default::default(),
            images: Some(path("images")),
            registry,
            directory: Arc::new(directory),
            metadata: None,
            media: None,
            agents: None,
            personal: None,
            bundle_files: None,
            http_port: 8080,
            https_port: Some(8443),
        };
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, tasks, shutdown) =
            (tcp.local_addr().unwrap(), TaskTracker::new(), CancellationToken::new());
        let metrics = metrics::Metrics::default();
        let server = server(Arc::new(site), None, &Metrics::of(&metrics), &Random::seeded(1));
        tasks.spawn(server.serve_until(tcp, shutdown.clone().cancelled_owned()));
        Self { address, folder, metrics, shutdown, tasks }
    }

    /// Returns status, headers in lower case, and body of a response.
    pub(crate) async fn ask(&self, method: &str, path: &str, headers: &str) -> (u16, String, Vec<u8>) {
        let ask = async {
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            let head = format!("{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{headers}\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.unwrap();
            let end = answer.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
            let head = String::from_utf8(answer[..end].to_vec()).unwrap().to_lowercase();
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            (status, head, answer[end + 4..].to_vec())
        };
        tokio::time::timeout(Duration::from_secs(20), ask).await.expect("an answer")
    }

    pub(crate) async fn end(self) {
        self.shutdown.cancel();
        self.tasks.close();
        tokio::time::timeout(Duration::from_secs(10), self.tasks.wait()).await.expect("the server ends");
        drop(self.folder);
    }
}

#[tokio::test]
async fn firmware_asks_for_the_head_and_then_for_the_file() {
    let bench = Bench::new().await;
    let path = "/boot/uki/x86_64.efi";
    let (status, head, body) = bench.ask("HEAD", path, "").await;
    assert_eq!((status, body.len()), (200, 0));
    assert!(head.contains(&format!("content-length: {LENGTH}")), "{head}");
    let (status, _, body) = bench.ask("GET", path, "").await;
    assert!(status == 200 && body == content());
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    let (status, _, body) = bench.ask("GET", path, &format!("if-none-match: {tag}\r\n")).await;
    assert_eq!((status, body.len()), (304, 0));
    bench.end().await;
}

#[tokio::test]
async fn requests_and_bytes_are_in_the_metrics() {
    let bench = Bench::new().await;
    bench.ask("HEAD", "/boot/uki/x86_64.efi", "").await;
    bench.ask("GET", "/boot/uki/x86_64.efi", "range: bytes=600000-1200000\r\n").await;
    let (_, head, _) = bench.ask("GET", "/images/a%20b.raw", "").await;
    assert!(head.contains("content-length: 5\r\n"), "a counted body has its length: {head}");
    bench.ask("GET", "/images/missing", "").await;
    bench.ask("GET", "/made-up-by-a-machine", "").await;
    let text = bench.metrics.text();
    for line in [
        "http_requests_total{service=\"boot\",code=\"200\"} 1\n",
        "http_requests_total{service=\"boot\",code=\"206\"} 1\n",
        "http_requests_total{service=\"images\",code=\"200\"} 1\n",
        "http_requests_total{service=\"images\",code=\"404\"} 1\n",
        "http_requests_total{service=\"metadata\",code=\"404\"} 1\n",
        "http_sent_bytes_total{service=\"boot\"} 600001\n",
        "http_sent_bytes_total{service=\"images\"} 15\n",
    ] {
        assert!(text.contains(&format!("firstlight_netboot_{line}")), "{line}{text}");
    }
    assert!(!text.contains("made-up"), "machines do not make up labels: {text}");
    bench.end().await;
}

#[tokio::test]
async fn parts_of_files() {
    let bench = Bench::new().await;
    let path = "/boot/uki/x86_64.efi";
    let (_, head, _) = bench.ask("HEAD", path, "").await;
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    let cases = [
        ("range: bytes=5-9\r\n".to_owned(), 206, 5..10),
        ("range: bytes=600000-1200000\r\n".to_owned(), 206, 600_000..1_200_001),
        ("range: bytes=-7\r\n".to_owned(), 206, LENGTH - 7..LENGTH),
        (format!("range: bytes=5-9\r\nif-range: {tag}\r\n"), 206, 5..10),
        ("range: bytes=5-9\r\nif-range: \"other\"\r\n".to_owned(), 200, 0..LENGTH),
        (format!("range: bytes={LENGTH}-\r\n"), 416, 0..0),
    ];
    for (headers, expected, range) in cases {
        let (status, head, body) = bench.ask("GET", path, &headers).await;
        assert_eq!(status, expected, "{headers}");
        assert!(body == content()[range.clone()], "{headers}");
        if status == 206 {
            let said = format!("content-range: bytes {}-{}/{LENGTH}", range.start, range.end - 1);
            assert!(head.contains(&said), "{head}");
        }
    }
    bench.end().await;
}

#[tokio::test]
async fn answers_on_one_connection_are_told_apart() {
    let bench = Bench::new().await;
    let path = "/boot/uki/x86_64.efi";
    let asked = [
        (path, "range: bytes=7-2500000\r\n", content()[7..2_500_001].to_vec()),
        ("/images/a%20b.raw", "", b"image".to_vec()),
        ("/images/missing", "", b"not found\n".to_vec()),
        (path, "", content()),
    ];
    let mut stream = TcpStream::connect(bench.address).await.unwrap();
    let mut requests = String::new();
    for (path, headers, _) in &asked {
        requests.push_str(&format!("GET {path} HTTP/1.1\r\nhost: a\r\n{headers}\r\n"));
    }
    // All requests are sent before the first response is read.
    stream.write_all(requests.as_bytes()).await.unwrap();
    for (path, headers, expected) in asked {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let mut body = vec![0; expected.len()];
        stream.read_exact(&mut body).await.unwrap();
        assert!(body == expected, "{path} {headers}");
    }
    bench.end().await;
}

#[tokio::test]
async fn a_file_that_becomes_shorter_breaks_the_answer_off() {
    let bench = Bench::new().await;
    let mut stream = TcpStream::connect(bench.address).await.unwrap();
    stream.write_all(b"GET /boot/uki/x86_64.efi HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    // The unread rest is too large for the buffers between server and client.
    stream.read_u8().await.unwrap();
    let file = std::fs::OpenOptions::new().write(true).open(bench.folder.path().join("uki")).unwrap();
    file.set_len(10).unwrap();
    let mut rest = Vec::new();
    let read =
        tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await.expect("an end");
    assert!(read.is_err() || rest.len() < LENGTH, "{} bytes", rest.len());
    bench.end().await;
}

#[tokio::test]
async fn only_what_is_configured_is_served() {
    let bench = Bench::new().await;
    let (status, _, body) = bench.ask("GET", "/images/a%20b.raw", "").await;
    assert_eq!((status, body.as_slice()), (200, b"image".as_slice()));
    let cases = [
        ("GET", "/images/link", 404),
        ("GET", "/images/../secret", 404),
        ("GET", "/images/%2e%2e/secret", 404),
        ("GET", "/images//secret", 404),
        ("GET", "/images/%zz", 404),
        ("GET", "/images/%C3", 404),
        ("GET", "/images/", 404),
        ("GET", "/boot/uki/aarch64.efi", 404),
        ("GET", "/boot/start-from-disk", 404),
        ("GET", "/nocloud/user-data", 404),
        ("GET", "/agent/v1/instruction", 404),
        ("POST", "/boot/uki/x86_64.efi", 405),
        ("GET", "/boot/script/nonsense.ipxe", 404),
    ];
    for (method, path, expected) in cases {
        let (status, _, body) = bench.ask(method, path, "content-length: 0\r\n").await;
        assert_eq!(status, expected, "{path}");
        assert!(!body.windows(6).any(|part| part == b"secret"), "{path}");
    }
    bench.end().await;
}

#[tokio::test]
async fn scripts_name_the_server_as_the_machine_sees_it() {
    let bench = Bench::new().await;
    let (status, _, body) = bench.ask("GET", "/boot/script/52-54-00-00-00-01.ipxe", "").await;
    let text = String::from_utf8(body).unwrap();
    assert_eq!(status, 200);
    assert!(text.contains("kernel http://127.0.0.1:8080/boot/uki/x86_64.efi"), "{text}");
    let (_, _, body) = bench.ask("GET", "/boot/script/52-54-00-00-00-02.ipxe", "").await;
    assert!(String::from_utf8(body).unwrap().contains("sanboot"), "an unknown machine starts from its disk");
    bench.end().await;
}

#[tokio::test]
async fn one_client_that_takes_all_connections_keeps_nobody_else_out() {
    let bench = Bench::new().await;
    let from = |last: u8| async move {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 0, 1, last], 0))).unwrap();
        socket
    };
    let mut held = Vec::new();
    for _ in 0..2 * metal_provisioning::limits::CONNECTIONS_OF_ONE {
        held.push(from(1).await.connect(bench.address).await.unwrap());
    }
    // Connections beyond the client's share are closed at once; the others stay open without a request.
    let mut closed = 0;
    for stream in &mut held[metal_provisioning::limits::CONNECTIONS_OF_ONE..] {
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read_u8()).await;
        closed += usize::from(read.expect("the connection is closed").is_err());
    }
    assert_eq!(closed, metal_provisioning::limits::CONNECTIONS_OF_ONE);
    let counted =
        format!("firstlight_limit_reached_total{{limit=\"netboot_connections_of_one\"}} {closed}\n");
    assert!(bench.metrics.text().contains(&counted), "{}", bench.metrics.text());
    assert_eq!(bench.ask("GET", "/healthz", "").await.0, 200, "another client is answered");
    bench.end().await;
}

/// The kernel sends files, and the HTTP library everything else: their order is that of the requests, also if a client sends all requests
/// first and reads later.
#[tokio::test]
async fn requests_that_come_together_are_answered_in_order() {
    let bench = Bench::new().await;
    let ask = async {
        let mut stream = TcpStream::connect(bench.address).await.unwrap();
        let request = |path: &str, headers: &str| format!("GET {path} HTTP/1.1\r\nhost: a\r\n{headers}\r\n");
        let file = "/boot/uki/x86_64.efi";
        let all = [
            request(file, ""),
            request("/images/a%20b.raw", ""),
            request("/healthz", ""),
            request(file, "range: bytes=1000000-3999999\r\n"),
            request("/missing", ""),
            request("/images/a%20b.raw", "connection: close\r\n"),
        ];
        stream.write_all(all.concat().as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        answer
    };
    let answer = tokio::time::timeout(Duration::from_secs(20), ask).await.expect("an answer");
    let mut rest = answer.as_slice();
    let content = content();
    for (status, body) in [
        (200, content.as_slice()),
        (200, b"image"),
        (200, b"ok\n"),
        (206, &content[1_000_000..4_000_000]),
        (404, b"not found\n"),
        (200, b"image"),
    ] {
        let end = rest.windows(4).position(|part| part == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8(rest[..end].to_vec()).unwrap();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        assert!(rest[end..].starts_with(body), "the body after {head}");
        rest = &rest[end + body.len()..];
    }
    assert!(rest.is_empty());
    bench.end().await;
}
