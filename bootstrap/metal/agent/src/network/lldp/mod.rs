//! Finds the switch and port at the other end of each cable: switches announce them (IEEE 802.1AB) when a link comes up, and about
//! every 30 s.

pub mod message;

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

/// The Ethernet type of LLDP.
const ETHERTYPE: u16 = 0x88cc;
/// The buffer size of a message in bytes, large enough for jumbo frames.
const MESSAGE_BYTES_MAX: usize = 9216;
/// The default interval at which switches announce themselves.
pub const PERIOD: Duration = Duration::from_secs(30);
/// The longest wait for switches that have not announced themselves.
pub const WAIT_MAX: Duration = Duration::from_secs(3);

/// The neighbours that were heard, by interface index.
#[derive(Clone, Default)]
pub struct Neighbours {
    heard: Arc<watch::Sender<BTreeMap<u32, Neighbour>>>,
    /// The time by which every switch with the default interval has announced itself.
    until: Option<Instant>,
}

impl Neighbours {
    /// Starts to listen on all interfaces, including those that appear later.
    ///
    /// # Errors
    /// The socket or the thread cannot be created.
    pub fn listen(clock: &Clock, journal: &Journal) -> Result<Self> {
        let protocol = Protocol::from(i32::from(ETHERTYPE.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(protocol))
            .context("cannot listen to switches (LLDP): the kernel gives no packet socket")?;
        let neighbours = Self::expected_until(Some(clock.monotonic() + PERIOD));
        let (of_thread, journal) = (neighbours.clone(), journal.clone());
        // A separate thread, because it waits for ever.
        std::thread::Builder::new()
            .name("lldp".into())
            .spawn(move || {
                let error = of_thread.hear(&socket);
                journal.line(format!("no more messages of switches (LLDP): {error}"));
            })
            .context("cannot start a thread")?;
        Ok(neighbours)
    }

    /// Returns neighbours of which none has been heard. All of them have announced themselves by this time; `None`: nobody listens.
    pub fn expected_until(until: Option<Instant>) -> Self {
        Self { heard: Arc::default(), until }
    }

    /// Returns the neighbours that have been heard.
    pub fn heard(&self) -> BTreeMap<u32, Neighbour> {
        self.heard.borrow().clone()
    }

    /// Returns a receiver that shows the neighbours, and wakes up when they change.
    pub fn changes(&self) -> watch::Receiver<BTreeMap<u32, Neighbour>> {
        self.heard.subscribe()
    }

    /// Waits briefly for the neighbours of all connected interfaces in `folder` (`/sys/class/net`), as long as they may still announce
    /// themselves.
    pub async fn settle(&self, folder: &Path) {
        let Some(until) = self.until else { return };
        let has_cable = |name: &str| {
            std::fs::read_to_string(folder.join(name).join("carrier"))
                .is_ok_and(|carrier| carrier.trim() == "1")
        };
        let cables: Vec<_> = interfaces(folder).into_iter().filter(|link| has_cable(&link.name)).collect();
        let mut heard = self.heard.subscribe();
        let all = heard.wait_for(|heard| cables.iter().all(|link| heard.contains_key(&link.index)));
        // A silent switch must not delay the machine's report; a later inspection includes what is heard meanwhile.
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

    /// Remembers what was heard on an interface.
    pub fn note(&self, interface: u32, neighbour: Neighbour) {
        self.heard.send_modify(|heard| {
            if neighbour.leaves {
                heard.remove(&interface);
            } else {
                heard.insert(interface, neighbour);
            }
        });
    }
}
