//! NetworkPolicies.

use std::net::IpAddr;

use crate::types::cidr_problem;
use machinery::field::FieldError;
use serde_json::{Value, json};

use crate::fields::{forbidden, invalid, list, required, text};
use crate::strategy::rules::{NONE, Rules};

/// `networking.k8s.io/v1` NetworkPolicy.
pub(crate) const NETWORK_POLICY: Rules = Rules {
    normalize: |policy| {
        let Some(spec) = policy["spec"].as_object_mut() else { return };
        let outwards = spec.get("egress").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty());
        spec.entry("policyTypes")
            .or_insert_with(|| if outwards { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) });
    },
    validate: |policy| {
        let spec = &policy["spec"];
        let mut errors = Vec::new();
        rules(spec, "ingress", "from", &mut errors);
        rules(spec, "egress", "to", &mut errors);
        if list(spec, "policyTypes").len() > 2 {
            let why = "may not specify more than two policyTypes";
            errors.push(invalid("spec.policyTypes", spec["policyTypes"].clone(), why));
        }
        errors
    },
    ..NONE
};

fn rules(spec: &Value, direction: &str, peers: &str, errors: &mut Vec<FieldError>) {
    for (index, rule) in list(spec, direction).iter().enumerate() {
        let path = format!("spec.{direction}[{index}]");
        for (index, port) in list(rule, "ports").iter().enumerate() {
            ports(port, &format!("{path}.ports[{index}]"), errors);
        }
        for (index, peer) in list(rule, peers).iter().enumerate() {
            let path = format!("{path}.{peers}[{index}]");
            let selected = !peer["podSelector"].is_null() || !peer["namespaceSelector"].is_null();
            match (selected, peer["ipBlock"].is_object()) {
                (false, false) => errors.push(required(path.clone(), "must specify a peer")),
                (true, true) => {
                    let why = "may not specify both ipBlock and another peer";
                    errors.push(forbidden(path.clone(), why));
                }
                _ => {}
            }
            block(&peer["ipBlock"], &format!("{path}.ipBlock"), errors);
        }
    }
}

/// Validates that each range in `except` is a strict subset of `cidr`.
fn block(block: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if !block.is_object() {
        return;
    }
    let cidr = text(block, "cidr");
    let parse = |text: &str| {
        let (address, bits) = text.split_once('/')?;
        Some((address.parse::<IpAddr>().ok()?, bits.parse::<u32>().ok()?))
    };
    for (index, except) in list(block, "except").iter().filter_map(Value::as_str).enumerate() {
        let field = format!("{path}.except[{index}]");
        if cidr_problem(except).is_some() {
            continue;
        }
        let (Some((outer, length)), Some((inner, longer))) = (parse(cidr), parse(except)) else { continue };
        let inside = match (outer, inner) {
            (IpAddr::V4(outer), IpAddr::V4(inner)) => {
                u32::from(outer).checked_shr(32 - length) == u32::from(inner).checked_shr(32 - length)
            }
            (IpAddr::V6(outer), IpAddr::V6(inner)) => {
                u128::from(outer).checked_shr(128 - length) == u128::from(inner).checked_shr(128 - length)
            }
            _ => false,
        };
        if !inside || longer <= length {
            errors.push(invalid(field, except, "must be a strict subset of `cidr`"));
        }
    }
}

/// Validates `endPort`, which needs a numeric `port` that is not greater.
fn ports(port: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(end) = port["endPort"].as_i64() else { return };
    if let Some(start) = port["port"].as_i64() {
        // kube-apiserver, too, reports the value of `port` here.
        let why = "must be greater than or equal to `port`";
        errors.extend((end < start).then(|| invalid(format!("{path}.endPort"), start, why)));
        return;
    }
    let why = match &port["port"] {
        Value::Null => "may not be specified when `port` is not specified",
        Value::String(_) => "may not be specified when `port` is non-numeric",
        _ => return,
    };
    errors.push(invalid(format!("{path}.endPort"), end, why));
}
