//! Asks the name servers of this machine.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::UdpSocket;

use crate::limits;

/// The largest answer over UDP.
const ANSWER: usize = 65_535;

/// Returns the answer of the first name server that gives one; `None` if none does in time.
pub(crate) async fn forward(message: &[u8], servers: &[SocketAddr]) -> Option<Vec<u8>> {
    for server in servers {
        // The next one is asked sooner the more there are, so that the client still waits.
        let time = limits::LOOKUP / u32::try_from(servers.len()).unwrap_or(1);
        if let Ok(Ok(answer)) = tokio::time::timeout(time, ask(message, *server)).await {
            return Some(answer);
        }
    }
    None
}

async fn ask(message: &[u8], server: SocketAddr) -> io::Result<Vec<u8>> {
    let any = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0)).await?;
    socket.connect(server).await?;
    socket.send(message).await?;
    let mut answer = vec![0; ANSWER];
    loop {
        let length = socket.recv(&mut answer).await?;
        // Anything else is not the answer to this question.
        if length >= 2 && answer.get(..2) == message.get(..2) {
            answer.truncate(length);
            return Ok(answer);
        }
    }
}
