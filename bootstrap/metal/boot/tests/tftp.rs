//! Tests of files over TFTP, through sockets, with clients on good and bad networks.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use machinery::clock::Clock;
use metal_boot::boot_files::BootFiles;
use metal_boot::metrics::Metrics;
use metal_boot::network::Interface;
use metal_boot::tftp::server::{Files, Server};
use tokio::net::UdpSocket;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A server on the loopback interface with one file, `boot`.
struct Bench {
    folder: tempfile::TempDir,
    content: Vec<u8>,
    port: u16,
    metrics: metrics::Metrics,
    shutdown: CancellationToken,
    tasks: TaskTracker,
}

impl Bench {
    fn new(length: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        std::fs::write(folder.path().join("boot"), &content).unwrap();
        let boot = BootFiles { tftp: vec![folder.path().to_owned()], ..BootFiles::default() };
        let names = boot.tftp_names().unwrap();
        let (interface, files) = (Interface::find("lo").unwrap(), Files { boot, names, personal: None });
        let metrics = metrics::Metrics::default();
        let server = Server::open(interface, 0, files, Clock::system(), Metrics::of(&metrics)).unwrap();
        let (port, tasks, shutdown) = (server.port().unwrap(), TaskTracker::new(), CancellationToken::new());
        server.run(&tasks, &shutdown);
        Self { folder, content, port, metrics, shutdown, tasks }
    }

    /// Waits until the metrics contain each of `lines`.
    async fn counts(&self, lines: &[&str]) {
        let waits = async {
            while !lines.iter().all(|line| self.metrics.text().contains(line)) {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(20), waits).await;
        assert!(waited.is_ok(), "{}", self.metrics.text());
    }

    async fn end(self) {
        self.shutdown.cancel();
        self.tasks.close();
        tokio::time::timeout(Duration::from_secs(10), self.tasks.wait()).await.expect("the server ends");
        drop(self.folder);
    }
}

/// Reads `file` as a client with these options; of the packets in either direction, every `lossy`th is lost or doubled, alternately.
async fn read(port: u16, file: &str, options: &[(&str, &str)], lossy: usize) -> Result<Vec<u8>, String> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let mut request = format!("\0\u{1}{file}\0octet\0");
    for (name, value) in options {
        request.push_str(&format!("{name}\0{value}\0"));
    }
    let server = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    socket.send_to(request.as_bytes(), server).await.unwrap();
    let (mut block, mut window) = (512, 1u64);
    let (mut content, mut received, mut count, mut heard) = (Vec::new(), 0u64, 0usize, 0u64);
    let mut buffer = [0; 2000];
    let bad = |count: &mut usize| {
        *count += 1;
        lossy > 0 && (*count).is_multiple_of(lossy)
    };
    loop {
        let deadline = Duration::from_secs(10);
        let waited = tokio::time::timeout(deadline, socket.recv_from(&mut buffer)).await;
        let (length, peer) = waited.map_err(|_| format!("nothing more after {received} blocks"))?.unwrap();
        if bad(&mut count) && count % 2 == 0 {
            continue;
        }
        let times = if count.is_multiple_of(lossy.max(2) * 3) && lossy > 0 { 2 } else { 1 };
        let (operation, rest) = (buffer[1], &buffer[2..length]);
        let acknowledge = match operation {
            3 => {
                heard += 1;
                let number = u64::from(u16::from_be_bytes([rest[0], rest[1]]));
                let is_next = number == (received + 1) & 0xffff;
                if is_next {
                    received += 1;
                    content.extend_from_slice(&rest[2..]);
                }
                let is_last = is_next && rest.len() - 2 < block;
                if is_last {
                    socket.send_to(&[0, 4, rest[0], rest[1]], peer).await.unwrap();
                    assert!(lossy > 0 || heard == received, "no block came twice");
                    return Ok(content);
                }
                // Acknowledge at the end of a window, and when a block is missing.
                (!is_next || received % window == 0).then_some((received & 0xffff) as u16)
            }
            6 => {
                let words: Vec<&str> = std::str::from_utf8(rest).unwrap().split('\0').collect();
                for pair in words.chunks(2) {
                    match pair {
                        ["blksize", value] => block = value.parse().unwrap(),
                        ["windowsize", value] => window = value.parse().unwrap(),
                        _ => {}
                    }
                }
                Some(0)
            }
            _ => return Err(String::from_utf8_lossy(&rest[2..]).into_owned()),
        };
        if let Some(number) = acknowledge {
            for _ in 0..times {
                let [high, low] = number.to_be_bytes();
                if !bad(&mut count) {
                    socket.send_to(&[0, 4, high, low], peer).await.unwrap();
                }
            }
        }
    }
}

#[tokio::test]
async fn files_of_every_length() {
    for length in [0, 1, 511, 512, 513, 70_000] {
        let bench = Bench::new(length);
        for options in
            [&[][..], &[("blksize", "1468"), ("tsize", "0")], &[("blksize", "1024"), ("windowsize", "4")]]
        {
            let content = read(bench.port, "boot", options, 0).await;
            assert_eq!(content.as_deref(), Ok(bench.content.as_slice()), "{length} bytes, {options:?}");
        }
        bench.end().await;
    }
}

#[tokio::test]
async fn block_numbers_begin_again() {
    let bench = Bench::new(70_000 * 64);
    let content = read(bench.port, "boot", &[("blksize", "64"), ("windowsize", "16")], 0).await;
    assert!(content.is_ok_and(|content| content == bench.content));
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packets_are_lost_and_doubled() {
    let bench = Bench::new(40_000);
    let (plain, window) = ([("blksize", "1468"), ("timeout", "1")], [("windowsize", "8"), ("timeout", "1")]);
    let (first, second) =
        tokio::join!(read(bench.port, "boot", &plain, 7), read(bench.port, "boot", &window, 11));
    assert_eq!(first.as_deref(), Ok(bench.content.as_slice()));
    assert_eq!(second.as_deref(), Ok(bench.content.as_slice()));
    bench.end().await;
}

#[tokio::test]
async fn only_configured_files_are_served() {
    let bench = Bench::new(10);
    for name in ["../boot", "/etc/passwd", "boot/", "./boot", "nothing", "start-from-disk"] {
        assert_eq!(read(bench.port, name, &[], 0).await, Err("no such file\0".into()), "{name}");
    }
    assert!(read(bench.port, "0123abcd/boot", &[], 0).await.is_ok(), "a Raspberry Pi's serial number");
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    socket.send_to(b"\0\x02boot\0octet\0", (Ipv4Addr::LOCALHOST, bench.port)).await.unwrap();
    let mut buffer = [0; 100];
    let length =
        tokio::time::timeout(Duration::from_secs(10), socket.recv(&mut buffer)).await.unwrap().unwrap();
    assert_eq!(&buffer[..4], &[0, 5, 0, 2], "{:?}", &buffer[..length]);
    let transfers = "firstlight_netboot_tftp_transfers_total";
    let missing = format!("{transfers}{{result=\"not_found\"}} 6\n");
    let complete = format!("{transfers}{{result=\"complete\"}} 1\n");
    bench.counts(&[&missing, &complete, "firstlight_netboot_tftp_file_bytes_total 10\n"]).await;
    bench.end().await;
}

#[test]
fn silent_clients_keep_nobody_waiting() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(silent_clients());
}

/// Binds a socket to an address of its own; the loopback network has 16 million of them.
async fn client(last: u8) -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::new(127, 0, 1, last), 0)).await.unwrap()
}

async fn silent_clients() {
    let bench = Bench::new(4096);
    let mut silent = Vec::new();
    for number in 0..100 {
        let socket = client(number).await;
        let request = b"\0\x01boot\0octet\0timeout\x005\0";
        socket.send_to(request, (Ipv4Addr::LOCALHOST, bench.port)).await.unwrap();
        // The server acknowledges the options, and then the client stays silent.
        let mut buffer = [0; 600];
        let heard = tokio::time::timeout(Duration::from_secs(10), socket.recv(&mut buffer)).await;
        assert_eq!(&buffer[..heard.unwrap().unwrap()][..2], &[0, 6]);
        silent.push(socket);
    }
    assert_eq!(read(bench.port, "boot", &[], 0).await.as_deref(), Ok(bench.content.as_slice()));
    let elsewhere = tokio::time::timeout(Duration::from_secs(10), tokio::task::spawn_blocking(|| 7)).await;
    assert_eq!(elsewhere.expect("nobody holds the runtime's threads").unwrap(), 7);
    // The server stops long before the clients' timeouts expire.
    bench.end().await;
}

#[tokio::test]
async fn one_client_that_asks_without_end_keeps_nobody_else_waiting() {
    let bench = Bench::new(4096);
    let mut sockets = Vec::new();
    // More requests than there are transfers, with the longest timeout that the option allows.
    for _ in 0..600 {
        let socket = client(1).await;
        let request = b"\0\x01boot\0octet\0timeout\x00255\0";
        socket.send_to(request, (Ipv4Addr::LOCALHOST, bench.port)).await.unwrap();
        sockets.push(socket);
    }
    assert_eq!(read(bench.port, "boot", &[], 0).await.as_deref(), Ok(bench.content.as_slice()));
    // The timeout is not acknowledged: without options, the first block is the answer.
    let mut buffer = [0; 600];
    let heard = tokio::time::timeout(Duration::from_secs(10), sockets[0].recv(&mut buffer)).await;
    assert_eq!(&buffer[..heard.unwrap().unwrap()][..2], &[0, 3]);
    bench.end().await;
}

#[tokio::test]
async fn nobody_who_is_silent_keeps_a_place_for_long() {
    let bench = Bench::new(4096);
    let mut sockets = Vec::new();
    for _ in 0..metal_boot::limits::TRANSFERS_OF_ONE {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let request = b"\0\x01boot\0octet\0timeout\x005\0tsize\x000\0";
        socket.send_to(request, (Ipv4Addr::LOCALHOST, bench.port)).await.unwrap();
        sockets.push(socket);
    }
    // The next request waits for a free transfer, as that of any client that retries.
    let (socket, mut buffer) = (UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap(), [0; 600]);
    let asks = async {
        loop {
            socket.send_to(b"\0\x01boot\0octet\0", (Ipv4Addr::LOCALHOST, bench.port)).await.unwrap();
            let heard = tokio::time::timeout(Duration::from_millis(200), socket.recv(&mut buffer)).await;
            if let Ok(heard) = heard {
                return heard.unwrap();
            }
        }
    };
    let length = tokio::time::timeout(Duration::from_secs(60), asks).await.expect("a place");
    let each = format!("transfers_total{{result=\"timed_out\"}} {}\n", metal_boot::limits::TRANSFERS_OF_ONE);
    bench
        .counts(&[
            &each,
            "limit_reached_total{limit=\"netboot_tftp_tries\"}",
            "{limit=\"netboot_transfers_of_one\"}",
        ])
        .await;
    assert_eq!((length, &buffer[..4]), (4 + 512, &[0, 3, 0, 1][..]));
    bench.end().await;
}

#[tokio::test]
async fn a_lost_block_comes_again_to_a_client_that_repeats_itself() {
    let bench = Bench::new(4096);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    socket.send_to(b"\0\x01boot\0octet\0", (Ipv4Addr::LOCALHOST, bench.port)).await.unwrap();
    let mut buffer = [0; 600];
    let first = tokio::time::timeout(Duration::from_secs(10), socket.recv_from(&mut buffer)).await;
    let (_, peer) = first.unwrap().unwrap();
    // The client repeats that it lacks the first block, more often than the server repeats anything.
    let mut again = None;
    for _ in 0..50 {
        socket.send_to(&[0, 4, 0, 0], peer).await.unwrap();
        again = tokio::time::timeout(Duration::from_millis(200), socket.recv(&mut buffer)).await.ok();
        if again.is_some() {
            break;
        }
    }
    assert_eq!(again.expect("it is sent again").unwrap(), 4 + 512);
    assert_eq!(&buffer[..4], &[0, 3, 0, 1]);
    bench.end().await;
}
