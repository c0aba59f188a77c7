//! Rules of `spec.topology`.

use super::class;
use super::version;
use super::workers::{self, Workers};
use crate::admission::autoscaler::autoscaled_replicas;
use crate::admission::common::{self, Errors, annotation};
use crate::admission::machine::{self, TaintsOf};
use crate::admission::request::Request;
use crate::cluster::{Cluster, Topology};

const UPGRADE_CONCURRENCY: &str = "topology.cluster.x-k8s.io/upgrade-concurrency";

/// The rules of a topology, those that depend on its class included.
pub fn topology(request: Request<'_>, cluster: &Cluster, topology: &Topology, errors: &mut Errors) {
    // The defaults have refused a topology without a class already.
    if topology.class_ref.name.is_empty() {
        return;
    }
    version_form(&topology.version, errors);
    metadata(topology, errors);
    rollouts(topology, errors);
    taints(request, topology, errors);
    concurrency(request, errors);
    if class::is_settled(request.new, request.old) {
        return;
    }
    let class = match request.facts.class.known() {
        Ok(class) => class.as_deref(),
        Err(why) => return errors.internal("spec.topology.class", format!("the class is not known: {why}")),
    };
    class::warn(request.new, class, errors);
    if let Some(class) = class {
        class::class(topology, class, errors);
    }
    autoscaled_replicas(cluster, topology, class, errors);
    if let Some(old) = request.old {
        version::update(request, topology, old, class, errors);
    }
}

fn version_form(version: &str, errors: &mut Errors) {
    const FIELD: &str = "spec.topology.version";
    let number = version.strip_prefix('v');
    if number.is_none_or(|number| semver::Version::parse(number).is_err()) {
        errors.invalid(FIELD, version, "must be a semantic version with the prefix v, such as v1.35.0");
    }
}

fn metadata(topology: &Topology, errors: &mut Errors) {
    let control_plane = topology.control_plane.as_ref().and_then(|part| part.metadata.as_ref());
    common::template_metadata("spec.topology.controlPlane.metadata", control_plane, errors);
    for Workers { field, metadata, .. } in workers::all(topology) {
        common::template_metadata(&format!("{field}.metadata"), metadata, errors);
    }
}

fn rollouts(topology: &Topology, errors: &mut Errors) {
    for deployment in workers::deployments(topology) {
        let strategy = deployment.rollout.as_ref().and_then(|rollout| rollout.strategy.as_ref());
        let field = format!("{}.rollout.strategy.rollingUpdate", workers::deployment_field(&deployment.name));
        common::rolling_update(
            &field,
            strategy.and_then(|strategy| strategy.rolling_update.as_ref()),
            errors,
        );
    }
}

fn taints(request: Request<'_>, topology: &Topology, errors: &mut Errors) {
    let of_control_plane = topology.control_plane.as_ref().map_or(&[][..], |part| &part.taints);
    let field = "spec.topology.controlPlane.taints";
    machine::taints(field, of_control_plane, TaintsOf::Anything, request.features, errors);
    for Workers { field, taints, .. } in workers::all(topology) {
        let field = format!("{field}.taints");
        machine::taints(&field, taints, TaintsOf::Workers, request.features, errors);
    }
}

fn concurrency(request: Request<'_>, errors: &mut Errors) {
    let Some(text) = annotation(request.new, UPGRADE_CONCURRENCY) else { return };
    if text.parse::<i64>().is_ok_and(|number| number >= 1) {
        return;
    }
    let field = format!("metadata.annotations[{UPGRADE_CONCURRENCY}]");
    errors.invalid(field, text, "must be a number of at least 1");
}
