//! Ethernet addresses.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The address of an Ethernet interface. A machine is identified by the interface that it boots from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// Returns the address with dashes, as in the names of objects: `52-54-00-12-34-56`.
    pub fn dashed(self) -> String {
        self.to_string().replace(':', "-")
    }

    /// Returns the interface identifier of this interface in an IPv6 network (RFC 4291, modified EUI-64): the last eight bytes of its
    /// address.
    pub fn interface_identifier(self) -> [u8; 8] {
        let [a, b, c, d, e, f] = self.0;
        [a ^ 2, b, c, 0xff, 0xfe, d, e, f]
    }

    /// Performs the reverse of [`MacAddress::interface_identifier`]; `None` if the identifier is not a modified EUI-64.
    pub fn of_interface_identifier(identifier: [u8; 8]) -> Option<Self> {
        match identifier {
            [a, b, c, 0xff, 0xfe, d, e, f] => Some(Self([a ^ 2, b, c, d, e, f])),
            _ => None,
        }
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, f] = self.0;
        write!(formatter, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
    }
}

impl fmt::Debug for MacAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The error for a text that is not six bytes in hexadecimal digits, separated by colons or dashes.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a MAC address: write it as 52:54:00:12:34:56")]
pub struct NotAMacAddress(pub String);

impl From<MacAddress> for String {
    fn from(mac: MacAddress) -> Self {
        mac.to_string()
    }
}

impl TryFrom<String> for MacAddress {
    type Error = NotAMacAddress;

    fn try_from(text: String) -> Result<Self, NotAMacAddress> {
        text.parse()
    }
}

impl FromStr for MacAddress {
    type Err = NotAMacAddress;

    fn from_str(text: &str) -> Result<Self, NotAMacAddress> {
        let wrong = || NotAMacAddress(text.to_owned());
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut bytes = [0; 6];
        let mut parts = text.split(separator);
        for byte in &mut bytes {
            let part = parts.next().ok_or_else(wrong)?;
            if part.len() != 2 || !part.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        if parts.next().is_some() { Err(wrong()) } else { Ok(Self(bytes)) }
    }
}
