//! Networks that lie inside this machine: those of containers and virtual machines. No proxy of others reaches them.

use std::net::Ipv4Addr;
use std::path::Path;

/// The IPv4 routes of the network in which this process is, as in proc(5).
const ROUTES: &str = "/proc/net/route";
/// The interfaces of this network.
const INTERFACES: &str = "/sys/class/net";
/// The flag of a route that leads over another machine (`RTF_GATEWAY`).
const GATEWAY: u32 = 2;

/// Whether a host is an address to which a bridge leads that has no device of this machine.
pub(crate) fn is_inside(host: &str) -> bool {
    let Ok(address) = host.parse::<Ipv4Addr>() else { return false };
    let Ok(routes) = std::fs::read_to_string(ROUTES) else { return false };
    interface(&routes, address).is_some_and(|name| is_inner_bridge(&Path::new(INTERFACES).join(name)))
}

/// Returns the interface that reaches an address without another machine: that of the most specific route.
fn interface(routes: &str, address: Ipv4Addr) -> Option<&str> {
    let covers = |line: &'_ str| -> Option<(u32, bool)> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok();
        // Addresses are written as the kernel has them in memory.
        let (network, flags, mask) = (number(1)?, number(3)?, number(7)?);
        let is_covered = u32::from_ne_bytes(address.octets()) & mask == network;
        is_covered.then(|| (mask.count_ones(), flags & GATEWAY == 0))
    };
    let all = routes.lines().skip(1).filter_map(|line| Some((covers(line)?, line)));
    let ((_, is_direct), line) = all.max_by_key(|((length, _), _)| *length)?;
    line.split_whitespace().next().filter(|_| is_direct)
}

/// Whether an interface is a bridge, and none of its ports is a device.
fn is_inner_bridge(interface: &Path) -> bool {
    if !interface.join("bridge").is_dir() {
        return false;
    }
    let Ok(ports) = std::fs::read_dir(interface.join("brif")) else { return false };
    !ports.flatten().any(|port| interface.with_file_name(port.file_name()).join("device").exists())
}
