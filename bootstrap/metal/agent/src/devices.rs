//! Handles the kernel's messages about new devices (uevents): loads their drivers, and reports when no further devices appear.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use machinery::clock::Clock;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, netlink};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::journal::Journal;
use crate::modules::Loader;

/// The netlink multicast group of the kernel's messages.
const GROUP: u32 = 1;
/// The buffer size of a message; the kernel limits the variables to 2 KiB, plus a path.
const MESSAGE_BYTES_MAX: usize = 8192;
/// If no device has appeared for this long, the drivers have found all devices.
const QUIET: Duration = Duration::from_millis(700);
/// The longest wait for drivers that keep finding devices.
const SETTLE_MAX: Duration = Duration::from_secs(20);

/// Tracks the time at which the newest device appeared.
#[derive(Clone)]
pub struct Devices {
    newest: watch::Receiver<Instant>,
    clock: Clock,
}

impl Devices {
    /// Loads the drivers of all devices, of present ones and of those that appear later.
    ///
    /// # Errors
    /// The netlink socket or the thread cannot be created.
    pub fn watch(loader: Arc<Loader>, clock: Clock, journal: &Journal) -> Result<Self> {
        // The socket exists before the present devices are enumerated, so no device is missed in between.
        let socket = rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(netlink::KOBJECT_UEVENT),
        )
        .context("cannot listen to the kernel's messages about devices")?;
        rustix::net::bind(&socket, &netlink::SocketAddrNetlink::new(0, GROUP))
            .context("cannot listen to the kernel's messages about devices")?;
        let (came, newest) = watch::channel(clock.monotonic());
        let (journal, of_thread) = (journal.clone(), clock.clone());
        // A separate thread, because it waits for ever and because loading a driver blocks.
        std::thread::Builder::new()
            .name("devices".into())
            .spawn(move || {
                let error = listen(&socket, &|| _ = came.send_replace(of_thread.monotonic()), &loader);
                journal.line(format!("no more messages about devices: {error}"));
            })
            .context("cannot start a thread")?;
        Ok(Self { newest, clock })
    }

    /// Waits until another device has appeared, at most `time`.
    pub async fn more(&mut self, time: Duration) {
        // If the thread has ended, nothing will be reported, and the timeout passes.
        let _ = tokio::time::timeout(time, async {
            if self.newest.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
        .await;
    }

    /// Waits until no further devices appear.
    pub async fn settle(&self) {
        let quiet = async {
            loop {
                let since = self.clock.monotonic().duration_since(*self.newest.borrow());
                if since >= QUIET {
                    return;
                }
                self.clock.sleep(QUIET.saturating_sub(since)).await;
            }
        };
        // After SETTLE_MAX the present devices must do.
        let _ = tokio::time::timeout(SETTLE_MAX, quiet).await;
    }
}

/// Loads drivers for new devices until the socket fails.
fn listen(socket: &OwnedFd, came: &dyn Fn(), loader: &Loader) -> io::Error {
    let mut buffer = vec![0; MESSAGE_BYTES_MAX];
    loop {
        match rustix::net::recv(socket, buffer.as_mut_slice(), RecvFlags::empty()) {
            Ok((length, _)) => {
                if let Some(modalias) = added(&buffer[..length]) {
                    if let Some(modalias) = modalias {
                        loader.load_for(modalias);
                    }
                    came();
                }
            }
            Err(Errno::INTR) => {}
            // Messages were lost because they came too fast, so all present devices are enumerated again.
            Err(Errno::NOBUFS) => loader.load_for_all("/sys/bus".as_ref()),
            Err(error) => return error.into(),
        }
    }
}

/// Returns `Some` for a message about a new device, with its `MODALIAS` if it has one.
pub fn added(message: &[u8]) -> Option<Option<&str>> {
    let mut fields = message.split(|byte| *byte == 0).filter_map(|field| std::str::from_utf8(field).ok());
    if !fields.next()?.starts_with("add@") {
        return None;
    }
    Some(fields.find_map(|field| field.strip_prefix("MODALIAS=")))
}
