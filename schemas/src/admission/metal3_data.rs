//! Admission rules of Metal3DataTemplate, Metal3DataClaim and Metal3Data: those of the webhooks of Metal3's
//! provider (cluster-api-provider-metal3 v1.13).
//!
//! As upstream, rules about fields that cannot change are checked only when the object is created.

use super::common::{Errors, at};
use super::request::Request;
use crate::infrastructure::{
    FromPoolAnnotation, IPPoolReference, Metal3Data, Metal3DataClaim, Metal3DataTemplate,
};

pub fn metal3_data_template(request: Request<'_>, template: &Metal3DataTemplate, errors: &mut Errors) {
    if request.old.is_some() {
        const INSTEAD: &str = "can't be changed: make a new template and refer to it instead";
        unchanged(request, &["spec", "metaData"], INSTEAD, errors);
        unchanged(request, &["spec", "networkData"], INSTEAD, errors);
        return;
    }
    host_interfaces(template, errors);
    let networks = template.spec.network_data.as_ref().and_then(|data| data.networks.as_ref());
    let Some(networks) = networks else { return };
    for (index, network) in networks.ipv4.iter().enumerate() {
        let old_name = network.ip_address_from_ip_pool.as_deref();
        let pool = (network.from_pool_ref.as_ref(), old_name, network.from_pool_annotation.as_ref());
        pool_of_network(&format!("ipv4[{index}]"), pool, errors);
    }
    for (index, network) in networks.ipv6.iter().enumerate() {
        let old_name = network.ip_address_from_ip_pool.as_deref();
        let pool = (network.from_pool_ref.as_ref(), old_name, network.from_pool_annotation.as_ref());
        pool_of_network(&format!("ipv6[{index}]"), pool, errors);
    }
}

/// Checks that each MAC address in the metadata has exactly one source.
fn host_interfaces(template: &Metal3DataTemplate, errors: &mut Errors) {
    let data = template.spec.meta_data.as_ref();
    for (index, source) in data.into_iter().flat_map(|data| &data.from_host_interfaces).enumerate() {
        let field = format!("spec.metaData.fromHostInterfaces[{index}].interface");
        let interface = source.interface.as_deref().unwrap_or_default();
        match (source.from_boot_mac.unwrap_or_default(), interface.is_empty()) {
            (false, true) => {
                errors.required(field, "set it to the name of a network interface, or set fromBootMAC");
            }
            (true, false) => errors.invalid(field, interface, "remove it, or remove fromBootMAC"),
            _ => {}
        }
    }
}

/// The three ways to name a pool: by reference, by name alone, and by annotation.
type Pool<'a> = (Option<&'a IPPoolReference>, Option<&'a str>, Option<&'a FromPoolAnnotation>);

fn pool_of_network(network: &str, (reference, name, annotation): Pool<'_>, errors: &mut Errors) {
    let by_reference = reference.is_some_and(|reference| !reference.name.is_empty());
    let by_name = name.is_some_and(|name| !name.is_empty());
    if !by_reference && !by_name && annotation.is_none() {
        errors.required(
            format_args!("spec.networkData.networks.{network}.fromPoolRef.name"),
            "set it to the name of the pool from which addresses are allocated, or set fromPoolAnnotation",
        );
    }
}

pub fn metal3_data_claim(request: Request<'_>, claim: &Metal3DataClaim, errors: &mut Errors) {
    if request.old.is_some() {
        return unchanged(
            request,
            &["spec", "template"],
            "can't be changed: delete the claim and make a new one",
            errors,
        );
    }
    let template = claim.spec.template.as_ref();
    let name = template.and_then(|template| template.name.as_deref()).unwrap_or_default();
    if name.is_empty() {
        errors.required("spec.template.name", "set it to the name of a Metal3DataTemplate of this namespace");
    }
    let namespace = claim.metadata.namespace.as_deref().unwrap_or_default();
    let other = template.and_then(|template| template.namespace.as_deref()).unwrap_or_default();
    if !other.is_empty() && other != namespace {
        errors.invalid(
            "spec.template.namespace",
            other,
            format!("must be {namespace}, the namespace of the claim itself, or empty"),
        );
    }
}

pub fn metal3_data(request: Request<'_>, data: &Metal3Data, errors: &mut Errors) {
    if request.old.is_some() {
        const NEVER: &str = "can't be changed: it is a part of the object's identity";
        for field in ["index", "template", "claim"] {
            unchanged(request, &["spec", field], NEVER, errors);
        }
        return;
    }
    let Some(index) = data.spec.index else { return };
    if index < 0 {
        errors.invalid("spec.index", index, "must be 0 or greater");
    }
    let name = data.metadata.name.as_deref().unwrap_or_default();
    let Some(template) = &data.spec.template else { return };
    let wanted = format!("{}-{index}", template.name.as_deref().unwrap_or_default());
    if name != wanted {
        errors.invalid("metadata.name", name, format!("must be {wanted}: the template's name and the index"));
    }
}

/// Refuses a change of the field at `path`.
fn unchanged(request: Request<'_>, path: &[&str], detail: &str, errors: &mut Errors) {
    let Some(old) = request.old else { return };
    if at(old, path) != at(request.new, path) {
        errors.forbidden(path.join("."), detail);
    }
}
