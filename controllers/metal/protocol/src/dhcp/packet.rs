//! Reads and writes DHCP messages (RFC 2131).

use std::net::Ipv4Addr;

use crate::dhcp::MacAddress;
use crate::dhcp::options::{self, Options};

/// The length of the fixed part before the options, with the cookie.
const HEADER: usize = 240;
/// The magic cookie, which ends the fixed part.
const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// Relays and old clients drop shorter messages (RFC 1542, section 2.1).
const SHORTEST: usize = 300;
/// Positions of the fields `sname` and `file`.
const SERVER_NAME: std::ops::Range<usize> = 44..108;
const FILE: std::ops::Range<usize> = 108..236;

/// The message type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of RFC 2131")]
pub enum Kind {
    Discover = 1,
    Offer,
    Request,
    Decline,
    Acknowledge,
    Refuse,
    Release,
    Inform,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Discover,
        Self::Offer,
        Self::Request,
        Self::Decline,
        Self::Acknowledge,
        Self::Refuse,
        Self::Release,
        Self::Inform,
    ];

    /// Returns the name for logs and metrics, for example `discover`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Offer => "offer",
            Self::Request => "request",
            Self::Decline => "decline",
            Self::Acknowledge => "acknowledge",
            Self::Refuse => "refuse",
            Self::Release => "release",
            Self::Inform => "inform",
        }
    }
}

/// The reason why bytes are not a message that this server understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Shorter than the fixed part.
    #[error("{0} bytes are too few for a DHCP message")]
    Short(usize),
    /// Neither a request nor a reply.
    #[error("operation {0} is neither request nor reply")]
    Operation(u8),
    /// Not Ethernet.
    #[error("hardware type {0} with addresses of {1} bytes is not Ethernet")]
    Hardware(u8, u8),
    /// The magic cookie is missing: BOOTP, or another protocol.
    #[error("the options do not begin as those of DHCP")]
    Cookie,
    /// The message type is missing (BOOTP) or unknown.
    #[error("the message has no type that is known")]
    Kind,
}

/// A DHCP message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Whether a server sent it.
    pub reply: bool,
    /// The message type.
    pub kind: Kind,
    /// The number of relays that forwarded it.
    pub hops: u8,
    /// The transaction identifier that the client chose.
    pub transaction: u32,
    /// Seconds since the client began to ask.
    pub seconds: u16,
    /// Whether the client can receive only broadcasts, because it has no address yet.
    pub broadcast: bool,
    /// The address that the client has (`ciaddr`).
    pub client: Ipv4Addr,
    /// The address that the client gets (`yiaddr`).
    pub yours: Ipv4Addr,
    /// The server that the client loads the boot file from (`siaddr`).
    pub next_server: Ipv4Addr,
    /// The relay's address in the client's network (`giaddr`).
    pub relay: Ipv4Addr,
    /// The MAC address of the client (`chaddr`).
    pub mac: MacAddress,
    /// The server's name (`sname`).
    pub server_name: String,
    /// The name of the boot file (`file`).
    pub file: String,
    /// The options, without the message type.
    pub options: Options,
}

impl Packet {
    /// Returns an answer to `self` without options.
    pub fn answer(&self, kind: Kind) -> Self {
        Self {
            reply: true,
            kind,
            hops: 0,
            transaction: self.transaction,
            seconds: 0,
            broadcast: self.broadcast,
            client: Ipv4Addr::UNSPECIFIED,
            yours: Ipv4Addr::UNSPECIFIED,
            next_server: Ipv4Addr::UNSPECIFIED,
            relay: self.relay,
            mac: self.mac,
            server_name: String::new(),
            file: String::new(),
            options: Options::default(),
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are not a DHCP message for Ethernet.
    pub fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let (header, rest) = bytes.split_at_checked(HEADER).ok_or(Malformed::Short(bytes.len()))?;
        let reply = match header[0] {
            1 => false,
            2 => true,
            other => return Err(Malformed::Operation(other)),
        };
        if (header[1], header[2]) != (1, 6) {
            return Err(Malformed::Hardware(header[1], header[2]));
        }
        if header[236..] != COOKIE {
            return Err(Malformed::Cookie);
        }
        let mut read = Options::default();
        read.read(rest);
        let overload = read.get(options::OVERLOAD).and_then(|value| value.first().copied()).unwrap_or(0);
        let (in_file, in_name) = (overload & 1 != 0, overload & 2 != 0);
        if in_file {
            read.read(&header[FILE]);
        }
        if in_name {
            read.read(&header[SERVER_NAME]);
        }
        let kind = match read.get(options::MESSAGE_TYPE) {
            Some([kind]) => Kind::ALL.into_iter().find(|known| *known as u8 == *kind),
            _ => None,
        };
        let mut kept = Options::default();
        for (code, value) in read.iter() {
            if ![options::MESSAGE_TYPE, options::OVERLOAD].contains(&code) {
                kept.set(code, value);
            }
        }
        let number =
            |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let mut mac = MacAddress::default();
        mac.0.copy_from_slice(&header[28..34]);
        Ok(Self {
            reply,
            kind: kind.ok_or(Malformed::Kind)?,
            hops: header[3],
            transaction: number(4),
            seconds: u16::from_be_bytes([header[8], header[9]]),
            broadcast: header[10] & 0x80 != 0,
            client: number(12).into(),
            yours: number(16).into(),
            next_server: number(20).into(),
            relay: number(24).into(),
            mac,
            server_name: if in_name { String::new() } else { text(&header[SERVER_NAME]) },
            file: if in_file { String::new() } else { text(&header[FILE]) },
            options: kept,
        })
    }

    /// Returns the message as bytes, at most `most` of them; options that do not fit are left out.
    pub fn write(&self, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes[0] = if self.reply { 2 } else { 1 };
        bytes[1] = 1;
        bytes[2] = 6;
        bytes[3] = self.hops;
        bytes[4..8].copy_from_slice(&self.transaction.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.seconds.to_be_bytes());
        bytes[10] = if self.broadcast { 0x80 } else { 0 };
        for (at, address) in [(12, self.client), (16, self.yours), (20, self.next_server), (24, self.relay)] {
            bytes[at..at + 4].copy_from_slice(&address.octets());
        }
        bytes[28..34].copy_from_slice(&self.mac.0);
        // Both fields end with a zero byte; a longer name is sent only as an option.
        for (range, name) in [(SERVER_NAME, &self.server_name), (FILE, &self.file)] {
            if name.len() < range.len() {
                bytes[range.start..range.start + name.len()].copy_from_slice(name.as_bytes());
            }
        }
        bytes[236..HEADER].copy_from_slice(&COOKIE);
        bytes.extend([options::MESSAGE_TYPE, 1, self.kind as u8]);
        self.options.write(&mut bytes, most);
        bytes.resize(bytes.len().max(SHORTEST), 0);
        bytes
    }

    /// Returns the largest DHCP message in bytes that the client accepts: its own limit, clamped between the 576 bytes that every
    /// client must accept and one Ethernet frame, minus the headers of IP and UDP.
    pub fn largest_answer(&self) -> usize {
        let said = self.options.number(options::MAXIMUM_SIZE).unwrap_or(576);
        usize::from(said.clamp(576, 1500)) - 28
    }
}

/// Returns the text before the first zero byte.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
