//! The addresses behind Services: Endpoints and EndpointSlices.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::types::address_problem;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::names::{dns1123_subdomain, qualified_name};
use serde_json::Value;

use crate::fields::{empty_list_to_null, invalid, list, remove, required, text};
use crate::strategy::rules::{NONE, Rules};

/// Maximum number of addresses of an endpoint.
const ADDRESSES_MAX: usize = 100;

/// Checks that an address is valid and can be reached from other machines: not unspecified, loopback or link-local.
fn reachable(address: &str, path: &str) -> Vec<FieldError> {
    if let Some(why) = address_problem(address) {
        return vec![invalid(path, address, why)];
    }
    let Ok(parsed) = address.parse::<IpAddr>() else { return Vec::new() };
    let (link_local, link_local_multicast) = match parsed {
        IpAddr::V4(address) => (address.is_link_local(), address.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(address) => (address.is_unicast_link_local(), address.segments()[0] & 0xff0f == 0xff02),
    };
    let checks = [
        (parsed.is_unspecified(), "may not be unspecified".to_owned()),
        (parsed.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned()),
        (link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()),
        (
            link_local_multicast,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned(),
        ),
    ];
    checks
        .into_iter()
        .filter(|(holds, _)| *holds)
        .map(|(unspecified, why)| {
            let why = if unspecified && why.ends_with("unspecified") {
                format!("may not be unspecified ({address})")
            } else {
                why
            };
            invalid(path, address, why)
        })
        .collect()
}

fn application(port: &Value, path: &str) -> Vec<FieldError> {
    let Some(protocol) = port["appProtocol"].as_str() else { return Vec::new() };
    let problems = qualified_name(protocol);
    problems.into_iter().map(|why| invalid(format!("{path}.appProtocol"), protocol, why)).collect()
}

/// `v1` Endpoints.
pub(crate) const ENDPOINTS: Rules = Rules {
    validate: |object| {
        let mut errors = Vec::new();
        for (index, subset) in list(object, "subsets").iter().enumerate() {
            let path = format!("subsets[{index}]");
            let lists = ["addresses", "notReadyAddresses"];
            if lists.iter().all(|name| list(subset, name).is_empty()) {
                let why = "must specify `addresses` or `notReadyAddresses`";
                errors.push(required(path.clone(), why));
            }
            for name in lists {
                for (index, address) in list(subset, name).iter().enumerate() {
                    let ip = text(address, "ip");
                    let path = format!("{path}.{name}[{index}].ip");
                    errors.extend(reachable(ip, &path));
                    if address_problem(ip).is_some_and(|why| why.starts_with("must be")) {
                        errors.push(invalid(path, ip, "must be a valid IP address"));
                    }
                }
            }
            let ports = list(subset, "ports");
            for (index, port) in ports.iter().enumerate() {
                let path = format!("{path}.ports[{index}]");
                if ports.len() > 1 && text(port, "name").is_empty() {
                    errors.push(required(format!("{path}.name"), ""));
                }
                errors.extend(application(port, &path));
            }
        }
        errors
    },
    ..NONE
};

/// `discovery.k8s.io/v1` EndpointSlice.
pub(crate) const SLICE: Rules = Rules {
    drop_gated: |slice| {
        empty_list_to_null(slice, "/ports");
        let endpoints = slice.get_mut("endpoints").and_then(Value::as_array_mut);
        endpoints.into_iter().flatten().for_each(|one| remove(one, "", "deprecatedTopology"));
    },
    immutable_fields: &["addressType"],
    validate: |slice| {
        let mut errors = Vec::new();
        let family = text(slice, "addressType");
        for (index, endpoint) in list(slice, "endpoints").iter().enumerate() {
            let path = format!("endpoints[{index}]");
            addresses(endpoint, family, &path, &mut errors);
            let mut zones = BTreeSet::new();
            for (index, zone) in list(&endpoint["hints"], "forZones").iter().enumerate() {
                let (name, path) = (text(zone, "name"), format!("{path}.hints.forZones[{index}].name"));
                if !zones.insert(name) {
                    errors.push(FieldError::new(FieldErrorKind::Duplicate, path, &name.into(), ""));
                }
            }
        }
        let mut names = BTreeSet::new();
        for (index, port) in list(slice, "ports").iter().enumerate() {
            let (name, path) = (text(port, "name"), format!("ports[{index}]"));
            if !names.insert(name) {
                let path = format!("{path}.name");
                errors.push(FieldError::new(FieldErrorKind::Duplicate, path, &name.into(), ""));
            }
        }
        errors
    },
    ..NONE
};

fn addresses(endpoint: &Value, family: &str, path: &str, errors: &mut Vec<FieldError>) {
    let found = list(endpoint, "addresses");
    let path = format!("{path}.addresses");
    if found.is_empty() {
        errors.push(required(path, "must contain at least 1 address"));
        return;
    }
    if found.len() > ADDRESSES_MAX {
        let why = format!("must have at most {ADDRESSES_MAX} items");
        let mut error = FieldError::bare(FieldErrorKind::TooMany, path.clone(), why);
        error.value = Some(found.len().to_string());
        errors.push(error);
    }
    for (index, address) in found.iter().filter_map(Value::as_str).enumerate() {
        let at = format!("{path}[{index}]");
        if family == "FQDN" {
            let problems = dns1123_subdomain(address);
            errors.extend(problems.into_iter().map(|why| invalid(at.clone(), address, why)));
            continue;
        }
        let parsed = address.parse::<IpAddr>();
        let other = match (&parsed, family) {
            (Ok(parsed), "IPv4") if !parsed.is_ipv4() => "must be an IPv4 address",
            (Ok(parsed), "IPv6") if !parsed.is_ipv6() => "must be an IPv6 address",
            _ => "",
        };
        if !other.is_empty() {
            errors.push(invalid(path.clone(), address, other));
        }
        errors.extend(reachable(address, &at));
        if let Ok(parsed) = parsed
            && address_problem(address).is_none()
            && parsed.to_string() != address
        {
            let why = format!("must be in canonical form ({:?})", parsed.to_string());
            errors.push(invalid(at, address, why));
        }
    }
}
