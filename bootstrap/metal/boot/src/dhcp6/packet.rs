//! Messages of DHCP for IPv6.

use agent_protocol::dhcp::MacAddress;

/// The numbers of the options.
pub mod option {
    #![allow(missing_docs, reason = "the names of the standards")]
    pub const CLIENT: u16 = 1;
    pub const SERVER: u16 = 2;
    pub const ASSOCIATION: u16 = 3;
    pub const ADDRESS: u16 = 5;
    pub const STATUS: u16 = 13;
    pub const RAPID_COMMIT: u16 = 14;
    pub const USER_CLASS: u16 = 15;
    pub const VENDOR_CLASS: u16 = 16;
    pub const BOOT_FILE: u16 = 59;
    pub const ARCHITECTURES: u16 = 61;
}

/// The message types between clients and servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of RFC 8415")]
pub enum Kind {
    Solicit = 1,
    Advertise,
    Request,
    Confirm,
    Renew,
    Rebind,
    Reply,
    Release,
    Decline,
    InformationRequest = 11,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::Solicit,
        Self::Advertise,
        Self::Request,
        Self::Confirm,
        Self::Renew,
        Self::Rebind,
        Self::Reply,
        Self::Release,
        Self::Decline,
        Self::InformationRequest,
    ];

    /// Returns the name for logs and metrics, for example `solicit`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Solicit => "solicit",
            Self::Advertise => "advertise",
            Self::Request => "request",
            Self::Confirm => "confirm",
            Self::Renew => "renew",
            Self::Rebind => "rebind",
            Self::Reply => "reply",
            Self::Release => "release",
            Self::Decline => "decline",
            Self::InformationRequest => "information_request",
        }
    }
}

/// A list of options in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(pub Vec<(u16, Vec<u8>)>);

impl Options {
    /// Reads a list to its end; `None` if it is truncated.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut found = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (code, after) = rest.split_first_chunk::<2>()?;
            let (length, after) = after.split_first_chunk::<2>()?;
            let (value, after) = after.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
            found.push((u16::from_be_bytes(*code), value.to_vec()));
            rest = after;
        }
        Some(Self(found))
    }

    /// Appends the list to `bytes`. A value longer than 65535 bytes is left out.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        for (code, value) in &self.0 {
            if let Ok(length) = u16::try_from(value.len()) {
                bytes.extend(code.to_be_bytes());
                bytes.extend(length.to_be_bytes());
                bytes.extend(value);
            }
        }
    }

    /// Returns the value of the first option `code`.
    pub fn get(&self, code: u16) -> Option<&[u8]> {
        self.0.iter().find(|(known, _)| *known == code).map(|(_, value)| value.as_slice())
    }

    /// Appends an option.
    pub fn add(&mut self, code: u16, value: impl Into<Vec<u8>>) {
        self.0.push((code, value.into()));
    }
}

/// A DHCPv6 message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The message type.
    pub kind: Kind,
    /// The transaction identifier that the client chose.
    pub transaction: [u8; 3],
    /// The options.
    pub options: Options,
}

impl Packet {
    /// Reads a message; `None` if it is malformed or of a relay.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let ([kind, transaction @ ..], rest) = bytes.split_first_chunk::<4>()?;
        let kind = Kind::ALL.into_iter().find(|known| *known as u8 == *kind)?;
        Some(Self { kind, transaction: *transaction, options: Options::read(rest)? })
    }

    /// Returns the message as bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = vec![self.kind as u8];
        bytes.extend(self.transaction);
        self.options.write(&mut bytes);
        bytes
    }
}

/// Returns the Ethernet address in a DUID of a client or server (RFC 8415, section 11), if it contains one.
pub fn mac_of(identifier: &[u8]) -> Option<MacAddress> {
    match identifier {
        // DUID-LLT and DUID-LL; the hardware type is Ethernet.
        [0, 1, 0, 1, _, _, _, _, mac @ ..] | [0, 3, 0, 1, mac @ ..] => mac.try_into().ok().map(MacAddress),
        _ => None,
    }
}

/// Returns the DUID of a server with this Ethernet address.
pub fn identifier(mac: MacAddress) -> Vec<u8> {
    let mut bytes = vec![0, 3, 0, 1];
    bytes.extend(mac.0);
    bytes
}
