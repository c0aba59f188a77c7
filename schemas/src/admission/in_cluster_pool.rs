//! Admission rules of InClusterIPPool and GlobalInClusterIPPool: those of the webhook of the in-cluster IPAM provider.

use serde::Deserialize;

use super::common::{Errors, at};
use super::request::Request;
use crate::in_cluster_pool::allocatable;
use crate::ipam::InClusterIPPoolSpec;

/// Checks the spec of a pool. One that a write leaves unchanged passes, so that a finalizer can be removed from every pool.
pub fn in_cluster_pool(request: Request<'_>, errors: &mut Errors) {
    let spec = at(request.new, &["spec"]);
    if request.old.is_some_and(|old| at(old, &["spec"]) == spec) {
        return;
    }
    let parsed =
        if spec.is_null() { Ok(InClusterIPPoolSpec::default()) } else { Deserialize::deserialize(spec) };
    let Ok(parsed) = parsed else { return };
    match allocatable(&parsed) {
        Ok(addresses) if addresses.is_empty() => {
            errors.warn("the pool has no address to allocate: all are excluded, reserved, or the gateway");
        }
        Ok(_) => {}
        Err(problems) => {
            for problem in problems {
                if problem.value.is_null() {
                    errors.required(problem.field, problem.detail);
                } else {
                    errors.invalid(problem.field, problem.value, problem.detail);
                }
            }
        }
    }
}
