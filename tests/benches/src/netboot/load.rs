//! Simulates machines that request addresses, many at the same time, through a relay.

use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use agent_protocol::dhcp::{Kind, MacAddress, Options, Packet, options};
use anyhow::{Result, ensure};
use machinery::clock::Clock;
use nix::sys::socket::{setsockopt, sockopt};
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout};

use super::place::CLIENT;

/// A machine without a reply repeats its request after this time.
const PATIENCE: Duration = Duration::from_secs(1);
const LARGEST: usize = 1472;
const PORT: u16 = 67;

/// The results of the machines.
pub struct Seen {
    /// Replies per second.
    pub answers: f64,
    /// 99th percentile of the response time in milliseconds.
    pub p99: f64,
    /// Address of each machine.
    pub addresses: HashMap<u32, Ipv4Addr>,
}

/// A number of machines that each send all their requests, `at_once` of them at a time.
pub struct Machines {
    /// Number of the first machine.
    pub first: u32,
    /// Number of machines.
    pub count: u32,
    /// How many machines are active at a time.
    pub at_once: usize,
}

struct Waiting {
    packet: Packet,
    since: Instant,
}

struct Asking<'a> {
    socket: UdpSocket,
    server: Ipv4Addr,
    clock: &'a Clock,
    waiting: HashMap<u32, Waiting>,
    times: Vec<Duration>,
}

impl Machines {
    /// Each machine requests an address like firmware does, and accepts the offer.
    pub async fn boot(&self, server: Ipv4Addr, clock: &Clock) -> Result<Seen> {
        self.ask(server, clock, |number| message(Kind::Discover, number)).await
    }

    /// Each machine renews its lease.
    pub async fn renew(&self, server: Ipv4Addr, has: &HashMap<u32, Ipv4Addr>, clock: &Clock) -> Result<Seen> {
        let renewal = |number| Packet {
            client: has.get(&number).copied().unwrap_or(Ipv4Addr::UNSPECIFIED),
            ..message(Kind::Request, number)
        };
        self.ask(server, clock, renewal).await
    }

    async fn ask(&self, server: Ipv4Addr, clock: &Clock, first: impl Fn(u32) -> Packet) -> Result<Seen> {
        let socket = UdpSocket::bind((CLIENT, PORT)).await?;
        setsockopt(&socket, sockopt::RcvBufForce, &(4 << 20))?;
        let mut asking = Asking { socket, server, clock, waiting: HashMap::new(), times: Vec::new() };
        let (begun, end) = (clock.monotonic(), self.first + self.count);
        let (mut next, mut addresses, mut buffer) = (self.first, HashMap::new(), vec![0; LARGEST]);
        while addresses.len() < self.count as usize {
            while asking.waiting.len() < self.at_once && next < end {
                asking.send(next, first(next)).await?;
                next += 1;
            }
            let Ok(received) = timeout(PATIENCE, asking.socket.recv_from(&mut buffer)).await else {
                asking.again().await?;
                continue;
            };
            let answer = Packet::read(&buffer[..received?.0])?;
            let number = answer.transaction;
            match (asking.heard(number, answer.kind), answer.kind) {
                (false, _) => {}
                (true, Kind::Offer) => asking.send(number, taking(&answer)).await?,
                (true, Kind::Acknowledge) => drop(addresses.insert(number, answer.yours)),
                (true, _) => asking.send(number, message(Kind::Discover, number)).await?,
            }
        }
        let seconds = (clock.monotonic() - begun).as_secs_f64();
        let different: HashSet<&Ipv4Addr> = addresses.values().collect();
        ensure!(different.len() == addresses.len(), "an address is two machines'");
        asking.times.sort();
        let (answers, p99) = (asking.times.len(), asking.times.len() * 99 / 100);
        let p99 = asking.times.get(p99).copied().unwrap_or_default().as_secs_f64() * 1e3;
        Ok(Seen { answers: answers as f64 / seconds, p99, addresses })
    }
}

impl Asking<'_> {
    async fn send(&mut self, number: u32, packet: Packet) -> Result<()> {
        self.socket.send_to(&packet.write(LARGEST), (self.server, PORT)).await?;
        self.waiting.insert(number, Waiting { packet, since: self.clock.monotonic() });
        Ok(())
    }

    async fn again(&self) -> Result<()> {
        for waiting in self.waiting.values() {
            self.socket.send_to(&waiting.packet.write(LARGEST), (self.server, PORT)).await?;
        }
        Ok(())
    }

    /// Returns whether this is the reply that the machine waits for.
    fn heard(&mut self, number: u32, kind: Kind) -> bool {
        let Some(waiting) = self.waiting.get(&number) else { return false };
        if (waiting.packet.kind == Kind::Discover) != (kind == Kind::Offer) {
            return false;
        }
        self.times.push(self.clock.monotonic() - waiting.since);
        self.waiting.remove(&number);
        true
    }
}

fn message(kind: Kind, number: u32) -> Packet {
    let [a, b, c, d] = number.to_be_bytes();
    let mut told = Options::default();
    told.set(options::VENDOR_CLASS, "PXEClient:Arch:00007:UNDI:003016");
    told.set(options::ARCHITECTURE, [0, 7]);
    let nobody = Ipv4Addr::UNSPECIFIED;
    Packet {
        reply: false,
        kind,
        hops: 1,
        transaction: number,
        seconds: 0,
        broadcast: false,
        client: nobody,
        yours: nobody,
        next_server: nobody,
        relay: CLIENT,
        mac: MacAddress([0x52, 0x54, a, b, c, d]),
        server_name: String::new(),
        file: String::new(),
        options: told,
    }
}

fn taking(offer: &Packet) -> Packet {
    let mut packet = message(Kind::Request, offer.transaction);
    packet.options.set(options::REQUESTED_ADDRESS, offer.yours.octets());
    let server = offer.options.get(options::SERVER_IDENTIFIER).unwrap_or_default();
    packet.options.set(options::SERVER_IDENTIFIER, server);
    packet
}
