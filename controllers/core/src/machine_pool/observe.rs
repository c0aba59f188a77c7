//! Reads the objects on which the plan of a MachinePool depends.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::names::POOL_NAME;
use engine::object::{label, uid};
use engine::{Applied, External, ExternalObject, Manager, NamespacedName, Objects, Result, Workload, owners};
use k8s_openapi::api::core::v1::Node;
use schemas::cluster::{Cluster, Machine, MachinePool};
use schemas::naming;

use super::facts::provider_ids;
use super::observed::Observed;
use crate::change::Reference;
use crate::nodes::with_provider_id;

/// The controller of MachinePools.
pub(super) struct PoolController {
    pub manager: Manager,
    pub clusters: Objects<Cluster>,
    pub pools: Objects<MachinePool>,
    pub machines: Objects<Machine>,
    pub external: External,
    pub applied: Applied,
}

impl PoolController {
    /// Reads the state on which the plan of `pool` depends.
    pub(super) async fn read(&self, pool: Arc<MachinePool>, cluster: Arc<Cluster>) -> Observed {
        let namespace = pool.metadata.namespace.clone().unwrap_or_default();
        let name = NamespacedName::of(cluster.as_ref());
        let spec = &pool.spec.template.spec;
        let bootstrap = Reference::read(&self.external, &namespace, spec.bootstrap.config_ref.as_ref()).await;
        let infrastructure =
            Reference::read(&self.external, &namespace, Some(&spec.infrastructure_ref)).await;
        let parts = self.parts(&pool, &name, infrastructure.found()).await;
        let (parts, parts_error) = match parts {
            Ok(parts) => (parts, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let mut machines = self.machines.by_owner(uid(pool.as_ref()));
        machines.retain(|machine| owners::is_controlled_by(machine.as_ref(), uid(pool.as_ref())));
        let workload = self.manager.clusters().get(&name).ok();
        let nodes = workload.map(|workload| nodes(&workload, &pool, infrastructure.found(), &parts));
        let now = self.manager.clock().now();
        Observed { pool, cluster, bootstrap, infrastructure, parts, parts_error, machines, nodes, now }
    }

    /// Returns whether the infrastructure or bootstrap object exists or could not be read.
    pub(super) async fn has_any_part(&self, pool: &MachinePool) -> bool {
        let namespace = pool.metadata.namespace.clone().unwrap_or_default();
        let spec = &pool.spec.template.spec;
        let references = [Some(&spec.infrastructure_ref), spec.bootstrap.config_ref.as_ref()];
        Reference::any_exists(&self.external, &namespace, references).await
    }

    async fn parts(
        &self,
        pool: &MachinePool,
        cluster: &NamespacedName,
        infrastructure: Option<&ExternalObject>,
    ) -> Result<Vec<ExternalObject>> {
        let Some(infrastructure) = infrastructure else { return Ok(Vec::new()) };
        let Some(kind) = infrastructure.text("/status/infrastructureMachineKind") else {
            return Ok(Vec::new());
        };
        let (objects, resolved) = self.external.objects(&infrastructure.resource.group, kind).await?;
        let pool_name = naming::label_value(pool.metadata.name.as_deref().unwrap_or_default());
        let mut found = objects.by_cluster(cluster);
        found.retain(|object| label(object.as_ref(), POOL_NAME) == Some(pool_name.as_str()));
        let external = |object| ExternalObject {
            object,
            resource: resolved.resource.clone(),
            contract: resolved.contract,
        };
        Ok(found.into_iter().map(external).collect())
    }
}

/// Returns the Nodes that belong to the MachinePool, or once did, by name.
fn nodes(
    workload: &Workload,
    pool: &MachinePool,
    infrastructure: Option<&ExternalObject>,
    parts: &[ExternalObject],
) -> Vec<Arc<Node>> {
    let nodes = workload.objects::<Node>();
    let listed = infrastructure.map(provider_ids).unwrap_or_default();
    let of_parts = parts.iter().filter_map(|part| part.text("/spec/providerID").map(str::to_owned));
    let ids = pool.spec.provider_id_list.iter().cloned().chain(listed).chain(of_parts);
    let with_id = ids.flat_map(|id| with_provider_id(&nodes, &id));
    let referenced = pool.status.iter().flat_map(|status| &status.node_refs);
    let named = referenced.filter_map(|node| nodes.get(&NamespacedName::new("", node.name.as_deref()?)));
    let all: BTreeMap<NamespacedName, Arc<Node>> =
        with_id.chain(named).map(|node| (NamespacedName::of(node.as_ref()), node)).collect();
    all.into_values().collect()
}
