//! Admission rules of IPClaim and IPAddress of Metal3: those of the webhooks of Metal3's ip-address-manager (v1.13).
//!
//! As upstream, what must be set is checked only when the object is created, and of a reference, only name, namespace and kind cannot
//! change: a move to another server changes UIDs.

use std::net::IpAddr;

use super::common::{Errors, annotation, at};
use super::request::Request;
use crate::meta::ObjectReference;
use crate::metal3_ipam::{IPAddress, IPClaim};

/// Annotation of a claim: the address that it requests.
const REQUESTED: &str = "ipAddress";

pub fn ip_claim(request: Request<'_>, claim: &IPClaim, errors: &mut Errors) {
    if request.old.is_none() {
        named("spec.pool.name", &claim.spec.pool, "an IPPool of this namespace", errors);
    }
    unchanged(request, "pool", "can't be changed: delete the claim and make a new one", errors);
    let before = request.old.and_then(|old| annotation(old, REQUESTED));
    let requested = annotation(request.new, REQUESTED).filter(|text| !text.is_empty());
    // An older annotation does not refuse the update that ends the deletion.
    if let Some(text) = requested.filter(|text| Some(*text) != before && text.parse::<IpAddr>().is_err()) {
        errors.invalid(format_args!("metadata.annotations[{REQUESTED}]"), text, "must be an IP address");
    }
}

pub fn ip_address(request: Request<'_>, address: &IPAddress, errors: &mut Errors) {
    let spec = &address.spec;
    if request.old.is_none() {
        named("spec.pool.name", &spec.pool, "the IPPool to which the address belongs", errors);
        named("spec.claim.name", &spec.claim, "the IPClaim that has the address", errors);
        match spec.address.as_str() {
            "" => errors.required("spec.address", "set it to the IP address"),
            text if text.parse::<IpAddr>().is_err() => {
                errors.invalid("spec.address", text, "must be an IP address");
            }
            _ => {}
        }
    }
    const NEVER: &str = "can't be changed: an address belongs to one claim. Delete the claim to free it";
    if request.old.is_some_and(|old| at(old, &["spec", "address"]) != at(request.new, &["spec", "address"])) {
        errors.forbidden("spec.address", NEVER);
    }
    unchanged(request, "pool", NEVER, errors);
    unchanged(request, "claim", NEVER, errors);
}

fn named(field: &str, reference: &ObjectReference, what: &str, errors: &mut Errors) {
    if reference.name.as_deref().unwrap_or_default().is_empty() {
        errors.required(field, format!("set it to the name of {what}"));
    }
}

/// Refuses another name, namespace or kind in a reference of the spec. An empty text counts as absent.
fn unchanged(request: Request<'_>, field: &str, detail: &str, errors: &mut Errors) {
    let Some(old) = request.old else { return };
    let has_changed = ["name", "namespace", "kind"].iter().any(|part| {
        let path = ["spec", field, *part];
        at(old, &path).as_str().unwrap_or_default() != at(request.new, &path).as_str().unwrap_or_default()
    });
    if has_changed {
        errors.forbidden(format_args!("spec.{field}"), detail);
    }
}
