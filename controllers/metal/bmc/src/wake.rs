//! Wake-on-LAN, for machines without a BMC.

use crate::network::Network;
use crate::{Error, Result};

/// The UDP port of magic packets: discard, as in AMD's white paper (20213) and most tools.
pub const PORT: u16 = 9;

/// Returns the magic packet for the interface with this MAC address (`52:54:00:aa:bb:cc`, or with `-`): six bytes `ff`, then the
/// address sixteen times.
///
/// # Errors
/// The MAC address is invalid.
pub fn magic_packet(mac: &str) -> Result<Vec<u8>> {
    let wrong =
        || Error::Input(format!("{mac:?} is not a MAC address: six bytes like 52:54:00:aa:bb:cc are"));
    let bytes: Vec<u8> = mac
        .split([':', '-'])
        .map(|byte| match byte.len() {
            2 if byte.bytes().all(|digit| digit.is_ascii_hexdigit()) => u8::from_str_radix(byte, 16).ok(),
            _ => None,
        })
        .collect::<Option<_>>()
        .ok_or_else(wrong)?;
    if bytes.len() != 6 {
        return Err(wrong());
    }
    let mut packet = vec![0xff; 6];
    packet.extend(bytes.repeat(16));
    Ok(packet)
}

/// Sends the magic packet for `mac` through `interface`. There is no answer: only its network boot shows that the machine is awake.
///
/// # Errors
/// The MAC address is invalid, or the interface does not exist, is down, or cannot be used by this process.
pub async fn wake(network: &dyn Network, interface: &str, mac: &str) -> Result<()> {
    let packet = magic_packet(mac)?;
    network.broadcast(interface, PORT, &packet).await.map_err(|error| {
        Error::Input(format!(
            "cannot send a magic packet out of {interface}: {error}; check that the interface exists and is up, and that firstlight may use it (root or CAP_NET_RAW)"
        ))
    })
}
