//! Columns of Services, endpoints, Ingresses and NetworkPolicies.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use machinery::meta::text;
use machinery::selector::show_object;
use serde_json::Value;

use crate::columns::{AGE, Column, NAME, column, or, plain, wide};

/// Returns the columns of a kind in one of these groups; `None` if the columns of its definition apply.
pub(crate) fn of(group: &str, kind: &str) -> Option<Vec<Column>> {
    Some(match (group, kind) {
        ("", "Service") => service(),
        ("", "Endpoints") => endpoints(),
        ("discovery.k8s.io", "EndpointSlice") => endpoint_slice(),
        ("networking.k8s.io", "Ingress") => ingress(),
        ("networking.k8s.io", "IngressClass") => ingress_class(),
        ("networking.k8s.io", "NetworkPolicy") => network_policy(),
        ("networking.k8s.io", "ServiceCIDR") => {
            let ranges = column("CIDRs", "The ranges of addresses.", |one, _| joined(&one["spec"]["cidrs"]));
            vec![NAME, ranges, AGE]
        }
        ("networking.k8s.io", "IPAddress") => {
            vec![NAME, column("ParentRef", "Whose address it is.", parent), AGE]
        }
        _ => return None,
    })
}

/// A cell shows at most this many endpoints.
const SHOWN: usize = 3;

fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn shortened(found: &[String]) -> Value {
    if found.is_empty() {
        return "<none>".into();
    }
    let shown = found.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(",");
    if found.len() > SHOWN { format!("{shown} + {} more...", found.len() - SHOWN) } else { shown }.into()
}

pub(crate) fn service() -> Vec<Column> {
    vec![
        NAME,
        column("Type", "How it is reached.", |one, _| text(one, &["spec", "type"]).into()),
        column("Cluster-IP", "Its address inside the cluster.", |one, _| {
            or(text(one, &["spec", "clusterIP"]), "<none>")
        }),
        column("External-IP", "Its addresses outside of the cluster.", external),
        column("Port(s)", "The ports it serves.", ports),
        AGE,
        wide(column("Selector", "Which pods it leads to.", |one, _| {
            or(&show_object(&one["spec"]["selector"]), "<none>")
        })),
    ]
}

fn external(service: &Value, _: DateTime<Utc>) -> Value {
    let spec = &service["spec"];
    let given = list(spec, "externalIPs").iter().filter_map(Value::as_str);
    match text(spec, &["type"]) {
        "ExternalName" => text(spec, &["externalName"]).into(),
        "LoadBalancer" => {
            let ingress = list(&service["status"]["loadBalancer"], "ingress").iter();
            let balanced = ingress.filter_map(|one| one["ip"].as_str().or(one["hostname"].as_str()));
            let all: BTreeSet<&str> = balanced.collect();
            let all: Vec<&str> = all.into_iter().chain(given).collect();
            or(&all.join(","), "<pending>")
        }
        _ => or(&given.collect::<Vec<_>>().join(","), "<none>"),
    }
}

fn ports(service: &Value, _: DateTime<Utc>) -> Value {
    let shown = list(&service["spec"], "ports").iter().map(|port| {
        let protocol = text(port, &["protocol"]);
        match port["nodePort"].as_i64().filter(|port| *port > 0) {
            Some(node) => format!("{}:{node}/{protocol}", plain(&port["port"])),
            None => format!("{}/{protocol}", plain(&port["port"])),
        }
    });
    or(&shown.collect::<Vec<_>>().join(","), "<none>")
}

pub(crate) fn endpoints() -> Vec<Column> {
    let cell = |one: &Value, _| {
        let mut found = Vec::new();
        for subset in list(one, "subsets") {
            for address in list(subset, "addresses") {
                let ip = text(address, &["ip"]);
                let ports = list(subset, "ports");
                found.extend(ports.iter().map(|port| format!("{ip}:{}", plain(&port["port"]))));
                found.extend(ports.is_empty().then(|| ip.to_owned()));
            }
        }
        shortened(&found)
    };
    vec![NAME, column("Endpoints", "Where its pods listen.", cell), AGE]
}

pub(crate) fn endpoint_slice() -> Vec<Column> {
    let ports = |one: &Value, _| {
        let found: Vec<String> = list(one, "ports").iter().map(|port| plain(&port["port"])).collect();
        if found.is_empty() { "<unset>".into() } else { shortened(&found) }
    };
    let addresses = |one: &Value, _| {
        let all = list(one, "endpoints").iter().flat_map(|endpoint| list(endpoint, "addresses"));
        let found: Vec<String> = all.map(plain).collect();
        if found.is_empty() { "<unset>".into() } else { shortened(&found) }
    };
    vec![
        NAME,
        column("AddressType", "What kind of addresses it holds.", |one, _| {
            text(one, &["addressType"]).into()
        }),
        column("Ports", "The ports of its endpoints.", ports),
        column("Endpoints", "The addresses of its endpoints.", addresses),
        AGE,
    ]
}

pub(crate) fn ingress() -> Vec<Column> {
    let hosts = |one: &Value, _| {
        let rules = list(&one["spec"], "rules").iter().map(|rule| text(rule, &["host"]));
        let hosts: Vec<String> = rules.filter(|host| !host.is_empty()).map(str::to_owned).collect();
        if hosts.is_empty() { "*".into() } else { shortened(&hosts) }
    };
    let addresses = |one: &Value, _| {
        let ingress = list(&one["status"]["loadBalancer"], "ingress").iter();
        let found: BTreeSet<&str> =
            ingress.filter_map(|one| one["ip"].as_str().or(one["hostname"].as_str())).collect();
        Value::from(found.into_iter().collect::<Vec<_>>().join(","))
    };
    vec![
        NAME,
        column("Class", "Who serves it.", |one, _| or(text(one, &["spec", "ingressClassName"]), "<none>")),
        column("Hosts", "The hosts it serves.", hosts),
        column("Address", "Where it is reached.", addresses),
        column("Ports", "The ports it serves.", |one, _| {
            if list(&one["spec"], "tls").is_empty() { "80" } else { "80, 443" }.into()
        }),
        AGE,
    ]
}

pub(crate) fn ingress_class() -> Vec<Column> {
    let parameters = |one: &Value, _| {
        let parameters = &one["spec"]["parameters"];
        if parameters.is_null() {
            return "<none>".into();
        }
        let group = text(parameters, &["apiGroup"]);
        let kind = text(parameters, &["kind"]);
        let dot = if group.is_empty() { "" } else { "." };
        format!("{kind}{dot}{group}/{}", text(parameters, &["name"])).into()
    };
    vec![
        NAME,
        column("Controller", "Who serves ingresses of this class.", |one, _| {
            text(one, &["spec", "controller"]).into()
        }),
        column("Parameters", "What configures it.", parameters),
        AGE,
    ]
}

pub(crate) fn network_policy() -> Vec<Column> {
    let cell = |one: &Value, _| or(&show_object(&one["spec"]["podSelector"]), "<none>");
    vec![NAME, column("Pod-Selector", "Which pods it is about.", cell), AGE]
}

fn joined(list: &Value) -> Value {
    let items = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    items.collect::<Vec<_>>().join(",").into()
}

fn parent(address: &Value, _: DateTime<Utc>) -> Value {
    let parent = &address["spec"]["parentRef"];
    let parts = ["group", "resource", "namespace", "name"].map(|part| text(parent, &[part]));
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    or(&parts.join("/"), "<none>")
}
