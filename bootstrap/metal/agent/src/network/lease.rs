//! The client's requests and leases of DHCP (RFC 2131, 2132, 3442). Pure.

use std::net::Ipv4Addr;

use agent_protocol::dhcp::{Kind, MacAddress, Options, Packet, options};

/// The largest message that is sent.
const MESSAGE_BYTES_MAX: usize = 1472;

/// A message of the client.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The transaction identifier, which the answer repeats.
    pub transaction: u32,
    /// The MAC address of the interface.
    pub mac: [u8; 6],
    /// Seconds since the first message of the exchange.
    pub seconds: u16,
    /// The accepted offer: its address and its server. If this and `keep` are `None`, the message is a `DISCOVER`.
    pub offer: Option<(Ipv4Addr, Ipv4Addr)>,
    /// The address that the client has and renews.
    pub keep: Option<Ipv4Addr>,
}

/// A message of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The message type.
    pub kind: Kind,
    /// The address of the server.
    pub server: Ipv4Addr,
    /// The address with its parameters.
    pub lease: Lease,
}

/// An address with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease {
    /// The address.
    pub address: Ipv4Addr,
    /// The length of the network's prefix in bits.
    pub prefix: u8,
    /// The default router.
    pub router: Option<Ipv4Addr>,
    /// Routes as (destination, prefix length, router), which replace `router` (RFC 3442).
    pub routes: Vec<(Ipv4Addr, u8, Ipv4Addr)>,
    /// DNS servers.
    pub name_servers: Vec<Ipv4Addr>,
    /// The search domain.
    pub domain: Option<String>,
    /// The MTU of the network in bytes.
    pub mtu: Option<u16>,
    /// The lease time in seconds.
    pub seconds: u32,
}

impl Request {
    /// Returns the message as bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let asks = self.offer.is_some() || self.keep.is_some();
        let mut asked = Options::default();
        asked.set(options::MAXIMUM_SIZE, 1500u16.to_be_bytes());
        asked.set(options::VENDOR_CLASS, b"firstlight-agent".as_slice());
        let parameters = [
            options::SUBNET_MASK,
            options::ROUTERS,
            options::NAME_SERVERS,
            options::DOMAIN_NAME,
            options::INTERFACE_MTU,
            options::CLASSLESS_ROUTES,
        ];
        asked.set(options::PARAMETER_LIST, parameters);
        if let Some((address, server)) = self.offer {
            asked.set(options::REQUESTED_ADDRESS, address.octets());
            asked.set(options::SERVER_IDENTIFIER, server.octets());
        }
        let nobody = Ipv4Addr::UNSPECIFIED;
        let packet = Packet {
            reply: false,
            kind: if asks { Kind::Request } else { Kind::Discover },
            hops: 0,
            transaction: self.transaction,
            seconds: self.seconds,
            // Answers come to everybody on the wire, since the interface has no address yet.
            broadcast: true,
            client: self.keep.unwrap_or(nobody),
            yours: nobody,
            next_server: nobody,
            relay: nobody,
            mac: MacAddress(self.mac),
            server_name: String::new(),
            file: String::new(),
            options: asked,
        };
        packet.write(MESSAGE_BYTES_MAX)
    }
}

/// Reads an answer to the message `transaction` of the interface `mac`; `None` for any other message.
pub fn read(message: &[u8], transaction: u32, mac: [u8; 6]) -> Option<Answer> {
    let packet = Packet::read(message).ok()?;
    let is_for_us = packet.reply && packet.transaction == transaction && packet.mac.0 == mac;
    if !is_for_us || !matches!(packet.kind, Kind::Offer | Kind::Acknowledge | Kind::Refuse) {
        return None;
    }
    let value = |code: u8| packet.options.get(code);
    let lease = Lease {
        address: packet.yours,
        prefix: value(options::SUBNET_MASK).and_then(address).map_or(24, prefix),
        router: value(options::ROUTERS).and_then(address),
        routes: value(options::CLASSLESS_ROUTES).map(routes).unwrap_or_default(),
        name_servers: value(options::NAME_SERVERS)
            .map(|list| list.chunks_exact(4).filter_map(address).collect())
            .unwrap_or_default(),
        domain: value(options::DOMAIN_NAME).and_then(domain),
        mtu: packet.options.number(options::INTERFACE_MTU).filter(|mtu| *mtu >= 576),
        seconds: value(options::LEASE_TIME)
            .and_then(|value| Some(u32::from_be_bytes(value.try_into().ok()?)))
            .unwrap_or(600),
    };
    // A proxy DHCP server sends only names of boot files, and offers no address.
    if packet.kind != Kind::Refuse && lease.address.is_unspecified() {
        return None;
    }
    let server = value(options::SERVER_IDENTIFIER).and_then(address)?;
    Some(Answer { kind: packet.kind, server, lease })
}

fn address(bytes: &[u8]) -> Option<Ipv4Addr> {
    Some(<[u8; 4]>::try_from(bytes.get(..4)?).ok()?.into())
}

fn prefix(mask: Ipv4Addr) -> u8 {
    mask.to_bits().leading_ones() as u8
}

fn domain(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?.trim_end_matches('\0');
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    (plain && !text.is_empty()).then(|| text.to_owned())
}

/// Parses classless static routes (RFC 3442): prefix length, the significant bytes of the destination, router.
fn routes(mut rest: &[u8]) -> Vec<(Ipv4Addr, u8, Ipv4Addr)> {
    let mut found = Vec::new();
    while let Some((&bits, after)) = rest.split_first() {
        let significant = usize::from(bits.div_ceil(8));
        if bits > 32 || after.len() < significant + 4 {
            break;
        }
        let mut destination = [0; 4];
        destination[..significant].copy_from_slice(&after[..significant]);
        if let Some(router) = address(&after[significant..]) {
            found.push((destination.into(), bits, router));
        }
        rest = &after[significant + 4..];
    }
    found
}
