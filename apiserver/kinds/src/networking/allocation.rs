//! Cluster IPs and node ports: what a Service claims, and what it takes from a pool.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::{Value, json};

use super::addresses::{self, EXTERNAL, NONE};
use crate::fields::{invalid, list, text};
use crate::strategy::{Claims, Pool, Unallocated};

fn kind(service: &Value) -> &str {
    text(&service["spec"], "type")
}

fn is_headless(service: &Value) -> bool {
    service["spec"]["clusterIPs"][0] == NONE || service["spec"]["clusterIP"] == NONE
}

/// Returns whether the Service has node ports unless a client says which ports have one.
fn has_node_ports(service: &Value) -> bool {
    match kind(service) {
        "NodePort" => true,
        "LoadBalancer" => service["spec"]["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
}

/// Returns whether the Service has a port at which load balancers ask for its health.
fn has_health_port(service: &Value) -> bool {
    kind(service) == "LoadBalancer" && service["spec"]["externalTrafficPolicy"] == "Local"
}

fn port_at(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0)
}

fn node_ports(service: &Value) -> impl Iterator<Item = u16> {
    list(&service["spec"], "ports").iter().filter_map(|port| port_at(&port["nodePort"]))
}

/// Returns what a Service has taken.
pub(crate) fn claims(service: &Value) -> Claims {
    let spec = &service["spec"];
    if kind(service) == EXTERNAL {
        return Claims::default();
    }
    let addresses = list(spec, "clusterIPs").iter().chain([&spec["clusterIP"]]);
    let addresses = addresses.filter_map(|address| address.as_str()?.parse().ok());
    Claims {
        addresses: addresses.collect(),
        ports: node_ports(service).chain(port_at(&spec["healthCheckNodePort"])).collect(),
    }
}

/// Gives a new or updated Service the addresses and ports that it lacks, and takes those that it asks for.
pub(crate) fn allocate(
    service: &mut Value,
    old: Option<&Value>,
    pool: &mut dyn Pool,
) -> Result<(), Unallocated> {
    // What cannot be valid takes nothing.
    if !addresses::validate(&service["spec"]).is_empty() {
        return Ok(());
    }
    let before = old.map(claims).unwrap_or_default();
    take_address(service, &before.addresses, pool)?;
    if let Some(old) = old {
        keep_ports(service, old);
    }
    if matches!(kind(service), "NodePort" | "LoadBalancer") {
        take_ports(service, old.map(|_| &before.ports), pool)?;
    }
    take_health_port(service, old, pool)
}

/// Takes the cluster IP. Each Service has one, because the cluster has one IP family.
fn take_address(
    service: &mut Value,
    before: &BTreeSet<IpAddr>,
    pool: &mut dyn Pool,
) -> Result<(), Unallocated> {
    if kind(service) == EXTERNAL || is_headless(service) {
        return Ok(());
    }
    const FIELD: &str = "spec.clusterIPs";
    let spec = &mut service["spec"];
    if let Some(given) = spec["clusterIPs"][0].as_str().filter(|given| !given.is_empty()) {
        let Ok(address) = given.parse() else { return Ok(()) };
        if before.contains(&address) {
            return Ok(());
        }
        let refused = |why| {
            let why = format!("failed to allocate IP {given}: {why}");
            Unallocated::Invalid(invalid(FIELD, spec["clusterIPs"].clone(), why))
        };
        return pool.take_address(address).map_err(refused);
    }
    if !before.is_empty() {
        // Validation says that an address cannot be unset.
        return Ok(());
    }
    let next = pool.next_address().ok_or_else(|| {
        Unallocated::Internal("failed to allocate a serviceIP for Service: range is full".to_owned())
    })?;
    spec["clusterIP"] = next.to_string().into();
    spec["clusterIPs"] = json!([next.to_string()]);
    Ok(())
}

/// Sets node ports that an update leaves out to those of the old ports with the same names.
fn keep_ports(service: &mut Value, old: &Value) {
    if has_node_ports(old) && has_node_ports(service) {
        let before: BTreeSet<u16> = node_ports(old).collect();
        let both: BTreeSet<u16> = node_ports(service).filter(|port| before.contains(port)).collect();
        let named = list(&old["spec"], "ports").iter();
        let named = named.filter_map(|port| Some((text(port, "name"), port_at(&port["nodePort"])?)));
        let named: BTreeMap<&str, u16> = named.collect();
        for port in service["spec"]["ports"].as_array_mut().into_iter().flatten() {
            let same = named.get(text(port, "name")).filter(|number| !both.contains(number));
            if port_at(&port["nodePort"]).is_none()
                && let Some(number) = same
            {
                port["nodePort"] = (*number).into();
            }
        }
    }
    if has_health_port(old)
        && has_health_port(service)
        && port_at(&service["spec"]["healthCheckNodePort"]).is_none()
    {
        service["spec"]["healthCheckNodePort"] = old["spec"]["healthCheckNodePort"].clone();
    }
}

/// Takes a node port for each port. In a new Service, ports with the same number share one, for example one for TCP and one for UDP.
fn take_ports(
    service: &mut Value,
    before: Option<&BTreeSet<u16>>,
    pool: &mut dyn Pool,
) -> Result<(), Unallocated> {
    let gets = has_node_ports(service);
    let Some(ports) = service["spec"]["ports"].as_array_mut() else { return Ok(()) };
    let asked = ports.iter().filter_map(|port| Some((port_at(&port["port"])?, port_at(&port["nodePort"])?)));
    // Of several, the first counts.
    let asked: BTreeMap<u16, u16> = asked.collect::<Vec<_>>().into_iter().rev().collect();
    let mut taken = before.cloned().unwrap_or_default();
    let mut shared: BTreeMap<u16, u16> = BTreeMap::new();
    for (index, port) in ports.iter_mut().enumerate() {
        let number = port_at(&port["port"]).unwrap_or_default();
        let own = port_at(&port["nodePort"]);
        if own.is_none() && !gets {
            continue;
        }
        let known = if before.is_none() { shared.get(&number).or_else(|| asked.get(&number)) } else { None };
        let Some(wanted) = own.or_else(|| known.copied()) else {
            let next = pool
                .next_port()
                .map_err(|why| Unallocated::Internal(format!("failed to allocate a nodePort: {why}")))?;
            taken.insert(next);
            shared.insert(number, next);
            port["nodePort"] = next.into();
            continue;
        };
        // In a new Service, ports share a node port only if they have the same number.
        let is_shared = before.is_none() && shared.get(&number) == Some(&wanted);
        if taken.insert(wanted) || (before.is_none() && !is_shared) {
            pool.take_port(wanted).map_err(|why| refused_port(index, wanted, why))?;
        }
        shared.entry(number).or_insert(wanted);
        port["nodePort"] = wanted.into();
    }
    Ok(())
}

fn refused_port(index: usize, port: u16, why: &str) -> Unallocated {
    Unallocated::Invalid(invalid(format!("spec.ports[{index}].nodePort"), port, why))
}

fn take_health_port(
    service: &mut Value,
    old: Option<&Value>,
    pool: &mut dyn Pool,
) -> Result<(), Unallocated> {
    let had = old.is_some_and(has_health_port);
    let same =
        old.is_some_and(|old| old["spec"]["healthCheckNodePort"] == service["spec"]["healthCheckNodePort"]);
    if had && !has_health_port(service) && same {
        if let Some(spec) = service["spec"].as_object_mut() {
            spec.remove("healthCheckNodePort");
        }
        return Ok(());
    }
    if had || !has_health_port(service) {
        return Ok(());
    }
    match port_at(&service["spec"]["healthCheckNodePort"]) {
        Some(wanted) => pool.take_port(wanted).map_err(|why| {
            Unallocated::Internal(format!(
                "failed to allocate requested HealthCheck NodePort {wanted}: {why}"
            ))
        }),
        None => {
            let next = pool.next_port().map_err(|why| {
                Unallocated::Internal(format!("failed to allocate a HealthCheck NodePort 0: {why}"))
            })?;
            service["spec"]["healthCheckNodePort"] = next.into();
            Ok(())
        }
    }
}
