//! The status of a balancer: JSON at a socket in its folder. Who asks learns what is so now, and that nobody answers if it is gone.

use std::fs;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rustix::fs::{Mode, OFlags};
use system_containers::balancer::{STATUS, Status};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::limits;

const SOCKET: &str = "socket";

/// Connects to the socket in the folder of a balancer. The address of a socket has room for shorter paths than a folder may have (unix(7)).
async fn connect(folder: &Path) -> Result<UnixStream> {
    let path = folder.join(STATUS);
    let folder = rustix::fs::open(&path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .with_context(|| format!("cannot open {}", path.display()))?;
    let connected = UnixStream::connect(format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd())).await;
    connected.context("the balancer does not run")
}

/// Listens at the socket in the folder of a balancer. There is no `/proc` in its container, and the path is short there.
pub(crate) fn listen(folder: &Path) -> Result<UnixListener> {
    let path = folder.join(STATUS).join(SOCKET);
    let cannot = || format!("cannot listen at {}", path.display());
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).with_context(cannot),
        // That of a balancer that has ended.
        _ => {}
    }
    let listener = UnixListener::bind(&path).with_context(cannot)?;
    listener.set_nonblocking(true).with_context(cannot)?;
    Ok(listener)
}

/// Asks a balancer for its status. It reads its configuration before it answers, if that has changed: who has written one sees whether it is used.
///
/// # Errors
/// The balancer does not run, or does not answer within [`limits::ASK`].
pub async fn read(folder: &Path) -> Result<Status> {
    let asked = async {
        let stream = connect(folder).await?;
        let mut text = Vec::new();
        stream.take(limits::STATUS + 1).read_to_end(&mut text).await.context("cannot read its status")?;
        ensure!(text.len() as u64 <= limits::STATUS, "its status has more than {} bytes", limits::STATUS);
        serde_json::from_slice(&text).context("its status cannot be read: is it of another version?")
    };
    let late = || format!("the balancer does not answer within {} s", limits::ASK.as_secs());
    timeout(limits::ASK, asked).await.with_context(late)?
}
