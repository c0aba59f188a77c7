//! The DHCPv4 sockets, and the state behind them.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::path::Path;
use std::sync::Arc;

use agent_protocol::dhcp::{Kind, MacAddress, Packet};
use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::net::UdpSocket;
use tokio::sync::{Notify, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::answer::{Answer, Outcome};
use super::journal::Journal;
use super::leases::Leases;
use super::link::{Known, Link, Mode, PXE_PORT, SERVER_PORT};
use super::observed::Observed;
use super::plan::plan;
use crate::error::Error;
use crate::limits;
use crate::machine::{Directory, Lease};
use crate::metrics::{Metrics, Version};
use crate::network;

/// The state that the servers of all interfaces share: the leases and the directory of machines.
///
/// Invariant: no address belongs to two machines, whenever the process ends. Offers are kept in memory only, since no machine uses an
/// address that it was merely offered. A lease is on the disk before its machine is answered ([`Journal`]), in the order of the
/// decisions, and is reserved in memory until then; a restart reads all of them.
pub struct Addresses {
    leases: Mutex<Leases>,
    directory: Arc<dyn Directory>,
    clock: Clock,
    journal: Journal,
    /// The addresses that machines take from another server, in proxy mode.
    observed: Mutex<Observed>,
    metrics: Metrics,
    displaced: Displaced,
}

/// Machines whose address another machine has leased: their lease objects are deleted.
#[derive(Default)]
struct Displaced {
    machines: Mutex<BTreeSet<MacAddress>>,
    added: Notify,
}

impl Displaced {
    /// Adds a machine. Beyond the limit its object stays, until a start of the server finds that its lease is not the last one.
    fn add(&self, mac: MacAddress, metrics: &Metrics) {
        let mut machines = self.machines.lock();
        if machines.len() >= limits::DISPLACED && !machines.contains(&mac) {
            metrics.limit("netboot_displaced");
            return;
        }
        machines.insert(mac);
        self.added.notify_one();
    }

    /// Waits for a machine, and takes it out.
    async fn next(&self) -> MacAddress {
        loop {
            let first = self.machines.lock().pop_first();
            match first {
                Some(mac) => return mac,
                None => self.added.notified().await,
            }
        }
    }
}

/// A lease that is being written to the disk.
pub type Writing = (Lease, oneshot::Receiver<()>);

impl Addresses {
    /// Opens the leases that `directory` has, and those of the file `journal`, which are newer. The servers that use them count in
    /// `metrics`.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read or created.
    pub fn open(
        directory: Arc<dyn Directory>,
        clock: Clock,
        journal: &Path,
        metrics: Metrics,
    ) -> Result<Arc<Self>, Error> {
        let failed = |source| Error::File { path: journal.display().to_string(), source };
        let (journal, newer) = Journal::open(journal).map_err(failed)?;
        let mut older = directory.leases();
        // If several machines had the same address, the last lease is the valid one.
        older.sort_by_key(|lease| lease.expires);
        let mut leases = Leases::default();
        let displaced = Displaced::default();
        for lease in older.into_iter().chain(newer) {
            if let Some(before) = leases.set(lease) {
                displaced.add(before, &metrics);
            }
        }
        let (leases, observed) = (Mutex::new(leases), Mutex::default());
        Ok(Arc::new(Self { leases, directory, clock, journal, observed, metrics, displaced }))
    }

    /// Writes leases until `shutdown`; without it no machine that needs a lease is answered.
    pub fn run(self: &Arc<Self>, tasks: &TaskTracker, shutdown: &CancellationToken) {
        let (commits, follows) = (self.clone(), self.clone());
        tasks
            .spawn(shutdown.clone().run_until_cancelled_owned(async move { commits.journal.commit().await }));
        tasks.spawn(shutdown.clone().run_until_cancelled_owned(async move {
            follows.journal.follow(follows.directory.as_ref(), &follows.clock).await;
        }));
        tasks.spawn(shutdown.clone().run_until_cancelled_owned(self.clone().forget()));
    }

    /// Deletes the lease objects of machines whose address another machine has leased, so there is at most one object for each address.
    async fn forget(self: Arc<Self>) {
        loop {
            let mac = self.displaced.next().await;
            self.journal.wait_until_object(mac).await;
            if self.leases.lock().of(mac).is_some() {
                continue;
            }
            if let Err(error) = self.directory.remove_lease(mac).await {
                tracing::warn!(%mac, %error, "a lease that has ended is still an object");
            }
        }
    }

    /// Waits until the machine's lease is an object, at most [`limits::LEASE_OBJECT`].
    pub async fn wait_until_object(&self, mac: MacAddress) {
        let written = tokio::time::timeout(limits::LEASE_OBJECT, self.journal.wait_until_object(mac)).await;
        // After the timeout the lease may still be missing; the caller then fails by itself.
        if written.is_err() {
            self.metrics.limit("netboot_lease_object");
        }
    }

    /// Returns the machine that has `address`: by its lease, or by the interface identifier of an IPv6 address, which contains the MAC
    /// address.
    pub fn holder_of(&self, address: IpAddr) -> Option<MacAddress> {
        match address.to_canonical() {
            IpAddr::V4(address) => self.leases.lock().holder(address, self.clock.now()),
            IpAddr::V6(address) => {
                let identifier = address.octets()[8..].try_into().ok()?;
                MacAddress::of_interface_identifier(identifier)
            }
        }
    }

    /// Returns the machine that has leased `address` from this server or, in proxy mode, from another one.
    pub fn lease_of(&self, address: IpAddr) -> Option<MacAddress> {
        let IpAddr::V4(address) = address.to_canonical() else { return None };
        let now = self.clock.now();
        self.leases.lock().holder(address, now).or_else(|| self.observed.lock().holder(address, now))
    }

    /// Returns whether the machine has a current lease of this server.
    pub fn has_lease(&self, mac: MacAddress) -> bool {
        self.leases.lock().of(mac).is_some_and(|lease| lease.expires > self.clock.now())
    }

    /// Returns whether a BareMetalHost describes the machine with this address.
    pub fn is_known(&self, address: IpAddr) -> bool {
        let mac = self.lease_of(address).or_else(|| self.holder_of(address));
        mac.is_some_and(|mac| self.directory.machine(mac).known)
    }

    /// Returns the machine's firmware mode as `Agent.status.bootMode` names it, if the machine has booted over the network.
    pub fn boot_mode(&self, mac: MacAddress) -> Option<&'static str> {
        let leases = self.leases.lock();
        match leases.of(mac)?.architecture.as_deref()? {
            "bios" => Some("legacy"),
            name if name.starts_with("uefi") => Some("UEFI"),
            _ => None,
        }
    }

    /// Decides about a message, and queues its lease for the disk in the order of the decisions.
    pub fn decide(
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
        if link.mode == Mode::Proxy && !self.observed.lock().note(request, machine.known, now) {
            self.metrics.limit("netboot_observed");
        }
        let mut leases = self.leases.lock();
        let Outcome { lease, answer, warning, limit } = plan(request, &known, &mut leases);
        if let Some(limit) = limit {
            self.metrics.limit(limit);
        }
        let writing = lease.map(|lease| (lease.clone(), self.journal.append(lease)));
        (writing, answer, warning)
    }

    /// Waits until the lease is on the disk; `false` if that failed and the machine must ask again.
    pub async fn written(&self, (lease, on_disk): Writing) -> bool {
        if on_disk.await.is_err() {
            return false;
        }
        let reserved = |address| self.directory.reserved_for(address);
        let mut leases = self.leases.lock();
        // The address may have been leased to another machine while the write was pending.
        let is_its_own = leases.is_free_for(lease.mac, lease.address, &reserved, self.clock.now());
        if is_its_own && let Some(before) = leases.set(lease) {
            self.displaced.add(before, &self.metrics);
        }
        is_its_own
    }
}

/// The DHCPv4 server of one interface.
pub struct Server {
    link: Link,
    addresses: Arc<Addresses>,
    sockets: Vec<(u16, Arc<UdpSocket>)>,
}

impl Server {
    /// Opens the sockets on the interface, exclusively.
    ///
    /// # Errors
    /// [`Error::PortInUse`], [`Error::NotPermitted`], [`Error::Socket`].
    pub fn open(link: Link, addresses: Arc<Addresses>) -> Result<Self, Error> {
        let ports: &[u16] = match link.mode {
            Mode::Proxy => &[SERVER_PORT, PXE_PORT],
            Mode::Full | Mode::Reservations => &[SERVER_PORT],
        };
        let mut sockets = Vec::new();
        for port in ports {
            sockets.push((*port, Arc::new(network::datagrams_v4("DHCP", &link.interface, *port)?)));
        }
        Ok(Self::new(link, addresses, sockets))
    }

    /// Returns the server of these sockets, each with its port.
    pub fn new(link: Link, addresses: Arc<Addresses>, sockets: Vec<(u16, Arc<UdpSocket>)>) -> Self {
        Self { link, addresses, sockets }
    }

    /// Answers messages until `shutdown`.
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
                Err(error) => {
                    self.addresses.metrics.dhcp(Version::V4, "invalid", None);
                    tracing::debug!(%source, %error, "DHCP");
                }
            }
        }
    }

    /// Answers a message, after the lease is on the disk.
    pub async fn answer(
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
        let (mac, asked) = (request.mac, request.kind);
        tracing::debug!(%mac, interface = self.link.interface, asked = ?request.kind, answered = ?answer.as_ref().map(|answer| answer.packet.kind), "DHCP");
        match (writing, answer) {
            (None, Some(answer)) => self.send(socket, asked, &answer).await,
            (Some(writing), answer) => {
                let (server, socket) = (self.clone(), socket.clone());
                tasks.spawn(async move {
                    match (server.addresses.written(writing).await, answer) {
                        (true, Some(answer)) => server.send(&socket, asked, &answer).await,
                        _ => server.addresses.metrics.dhcp(Version::V4, asked.name(), None),
                    }
                });
            }
            (None, None) => self.addresses.metrics.dhcp(Version::V4, asked.name(), None),
        }
    }

    /// Sends the answer to a message of the kind `asked`.
    async fn send(&self, socket: &UdpSocket, asked: Kind, answer: &Answer) {
        let bytes = answer.packet.write(answer.largest);
        self.addresses.metrics.dhcp(Version::V4, asked.name(), Some(answer.packet.kind.name()));
        if let Err(error) = socket.send_to(&bytes, SocketAddr::V4(answer.to)).await {
            tracing::warn!(to = %answer.to, mac = %answer.packet.mac, %error, "DHCP: the answer cannot be sent");
        }
    }
}
