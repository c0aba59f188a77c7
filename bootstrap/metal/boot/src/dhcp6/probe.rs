//! Looks for another DHCPv6 server by sending a solicit message.

use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use machinery::random::Random;

use super::packet::{Kind, Options, Packet, identifier, option};
use super::plan::addresses;
use super::server::{ALL_SERVERS, PORT};
use crate::error::Error;
use crate::limits;
use crate::network::{self, Interface};

/// The UDP port of clients.
const CLIENT_PORT: u16 = 546;
/// Option of a client: how long it has been asking, in hundredths of a second.
const ELAPSED_TIME: u16 = 8;

/// Returns a server that offers an address on the interface within [`limits::OTHER_SERVER`], or `None`. The offer is not accepted.
///
/// # Errors
/// [`Error::NotPermitted`], [`Error::Socket`]. If a DHCPv6 client of this machine already uses the client port, the function logs that
/// and returns `None`.
pub async fn other_server(interface: &Interface, random: &Random) -> Result<Option<IpAddr>, Error> {
    let name = &interface.name;
    let socket = match network::datagrams_v6("DHCPv6", interface, CLIENT_PORT, &[]) {
        Ok(socket) => socket,
        Err(Error::PortInUse { .. }) => {
            let interface = name;
            tracing::warn!(
                interface,
                "a client of DHCPv6 runs on this interface: it is not known whether a server does, too"
            );
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let request = solicit(interface, random.number());
    let to = SocketAddrV6::new(ALL_SERVERS, PORT, 0, interface.index);
    if let Err(error) = socket.send_to(&request.write(), SocketAddr::V6(to)).await {
        tracing::info!(interface = name, %error, "no IPv6 here: no other server of DHCPv6 is looked for");
        return Ok(None);
    }
    let offered = async {
        let mut buffer = vec![0; limits::MESSAGE];
        loop {
            let Ok((length, source)) = socket.recv_from(&mut buffer).await else { continue };
            if let Some(packet) = Packet::read(&buffer[..length])
                && matches!(packet.kind, Kind::Advertise | Kind::Reply)
                && packet.transaction == request.transaction
                // A server that gives no addresses does not conflict.
                && addresses(&packet).next().is_some()
            {
                return source.ip();
            }
        }
    };
    Ok(tokio::time::timeout(limits::OTHER_SERVER, offered).await.ok())
}

fn solicit(interface: &Interface, number: u64) -> Packet {
    let [.., a, b, c] = number.to_be_bytes();
    let mut options = Options::default();
    options.add(option::CLIENT, identifier(interface.mac));
    options.add(ELAPSED_TIME, [0, 0]);
    // An identity association (IA_NA); the zero times leave the choice to the server.
    options.add(option::ASSOCIATION, [[0, 0, 0, 1], [0; 4], [0; 4]].concat());
    Packet { kind: Kind::Solicit, transaction: [a, b, c], options }
}
