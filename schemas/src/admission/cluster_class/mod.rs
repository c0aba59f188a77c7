//! Admission rules of ClusterClass.

pub mod compatibility;
pub mod health_checks;
mod naming;
mod patches;
mod references;
mod selectors;
mod users;
mod versions;
mod workers;

use super::common::Errors;
use super::features;
use super::request::Request;
use crate::cluster::ClusterClass;
use crate::variables::check_definitions;
use serde::Deserialize;
pub use users::deletion;

pub fn cluster_class(request: Request<'_>, class: &ClusterClass, errors: &mut Errors) {
    if !request.features.cluster_topology {
        if request.old.is_none() {
            errors.forbidden("spec", features::off("ClusterTopology"));
        }
        return;
    }
    references::references(class, errors);
    workers::workers(request.features, class, errors);
    health_checks::of_class(class, errors);
    naming::naming(class, errors);
    for error in check_definitions(&class.spec.variables, "spec.variables") {
        errors.add(error);
    }
    patches::patches(request.features, class, errors);
    versions::versions(&class.spec.kubernetes_versions, errors);
    let Some(Ok(old)) = request.old.map(ClusterClass::deserialize) else { return };
    compatibility::compatible(&old, class, errors);
    users::users(request.facts, &old, class, errors);
}
