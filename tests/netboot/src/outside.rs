//! Watches a network namespace for packets to addresses outside of the site.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _};
use std::net::Ipv4Addr;

use anyhow::{Result, ensure};
use socket2::{Domain, Protocol, SockFilter, Socket, Type};

/// All protocols of Ethernet: a socket for a single one sees no packet that leaves this namespace's own interfaces.
const ALL: u16 = 0x0003;
/// The protocol of IPv4 in Ethernet.
const IPV4: u32 = 0x0800;
/// Where the kernel's filters read the protocol of a packet.
const PROTOCOL: u32 = 0xffff_f000;
/// The place of the destination in the header of IPv4.
const DESTINATION: u32 = 16;
/// The networks of the site, its pods and its services: `10.0.0.0/8`; and the host itself.
const INSIDE: [u32; 2] = [10, 127];
/// The first address of multicast, after which there is nothing but multicast and broadcast.
const MULTICAST: u32 = 0xe000_0000;

/// Sees all packets of IPv4 of a network namespace, on every interface, and keeps those to addresses outside of the site.
pub struct Outside(Socket);

impl Outside {
    /// Starts to watch.
    ///
    /// # Errors
    /// Fails without the permission to open such a socket.
    pub fn watch() -> Result<Self> {
        let protocol = Protocol::from(i32::from(ALL.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(protocol))?;
        socket.attach_filter(&filter())?;
        socket.set_nonblocking(true)?;
        Ok(Self(socket))
    }

    /// Fails if there was a packet to an address outside of the site; the error has the addresses, and the number of packets to each.
    ///
    /// # Errors
    /// There was such a packet, or the socket cannot be read.
    pub fn is_silent(&self) -> Result<()> {
        let mut found: BTreeMap<Ipv4Addr, usize> = BTreeMap::new();
        let mut packet = [0; 64];
        loop {
            match (&self.0).read(&mut packet) {
                Ok(_) => {
                    let at = DESTINATION as usize;
                    let address = Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3]);
                    *found.entry(address).or_default() += 1;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        ensure!(found.is_empty(), "something has asked for addresses outside of the site: {found:?}");
        Ok(())
    }
}

/// Returns the kernel's filter, which drops packets to addresses of the site, of multicast and of broadcast.
fn filter() -> [SockFilter; 9] {
    let (load, load_half, shift, is, is_at_least, end) = (0x20, 0x28, 0x74, 0x15, 0x35, 0x06);
    [
        SockFilter::new(load_half, 0, 0, PROTOCOL),
        SockFilter::new(is, 0, 6, IPV4),
        SockFilter::new(load, 0, 0, DESTINATION),
        SockFilter::new(is_at_least, 4, 0, MULTICAST),
        SockFilter::new(shift, 0, 0, 24),
        SockFilter::new(is, 2, 0, INSIDE[0]),
        SockFilter::new(is, 1, 0, INSIDE[1]),
        SockFilter::new(end, 0, 0, 64),
        SockFilter::new(end, 0, 0, 0),
    ]
}
