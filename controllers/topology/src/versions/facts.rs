//! What the choice of versions depends on.

use std::collections::{BTreeMap, BTreeSet};

use schemas::meta::ObjectMetaTemplate;

use super::{control_plane, plan};
use crate::current::{Current, Parts, Workers};
use crate::names;
use crate::object;

/// What there is of a cluster, as far as versions depend on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The version that the topology wants.
    pub wanted: String,
    /// The control plane; `None` if it is not made yet.
    pub control_plane: Option<ControlPlaneFacts>,
    /// The MachineDeployments of the topology, in its order.
    pub machine_deployments: Vec<WorkerFacts>,
    /// The MachinePools of the topology, in its order.
    pub machine_pools: Vec<WorkerFacts>,
    /// Names of MachineDeployments that have machines of another version, also of such that are no longer in the topology.
    pub upgrading_machine_deployments: BTreeSet<String>,
    /// Names of MachinePools that have machines of another version, also of such that are no longer in the topology.
    pub upgrading_machine_pools: BTreeSet<String>,
    /// Whether any MachineDeployment exists.
    pub has_machine_deployments: bool,
    /// Whether any MachinePool exists.
    pub has_machine_pools: bool,
    /// The lowest version of all workers that exist; `None` if there are none.
    pub lowest_workers: Option<String>,
    /// How many MachineDeployments, and how many MachinePools, may be upgraded at once.
    pub concurrency: usize,
}

/// A control plane that exists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ControlPlaneFacts {
    /// Its `spec.version`.
    pub version: String,
    /// Whether it never had a version yet.
    pub is_provisioning: bool,
    /// Whether it has machines of an older version.
    pub is_upgrading: bool,
}

/// An entry of a topology's workers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkerFacts {
    /// The name in the topology.
    pub topology_name: String,
    /// Name and version of the MachineDeployment or MachinePool; `None` if it does not exist yet.
    pub object: Option<(String, String)>,
    /// Whether an annotation of this entry or of one before it defers the upgrade.
    pub is_deferred: bool,
}

impl Facts {
    /// Reads the facts off what exists.
    ///
    /// # Errors
    /// The Cluster has no topology, or a version cannot be parsed.
    pub fn of(current: &Current) -> Result<Self, String> {
        let parts = Parts::of(&current.cluster).ok_or("the Cluster has no spec.topology")?;
        let control_plane = current.control_plane.as_ref().map(|plane| {
            let object = &plane.object;
            Ok::<_, String>(ControlPlaneFacts {
                version: object::text(object, &["spec", "version"]).to_owned(),
                is_provisioning: control_plane::is_provisioning(object),
                is_upgrading: control_plane::is_upgrading(object)?,
            })
        });
        let control_plane = control_plane.transpose()?;
        let deployments = |workers: &Workers<schemas::cluster::MachineDeployment>| {
            named(&workers.object.metadata.name, &workers.object.spec.template.spec.version)
        };
        let pools = |workers: &Workers<schemas::cluster::MachinePool>| {
            named(&workers.object.metadata.name, &workers.object.spec.template.spec.version)
        };
        let all = current.machine_deployments.values().map(deployments);
        let versions = all.chain(current.machine_pools.values().map(pools)).map(|(_, version)| version);
        let lowest_workers = match &control_plane {
            Some(plane) => plan::lowest(versions, &plane.version)?,
            None => None,
        };
        let entries =
            parts.machine_deployments.iter().map(|entry| (entry.name.as_str(), entry.metadata.as_ref()));
        let machine_deployments = worker_facts(entries, &current.machine_deployments, deployments);
        let entries = parts.machine_pools.iter().map(|entry| (entry.name.as_str(), entry.metadata.as_ref()));
        let machine_pools = worker_facts(entries, &current.machine_pools, pools);
        Ok(Self {
            wanted: parts.topology.version.clone(),
            control_plane,
            machine_deployments,
            machine_pools,
            upgrading_machine_deployments: upgrading(&current.machine_deployments, deployments),
            upgrading_machine_pools: upgrading(&current.machine_pools, pools),
            has_machine_deployments: !current.machine_deployments.is_empty(),
            has_machine_pools: !current.machine_pools.is_empty(),
            lowest_workers,
            concurrency: concurrency(current),
        })
    }

    /// Returns whether any workers exist.
    pub(super) fn has_workers(&self) -> bool {
        self.has_machine_deployments || self.has_machine_pools
    }
}

fn named(name: &Option<String>, version: &Option<String>) -> (String, String) {
    (name.clone().unwrap_or_default(), version.clone().unwrap_or_default())
}

/// The annotation of the Cluster; 1 unless it is a number above 0. Admission refuses others.
fn concurrency(current: &Current) -> usize {
    let annotations = current.cluster.metadata.annotations.as_ref();
    let text = annotations.and_then(|annotations| annotations.get(names::UPGRADE_CONCURRENCY));
    text.and_then(|text| text.parse().ok()).filter(|number| *number > 0).unwrap_or(1)
}

fn upgrading<K>(
    workers: &BTreeMap<String, Workers<K>>,
    named: impl Fn(&Workers<K>) -> (String, String),
) -> BTreeSet<String> {
    workers.values().filter(|workers| workers.is_upgrading).map(|workers| named(workers).0).collect()
}

/// An annotation that defers concerns its entry; one that holds the sequence all later ones, too.
fn worker_facts<'a, K>(
    entries: impl Iterator<Item = (&'a str, Option<&'a ObjectMetaTemplate>)>,
    current: &BTreeMap<String, Workers<K>>,
    named: impl Fn(&Workers<K>) -> (String, String),
) -> Vec<WorkerFacts> {
    let mut is_held = false;
    let facts = entries.map(|(name, metadata)| {
        let has = |annotation| metadata.is_some_and(|metadata| metadata.annotations.contains_key(annotation));
        is_held |= has(names::HOLD_UPGRADE_SEQUENCE);
        WorkerFacts {
            topology_name: name.to_owned(),
            object: current.get(name).map(&named),
            is_deferred: is_held || has(names::DEFER_UPGRADE),
        }
    });
    facts.collect()
}
