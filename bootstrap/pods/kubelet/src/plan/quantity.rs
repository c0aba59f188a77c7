//! Resources of a container as numbers.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::Container;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use machinery::quantity::nanos;
use pod_processes::cgroup::Limits;

const NANOS: i128 = 1_000_000_000;

/// Returns a quantity of bytes as a number.
pub(super) fn bytes(text: &str) -> Option<i128> {
    nanos(text).map(|nanos| nanos / NANOS)
}

/// Returns the limits of a container. CPU is rounded up to thousandths.
pub fn limits(container: &Container) -> Limits {
    let limits = container.resources.as_ref().and_then(|resources| resources.limits.as_ref());
    let value = |name: &str, unit: i128| {
        let nanos = nanos(&limits?.get(name)?.0)?;
        // Zero is no limit, as in Kubernetes.
        u64::try_from((nanos + unit - 1) / unit).ok().filter(|value| *value > 0)
    };
    Limits { memory: value("memory", NANOS), cpu: value("cpu", NANOS / 1000) }
}

/// Returns a resource, as in `limits.memory`, in units of `divisor` and rounded up. A container without the limit gets zero.
pub(super) fn resource(container: &Container, path: &str, divisor: Option<&str>) -> Result<String> {
    let resources = container.resources.clone().unwrap_or_default();
    let (map, name): (Option<BTreeMap<String, Quantity>>, &str) = match path.split_once('.') {
        Some(("limits", name)) => (resources.limits, name),
        Some(("requests", name)) => (resources.requests, name),
        _ => (None, ""),
    };
    let known = ["cpu", "memory", "ephemeral-storage"].contains(&name) || name.starts_with("hugepages-");
    let name = known.then_some(name).with_context(|| format!("the resource {path:?} is not supported"))?;
    let value = map.and_then(|map| map.get(name).and_then(|quantity| nanos(&quantity.0))).unwrap_or_default();
    let divisor = divisor.and_then(nanos).filter(|divisor| *divisor > 0).unwrap_or(NANOS);
    Ok(((value + divisor - 1) / divisor).to_string())
}
