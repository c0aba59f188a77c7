//! Networks that lie inside this machine: those of containers and virtual machines. No proxy of others reaches them.

use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkInfo, LinkMessage};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

/// The IPv4 routes of the network in which this process is, as in proc(5).
const ROUTES: &str = "/proc/net/route";
/// The most bytes of one answer of the kernel (netlink(7)).
const ANSWER: usize = 64 << 10;
/// The flag of a route that leads over another machine (`RTF_GATEWAY`).
const GATEWAY: u32 = 2;

/// Whether a host is an address to which a bridge leads that has no device of this machine.
pub(crate) fn is_inside(host: &str) -> bool {
    let Ok(address) = host.parse::<Ipv4Addr>() else { return false };
    let Ok(routes) = std::fs::read_to_string(ROUTES) else { return false };
    let Some(name) = interface(&routes, address) else { return false };
    // A kernel that does not answer says nothing of a bridge.
    links().is_ok_and(|links| is_inner_bridge(&links, name))
}

/// Returns the interface that reaches an address without another machine: that of the most specific route.
fn interface(routes: &str, address: Ipv4Addr) -> Option<&str> {
    let covers = |line: &'_ str| -> Option<(u32, bool)> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok();
        // Addresses are written as the kernel has them in memory.
        let (network, flags, mask) = (number(1)?, number(3)?, number(7)?);
        let is_covered = u32::from_ne_bytes(address.octets()) & mask == network;
        is_covered.then(|| (mask.count_ones(), flags & GATEWAY == 0))
    };
    let all = routes.lines().skip(1).filter_map(|line| Some((covers(line)?, line)));
    let ((_, is_direct), line) = all.max_by_key(|((length, _), _)| *length)?;
    line.split_whitespace().next().filter(|_| is_direct)
}

/// Whether an interface is a bridge, and none of its ports is a device.
fn is_inner_bridge(links: &[LinkMessage], name: &str) -> bool {
    let is_named = |link: &&LinkMessage| link.attributes.contains(&LinkAttribute::IfName(name.to_owned()));
    let Some(bridge) = links.iter().find(is_named) else { return false };
    let port = LinkAttribute::Controller(bridge.header.index);
    let mut ports = links.iter().filter(|link| link.attributes.contains(&port));
    // What the kernel has made by itself is of no kind: a device.
    kind(bridge) == Some(&InfoKind::Bridge) && ports.all(|port| kind(port).is_some())
}

fn kind(link: &LinkMessage) -> Option<&InfoKind> {
    let mut infos = link.attributes.iter().filter_map(|attribute| match attribute {
        LinkAttribute::LinkInfo(infos) => Some(infos),
        _ => None,
    });
    infos.next()?.iter().find_map(|info| match info {
        LinkInfo::Kind(kind) => Some(kind),
        _ => None,
    })
}

/// Returns the interfaces of the network in which this process is (rtnetlink(7)). Files below `/sys` tell of the network in which they were
/// mounted, which may be another one.
fn links() -> nix::Result<Vec<LinkMessage>> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let question = RouteNetlinkMessage::GetLink(LinkMessage::default());
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(question));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    send(socket.as_raw_fd(), &bytes, MsgFlags::empty())?;
    let (mut links, mut answer) = (Vec::new(), vec![0; ANSWER]);
    loop {
        // The kernel has the next part as soon as one is read.
        let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
        if !take(answer.get(..length).unwrap_or_default(), &mut links) {
            return Ok(links);
        }
    }
}

/// Takes the interfaces out of a part of an answer, and returns whether another part follows.
fn take(mut part: &[u8], links: &mut Vec<LinkMessage>) -> bool {
    while let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(part) {
        let length = usize::try_from(message.header.length).unwrap_or(part.len()).next_multiple_of(4);
        match message.payload {
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => links.push(link),
            NetlinkPayload::Done(_) | NetlinkPayload::Error(_) => return false,
            _ => {}
        }
        part = part.get(length..).unwrap_or_default();
        if part.is_empty() {
            return true;
        }
    }
    // What cannot be read ends the answer.
    false
}
