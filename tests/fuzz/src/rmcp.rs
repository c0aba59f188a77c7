//! Parsers of packets from IPMI controllers.

use bmc::ipmi::{fru::Area, handshake, packet, read_response};

/// Parses a datagram, and its content as every possible response.
pub fn datagram(input: &[u8]) -> String {
    let inner = match packet::read(input, None) {
        None => return "no packet".to_owned(),
        Some(packet::Packet::Plain(message)) => message,
        Some(packet::Packet::Outside(_, payload)) => payload,
        Some(packet::Packet::Inside(..)) => panic!("a packet of a session was read without its keys"),
    };
    let tag = inner.first().copied().unwrap_or_default();
    let console = inner.get(4..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes);
    let open = handshake::read_open(&inner, tag, console).map(|answer| answer.map(|(_, suite)| suite));
    let second =
        handshake::read_rakp_2(&inner, tag, console).map(|answer| answer.map(|(.., code)| code.len()));
    let fourth = handshake::read_rakp_4(&inner, tag, console).map(|answer| answer.map(|code| code.len()));
    let (function, number) =
        (inner.get(1).map_or(0, |byte| byte >> 2), inner.get(5).copied().unwrap_or_default());
    let sequence = inner.get(4).map_or(0, |byte| byte >> 2);
    let response =
        read_response(&inner, function & !1, number, sequence).map(|(code, data)| (code, data.len()));
    format!("{open:?} {second:?} {fourth:?} {response:?}")
}

/// Parses an inventory area as each kind. The result must consist of data from the input.
pub fn inventory(input: &[u8]) -> String {
    let read = |area: Area| area.read(input);
    for identity in [Area::Product, Area::Board].into_iter().filter_map(read) {
        let length = identity.manufacturer.chars().count() + identity.model.chars().count();
        assert!(length <= 2 * input.len(), "more text than there are bytes");
    }
    let shape = |area| read(area).map(|found| [found.manufacturer.is_empty(), found.serial.is_empty()]);
    format!("{:?} {:?}", shape(Area::Product), shape(Area::Board))
}
