//! Messages of DHCP for IPv4 (RFC 2131, 2132): the one codec of the server (`metal-boot`) and of the client (`agent`). Pure: no sockets.
//!
//! [`Packet::read`] and [`Packet::write`] translate between bytes and [`Packet`]; [`options`] has the numbers of the options.

mod mac;
pub mod options;
mod packet;

pub use mac::{MacAddress, NotAMacAddress};
pub use options::Options;
pub use packet::{Kind, Malformed, Packet};
