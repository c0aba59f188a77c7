//! Admission rules of MachinePool.

use super::common::{self, Errors};
use super::request::Request;
use super::{features, machine};
use crate::cluster::MachinePool;

pub fn machine_pool(request: Request<'_>, pool: &MachinePool, errors: &mut Errors) {
    let spec = &pool.spec;
    if !request.features.machine_pool {
        errors.forbidden("spec", features::off("MachinePool"));
    }
    common::immutable(request.old, request.new, &["spec", "clusterName"], errors);
    const TEMPLATE: &str = "spec.template";
    machine::template_spec(&format!("{TEMPLATE}.spec"), &spec.cluster_name, &spec.template.spec, errors);
    common::template_metadata(&format!("{TEMPLATE}.metadata"), spec.template.metadata.as_ref(), errors);
    if !spec.template.spec.taints.is_empty() {
        errors.forbidden("spec.template.spec.taints", "taints are not supported for MachinePools");
    }
}
