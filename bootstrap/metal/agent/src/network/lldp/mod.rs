//! Which switch and port a cable leads to: switches say it by themselves (IEEE 802.1AB), when a cable comes up and about every half a minute.

mod message;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use machinery::clock::Clock;
use nix::errno::Errno;
use nix::sys::socket::{LinkAddr, recvfrom};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

pub use message::Neighbour;

use super::interfaces;
use crate::journal::Journal;

/// What LLDP is among Ethernet's protocols.
const ETHERTYPE: u16 = 0x88cc;
/// Bytes of a message; jumbo frames among them.
const MESSAGE_BYTES_MAX: usize = 9216;
/// A switch says who it is at least this often, unless it was told otherwise.
const PERIOD: Duration = Duration::from_secs(30);
/// Nobody waits longer than this for switches that have not spoken.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// What was heard of neighbours, by the number of the interface.
#[derive(Clone, Default)]
pub struct Neighbours {
    heard: Arc<watch::Sender<BTreeMap<u32, Neighbour>>>,
    /// Until when a switch that says who it is may not have done so.
    until: Option<Instant>,
}

impl Neighbours {
    /// Listens on all interfaces from now on, those that come later too.
    ///
    /// # Errors
    /// The kernel gives no socket.
    pub fn listen(clock: &Clock, journal: &Journal) -> Result<Self> {
        let protocol = Protocol::from(i32::from(ETHERTYPE.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(protocol))
            .context("cannot listen to switches (LLDP): the kernel gives no packet socket")?;
        let neighbours = Self { heard: Arc::default(), until: Some(clock.monotonic() + PERIOD) };
        let (of_thread, journal) = (neighbours.clone(), journal.clone());
        // A thread of its own: it waits for ever.
        std::thread::Builder::new()
            .name("lldp".into())
            .spawn(move || {
                let error = of_thread.hear(&socket);
                journal.line(format!("no more messages of switches (LLDP): {error}"));
            })
            .context("cannot start a thread")?;
        Ok(neighbours)
    }

    /// What was heard so far.
    pub fn heard(&self) -> BTreeMap<u32, Neighbour> {
        self.heard.borrow().clone()
    }

    /// Waits a little for those at the other end of the cables of `folder` (`/sys/class/net`) that can be expected to speak yet.
    pub async fn settle(&self, folder: &Path) {
        let Some(until) = self.until else { return };
        let has_cable = |name: &str| {
            std::fs::read_to_string(folder.join(name).join("carrier"))
                .is_ok_and(|carrier| carrier.trim() == "1")
        };
        let cables: Vec<_> = interfaces(folder).into_iter().filter(|link| has_cable(&link.name)).collect();
        let mut heard = self.heard.subscribe();
        let all = heard.wait_for(|heard| cables.iter().all(|link| heard.contains_key(&link.index)));
        // A switch that says nothing is no reason not to report the machine; a later inspection has what it said meanwhile.
        let _ = timeout(WAIT_MAX, timeout_at(until, all)).await;
    }

    fn hear(&self, socket: &Socket) -> io::Error {
        let mut buffer = vec![0; MESSAGE_BYTES_MAX];
        loop {
            match recvfrom::<LinkAddr>(socket.as_raw_fd(), &mut buffer) {
                Ok((length, Some(from))) => {
                    let interface = u32::try_from(from.ifindex()).unwrap_or_default();
                    if let Some(neighbour) = Neighbour::read(&buffer[..length]) {
                        self.note(interface, neighbour);
                    }
                }
                Ok((_, None)) | Err(Errno::EINTR) => {}
                Err(error) => return error.into(),
            }
        }
    }

    fn note(&self, interface: u32, neighbour: Neighbour) {
        self.heard.send_modify(|heard| {
            if neighbour.leaves {
                heard.remove(&interface);
            } else {
                heard.insert(interface, neighbour);
            }
        });
    }
}

#[cfg(test)]
mod tests;
