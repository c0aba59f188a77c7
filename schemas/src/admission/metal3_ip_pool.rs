//! Admission rules of IPPool: those of the webhook of Metal3's ip-address-manager (v1.13).

use std::net::IpAddr;

use serde_json::Value;

use super::common::{Errors, at};
use super::request::Request;
use crate::metal3_ipam::{IPPool, Pool};

pub fn ip_pool(request: Request<'_>, pool: &IPPool, errors: &mut Errors) {
    let spec = &pool.spec;
    if let Some(old) = request.old
        && at(old, &["spec", "namePrefix"]) != at(request.new, &["spec", "namePrefix"])
    {
        errors.forbidden(
            "spec.namePrefix",
            "can't be changed, since the names of the IPAddresses begin with it: make a new pool",
        );
    }
    address("spec.gateway", spec.gateway.as_deref(), errors);
    addresses("spec.dnsServers", &spec.dns_servers, errors);
    let before = errors.len();
    for (index, range) in spec.pools.iter().enumerate() {
        self::range(&format!("spec.pools[{index}]"), range, errors);
    }
    // An address in a range that cannot be read would only be reported a second time.
    if errors.len() == before {
        inside(request, pool, errors);
    }
}

fn range(path: &str, range: &Pool, errors: &mut Errors) {
    address(&format!("{path}.start"), range.start.as_deref(), errors);
    address(&format!("{path}.end"), range.end.as_deref(), errors);
    address(&format!("{path}.gateway"), range.gateway.as_deref(), errors);
    addresses(&format!("{path}.dnsServers"), &range.dns_servers, errors);
    if let Some(subnet) = range.subnet.as_deref().filter(|subnet| Subnet::parse(subnet).is_none()) {
        errors.invalid(
            format_args!("{path}.subnet"),
            subnet,
            "must be a network in CIDR notation, such as 192.0.2.0/24",
        );
    }
    if range.start.is_none() && range.subnet.is_none() {
        errors.warn(format_args!("{path}: no address is allocated from it: set start or subnet"));
    }
    let (start, end) = (parsed(range.start.as_deref()), parsed(range.end.as_deref()));
    if let (Some(start), Some(end)) = (start, end)
        && start > end
    {
        errors.warn(format_args!(
            "{path}: no address is allocated from it, since end ({end}) is before start ({start})"
        ));
    }
}

/// Checks that reserved addresses and those in use are inside the ranges.
fn inside(request: Request<'_>, pool: &IPPool, errors: &mut Errors) {
    let ranges = &pool.spec.pools;
    for (claim, reserved) in &pool.spec.pre_allocations {
        let field = format!("spec.preAllocations[{claim}]");
        match parsed(Some(reserved)) {
            None => errors.invalid(field, reserved.as_str(), "must be an IP address"),
            Some(address) if !ranges.iter().any(|range| contains(range, address)) => {
                errors.invalid(field, reserved.as_str(), "must be inside one of the ranges in spec.pools");
            }
            Some(_) => {}
        }
    }
    let used = request.old.map(|old| at(old, &["status", "indexes"]));
    for (claim, address) in used.and_then(Value::as_object).into_iter().flatten() {
        let parsed = parsed(address.as_str());
        if parsed.is_none_or(|address| !ranges.iter().any(|range| contains(range, address))) {
            errors.invalid(
                "spec.pools",
                address.clone(),
                format!("the claim {claim} uses this address: keep a range that contains it until the claim is gone"),
            );
        }
    }
}

fn address(field: &str, text: Option<&str>, errors: &mut Errors) {
    if let Some(text) = text.filter(|text| !text.is_empty() && parsed(Some(text)).is_none()) {
        errors.invalid(field, text, "must be an IP address");
    }
}

fn addresses(field: &str, texts: &[String], errors: &mut Errors) {
    for (index, text) in texts.iter().enumerate() {
        address(&format!("{field}[{index}]"), Some(text), errors);
    }
}

fn parsed(text: Option<&str>) -> Option<IpAddr> {
    text?.parse().ok()
}

/// Returns whether an address is in a range: not before its start, not after its end, and in its subnet. As
/// upstream, a range that has none of the three contains nothing.
fn contains(range: &Pool, address: IpAddr) -> bool {
    let start =
        range.start.as_deref().is_none_or(|start| parsed(Some(start)).is_some_and(|it| it <= address));
    let end = range.end.as_deref().is_none_or(|end| parsed(Some(end)).is_some_and(|it| it >= address));
    let subnet = range.subnet.as_deref();
    let subnet = subnet.is_none_or(|text| Subnet::parse(text).is_some_and(|subnet| subnet.contains(address)));
    let bounded = range.start.is_some() || range.end.is_some() || range.subnet.is_some();
    bounded && start && end && subnet
}

/// A network in CIDR notation. Bits of the address after the prefix have no meaning.
struct Subnet {
    address: IpAddr,
    prefix: u32,
}

impl Subnet {
    fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let address: IpAddr = address.parse().ok()?;
        let prefix =
            prefix.parse().ok().filter(|prefix| *prefix <= if address.is_ipv4() { 32 } else { 128 })?;
        Some(Self { address, prefix })
    }

    fn contains(&self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let host_bits = 32 - self.prefix;
                (own.to_bits() ^ other.to_bits()).checked_shr(host_bits).unwrap_or_default() == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let host_bits = 128 - self.prefix;
                (own.to_bits() ^ other.to_bits()).checked_shr(host_bits).unwrap_or_default() == 0
            }
            _ => false,
        }
    }
}
