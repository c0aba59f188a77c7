//! The client's DHCP messages (RFC 2131, 2132, 3442): reading and writing.

use std::net::Ipv4Addr;

/// The number of bytes before the options.
const HEADER: usize = 236;
const MAGIC: [u8; 4] = [99, 130, 83, 99];
/// The shortest message in bytes: some relays drop shorter ones (RFC 1542, 2.1).
const MESSAGE_BYTES_MIN: usize = 300;
/// The broadcast flag: answers are broadcast, since the interface has no address yet.
const BROADCAST: [u8; 2] = [0x80, 0];

const SUBNET_MASK: u8 = 1;
const ROUTER: u8 = 3;
const NAME_SERVERS: u8 = 6;
const DOMAIN_NAME: u8 = 15;
const MTU: u8 = 26;
const REQUESTED_ADDRESS: u8 = 50;
const LEASE_SECONDS: u8 = 51;
const OVERLOAD: u8 = 52;
const MESSAGE_TYPE: u8 = 53;
const SERVER: u8 = 54;
const PARAMETERS: u8 = 55;
const MESSAGE_SIZE: u8 = 57;
const VENDOR_CLASS: u8 = 60;
const ROUTES: u8 = 121;
const PAD: u8 = 0;
const END: u8 = 255;

/// The message types that the client uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The client looks for servers.
    Discover = 1,
    /// A server offers an address.
    Offer = 2,
    /// The client requests an address.
    Request = 3,
    /// The server confirms the lease.
    Acknowledge = 5,
    /// The server refuses the request.
    Refuse = 6,
}

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
        let mut bytes = vec![0; HEADER];
        bytes[..3].copy_from_slice(&[1, 1, 6]);
        bytes[4..8].copy_from_slice(&self.transaction.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.seconds.to_be_bytes());
        bytes[10..12].copy_from_slice(&BROADCAST);
        bytes[12..16].copy_from_slice(&self.keep.unwrap_or(Ipv4Addr::UNSPECIFIED).octets());
        bytes[28..34].copy_from_slice(&self.mac);
        bytes.extend(MAGIC);
        let asks = self.offer.is_some() || self.keep.is_some();
        let kind = if asks { Kind::Request } else { Kind::Discover };
        let mut option = |code: u8, value: &[u8]| {
            bytes.extend([code, value.len() as u8]);
            bytes.extend(value);
        };
        option(MESSAGE_TYPE, &[kind as u8]);
        option(MESSAGE_SIZE, &1500u16.to_be_bytes());
        option(VENDOR_CLASS, b"firstlight-agent");
        option(PARAMETERS, &[SUBNET_MASK, ROUTER, NAME_SERVERS, DOMAIN_NAME, MTU, ROUTES]);
        if let Some((address, server)) = self.offer {
            option(REQUESTED_ADDRESS, &address.octets());
            option(SERVER, &server.octets());
        }
        bytes.push(END);
        bytes.resize(bytes.len().max(MESSAGE_BYTES_MIN), PAD);
        bytes
    }
}

/// Reads an answer to the message `transaction` of the interface `mac`; `None` for any other message.
pub fn read(message: &[u8], transaction: u32, mac: [u8; 6]) -> Option<Answer> {
    let fixed = message.get(..HEADER)?;
    let for_us = fixed[0] == 2 && fixed[4..8] == transaction.to_be_bytes() && fixed[28..34] == mac;
    if !for_us || message.get(HEADER..HEADER + 4)? != MAGIC {
        return None;
    }
    let options = options(message);
    let value =
        |code: u8| options.iter().find(|(known, _)| *known == code).map(|(_, value)| value.as_slice());
    let kind = match value(MESSAGE_TYPE)? {
        [2] => Kind::Offer,
        [5] => Kind::Acknowledge,
        [6] => Kind::Refuse,
        _ => return None,
    };
    let lease = Lease {
        address: address(&fixed[16..20])?,
        prefix: value(SUBNET_MASK).and_then(address).map_or(24, prefix),
        router: value(ROUTER).and_then(address),
        routes: value(ROUTES).map(routes).unwrap_or_default(),
        name_servers: value(NAME_SERVERS)
            .map(|list| list.chunks_exact(4).filter_map(address).collect())
            .unwrap_or_default(),
        domain: value(DOMAIN_NAME).and_then(domain),
        mtu: value(MTU)
            .and_then(|value| Some(u16::from_be_bytes(value.try_into().ok()?)))
            .filter(|mtu| *mtu >= 576),
        seconds: value(LEASE_SECONDS)
            .and_then(|value| Some(u32::from_be_bytes(value.try_into().ok()?)))
            .unwrap_or(600),
    };
    // A proxy DHCP server sends only names of boot files, and offers no address.
    if kind != Kind::Refuse && lease.address.is_unspecified() {
        return None;
    }
    Some(Answer { kind, server: value(SERVER).and_then(address)?, lease })
}

/// Returns all options, with the parts of split options joined (RFC 3396), and including those in the fields `file` and `sname` if the
/// option overload says so.
fn options(message: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut found = Vec::new();
    collect(message.get(HEADER + 4..).unwrap_or_default(), &mut found);
    let overload =
        found.iter().find(|(code, _)| *code == OVERLOAD).and_then(|(_, value)| value.first().copied());
    if matches!(overload, Some(1 | 3)) {
        collect(message.get(108..236).unwrap_or_default(), &mut found);
    }
    if matches!(overload, Some(2 | 3)) {
        collect(message.get(44..108).unwrap_or_default(), &mut found);
    }
    found
}

fn collect(mut rest: &[u8], found: &mut Vec<(u8, Vec<u8>)>) {
    while let Some((&code, after)) = rest.split_first() {
        match code {
            END => return,
            PAD => rest = after,
            _ => {
                let Some((&length, after)) = after.split_first() else { return };
                let Some((value, after)) = after.split_at_checked(usize::from(length)) else { return };
                match found.iter_mut().find(|(known, _)| *known == code) {
                    Some((_, whole)) => whole.extend(value),
                    None => found.push((code, value.to_vec())),
                }
                rest = after;
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAC: [u8; 6] = [0x52, 0x54, 0, 1, 2, 3];

    fn answer(options: &[u8]) -> Vec<u8> {
        let mut bytes = Request { transaction: 7, mac: MAC, seconds: 0, offer: None, keep: None }.bytes();
        bytes.truncate(HEADER + 4);
        bytes[0] = 2;
        bytes[16..20].copy_from_slice(&[10, 77, 0, 80]);
        bytes.extend(options);
        bytes
    }

    #[test]
    fn an_acknowledgement() {
        let message = answer(&[
            53, 1, 5, 54, 4, 10, 77, 0, 1, 1, 4, 255, 255, 254, 0, 3, 4, 10, 77, 0, 1, 0, 6, 8, 1, 1, 1, 1,
            8, 8, 8, 8, 51, 4, 0, 0, 14, 16, 26, 2, 5, 220, 15, 4, b'l', b'a', b'b', 0, 121, 14, 24, 10, 9,
            8, 10, 77, 0, 9, 0, 10, 77, 0, 2, 0, 255,
        ]);
        let read = read(&message, 7, MAC).unwrap();
        assert_eq!((read.kind, read.server), (Kind::Acknowledge, Ipv4Addr::new(10, 77, 0, 1)));
        let lease = read.lease;
        assert_eq!((lease.address, lease.prefix), (Ipv4Addr::new(10, 77, 0, 80), 23));
        assert_eq!(lease.name_servers.len(), 2);
        assert_eq!((lease.seconds, lease.mtu, lease.domain.as_deref()), (3600, Some(1500), Some("lab")));
        assert_eq!(lease.routes[0], (Ipv4Addr::new(10, 9, 8, 0), 24, Ipv4Addr::new(10, 77, 0, 9)));
        assert_eq!(lease.routes[1], (Ipv4Addr::UNSPECIFIED, 0, Ipv4Addr::new(10, 77, 0, 2)));
    }

    #[test]
    fn what_is_not_for_this_client_is_passed_over() {
        let offer = answer(&[53, 1, 2, 54, 4, 10, 77, 0, 1, 255]);
        assert!(read(&offer, 7, MAC).is_some());
        assert!(read(&offer, 8, MAC).is_none());
        assert!(read(&offer, 7, [1; 6]).is_none());
        let without_server = answer(&[53, 1, 2, 255]);
        assert!(read(&without_server, 7, MAC).is_none());
        let mut proxy = offer;
        proxy[16..20].fill(0);
        assert!(read(&proxy, 7, MAC).is_none());
    }

    #[test]
    fn a_request_names_the_offer_and_is_long_enough() {
        let bytes = Request {
            transaction: 7,
            mac: MAC,
            seconds: 3,
            offer: Some((Ipv4Addr::new(10, 77, 0, 80), Ipv4Addr::new(10, 77, 0, 1))),
            keep: None,
        }
        .bytes();
        assert!(bytes.len() >= MESSAGE_BYTES_MIN);
        let options = options(&bytes);
        assert!(options.contains(&(53, vec![3])));
        assert!(options.contains(&(50, vec![10, 77, 0, 80])));
        assert!(options.contains(&(54, vec![10, 77, 0, 1])));
    }

    proptest! {
        #[test]
        fn no_message_ends_the_agent(options in proptest::collection::vec(any::<u8>(), 0..300), cut in 0usize..400) {
            let mut message = answer(&options);
            message.truncate(cut);
            let _ = read(&message, 7, MAC);
        }
    }
}
