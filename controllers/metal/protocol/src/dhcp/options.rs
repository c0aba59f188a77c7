//! The options of a DHCP message (RFC 2132): their numbers, and reading and writing a list of options.

use std::net::Ipv4Addr;

/// The subnet mask of the client's network.
pub const SUBNET_MASK: u8 = 1;
/// The routers of the client's network.
pub const ROUTERS: u8 = 3;
/// DNS servers.
pub const NAME_SERVERS: u8 = 6;
/// The host name of the client.
pub const HOST_NAME: u8 = 12;
/// The domain in which names are looked up.
pub const DOMAIN_NAME: u8 = 15;
/// The MTU of the link.
pub const INTERFACE_MTU: u8 = 26;
/// The broadcast address of the client's network.
pub const BROADCAST_ADDRESS: u8 = 28;
/// NTP servers.
pub const TIME_SERVERS: u8 = 42;
/// Vendor-specific data; for PXE, a nested list of options.
pub const VENDOR_SPECIFIC: u8 = 43;
/// The address that the client requests.
pub const REQUESTED_ADDRESS: u8 = 50;
/// The lease time in seconds.
pub const LEASE_TIME: u8 = 51;
/// The fields of the message that contain options: `file`, `sname`, or both.
pub const OVERLOAD: u8 = 52;
/// The message type ([`crate::dhcp::Kind`]).
pub const MESSAGE_TYPE: u8 = 53;
/// The address of the server: in a request, the server that the client chose; in an answer, the server that sent it.
pub const SERVER_IDENTIFIER: u8 = 54;
/// The options that the client requests.
pub const PARAMETER_LIST: u8 = 55;
/// The reason for a refusal, as text.
pub const MESSAGE: u8 = 56;
/// The largest message that the client accepts.
pub const MAXIMUM_SIZE: u8 = 57;
/// Seconds after which the client asks its server to renew the lease.
pub const RENEWAL_TIME: u8 = 58;
/// Seconds after which the client asks any server to renew the lease.
pub const REBINDING_TIME: u8 = 59;
/// The vendor class, for example `PXEClient…` or `HTTPClient…`.
pub const VENDOR_CLASS: u8 = 60;
/// The client identifier, which differs between firmware, iPXE and the installed system.
pub const CLIENT_IDENTIFIER: u8 = 61;
/// The name of the TFTP server.
pub const TFTP_SERVER: u8 = 66;
/// The name or URL of the boot file.
pub const BOOT_FILE: u8 = 67;
/// The user class; iPXE sends `iPXE`.
pub const USER_CLASS: u8 = 77;
/// Information that a relay adds about the client's link (RFC 3046).
pub const RELAY_INFORMATION: u8 = 82;
/// The architecture of the client's firmware (RFC 4578).
pub const ARCHITECTURE: u8 = 93;
/// The machine's UUID.
pub const MACHINE_IDENTIFIER: u8 = 97;
/// Classless static routes (RFC 3442), which replace [`ROUTERS`].
pub const CLASSLESS_ROUTES: u8 = 121;
/// iPXE's own options, as a nested list.
pub const IPXE: u8 = 175;
/// In [`IPXE`]: 1 if the client need not wait for a proxy.
pub const IPXE_NO_PROXY: u8 = 176;
/// In [`VENDOR_SPECIFIC`] of PXE: the ways in which the client searches for boot servers.
pub const PXE_DISCOVERY_CONTROL: u8 = 6;
/// In [`RELAY_INFORMATION`]: the network of the client's link (RFC 3527).
pub const RELAY_LINK_SELECTION: u8 = 5;

const PAD: u8 = 0;
const END: u8 = 255;

/// Options in the order of their first appearance, each code once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options(Vec<(u8, Vec<u8>)>);

impl Options {
    /// Returns the value of the option `code`.
    pub fn get(&self, code: u8) -> Option<&[u8]> {
        self.0.iter().find(|(known, _)| *known == code).map(|(_, value)| value.as_slice())
    }

    /// Returns the value of the option `code` if it is an IPv4 address.
    pub fn address(&self, code: u8) -> Option<Ipv4Addr> {
        <[u8; 4]>::try_from(self.get(code)?).ok().map(Ipv4Addr::from)
    }

    /// Returns the value of the option `code` if it is a number of two bytes.
    pub fn number(&self, code: u8) -> Option<u16> {
        <[u8; 2]>::try_from(self.get(code)?).ok().map(u16::from_be_bytes)
    }

    /// Sets the option `code` to `value`: replaces its value, or appends it to the list.
    pub fn set(&mut self, code: u8, value: impl Into<Vec<u8>>) {
        let value = value.into();
        match self.0.iter_mut().find(|(known, _)| *known == code) {
            Some((_, old)) => *old = value,
            None => self.0.push((code, value)),
        }
    }

    /// Sets the option `code` to the addresses in order; does nothing if there are none.
    pub fn set_addresses(&mut self, code: u8, addresses: &[Ipv4Addr]) {
        if !addresses.is_empty() {
            self.set(code, addresses.iter().flat_map(Ipv4Addr::octets).collect::<Vec<u8>>());
        }
    }

    /// Sets the option `code` to a number of four bytes.
    pub fn set_number(&mut self, code: u8, number: u32) {
        self.set(code, number.to_be_bytes());
    }

    /// Iterates over codes and values.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &[u8])> {
        self.0.iter().map(|(code, value)| (*code, value.as_slice()))
    }

    /// Adds the options in `bytes`; the parts of an option that appears more than once are joined (RFC 3396). Bytes behind the end
    /// option and a truncated option are ignored, because some firmware sends them.
    pub fn read(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let [code, after @ ..] = rest {
            match (*code, after) {
                (PAD, _) => rest = after,
                (END, _) => return,
                (code, [length, after @ ..]) => {
                    let Some((value, after)) = after.split_at_checked(usize::from(*length)) else { return };
                    match self.0.iter_mut().find(|(known, _)| *known == code) {
                        Some((_, old)) => old.extend_from_slice(value),
                        None => self.0.push((code, value.to_vec())),
                    }
                    rest = after;
                }
                (_, []) => return,
            }
        }
    }

    /// Appends the options and the end option to `bytes`, up to `most` bytes in total; options that do not fit are left out. An option
    /// of more than 255 bytes is written in parts.
    pub fn write(&self, bytes: &mut Vec<u8>, most: usize) {
        for (code, value) in &self.0 {
            let parts = value.len().div_ceil(255).max(1);
            if bytes.len() + value.len() + 2 * parts + 1 > most {
                continue;
            }
            let mut rest = value.as_slice();
            for _ in 0..parts {
                let (part, after) = rest.split_at(rest.len().min(255));
                bytes.push(*code);
                bytes.push(u8::try_from(part.len()).unwrap_or(u8::MAX));
                bytes.extend_from_slice(part);
                rest = after;
            }
        }
        bytes.push(END);
    }

    /// Returns the options as the value of another option.
    pub fn encapsulated(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes, usize::MAX);
        bytes
    }
}
