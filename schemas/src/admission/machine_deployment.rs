//! Admission rules of MachineDeployment.

use super::common::{self, Errors};
use super::machine;
use super::machine_set::{machine_template, preflight_checks, selector};
use super::request::Request;
use crate::cluster::MachineDeployment;

pub fn machine_deployment(request: Request<'_>, deployment: &MachineDeployment, errors: &mut Errors) {
    let spec = &deployment.spec;
    common::name_as_label(deployment.metadata.name.as_deref(), errors);
    selector("spec.selector", &spec.selector, &spec.template, errors);
    common::immutable(request.old, request.new, &["spec", "clusterName"], errors);
    let strategy = spec.rollout.as_ref().and_then(|rollout| rollout.strategy.as_ref());
    let limits = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    common::rolling_update("spec.rollout.strategy.rollingUpdate", limits, errors);
    let in_flight = spec.remediation.as_ref().and_then(|remediation| remediation.max_in_flight.as_ref());
    common::number_or_percentage("spec.remediation.maxInFlight", in_flight, errors);
    machine_template(request, &spec.cluster_name, &spec.template, errors);
    preflight_checks(request, errors);
    machine::machine_naming("machineSet", spec.machine_naming.as_ref(), errors);
}
