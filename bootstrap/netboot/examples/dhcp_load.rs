//! Asks a DHCP server for addresses as a relay does, for many machines at once: `dhcp_load SERVER RELAY-ADDRESS MACHINES IN-FLIGHT`. Prints
//! answers a second and how long the slowest took.

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use machinery::clock::Clock;
use netboot::MacAddress;
use netboot::dhcp4::options::{self, Options};
use netboot::dhcp4::packet::{Kind, Packet};
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout};

/// A machine that hears nothing for so long asks again.
const PATIENCE: Duration = Duration::from_secs(1);

fn message(kind: Kind, number: u32, relay: Ipv4Addr, offer: Option<&Packet>) -> Packet {
    let [a, b, c, d] = number.to_be_bytes();
    let mut sent = Options::default();
    sent.set(options::VENDOR_CLASS, "PXEClient:Arch:00007:UNDI:003016");
    sent.set(options::ARCHITECTURE, [0, 7]);
    if let Some(offer) = offer {
        sent.set(options::REQUESTED_ADDRESS, offer.yours.octets());
        sent.set(
            options::SERVER_IDENTIFIER,
            offer.options.get(options::SERVER_IDENTIFIER).unwrap_or_default(),
        );
    }
    let nobody = Ipv4Addr::UNSPECIFIED;
    Packet {
        reply: false,
        kind,
        hops: 1,
        transaction: number,
        seconds: 0,
        broadcast: false,
        client: nobody,
        yours: nobody,
        next_server: nobody,
        relay,
        mac: MacAddress([0x52, 0x54, a, b, c, d]),
        server_name: String::new(),
        file: String::new(),
        options: sent,
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, relay, machines, in_flight] = arguments.as_slice() else {
        return Err("usage: dhcp_load SERVER RELAY-ADDRESS MACHINES IN-FLIGHT".into());
    };
    let (server, relay): (Ipv4Addr, Ipv4Addr) = (server.parse()?, relay.parse()?);
    let (machines, in_flight): (u32, usize) = (machines.parse()?, in_flight.parse()?);
    let socket = UdpSocket::bind((relay, 67)).await?;
    nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::RcvBufForce, &(4 << 20))?;
    let clock = Clock::system();
    let begun = clock.monotonic();
    let (mut next, mut waiting, mut times) = (0, HashMap::<u32, (Packet, Instant)>::new(), Vec::new());
    let (mut buffer, mut again, mut refused) = (vec![0; 1500], 0, 0);
    let mut addresses = std::collections::HashSet::new();
    while addresses.len() < machines as usize {
        while waiting.len() < in_flight && next < machines {
            let packet = message(Kind::Discover, next, relay, None);
            socket.send_to(&packet.write(1472), (server, 67)).await?;
            waiting.insert(next, (packet, clock.monotonic()));
            next += 1;
        }
        let Ok(received) = timeout(PATIENCE, socket.recv_from(&mut buffer)).await else {
            for (packet, _) in waiting.values() {
                again += 1;
                socket.send_to(&packet.write(1472), (server, 67)).await?;
            }
            continue;
        };
        let answer = Packet::read(&buffer[..received?.0])?;
        let Some((asked, since)) = waiting.remove(&answer.transaction) else { continue };
        match (asked.kind, answer.kind) {
            (Kind::Discover, Kind::Offer) => {
                times.push(clock.monotonic() - since);
                let packet = message(Kind::Request, answer.transaction, relay, Some(&answer));
                socket.send_to(&packet.write(1472), (server, 67)).await?;
                waiting.insert(answer.transaction, (packet, clock.monotonic()));
            }
            (Kind::Request, Kind::Acknowledge) => {
                times.push(clock.monotonic() - since);
                if !addresses.insert(answer.yours) {
                    return Err(format!("{} is two machines' address", answer.yours).into());
                }
            }
            (Kind::Request, Kind::Refuse) => {
                let packet = message(Kind::Discover, answer.transaction, relay, None);
                socket.send_to(&packet.write(1472), (server, 67)).await?;
                waiting.insert(answer.transaction, (packet, since));
                refused += 1;
            }
            _ => {
                waiting.insert(answer.transaction, (asked, since));
            }
        }
    }
    let seconds = (clock.monotonic() - begun).as_secs_f64();
    times.sort();
    let at = |part: f64| times.get((times.len() as f64 * part) as usize).copied().unwrap_or_default();
    tracing_subscriber::fmt().init();
    tracing::info!(
        answers_a_second = (times.len() as f64 / seconds).round(),
        p50 = ?at(0.5),
        p99 = ?at(0.99),
        asked_again = again,
        refused,
        "{} machines",
        addresses.len()
    );
    Ok(())
}
