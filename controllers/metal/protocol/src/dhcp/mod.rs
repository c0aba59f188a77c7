//! Messages of DHCP for IPv4 (RFC 2131, 2132), with one codec for the server (`metal-boot`) and the client (`agent`). Pure.
//!
//! [`Packet::read`] and [`Packet::write`] translate between bytes and [`Packet`]; [`options`] has the numbers of the options.

mod mac;
pub mod options;
mod packet;

pub use mac::{MacAddress, NotAMacAddress};
pub use options::Options;
pub use packet::{Kind, Malformed, Packet};
