//! Obtains an address for each interface by DHCP, and renews it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::dhcp::Kind;
use anyhow::{Context, Result, bail};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::time::timeout;

use super::attached::{Attached, Network, Tools};
use super::fixed::Fixed;
use super::lease::{Answer, Lease, Request, read};
use super::links::{Link, Links, interfaces};
use crate::devices::Devices;

const CLIENT_PORT: u16 = 68;
const SERVER_PORT: u16 = 67;
/// The first wait for an answer: short, since the link often comes up at this moment; doubled up to [`WAIT_MAX`].
const WAIT_MIN: Duration = Duration::from_millis(500);
const WAIT_MAX: Duration = Duration::from_secs(8);
/// How often the interfaces are listed again if the kernel reports no new device, because names can change.
const LOOK: Duration = Duration::from_secs(1);
/// The shortest time between renewals, whatever lease time the server gives.
const RENEW_MIN: Duration = Duration::from_secs(30);

/// Obtains addresses on all interfaces, including those that appear later. `boot` is the interface that the firmware booted from, which
/// is listed first; interfaces in `fixed` get their fixed address without DHCP.
///
/// # Errors
/// The netlink socket cannot be opened.
pub fn ask_on_all(
    boot: Option<[u8; 6]>,
    fixed: Vec<Fixed>,
    tools: Tools,
    devices: Devices,
) -> Result<Network> {
    let links = Links::open()?;
    let (attached, network) = watch::channel(Vec::new());
    let attached = Arc::new(attached);
    tokio::spawn(async move {
        let (mut known, mut devices) = (Vec::new(), devices);
        loop {
            for link in interfaces("/sys/class/net".as_ref()) {
                if !known.contains(&link) {
                    known.push(link.clone());
                    let fixed = fixed.iter().find(|fixed| fixed.mac == link.mac);
                    let task = Interface {
                        link,
                        fixed: fixed.map(|fixed| fixed.lease.clone()),
                        links: links.clone(),
                        tools: tools.clone(),
                        attached: attached.clone(),
                        boot,
                    };
                    tokio::spawn(task.keep_address());
                }
            }
            devices.more(LOOK).await;
        }
    });
    Ok(network)
}

struct Interface {
    link: Link,
    /// The fixed address, if the interface does not use DHCP.
    fixed: Option<Lease>,
    links: Links,
    tools: Tools,
    attached: Arc<watch::Sender<Vec<Attached>>>,
    boot: Option<[u8; 6]>,
}

impl Interface {
    async fn keep_address(self) {
        let name = self.link.name.clone();
        if self.fixed.is_none() {
            self.tools.journal.line(format!("{name} ({}): asking for an address", self.link.mac_text()));
        }
        let mut pause = WAIT_MIN;
        let mut held = None;
        loop {
            match self.obtain(held).await {
                Ok(lease) => {
                    if held != Some(lease.address) {
                        self.tools
                            .journal
                            .line(format!("{name}: address {}/{}", lease.address, lease.prefix));
                    }
                    held = Some(lease.address);
                    pause = WAIT_MIN;
                    if self.fixed.is_some() {
                        return;
                    }
                    self.tools
                        .clock
                        .sleep(RENEW_MIN.max(Duration::from_secs(u64::from(lease.seconds) / 2)))
                        .await;
                }
                Err(error) => {
                    self.tools.journal.line(format!("{name}: {error:#}"));
                    held = None;
                    self.tools.clock.sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_secs(60));
                }
            }
        }
    }

    /// Obtains an address and configures it.
    async fn obtain(&self, held: Option<Ipv4Addr>) -> Result<Lease> {
        self.links.up(self.link.index).await?;
        let lease = match &self.fixed {
            Some(lease) => lease.clone(),
            None => self.lease(held).await?,
        };
        self.links.configure(&self.link, &lease).await?;
        if !lease.name_servers.is_empty() {
            write_resolver(&lease)?;
        }
        let attached = Attached { link: self.link.clone(), address: lease.address };
        self.attached.send_modify(|all| {
            all.retain(|other| other.link != attached.link);
            let first = self.boot == Some(self.link.mac);
            all.insert(if first { 0 } else { all.len() }, attached);
        });
        Ok(lease)
    }

    /// Obtains a lease by DHCP; `held` is the address to renew.
    async fn lease(&self, held: Option<Ipv4Addr>) -> Result<Lease> {
        let socket = socket(&self.link.name)?;
        let mut exchange =
            Exchange { interface: self, socket, transaction: self.tools.random.number() as u32 };
        match held {
            // A server that has lost the lease refuses or is silent; then a new address is requested.
            Some(address) => match exchange.ask(None, Some(address), Kind::Acknowledge, 2).await {
                Ok(answer) => Ok(answer.lease),
                Err(_) => exchange.whole_exchange().await,
            },
            None => exchange.whole_exchange().await,
        }
    }
}

struct Exchange<'a> {
    interface: &'a Interface,
    socket: UdpSocket,
    transaction: u32,
}

impl Exchange<'_> {
    async fn whole_exchange(&mut self) -> Result<Lease> {
        // Tried without limit: the server may not be running yet, or the cable may be unplugged.
        let offer = self.ask(None, None, Kind::Offer, u32::MAX).await?;
        let chosen = Some((offer.lease.address, offer.server));
        Ok(self.ask(chosen, None, Kind::Acknowledge, 4).await?.lease)
    }

    /// Sends a request up to `times` times, and waits for an answer of the kind `wanted`.
    async fn ask(
        &mut self,
        offer: Option<(Ipv4Addr, Ipv4Addr)>,
        keep: Option<Ipv4Addr>,
        wanted: Kind,
        times: u32,
    ) -> Result<Answer> {
        let Tools { clock, random, .. } = &self.interface.tools;
        let start = clock.monotonic();
        let mut wait = WAIT_MIN;
        for _ in 0..times {
            let seconds =
                u16::try_from(clock.monotonic().duration_since(start).as_secs()).unwrap_or(u16::MAX);
            let mac = self.interface.link.mac;
            let request = Request { transaction: self.transaction, mac, seconds, offer, keep };
            // Sending fails while the cable is unplugged, which is treated like a missing answer.
            let _ = self.socket.send_to(&request.bytes(), (Ipv4Addr::BROADCAST, SERVER_PORT)).await;
            match timeout(wait.mul_f64(0.8 + 0.4 * random.fraction()), self.answer(wanted)).await {
                Ok(answer) => return answer,
                Err(_) => wait = (wait * 2).min(WAIT_MAX),
            }
        }
        bail!("no answer from the DHCP server that offered an address; asking anew")
    }

    async fn answer(&self, wanted: Kind) -> Result<Answer> {
        let mut buffer = vec![0; 2048];
        loop {
            let length = self.socket.recv(&mut buffer).await.context("cannot receive")?;
            match read(&buffer[..length], self.transaction, self.interface.link.mac) {
                Some(answer) if answer.kind == wanted => return Ok(answer),
                Some(answer) if answer.kind == Kind::Refuse => {
                    bail!("the DHCP server {} refuses the address", answer.server)
                }
                _ => {}
            }
        }
    }
}

/// Opens a UDP socket that is bound to this interface. The kernel receives broadcasts without an address, so no raw socket is needed.
fn socket(interface: &str) -> Result<UdpSocket> {
    let open = || -> std::io::Result<UdpSocket> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_reuse_address(true)?;
        socket.set_broadcast(true)?;
        socket.set_nonblocking(true)?;
        socket.bind_device(Some(interface.as_bytes()))?;
        socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, CLIENT_PORT)).into())?;
        UdpSocket::from_std(socket.into())
    };
    open().with_context(|| format!("cannot open the DHCP client's port {CLIENT_PORT}"))
}

/// Writes `/etc/resolv.conf`, which the C library uses for name lookups.
fn write_resolver(lease: &Lease) -> Result<()> {
    let mut text: String = lease.name_servers.iter().map(|server| format!("nameserver {server}\n")).collect();
    if let Some(domain) = &lease.domain {
        text.push_str(&format!("search {domain}\n"));
    }
    std::fs::write("/etc/resolv.conf", text).context("cannot write /etc/resolv.conf")
}
