//! TCP connections of a Pod.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::TcpStream;

use super::flows::{Number, State};
use super::{Event, Gateway};
use crate::addresses::{GATEWAY, GATEWAY6};
use crate::helper::PORT;
use crate::packet::{self, Packet, Reason, Segment};

impl Gateway {
    /// Handles a packet of TCP.
    pub(super) fn segment(&mut self, bytes: &mut [u8], packet: &Packet, segment: Segment) {
        if packet.to.ip() == gateway(packet.to.ip()) && packet.from.port() == PORT {
            return self.answer(bytes, packet);
        }
        let known = self.flows.number(packet.from, packet.to);
        let known = known.and_then(|number| Some((number, &self.flows.get(number)?.state)));
        match known {
            Some((number, State::Ended(_))) if segment.is_first() => {
                // The Pod's kernel uses the port again.
                self.flows.remove(number);
                self.begin(bytes, packet);
            }
            // The Pod only asks again, while the destination is being called.
            Some((_, State::Calling(_))) => {}
            Some((number, _)) => self.pass_on(bytes, packet, number),
            None if segment.is_first() => self.begin(bytes, packet),
            None => self.reset(packet),
        }
    }

    /// Brings a packet of the listener to the program that it answers.
    fn answer(&mut self, bytes: &mut [u8], packet: &Packet) {
        let Some(flow) = self.flows.get(packet.to.port()) else { return };
        packet::translate(bytes, packet, flow.server, flow.client);
        self.device.send(bytes);
    }

    /// Brings a packet of a program to the listener.
    fn pass_on(&self, bytes: &mut [u8], packet: &Packet, number: Number) {
        let from = SocketAddr::new(gateway(packet.to.ip()), number);
        let to = SocketAddr::new(self.own(packet), PORT);
        packet::translate(bytes, packet, from, to);
        self.device.send(bytes);
    }

    /// Calls the destination of a new connection. The Pod's packet waits, so that the Pod learns of a refusal as if it had called itself.
    fn begin(&mut self, bytes: &[u8], packet: &Packet) {
        let Some(number) = self.flows.add(packet.from, packet.to, bytes.to_vec()) else {
            self.reached.reached("pod_tcp_flows");
            return self.reset(packet);
        };
        let (router, sender, to) = (self.router.clone(), self.sender.clone(), packet.to);
        self.tasks.spawn(async move {
            let called = router.connect(to).await;
            sender.send(Event::Called(number, called)).await.ok();
        });
    }

    fn reset(&self, packet: &Packet) {
        if let Some(end) = packet::reset(packet) {
            self.device.send(&end);
        }
    }

    /// Goes on when the destination has answered.
    pub(super) fn called(&mut self, number: Number, called: io::Result<TcpStream>) {
        let now = self.router.clock.monotonic();
        let error = match called {
            Ok(upstream) => {
                let Some(mut bytes) = self.flows.offer(number, upstream, now) else { return };
                if let Some(packet) = packet::read(&bytes) {
                    self.pass_on(&mut bytes, &packet, number);
                }
                return;
            }
            Err(error) => error,
        };
        let Some(State::Calling(bytes)) = self.flows.remove(number).map(|flow| flow.state) else { return };
        let Some(packet) = packet::read(&bytes) else { return };
        tracing::debug!(%error, to = %packet.to, "a Pod cannot connect");
        match error.kind() {
            // To the Pod, too, this looks like silence.
            io::ErrorKind::TimedOut => {}
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                self.refuse(&packet, &bytes, Reason::Host);
            }
            io::ErrorKind::PermissionDenied => self.refuse(&packet, &bytes, Reason::Forbidden),
            _ => self.reset(&packet),
        }
    }

    /// Connects both sides when the Pod has completed its own.
    pub(super) fn accepted(&mut self, mut stream: TcpStream, peer: SocketAddr) {
        // A program of the Pod that finds the listener itself is not expected.
        let address = peer.ip().to_canonical();
        let number = Some(peer.port()).filter(|_| address == gateway(address));
        let Some((number, mut upstream)) =
            number.and_then(|number| Some((number, self.flows.accept(number)?)))
        else {
            return;
        };
        // An error means that a side is gone.
        stream.set_nodelay(true).ok();
        let sender = self.sender.clone();
        self.tasks.spawn(async move {
            tokio::io::copy_bidirectional(&mut stream, &mut upstream).await.ok();
            drop((stream, upstream));
            sender.send(Event::Ended(number)).await.ok();
        });
    }
}

/// Returns the address of the gateway in the version of IP of another address.
fn gateway(other: IpAddr) -> IpAddr {
    if other.is_ipv4() { IpAddr::V4(GATEWAY) } else { IpAddr::V6(GATEWAY6) }
}
