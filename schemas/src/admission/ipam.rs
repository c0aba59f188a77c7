//! Admission rules of IPAddress and IPAddressClaim.

use std::net::IpAddr;

use super::common::{Errors, at};
use super::request::Request;
use crate::ipam::IPAddress;

pub fn ip_address(request: Request<'_>, address: &IPAddress, errors: &mut Errors) {
    let spec = &address.spec;
    if request.old.is_none() {
        pool_of_claim(request, address, errors);
    }
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

/// A new address comes from the pool that its claim names. The claim may be gone.
fn pool_of_claim(request: Request<'_>, address: &IPAddress, errors: &mut Errors) {
    const FIELD: &str = "spec.poolRef";
    let claim = match request.facts.claim.known() {
        Ok(Some(claim)) => claim,
        Ok(None) => return,
        Err(why) => return errors.internal(FIELD, format!("the claim of the address is not known: {why}")),
    };
    if claim.spec.pool_ref != address.spec.pool_ref {
        let name = &address.spec.claim_ref.name;
        errors.invalid(
            FIELD,
            at(request.new, &["spec", "poolRef"]).clone(),
            format!("must be the same as spec.poolRef of the IPAddressClaim {name:?}"),
        );
    }
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
