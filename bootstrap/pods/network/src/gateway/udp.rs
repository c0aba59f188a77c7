//! Datagrams of a Pod, and its questions about names.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;

use tokio::net::UdpSocket;
use tokio::sync::mpsc;

use super::{Event, Gateway};
use crate::addresses::{GATEWAY, Place, place};
use crate::dns::{self, Question};
use crate::limits;
use crate::packet::{self, Packet, Reason};

/// The destinations to which a Pod sends datagrams.
#[derive(Default)]
pub(super) struct Datagrams(HashMap<(SocketAddr, SocketAddr), mpsc::Sender<Vec<u8>>>);

impl Datagrams {
    pub(super) fn forget(&mut self, from: SocketAddr, to: SocketAddr) {
        self.0.remove(&(from, to));
    }
}

impl Gateway {
    /// Handles a datagram, whose data is in this part of the packet.
    pub(super) fn datagram(&mut self, bytes: &[u8], packet: &Packet, data: Range<usize>) {
        let data = &bytes[data];
        if packet.to == SocketAddr::new(IpAddr::V4(GATEWAY), dns::PORT) {
            return self.look_up(packet, data);
        }
        match place(packet.to.ip()) {
            Place::Outside => {}
            Place::Forbidden => return self.refuse(packet, bytes, Reason::Forbidden),
            // Services and other Pods are reached over TCP only.
            Place::Pod | Place::Service => return self.refuse(packet, bytes, Reason::Port),
        }
        let key = (packet.from, packet.to);
        if let Some(sender) = self.datagrams.0.get(&key) {
            // A datagram that finds no room is lost.
            sender.try_send(data.to_vec()).ok();
            return;
        }
        if self.datagrams.0.len() >= limits::UDP_FLOWS {
            self.reached.reached("pod_udp_flows");
            return;
        }
        let (sender, waiting) = mpsc::channel(limits::DATAGRAMS);
        sender.try_send(data.to_vec()).ok();
        self.datagrams.0.insert(key, sender);
        let events = self.sender.clone();
        self.tasks.spawn(async move {
            let (from, to) = key;
            // Errors end it like silence; the Pod's next datagram begins anew.
            carry(from, to, waiting, &events).await.ok();
            events.send(Event::Silent(from, to)).await.ok();
        });
    }

    /// Answers a question about a name.
    fn look_up(&mut self, packet: &Packet, data: &[u8]) {
        let Some(question) = Question::read(data) else { return };
        let (from, to) = (packet.to, packet.from);
        if let Some(addresses) = self.router.lookup(&question.name) {
            let answer = dns::answer(data, &question, &addresses);
            return packet::udp(from, to, &answer).into_iter().for_each(|packet| self.device.send(&packet));
        }
        if self.lookups >= limits::LOOKUPS {
            return self.reached.reached("pod_lookups");
        }
        self.lookups += 1;
        let (router, events, data) = (self.router.clone(), self.sender.clone(), data.to_vec());
        self.tasks.spawn(async move {
            let servers = dns::name_servers(&router.resolv_conf);
            let answer = dns::forward(&data, &servers).await;
            let answer = answer.unwrap_or_else(|| dns::failed(&data, &question));
            // An answer that is too long for a packet is lost.
            if let Some(packet) = packet::udp(from, to, &answer) {
                events.send(Event::Packet(packet)).await.ok();
            }
            events.send(Event::LookedUp).await.ok();
        });
    }
}

/// Carries datagrams between a Pod and a destination until there are none for a while.
async fn carry(
    from: SocketAddr,
    to: SocketAddr,
    mut waiting: mpsc::Receiver<Vec<u8>>,
    events: &mpsc::Sender<Event>,
) -> io::Result<()> {
    let any =
        if to.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(to).await?;
    let mut buffer = vec![0; limits::PACKET];
    loop {
        // Not biased: neither side may keep the other waiting.
        tokio::select! {
            data = waiting.recv() => match data {
                Some(data) => drop(socket.send(&data).await?),
                None => return Ok(()),
            },
            received = socket.recv(&mut buffer) => {
                let packet = packet::udp(to, from, &buffer[..received?]);
                // The Pod has no claim to datagrams that it is too slow for.
                packet.into_iter().for_each(|packet| drop(events.try_send(Event::Packet(packet))));
            }
            () = tokio::time::sleep(limits::UDP_IDLE) => return Ok(()),
        }
    }
}
