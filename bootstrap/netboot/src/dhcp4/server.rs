//! The sockets of DHCP for IPv4.

use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::sync::Arc;

use machinery::clock::Clock;
use parking_lot::Mutex;
use tokio::net::UdpSocket;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::leases::Leases;
use super::packet::Packet;
use super::plan::{Answer, Known, Link, Mode, Outcome, PXE_PORT, SERVER_PORT, plan};
use crate::error::Error;
use crate::limits;
use crate::mac::MacAddress;
use crate::machine::{Directory, Lease};
use crate::network;

/// What the servers of all interfaces share: who has which address, and who knows the machines.
pub struct Addresses {
    leases: Mutex<Leases>,
    directory: Arc<dyn Directory>,
    clock: Clock,
    writes: Semaphore,
}

impl Addresses {
    /// Begins with the leases that `directory` has written down.
    pub fn new(directory: Arc<dyn Directory>, clock: Clock) -> Arc<Self> {
        let mut leases = Leases::default();
        for lease in directory.leases() {
            leases.set(lease);
        }
        let (leases, writes) = (Mutex::new(leases), Semaphore::new(limits::LEASE_WRITES));
        Arc::new(Self { leases, directory, clock, writes })
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

    /// How the machine's firmware starts it, as `Agent.status.bootMode` names it, when it has booted over the network.
    pub fn boot_mode(&self, mac: MacAddress) -> Option<&'static str> {
        let leases = self.leases.lock();
        match leases.of(mac)?.architecture.as_deref()? {
            "bios" => Some("legacy"),
            name if name.starts_with("uefi") => Some("UEFI"),
            _ => None,
        }
    }

    /// Decides about a message.
    fn decide(&self, request: &Packet, link: &Link, port: u16, source: SocketAddrV4) -> Outcome {
        let machine = self.directory.machine(request.mac);
        let reserved = |address| self.directory.reserved_for(address);
        let now = self.clock.now();
        let known = Known { link, port, source, machine: &machine, reserved: &reserved, now };
        plan(request, &known, &mut self.leases.lock())
    }

    /// Writes down a lease; `false` when that failed and the machine must ask again.
    async fn write(&self, lease: Lease) -> bool {
        let Ok(_permit) = self.writes.acquire().await else { return false };
        let (mac, address) = (lease.mac, lease.address);
        match self.directory.write_lease(lease.clone()).await {
            Ok(()) => {
                self.leases.lock().set(lease);
                true
            }
            Err(error) => {
                tracing::warn!(%mac, %address, %error, "the lease cannot be written; the machine is not answered");
                false
            }
        }
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
        let Outcome { lease, answer, warning } = self.addresses.decide(request, &self.link, port, source);
        if let Some(warning) = warning {
            tracing::warn!("{warning}");
        }
        let mac = request.mac;
        tracing::debug!(%mac, interface = self.link.interface, asked = ?request.kind, answered = ?answer.as_ref().map(|answer| answer.packet.kind), "DHCP");
        match (lease, answer) {
            (None, Some(answer)) => send(socket, &answer).await,
            (Some(lease), answer) => {
                let (server, socket) = (self.clone(), socket.clone());
                tasks.spawn(async move {
                    if let (true, Some(answer)) = (server.addresses.write(lease).await, answer) {
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
