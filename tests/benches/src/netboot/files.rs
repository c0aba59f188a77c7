//! Benchmarks of file transfers over TFTP and HTTP.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use machinery::clock::Clock;
use nix::sys::socket::{MsgFlags, recv};
use tokio::process::Child;

use super::pair::{Pair, median};
use super::place::{CLIENT, Firstlight, PEER, Place, SERVER, listens, pinned};
use crate::bench::{Bench, print};

/// Path of the UEFI image over TFTP.
const BOOT_FILE: &str = "uki/x86_64.efi";
const IMAGE: &str = "image";
const IMAGE_BYTES: usize = 300 << 20;
/// HTTP port of both servers.
pub const PORT: u16 = 8080;
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs these benchmarks. Returns the peer, which serves the folder `served`.
pub async fn run(
    bench: &Bench,
    firstlight: &Firstlight,
    place: &Place,
    folder: &Path,
    images: &Path,
) -> Result<Child> {
    let served = folder.join("served");
    std::fs::create_dir_all(served.join("uki"))?;
    std::fs::copy(firstlight.unified(), served.join(BOOT_FILE))?;
    let content: Vec<u8> = (0..IMAGE_BYTES).map(|at| (at / 7 % 251) as u8).collect();
    std::fs::create_dir(served.join("images"))?;
    for path in [images.join(IMAGE), served.join("images").join(IMAGE)] {
        std::fs::write(path, &content)?;
    }
    tftp_all(bench, place, folder, &served).await?;
    let nginx = nginx(bench, place, folder, &served).await?;
    for clients in [1, 4] {
        let mut pair = Pair::new(format!("HTTP, 300 MiB, {clients} at once"), "MB/s");
        for _ in 0..bench.rounds {
            pair.peer.push(http(PEER, clients, &bench.clock).await?);
            pair.ours.push(http(SERVER, clients, &bench.clock).await?);
        }
        pair.print();
    }
    Ok(nginx)
}

async fn tftp_all(bench: &Bench, place: &Place, folder: &Path, served: &Path) -> Result<()> {
    let _dnsmasq = tftp_server(place, folder, served)?;
    let mut pair = Pair::new("TFTP, blocks of 1468 bytes, one at a time", "MB/s");
    let mut windows = Vec::new();
    for _ in 0..bench.rounds {
        pair.peer.push(tftp(PEER, 1, &bench.clock).await?);
        pair.ours.push(tftp(SERVER, 1, &bench.clock).await?);
        windows.push(tftp(SERVER, 16, &bench.clock).await?);
    }
    pair.print();
    print(&format!("| … in windows of 16 | does not know them | {:.1} MB/s | | |", median(&windows)));
    Ok(())
}

fn tftp_server(place: &Place, folder: &Path, served: &Path) -> Result<Child> {
    let mut command = place.program(Path::new("dnsmasq"), &folder.join("tftp.log"))?;
    command.args(["--keep-in-foreground", "--conf-file=/dev/null", "--log-facility=-", "--user=root"]);
    command.args(["--pid-file=", "--port=0", "--interface=eth0", "--enable-tftp"]);
    command.arg(format!("--tftp-root={}", served.display()));
    command.spawn().context("dnsmasq is needed")
}

/// Starts a single-process nginx that serves the folder.
pub async fn nginx(bench: &Bench, place: &Place, folder: &Path, served: &Path) -> Result<Child> {
    let (configuration, log) = (folder.join("nginx.conf"), folder.join("nginx.log"));
    let text = format!(
        "daemon off; user root; worker_processes 1; pid {pid}; error_log stderr;\nevents {{ worker_connections 64; }}\n\
         http {{ access_log off; sendfile on; tcp_nopush on; server {{ listen {PEER}:{PORT}; root {root}; }} }}\n",
        pid = folder.join("nginx.pid").display(),
        root = served.display(),
    );
    std::fs::write(&configuration, text)?;
    let mut command = place.program(Path::new("nginx"), &log)?;
    let mut process = command.arg("-c").arg(&configuration).spawn().context("nginx is needed")?;
    listens(&bench.clock, (PEER, PORT).into(), &mut process, &log).await?;
    Ok(process)
}

/// Returns the rate of a TFTP transfer in MB/s.
async fn tftp(server: Ipv4Addr, window: u16, clock: &Clock) -> Result<f64> {
    let clock = clock.clone();
    let work = move || {
        let begun = clock.monotonic();
        let bytes = transfer(server, window)?;
        Ok(bytes as f64 / 1e6 / (clock.monotonic() - begun).as_secs_f64())
    };
    pinned(work).await
}

/// Fetches the boot file; returns its size.
fn transfer(server: Ipv4Addr, window: u16) -> Result<usize> {
    const BLOCK: usize = 1468;
    let socket = UdpSocket::bind((CLIENT, 0))?;
    let mut request = format!("\0\u{1}{BOOT_FILE}\0octet\0blksize\0{BLOCK}\0");
    if window > 1 {
        request.push_str(&format!("windowsize\0{window}\0"));
    }
    // Wait until the server is up; it may still be starting.
    socket.set_read_timeout(Some(Duration::from_millis(200)))?;
    let starting = (0..25).any(|_| {
        let asked = socket.send_to(request.as_bytes(), (server, 69));
        asked.is_ok() && socket.peek_from(&mut [0; BLOCK + 4]).is_ok()
    });
    ensure!(starting, "{server} does not answer");
    socket.set_read_timeout(Some(PATIENCE))?;
    let (mut buffer, mut bytes, mut last, mut since) = ([0; BLOCK + 4], 0, 0_u16, 0);
    loop {
        let (length, from) = socket.recv_from(&mut buffer).context("the transfer stalls")?;
        let acknowledge = |number: u16| socket.send_to(&[&[0, 4][..], &number.to_be_bytes()].concat(), from);
        match (&buffer[..2], u16::from_be_bytes([buffer[2], buffer[3]])) {
            ([0, 6], _) => drop(acknowledge(0)?),
            ([0, 3], number) if number == last.wrapping_add(1) => {
                (last, bytes, since) = (number, bytes + length - 4, since + 1);
                let is_end = length < BLOCK + 4;
                if is_end || since == window {
                    acknowledge(number)?;
                    since = 0;
                }
                if is_end {
                    return Ok(bytes);
                }
            }
            // A duplicate of an earlier packet.
            ([0, 3], _) => {}
            _ => bail!("{server}: {}", String::from_utf8_lossy(&buffer[4..length])),
        }
    }
}

/// Returns the total rate in MB/s of several clients, each of which fetches the whole image.
async fn http(server: Ipv4Addr, clients: usize, clock: &Clock) -> Result<f64> {
    let begun = clock.monotonic();
    let fetches =
        (0..clients).map(|_| pinned(move || fetch(server, &format!("images/{IMAGE}"), IMAGE_BYTES)));
    futures::future::try_join_all(fetches).await?;
    let bytes = (clients * IMAGE_BYTES) as f64;
    Ok(bytes / 1e6 / (clock.monotonic() - begun).as_secs_f64())
}

/// Fetches a file of this size. The kernel discards the data, so that the server is measured and not the
/// client.
pub fn fetch(server: Ipv4Addr, path: &str, bytes: usize) -> Result<()> {
    let mut stream = TcpStream::connect((server, PORT))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n")?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.extend(byte);
    }
    ensure!(head.starts_with(b"HTTP/1.1 200"), "{server}: {}", String::from_utf8_lossy(&head));
    let (mut left, mut buffer) = (bytes, vec![0; 1 << 20]);
    while left > 0 {
        let count = left.min(buffer.len());
        match recv(stream.as_raw_fd(), &mut buffer[..count], MsgFlags::MSG_TRUNC)? {
            0 => bail!("{server}: {left} bytes are missing"),
            count => left -= count,
        }
    }
    Ok(())
}
