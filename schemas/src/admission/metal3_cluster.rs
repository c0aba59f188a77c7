//! Admission rules of Metal3Cluster and Metal3ClusterTemplate: those of the webhooks of Metal3's provider
//! (cluster-api-provider-metal3 v1.13).

use super::common::Errors;
use super::request::Request;
use crate::infrastructure::{Metal3Cluster, Metal3ClusterSpec, Metal3ClusterTemplate};

/// What a missing host means: nothing in the cluster creates the address.
const NO_HOST: &str =
    "set it to the address of the API server, for example a virtual IP address: no controller creates it";

pub fn metal3_cluster(_: Request<'_>, cluster: &Metal3Cluster, errors: &mut Errors) {
    host("spec", &cluster.spec, errors);
}

pub fn metal3_cluster_template(_: Request<'_>, template: &Metal3ClusterTemplate, errors: &mut Errors) {
    const SPEC: &str = "spec.template.spec";
    let spec = &template.spec.template.spec;
    host(SPEC, spec, errors);
    if spec.control_plane_endpoint.as_ref().and_then(|endpoint| endpoint.port).unwrap_or_default() == 0 {
        errors.required(
            format_args!("{SPEC}.controlPlaneEndpoint.port"),
            "set it to the port of the API server, for example 6443: a template has no default",
        );
    }
}

fn host(path: &str, spec: &Metal3ClusterSpec, errors: &mut Errors) {
    let host = spec.control_plane_endpoint.as_ref().and_then(|endpoint| endpoint.host.as_deref());
    if host.unwrap_or_default().is_empty() {
        errors.required(format_args!("{path}.controlPlaneEndpoint.host"), NO_HOST);
    }
}
