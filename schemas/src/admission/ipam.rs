//! Admission rules of IPAddress and IPAddressClaim.
//!
//! Whether an address belongs to the pool of its claim is not checked here, since that requires reading the
//! claim.

use std::net::IpAddr;

use super::common::{Errors, at};
use super::request::Request;
use crate::ipam::IPAddress;

pub fn ip_address(request: Request<'_>, address: &IPAddress, errors: &mut Errors) {
    let spec = &address.spec;
    let parsed = spec.address.parse::<IpAddr>();
    let Ok(parsed) = parsed else {
        errors.invalid("spec.address", spec.address.as_str(), "must be an IP address");
        return;
    };
    let longest = if parsed.is_ipv4() { 32 } else { 128 };
    if !(0..=longest).contains(&spec.prefix) {
        errors.invalid("spec.prefix", spec.prefix, format!("must be between 0 and {longest}"));
    }
    if let Some(gateway) = spec.gateway.as_deref().filter(|gateway| !gateway.is_empty())
        && gateway.parse::<IpAddr>().is_err()
    {
        errors.invalid("spec.gateway", gateway, "must be an IP address");
    }
    spec_is_immutable(request, errors);
}

pub fn ip_address_claim(request: Request<'_>, errors: &mut Errors) {
    spec_is_immutable(request, errors);
}

fn spec_is_immutable(request: Request<'_>, errors: &mut Errors) {
    let Some(old) = request.old else { return };
    if at(old, &["spec"]) != at(request.new, &["spec"]) {
        errors.forbidden("spec", "field is immutable");
    }
}
