//! A cable that loses and doubles DHCP messages. QEMU hands each frame out over a socket and takes back what is to go on.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::mpsc;

use crate::wait::until;

/// QEMU opens its sockets before the machine starts.
const DEADLINE: Duration = Duration::from_secs(30);

/// The two directions, as QEMU calls them: to the machine, and from it.
const QUEUES: [&str; 2] = ["tx", "rx"];

fn socket(files: &Path, queue: &str, way: &str) -> PathBuf {
    files.with_extension(format!("{queue}-{way}"))
}

/// QEMU's arguments for the cable of the network device `network`; its sockets are named after `files`.
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

/// Carries frames until QEMU ends.
///
/// # Errors
/// When its sockets do not open.
pub async fn carry(files: &Path) -> Result<()> {
    for queue in QUEUES {
        let connect = async |way| {
            let path = socket(files, queue, way);
            until("QEMU's cable", DEADLINE, || async { UnixStream::connect(&path).await.ok() }).await
        };
        let (from, to) = (connect("out").await?, connect("in").await?);
        // QEMU reads nothing while it waits to write: what it writes is always taken.
        let (carried, waiting) = mpsc::unbounded_channel();
        // Both end with QEMU.
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
            // Lost, doubled, carried: whatever takes part gets through after a while, and meets both.
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

/// Whether a frame is one of DHCP for IPv4. A header of virtio, of 10 or 12 bytes, may come first.
fn is_dhcp(frame: &[u8]) -> bool {
    [0, 10, 12].into_iter().any(|header| {
        let Some([8, 0, version, ..]) = frame.get(header + 12..) else { return false };
        let ports = header + 14 + usize::from(version & 15) * 4;
        let is_udp = version >> 4 == 4 && frame.get(header + 23) == Some(&17);
        is_udp && matches!(frame.get(ports..), Some([0, 67 | 68, 0, 67 | 68, ..]))
    })
}
