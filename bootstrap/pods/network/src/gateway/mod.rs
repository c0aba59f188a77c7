//! The gateway of a Pod: it carries the Pod's connections and datagrams by ordinary sockets of this machine, whose interfaces and firewall stay
//! as they are. [`flows`] is the table of TCP connections, `tcp` and `udp` act by it.

mod device;
pub mod flows;
mod tcp;
mod udp;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use metrics::Limits;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::addresses::six;
use crate::limits;
use crate::packet::{self, Content, Packet};
use crate::router::Router;

pub(crate) use device::Device;
use flows::{Flows, Number};
use udp::Datagrams;

/// Something that happened elsewhere.
enum Event {
    /// A destination has answered, or not.
    Called(Number, io::Result<TcpStream>),
    /// Both sides of a connection have ended.
    Ended(Number),
    /// A packet for the Pod.
    Packet(Vec<u8>),
    /// Nothing was sent to this destination for a while.
    Silent(SocketAddr, SocketAddr),
    /// A name was looked up.
    LookedUp,
}

/// The gateway of one Pod.
pub(crate) struct Gateway {
    address: Ipv4Addr,
    device: Device,
    listener: TcpListener,
    router: Arc<Router>,
    reached: Limits,
    flows: Flows<TcpStream, Instant>,
    datagrams: Datagrams,
    lookups: usize,
    sender: mpsc::Sender<Event>,
    events: mpsc::Receiver<Event>,
    /// Everything that the gateway does for the Pod; it ends with the gateway.
    tasks: JoinSet<()>,
}

impl Gateway {
    pub(crate) fn new(
        address: Ipv4Addr,
        device: Device,
        listener: TcpListener,
        router: Arc<Router>,
        reached: Limits,
    ) -> Self {
        let (sender, events) = mpsc::channel(limits::PACKETS);
        Self {
            address,
            device,
            listener,
            router,
            reached,
            flows: Flows::new(limits::TCP_FLOWS),
            datagrams: Datagrams::default(),
            lookups: 0,
            sender,
            events,
            tasks: JoinSet::new(),
        }
    }

    /// Serves the Pod until the task is aborted.
    pub(crate) async fn run(mut self) {
        let mut bytes = vec![0; limits::PACKET];
        let mut sweep = self.router.clock.monotonic() + limits::SWEEP;
        loop {
            // Not biased: neither side may keep the other waiting.
            tokio::select! {
                length = self.device.receive(&mut bytes) => match length {
                    Ok(length) => self.receive(&mut bytes, length),
                    Err(error) => {
                        tracing::warn!(%error, "the device of a Pod's network");
                        return;
                    }
                },
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, peer)) => self.accepted(stream, peer),
                    Err(error) => {
                        tracing::warn!(%error, "a connection of a Pod cannot be accepted");
                        // The usual reason is the limit of open files.
                        self.router.clock.sleep(limits::ACCEPT_AGAIN).await;
                    }
                },
                Some(event) = self.events.recv() => self.on(event),
                Some(_) = self.tasks.join_next() => {}
                () = tokio::time::sleep_until(sweep), if !self.flows.is_empty() => {
                    let now = self.router.clock.monotonic();
                    self.flows.forget(before(now, limits::OFFERED), before(now, limits::ENDED));
                    sweep = now + limits::SWEEP;
                }
            }
        }
    }

    /// Handles the packet that was received, and those that follow at once.
    fn receive(&mut self, bytes: &mut [u8], length: usize) {
        self.packet(&mut bytes[..length]);
        for _ in 1..limits::PACKETS_AT_ONCE {
            match self.device.receive_now(bytes) {
                Ok(Some(length)) => self.packet(&mut bytes[..length]),
                // An error is found again by the next who waits.
                Ok(None) | Err(_) => return,
            }
        }
    }

    fn packet(&mut self, bytes: &mut [u8]) {
        // What is not understood is lost, as are packets that no program of this Pod can have sent.
        let is_own = |packet: &Packet| packet.from.ip() == self.own(packet);
        let Some(packet) = packet::read(bytes).filter(is_own) else { return };
        match packet.content.clone() {
            Content::Tcp(segment) => self.segment(bytes, &packet, segment),
            Content::Udp(data) => self.datagram(bytes, &packet, data),
        }
    }

    fn on(&mut self, event: Event) {
        match event {
            Event::Called(number, stream) => self.called(number, stream),
            Event::Ended(number) => self.flows.end(number, self.router.clock.monotonic()),
            Event::Packet(packet) => self.device.send(&packet),
            Event::Silent(from, to) => self.datagrams.forget(from, to),
            Event::LookedUp => self.lookups -= 1,
        }
    }

    /// Returns the address of the Pod in the version of IP of a packet.
    fn own(&self, packet: &Packet) -> IpAddr {
        if packet.to.is_ipv4() { IpAddr::V4(self.address) } else { IpAddr::V6(six(self.address)) }
    }

    /// Tells the Pod that a packet cannot be delivered.
    fn refuse(&self, packet: &Packet, bytes: &[u8], reason: packet::Reason) {
        let answer = packet::unreachable(packet, bytes, reason);
        if let Some(answer) = answer {
            self.device.send(&answer);
        }
    }
}

/// Returns an earlier time.
fn before(now: Instant, time: std::time::Duration) -> Instant {
    now.checked_sub(time).unwrap_or(now)
}
