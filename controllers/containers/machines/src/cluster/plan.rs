//! The plan of a DevCluster: the configuration of its load balancer. Pure.

use chrono::{DateTime, Utc};
use engine::object::is_deleting;
use engine::{finalizer, paused};
use schemas::infrastructure::DevCluster;
use system_containers::balancer::{Configuration, Server};

use super::observed::Observed;
use crate::names::{API_SERVER_PORT, CLUSTER_FINALIZER};

/// The plan for a DevCluster.
pub(super) struct Plan {
    /// The DevCluster as it should be, without what the load balancer decides.
    pub wanted: DevCluster,
    /// What the load balancer does; `None` if it is to be removed.
    pub configuration: Option<Configuration>,
}

/// Returns the plan for a DevCluster.
pub(super) fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let mut wanted = observed.dev.as_ref().clone();
    paused::set(&mut wanted, observed.cluster.as_deref(), now);
    if is_deleting(observed.dev.as_ref()) {
        finalizer::remove(&mut wanted, CLUSTER_FINALIZER);
        return Plan { wanted, configuration: None };
    }
    let docker = wanted.spec.backend.docker.clone().unwrap_or_default();
    wanted.status.get_or_insert_default().failure_domains = docker.failure_domains;
    let endpoint = wanted.spec.control_plane_endpoint.as_ref();
    let port = endpoint.and_then(|endpoint| endpoint.port).and_then(|port| u16::try_from(port).ok());
    let port = port.filter(|port| *port != 0).unwrap_or(API_SERVER_PORT);
    Plan { wanted, configuration: Some(Configuration { port, servers: servers(observed) }) }
}

/// Returns the servers. One whose machine goes gets no new connections, unless all go.
fn servers(observed: &Observed) -> Vec<Server> {
    let all_go = observed.members.iter().all(|member| member.goes);
    let server = |member: &super::observed::Member| {
        Some(Server {
            name: member.name.clone(),
            address: member.address.parse().ok()?,
            port: API_SERVER_PORT,
            drain: member.goes && !all_go,
        })
    };
    observed.members.iter().filter_map(server).collect()
}
