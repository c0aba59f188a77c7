//! A network cable that loses and duplicates DHCP messages. QEMU sends each frame over a socket and reads
//! back the frames to deliver.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use crate::wait::until;

/// Limit for QEMU to open its sockets, which happens before the machine starts.
const DEADLINE: Duration = Duration::from_secs(30);

/// QEMU's names of the directions: to the machine, and from it.
const QUEUES: [&str; 2] = ["tx", "rx"];

fn socket(files: &Path, queue: &str, way: &str) -> PathBuf {
    files.with_extension(format!("{queue}-{way}"))
}

/// Returns QEMU's arguments for the cable; the sockets are named after `files`.
pub fn arguments(files: &Path) -> String {
    let mut text = String::new();
    for queue in QUEUES {
        for way in ["out", "in"] {
            let path = socket(files, queue, way);
            let _ = std::fs::remove_file(&path);
            let path = path.display();
            text += &format!(" -chardev socket,id={queue}-{way},path={path},server=on,wait=off");
        }
        text += &format!(
            " -object filter-redirector,id=cable-{queue},netdev=network,queue={queue},outdev={queue}-out,indev={queue}-in"
        );
    }
    text
}

/// Forwards frames until QEMU ends.
///
/// # Errors
/// Fails if QEMU's sockets do not open.
pub async fn carry(files: &Path) -> Result<()> {
    for queue in QUEUES {
        let connect = async |way| {
            let path = socket(files, queue, way);
            until("QEMU's cable", DEADLINE, || async { UnixStream::connect(&path).await.ok() }).await
        };
        let (from, to) = (connect("out").await?, connect("in").await?);
        // QEMU reads nothing while it waits to write, so its output must always be read.
        let (carried, waiting) = mpsc::unbounded_channel();
        // Both tasks end with QEMU.
        tokio::spawn(async move { take(from, carried).await });
        tokio::spawn(async move { give(waiting, to).await });
    }
    Ok(())
}

async fn take(mut from: UnixStream, carried: mpsc::UnboundedSender<Vec<u8>>) -> Result<()> {
    let mut messages = 0usize;
    loop {
        let mut frame = vec![0; from.read_u32().await? as usize];
        from.read_exact(&mut frame).await?;
        let mut copies = 1;
        if is_dhcp(&frame) {
            // Lost, duplicated, delivered in turn: retries succeed eventually, and every client meets both
            // faults.
            copies = [0, 2, 1][messages % 3];
            messages += 1;
        }
        for _ in 0..copies {
            carried.send(frame.clone())?;
        }
    }
}

async fn give(mut waiting: mpsc::UnboundedReceiver<Vec<u8>>, mut to: UnixStream) -> Result<()> {
    while let Some(frame) = waiting.recv().await {
        to.write_u32(frame.len().try_into()?).await?;
        to.write_all(&frame).await?;
    }
    Ok(())
}

/// Returns whether a frame is a DHCPv4 message. A virtio header of 10 or 12 bytes may precede it.
fn is_dhcp(frame: &[u8]) -> bool {
    [0, 10, 12].into_iter().any(|header| {
        let Some([8, 0, version, ..]) = frame.get(header + 12..) else { return false };
        let ports = header + 14 + usize::from(version & 15) * 4;
        let is_udp = version >> 4 == 4 && frame.get(header + 23) == Some(&17);
        is_udp && matches!(frame.get(ports..), Some([0, 67 | 68, 0, 67 | 68, ..]))
    })
}
