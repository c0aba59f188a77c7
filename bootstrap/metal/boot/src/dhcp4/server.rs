//! The sockets of DHCP for IPv4.

use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::path::Path;
use std::sync::Arc;

use dhcp::{MacAddress, Packet};
use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::net::UdpSocket;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::journal::Journal;
use super::leases::Leases;
use super::observed::Observed;
use super::plan::{Answer, CLIENT_PORT, Known, Link, Mode, Outcome, PXE_PORT, SERVER_PORT, plan};
use crate::error::Error;
use crate::limits;
use crate::machine::{Directory, Lease};
use crate::network;

/// What the servers of all interfaces share: who has which address, and who knows the machines.
///
/// Invariant: no address is two machines', whenever the process ends. What is offered is kept in memory only, since nobody uses an address
/// that it was merely offered. What a machine is told to use is on the disk before ([`Journal`]), in the order in which it was decided,
/// and is kept for it in memory until then; who starts anew knows all of it.
pub struct Addresses {
    leases: Mutex<Leases>,
    directory: Arc<dyn Directory>,
    clock: Clock,
    journal: Journal,
    /// What machines were seen to take of another server, where this one only says what to boot.
    observed: Mutex<Observed>,
    /// Machines whose address is another machine's now: their leases are no objects any more.
    displaced: mpsc::UnboundedSender<MacAddress>,
    forgets: Mutex<Option<mpsc::UnboundedReceiver<MacAddress>>>,
}

/// A lease on its way to the disk.
type Writing = (Lease, oneshot::Receiver<()>);

impl Addresses {
    /// Begins with the leases that `directory` has written down, and those of the file `journal`, which are newer.
    ///
    /// # Errors
    /// The file cannot be read or made.
    pub fn open(directory: Arc<dyn Directory>, clock: Clock, journal: &Path) -> Result<Arc<Self>, Error> {
        let failed = |source| Error::File { path: journal.display().to_string(), source };
        let (journal, newer) = Journal::open(journal).map_err(failed)?;
        let mut older = directory.leases();
        // Of machines that had one address the last counts.
        older.sort_by_key(|lease| lease.expires);
        let mut leases = Leases::default();
        let (displaced, forgets) = mpsc::unbounded_channel();
        for lease in older.into_iter().chain(newer) {
            if let Some(before) = leases.set(lease) {
                // The receiver is here.
                let _ = displaced.send(before);
            }
        }
        let forgets = Mutex::new(Some(forgets));
        let (leases, observed) = (Mutex::new(leases), Mutex::default());
        Ok(Arc::new(Self { leases, directory, clock, journal, observed, displaced, forgets }))
    }

    /// Writes leases down until `shutdown`; without it nobody who needs a lease is answered.
    pub fn run(self: &Arc<Self>, tasks: &TaskTracker, shutdown: &CancellationToken) {
        let (commits, follows) = (self.clone(), self.clone());
        tasks
            .spawn(shutdown.clone().run_until_cancelled_owned(async move { commits.journal.commit().await }));
        tasks.spawn(shutdown.clone().run_until_cancelled_owned(async move {
            follows.journal.follow(follows.directory.as_ref(), &follows.clock).await;
        }));
        if let Some(displaced) = self.forgets.lock().take() {
            let addresses = self.clone();
            tasks.spawn(shutdown.clone().run_until_cancelled_owned(addresses.forget(displaced)));
        }
    }

    /// Removes the objects of leases whose addresses are other machines' now: there is one for each address, however many machines come.
    async fn forget(self: Arc<Self>, mut displaced: mpsc::UnboundedReceiver<MacAddress>) {
        while let Some(mac) = displaced.recv().await {
            self.journal.wait_until_object(mac).await;
            if self.leases.lock().of(mac).is_some() {
                continue;
            }
            if let Err(error) = self.directory.remove_lease(mac).await {
                tracing::warn!(%mac, %error, "a lease that has ended is still an object");
            }
        }
    }

    /// Waits until the lease of the machine is an object, for a while.
    pub async fn wait_until_object(&self, mac: MacAddress) {
        // When it is none by then, who needs it says so.
        let _ = tokio::time::timeout(limits::LEASE_OBJECT, self.journal.wait_until_object(mac)).await;
    }

    /// The machine that has `address` now: by its lease, or by the address that it was given in IPv6, which is made of its own.
    pub fn holder_of(&self, address: IpAddr) -> Option<MacAddress> {
        match address.to_canonical() {
            IpAddr::V4(address) => self.leases.lock().holder(address, self.clock.now()),
            IpAddr::V6(address) => {
                let identifier = address.octets()[8..].try_into().ok()?;
                MacAddress::of_interface_identifier(identifier)
            }
        }
    }

    /// The machine that has leased `address`, here or, where another server gives addresses, there.
    pub fn lease_of(&self, address: IpAddr) -> Option<MacAddress> {
        let IpAddr::V4(address) = address.to_canonical() else { return None };
        let now = self.clock.now();
        self.leases.lock().holder(address, now).or_else(|| self.observed.lock().holder(address, now))
    }

    /// Whether the machine has a lease.
    pub fn has_lease(&self, mac: MacAddress) -> bool {
        self.leases.lock().of(mac).is_some_and(|lease| lease.expires > self.clock.now())
    }

    /// Whether the machine with this address is one that somebody described.
    pub fn is_known(&self, address: IpAddr) -> bool {
        let mac = self.lease_of(address).or_else(|| self.holder_of(address));
        mac.is_some_and(|mac| self.directory.machine(mac).known)
    }

    /// The answer to a message that came in at `port` of a link, after its lease is on the disk.
    pub async fn exchange(&self, request: &Packet, link: &Link, port: u16) -> Option<Answer> {
        let source = SocketAddrV4::new(request.client, CLIENT_PORT);
        let (writing, answer, _) = self.decide(request, link, port, source);
        match writing {
            Some(writing) => self.written(writing).await.then_some(answer).flatten(),
            None => answer,
        }
    }

    /// How the machine's firmware starts it, as `Agent.status.bootMode` names it, when it has booted over the network.
    pub fn boot_mode(&self, mac: MacAddress) -> Option<&'static str> {
        let leases = self.leases.lock();
        match leases.of(mac)?.architecture.as_deref()? {
            "bios" => Some("legacy"),
            name if name.starts_with("uefi") => Some("UEFI"),
            _ => None,
        }
    }

    /// Decides about a message. A lease begins to be written, in the order of the decisions.
    fn decide(
        &self,
        request: &Packet,
        link: &Link,
        port: u16,
        source: SocketAddrV4,
    ) -> (Option<Writing>, Option<Answer>, Option<String>) {
        let machine = self.directory.machine(request.mac);
        let reserved = |address| self.directory.reserved_for(address);
        let now = self.clock.now();
        let known = Known { link, port, source, machine: &machine, reserved: &reserved, now };
        if link.mode == Mode::Proxy {
            self.observed.lock().note(request, machine.known, now);
        }
        let mut leases = self.leases.lock();
        let Outcome { lease, answer, warning } = plan(request, &known, &mut leases);
        let writing = lease.map(|lease| (lease.clone(), self.journal.append(lease)));
        (writing, answer, warning)
    }

    /// Waits until the lease is on the disk; `false` when that failed and the machine must ask again.
    async fn written(&self, (lease, on_disk): Writing) -> bool {
        if on_disk.await.is_err() {
            return false;
        }
        let reserved = |address| self.directory.reserved_for(address);
        let mut leases = self.leases.lock();
        // While the disk was slow the address may have become another machine's.
        let is_its_own = leases.is_free_for(lease.mac, lease.address, &reserved, self.clock.now());
        if is_its_own && let Some(before) = leases.set(lease) {
            // Nobody forgets when nothing runs.
            let _ = self.displaced.send(before);
        }
        is_its_own
    }
}

/// The server of one interface.
pub struct Server {
    link: Link,
    addresses: Arc<Addresses>,
    sockets: Vec<(u16, Arc<UdpSocket>)>,
}

impl Server {
    /// Opens the sockets on the interface. From then on nobody else can.
    ///
    /// # Errors
    /// [`Error::PortInUse`], [`Error::NotPermitted`].
    pub fn open(link: Link, addresses: Arc<Addresses>) -> Result<Self, Error> {
        let ports: &[u16] = match link.mode {
            Mode::Proxy => &[SERVER_PORT, PXE_PORT],
            Mode::Full | Mode::Reservations => &[SERVER_PORT],
        };
        let mut sockets = Vec::new();
        for port in ports {
            sockets.push((*port, Arc::new(network::datagrams_v4("DHCP", &link.interface, *port)?)));
        }
        Ok(Self { link, addresses, sockets })
    }

    /// Answers until `shutdown`.
    pub fn run(self, tasks: &TaskTracker, shutdown: &CancellationToken) {
        let server = Arc::new(self);
        for (port, socket) in server.sockets.clone() {
            let serving = server.clone().serve(port, socket, tasks.clone());
            tasks.spawn(shutdown.clone().run_until_cancelled_owned(serving));
        }
    }

    async fn serve(self: Arc<Self>, port: u16, socket: Arc<UdpSocket>, tasks: TaskTracker) {
        let mut buffer = vec![0; limits::MESSAGE];
        loop {
            let (length, source) = network::receive("DHCP", &socket, &mut buffer).await;
            let SocketAddr::V4(source) = source else { continue };
            match Packet::read(&buffer[..length]) {
                Ok(request) => self.answer(&request, port, source, &socket, &tasks).await,
                Err(error) => tracing::debug!(%source, %error, "DHCP"),
            }
        }
    }

    async fn answer(
        self: &Arc<Self>,
        request: &Packet,
        port: u16,
        source: SocketAddrV4,
        socket: &Arc<UdpSocket>,
        tasks: &TaskTracker,
    ) {
        let (writing, answer, warning) = self.addresses.decide(request, &self.link, port, source);
        if let Some(warning) = warning {
            tracing::warn!("{warning}");
        }
        let mac = request.mac;
        tracing::debug!(%mac, interface = self.link.interface, asked = ?request.kind, answered = ?answer.as_ref().map(|answer| answer.packet.kind), "DHCP");
        match (writing, answer) {
            (None, Some(answer)) => send(socket, &answer).await,
            (Some(writing), answer) => {
                let (server, socket) = (self.clone(), socket.clone());
                tasks.spawn(async move {
                    if let (true, Some(answer)) = (server.addresses.written(writing).await, answer) {
                        send(&socket, &answer).await;
                    }
                });
            }
            (None, None) => {}
        }
    }
}

async fn send(socket: &UdpSocket, answer: &Answer) {
    let bytes = answer.packet.write(answer.largest);
    if let Err(error) = socket.send_to(&bytes, SocketAddr::V4(answer.to)).await {
        tracing::warn!(to = %answer.to, mac = %answer.packet.mac, %error, "DHCP: the answer cannot be sent");
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
