//! Admission rules of Cluster.

mod class;
mod deletion;
mod topology;
mod variables;
mod version;
mod workers;

use std::net::IpAddr;

use serde_json::json;

use super::common::{self, Errors};
use super::features;
use super::request::Request;
use crate::cluster::{Cluster, ClusterNetwork};
pub use class::class_key;
pub use deletion::deletion;
pub use variables::variables;
pub use version::upgrades;

pub fn cluster(request: Request<'_>, cluster: &Cluster, errors: &mut Errors) {
    common::name_as_label(cluster.metadata.name.as_deref(), errors);
    deletion::grace_period(request, errors);
    let spec = &cluster.spec;
    if spec.topology.is_some() && !request.features.cluster_topology {
        errors.forbidden("spec.topology", features::off("ClusterTopology"));
    }
    if spec.infrastructure_ref.is_none() && spec.control_plane_ref.is_none() && spec.topology.is_none() {
        errors
            .required("spec", "at least one of infrastructureRef, controlPlaneRef and topology must be set");
    }
    if let Some(old) = request.old {
        for field in ["infrastructureRef", "controlPlaneRef", "topology"] {
            if old["spec"][field].is_object() && !request.new["spec"][field].is_object() {
                errors.forbidden(format_args!("spec.{field}"), "can't be removed");
            }
        }
    }
    if let Some(network) = &spec.cluster_network {
        cluster_network(network, errors);
    }
    if let Some(topology) = spec.topology.as_ref().filter(|_| request.features.cluster_topology) {
        topology::topology(request, cluster, topology, errors);
    }
}

fn cluster_network(network: &ClusterNetwork, errors: &mut Errors) {
    for (field, ranges) in [("services", &network.services), ("pods", &network.pods)] {
        for (index, block) in ranges.iter().flat_map(|ranges| &ranges.cidr_blocks).enumerate() {
            if !is_cidr(block) {
                errors.invalid(
                    format_args!("spec.clusterNetwork.{field}.cidrBlocks[{index}]"),
                    json!(block),
                    "must be an address range, such as 192.168.0.0/16 or fd00::/64",
                );
            }
        }
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let longest = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    digits && length.parse::<u8>().is_ok_and(|length| length <= longest)
}
