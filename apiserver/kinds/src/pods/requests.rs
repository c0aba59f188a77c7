//! Resource requests of a pod: defaults from limits, sums over containers, and the quality of service class.

use std::collections::BTreeMap;

use machinery::quantity;
use serde_json::Value;

/// Defaults the requests of a container to its limits.
pub(crate) fn requests(container: &mut Value) {
    let limits = container["resources"]["limits"].as_object().cloned().unwrap_or_default();
    for (name, limit) in limits {
        if container["resources"]["requests"][&name].is_null() {
            container["resources"]["requests"][&name] = limit;
        }
    }
}

/// Returns the sums of the containers' requests by resource, in units of 10^-9.
pub(crate) fn sums(spec: &Value) -> BTreeMap<String, i128> {
    let mut sums = BTreeMap::new();
    for container in spec["containers"].as_array().into_iter().flatten() {
        for (name, amount) in container["resources"]["requests"].as_object().into_iter().flatten() {
            let value = amount.as_str().and_then(quantity::nanos).unwrap_or(0);
            let sum: &mut i128 = sums.entry(name.clone()).or_default();
            *sum = sum.saturating_add(value);
        }
    }
    sums
}

/// Defaults the requests of the pod to the sums of its containers' requests, or to its limits if no container requests
/// the resource.
pub(crate) fn pod_requests(spec: &mut Value) {
    let limits = spec["resources"]["limits"].as_object().cloned().unwrap_or_default();
    if limits.is_empty() {
        return;
    }
    let asked = sums(spec);
    for (name, limit) in limits {
        if !spec["resources"]["requests"][&name].is_null() {
            continue;
        }
        let amount = match asked.get(&name) {
            None => limit,
            Some(sum) => quantity::canonical(&format!("{sum}n")).unwrap_or_default().into(),
        };
        spec["resources"]["requests"][&name] = amount;
    }
}

/// Returns the QoS class: `BestEffort` without any CPU or memory requests and limits, `Guaranteed` if requests equal
/// limits for both in all containers, otherwise `Burstable`. Resources of the pod as a whole take precedence.
pub(crate) fn quality(spec: &Value) -> &'static str {
    let whole = &spec["resources"];
    let mut any = false;
    let mut guaranteed = true;
    if whole["requests"].is_object() || whole["limits"].is_object() {
        let both = ["cpu", "memory"].map(|name| (&whole["requests"][name], &whole["limits"][name]));
        let kept = both.iter().all(|(request, limit)| !limit.is_null() && request == limit);
        return if kept { "Guaranteed" } else { "Burstable" };
    }
    let containers = ["initContainers", "containers"].into_iter();
    for container in containers.flat_map(|list| spec[list].as_array().into_iter().flatten()) {
        for resource in ["cpu", "memory"] {
            let (request, limit) =
                (&container["resources"]["requests"][resource], &container["resources"]["limits"][resource]);
            any |= !request.is_null() || !limit.is_null();
            guaranteed &= !limit.is_null() && request == limit;
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
