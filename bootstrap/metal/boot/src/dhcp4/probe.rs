//! Looks for another DHCP server by sending a discover message.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use agent_protocol::dhcp::{Kind, Options, Packet, options};
use machinery::random::Random;

use super::link::{CLIENT_PORT, SERVER_PORT};
use crate::error::Error;
use crate::limits;
use crate::network::{self, Interface};

/// Returns a server that offers an address on the interface within [`limits::OTHER_SERVER`], or `None`. The offer is not accepted.
///
/// # Errors
/// [`Error::NotPermitted`], [`Error::Socket`]. If a DHCP client of this machine already uses the client port, the function logs that
/// and returns `None`.
pub async fn other_server(interface: &Interface, random: &Random) -> Result<Option<Ipv4Addr>, Error> {
    let socket = match network::datagrams_v4("DHCP", &interface.name, CLIENT_PORT) {
        Ok(socket) => socket,
        Err(Error::PortInUse { .. }) => {
            let interface = &interface.name;
            tracing::warn!(
                interface,
                "a DHCP client runs on this interface: it is not known whether a server does, too"
            );
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let request = discover(interface, random.number());
    let to = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::BROADCAST, SERVER_PORT));
    let failed = |source| Error::socket("DHCP", &interface.name, CLIENT_PORT, source);
    socket.send_to(&request.write(limits::MESSAGE), to).await.map_err(failed)?;
    let offered = async {
        let mut buffer = vec![0; limits::MESSAGE];
        loop {
            let Ok((length, source)) = socket.recv_from(&mut buffer).await else { continue };
            if let (Ok(packet), SocketAddr::V4(source)) = (Packet::read(&buffer[..length]), source)
                && packet.reply
                && packet.transaction == request.transaction
                // A proxy offers no address and therefore does not conflict.
                && !packet.yours.is_unspecified()
            {
                return packet.options.address(options::SERVER_IDENTIFIER).unwrap_or(*source.ip());
            }
        }
    };
    Ok(tokio::time::timeout(limits::OTHER_SERVER, offered).await.ok())
}

fn discover(interface: &Interface, number: u64) -> Packet {
    let mut asked = Options::default();
    asked.set(options::PARAMETER_LIST, [options::SUBNET_MASK, options::ROUTERS]);
    let nobody = Ipv4Addr::UNSPECIFIED;
    Packet {
        reply: false,
        kind: Kind::Discover,
        hops: 0,
        transaction: (number >> 32) as u32,
        seconds: 0,
        broadcast: true,
        client: nobody,
        yours: nobody,
        next_server: nobody,
        relay: nobody,
        mac: interface.mac,
        server_name: String::new(),
        file: String::new(),
        options: asked,
    }
}
