//! Rules about the Clusters that use a class: what they use stays.

use std::collections::BTreeSet;

use super::{health_checks, workers};
use crate::admission::autoscaler::autoscaled_replicas;
use crate::admission::common::Errors;
use crate::admission::facts::Facts;
use crate::cluster::{Cluster, ClusterClass};

/// How many Clusters an error names.
const NAMED: usize = 3;

/// Checks a change of a class against the Clusters that use it.
pub fn users(facts: &Facts, old: &ClusterClass, new: &ClusterClass, errors: &mut Errors) {
    let clusters = match facts.clusters.known() {
        Ok(clusters) => clusters,
        Err(why) => {
            return errors.internal("spec", format!("the Clusters of the class are not known: {why}"));
        }
    };
    versions(clusters, new, errors);
    removed_classes(clusters, old, new, errors);
    health_checks::removed(clusters, old, new, errors);
    for cluster in clusters {
        if let Some(topology) = &cluster.spec.topology {
            autoscaled_replicas(cluster, topology, Some(new), errors);
        }
    }
}

/// Refuses the deletion of a class that Clusters use.
///
/// # Errors
/// A sentence with some of these Clusters.
pub fn deletion(facts: &Facts) -> Result<(), String> {
    let clusters = facts.clusters.known();
    let clusters = clusters.map_err(|why| format!("the Clusters of the class are not known: {why}"))?;
    if clusters.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = clusters.iter().map(shown).collect();
    Err(format!("it is used by Clusters: {}; delete them or give them another class first", some_of(&names)))
}

fn versions(clusters: &[Cluster], new: &ClusterClass, errors: &mut Errors) {
    let known = &new.spec.kubernetes_versions;
    if known.is_empty() {
        return;
    }
    for cluster in clusters {
        let version = cluster.spec.topology.as_ref().map(|topology| &topology.version);
        if let Some(version) = version.filter(|version| !known.contains(version)) {
            let detail = format!("must contain {version}, which the Cluster {} has", shown(cluster));
            errors.forbidden("spec.kubernetesVersions", detail);
        }
    }
}

fn removed_classes(clusters: &[Cluster], old: &ClusterClass, new: &ClusterClass, errors: &mut Errors) {
    let names = |class| workers::deployments(class).iter().map(|class| class.class.as_str()).collect();
    let removed = without(names(old), &names(new));
    let used = |cluster: &Cluster| -> Vec<String> {
        let parts = cluster.spec.topology.iter().flat_map(|topology| &topology.workers);
        parts.flat_map(|workers| &workers.machine_deployments).map(|part| part.class.clone()).collect()
    };
    refuse_removed("MachineDeployment", "machineDeployments", &removed, clusters, used, errors);
    let names = |class| workers::pools(class).iter().map(|class| class.class.as_str()).collect();
    let removed = without(names(old), &names(new));
    let used = |cluster: &Cluster| -> Vec<String> {
        let parts = cluster.spec.topology.iter().flat_map(|topology| &topology.workers);
        parts.flat_map(|workers| &workers.machine_pools).map(|part| part.class.clone()).collect()
    };
    refuse_removed("MachinePool", "machinePools", &removed, clusters, used, errors);
}

fn without<'a>(old: BTreeSet<&'a str>, new: &BTreeSet<&str>) -> BTreeSet<&'a str> {
    old.into_iter().filter(|class| !new.contains(class)).collect()
}

fn refuse_removed(
    kind: &str,
    list: &str,
    removed: &BTreeSet<&str>,
    clusters: &[Cluster],
    used: impl Fn(&Cluster) -> Vec<String>,
    errors: &mut Errors,
) {
    for cluster in clusters {
        for class in used(cluster).iter().filter(|class| removed.contains(class.as_str())) {
            let detail = format!(
                "the {kind} class {class:?} cannot be removed: the Cluster {} uses it",
                shown(cluster)
            );
            errors.forbidden(format_args!("spec.workers.{list}"), detail);
        }
    }
}

/// Returns namespace and name of a Cluster.
pub fn shown(cluster: &Cluster) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{}/{}", text(&cluster.metadata.namespace), text(&cluster.metadata.name))
}

/// Returns the first names of a list, and how many there are more.
pub fn some_of(names: &[String]) -> String {
    let first = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMED) {
        None | Some(0) => first,
        Some(more) => format!("{first} and {more} more"),
    }
}
