//! Validation of IP addresses and CIDRs. Leading zeros and IPv4-mapped IPv6 addresses are refused, because
//! implementations interpret them differently.

use std::net::{IpAddr, Ipv6Addr};

const ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const RANGE: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// Parses an address after removing leading zeros from IPv4 numbers.
fn plain(text: &str) -> Option<IpAddr> {
    let decimal = |part: &str| match part.trim_start_matches('0') {
        "" => "0".to_owned(),
        rest => rest.to_owned(),
    };
    let numbers =
        text.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if numbers && text.contains('.') {
        return text.split('.').map(decimal).collect::<Vec<_>>().join(".").parse().ok();
    }
    text.parse().ok()
}

fn is_mapped(address: Ipv6Addr) -> bool {
    address.to_ipv4_mapped().is_some()
}

/// Returns the problem of an address, or `None` if it is valid.
pub fn address_problem(text: &str) -> Option<&'static str> {
    match (text.parse::<IpAddr>(), plain(text)) {
        (_, None) => Some(ADDRESS),
        (Err(_), _) => Some("must not have leading 0s"),
        (Ok(IpAddr::V6(address)), _) if is_mapped(address) => Some("must not be an IPv4-mapped IPv6 address"),
        _ => None,
    }
}

/// Returns the problem of a CIDR such as `10.9.8.0/24`, or `None` if it is valid.
pub fn cidr_problem(text: &str) -> Option<&'static str> {
    let Some((address, length)) = text.split_once('/') else { return Some(RANGE) };
    let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let (Some(found), Some(bits)) = (plain(address), length.parse::<u32>().ok().filter(|_| digits)) else {
        return Some(RANGE);
    };
    let longest = if found.is_ipv4() { 32 } else { 128 };
    if bits > longest {
        return Some(RANGE);
    }
    let zeros = address.parse::<IpAddr>().is_err() || (length.len() > 1 && length.starts_with('0'));
    if zeros {
        return Some("must not have leading 0s in IP or prefix length");
    }
    let beyond = match found {
        IpAddr::V6(address) if is_mapped(address) => {
            return Some("must not have an IPv4-mapped IPv6 address");
        }
        IpAddr::V4(address) => u32::from(address).checked_shl(bits).unwrap_or(0) != 0,
        IpAddr::V6(address) => u128::from(address).checked_shl(bits).unwrap_or(0) != 0,
    };
    beyond.then_some("must not have bits set beyond the prefix length")
}
