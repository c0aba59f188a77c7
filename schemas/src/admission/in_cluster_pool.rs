//! Admission rules of InClusterIPPool and GlobalInClusterIPPool: those of the webhook of the in-cluster IPAM provider.

use serde::Deserialize;
use serde_json::Value;

use super::common::{Errors, at};
use super::facts::Facts;
use super::request::Request;
use crate::in_cluster_pool::{Problem, allocatable, taken_out};
use crate::ipam::InClusterIPPoolSpec;

/// Annotations with which a pool that is in use can be deleted: upstream's, and that of objects which a pivot has moved.
const DELETABLE: [&str; 2] =
    ["ipam.cluster.x-k8s.io/skip-validate-delete-webhook", "clusterctl.cluster.x-k8s.io/delete-for-move"];
/// The number of addresses that a refusal names.
const NAMED: usize = 3;

/// Checks the spec of a pool. One that a write leaves unchanged passes, so that a finalizer can be removed from every pool.
pub fn in_cluster_pool(request: Request<'_>, errors: &mut Errors) {
    let spec = at(request.new, &["spec"]);
    if request.old.is_some_and(|old| at(old, &["spec"]) == spec) {
        return;
    }
    let Some(parsed) = parsed(spec) else { return };
    match allocatable(&parsed) {
        Ok(addresses) if addresses.is_empty() => {
            errors.warn("the pool has no address to allocate: all are excluded, reserved, or the gateway");
        }
        Ok(_) => {}
        Err(problems) => report(problems, errors),
    }
    if let Some(old) = request.old.and_then(|old| self::parsed(at(old, &["spec"]))) {
        match request.facts.allocated.known() {
            Ok(allocated) => report(taken_out(&old, &parsed, allocated.iter().copied()), errors),
            Err(why) => errors.internal("spec", format!("the addresses of the pool are not known: {why}")),
        }
    }
}

/// Returns why a pool cannot be deleted: IPAddresses have addresses of it.
pub fn deletion(pool: &Value, facts: &Facts) -> Result<(), String> {
    let annotations = at(pool, &["metadata", "annotations"]);
    if DELETABLE.iter().any(|name| annotations.get(name).is_some()) {
        return Ok(());
    }
    let allocated = facts.allocated.known();
    let allocated = allocated.map_err(|why| format!("the addresses of the pool are not known: {why}"))?;
    if allocated.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = allocated.iter().take(NAMED).map(ToString::to_string).collect();
    let more = match allocated.len().checked_sub(NAMED) {
        None | Some(0) => String::new(),
        Some(more) => format!(" and {more} more"),
    };
    Err(format!(
        "IPAddresses have addresses of it: {}{more}; delete their IPAddressClaims first",
        named.join(", ")
    ))
}

fn parsed(spec: &Value) -> Option<InClusterIPPoolSpec> {
    if spec.is_null() { Some(InClusterIPPoolSpec::default()) } else { Deserialize::deserialize(spec).ok() }
}

fn report(problems: Vec<Problem>, errors: &mut Errors) {
    for problem in problems {
        if problem.value.is_null() {
            errors.required(problem.field, problem.detail);
        } else {
            errors.invalid(problem.field, problem.value, problem.detail);
        }
    }
}
