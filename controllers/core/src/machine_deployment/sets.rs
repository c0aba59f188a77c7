//! Computes the MachineSets that a MachineDeployment wants.

use std::collections::BTreeMap;

use engine::names::{CLUSTER_NAME, DEPLOYMENT_NAME};
use engine::object::{annotation, label};
use engine::owners;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use schemas::cluster::{MachineSet, MachineSetSpec, MachineTemplateSpec};
use schemas::meta::ObjectMetaTemplate;

use super::facts::{REVISION, Split, is_on_delete};
use super::observed::Observed;
use super::rollout::Limits;
use super::template;

/// Label on MachineSets and their Machines: a hash of the template, and the random part of the name.
pub const HASH: &str = "machine-template-hash";
const REVISION_HISTORY: &str = "machinedeployment.clusters.x-k8s.io/revision-history";
/// Annotation on MachineSets: `spec.replicas` of the MachineDeployment.
pub(super) const DESIRED_REPLICAS: &str = "machinedeployment.clusters.x-k8s.io/desired-replicas";
/// Annotation on MachineSets: how many Machines the MachineDeployment may have during a rollout.
pub(super) const MAX_REPLICAS: &str = "machinedeployment.clusters.x-k8s.io/max-replicas";
const DISABLE_CREATE: &str = "cluster.x-k8s.io/disable-machine-create";
/// Annotations of a MachineDeployment that are not copied to its MachineSets.
const NOT_PROPAGATED: &[&str] = &[
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    DISABLE_CREATE,
    "cluster.x-k8s.io/conversion-data",
];
/// The maximum length of the part of a MachineDeployment's name that the names of its MachineSets begin with. With the dash and the
/// five-character suffix, a name has at most 63 characters.
const LONGEST_BASE: usize = 57;

fn revision(set: &MachineSet) -> i64 {
    annotation(set, REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Returns the revision of the new MachineSet: its own, or one more than the highest old revision.
pub fn next_revision(split: &Split) -> i64 {
    let oldest = split.old.iter().map(|set| revision(set)).max().unwrap_or(0);
    split.new.as_deref().map(revision).unwrap_or(0).max(oldest + 1)
}

/// Returns the wanted MachineSet with `replicas`. `current` is the existing object; `new_revision` is set for
/// the MachineSet with the current template.
pub fn wanted(
    observed: &Observed,
    current: Option<&MachineSet>,
    replicas: i32,
    new_revision: Option<i64>,
    limits: &Limits,
) -> MachineSet {
    let deployment = observed.deployment.as_ref();
    let name = deployment.metadata.name.clone().unwrap_or_default();
    let hash = match current {
        Some(current) => label(current, HASH).unwrap_or_default().to_owned(),
        None => format!("{}-{}", template::hash(&deployment.spec.template), observed.suffix),
    };
    let template_labels = deployment.spec.template.metadata.clone().unwrap_or_default().labels;
    let mut labels = template_labels.clone();
    labels.insert(CLUSTER_NAME.to_owned(), deployment.spec.cluster_name.clone());
    labels.insert(DEPLOYMENT_NAME.to_owned(), name.clone());
    if !hash.is_empty() {
        labels.insert(HASH.to_owned(), hash.clone());
    }
    let base: String = name.chars().take(LONGEST_BASE).collect();
    let own_name = current.and_then(|current| current.metadata.name.clone());
    MachineSet {
        metadata: ObjectMeta {
            name: Some(own_name.unwrap_or_else(|| format!("{base}-{}", observed.suffix))),
            // With the UID, the apply fails instead of recreating a MachineSet that was deleted in the
            // meantime.
            uid: current.and_then(|current| current.metadata.uid.clone()),
            namespace: deployment.metadata.namespace.clone(),
            labels: Some(labels),
            annotations: Some(annotations(observed, current, new_revision, limits)),
            owner_references: Some(vec![owners::controller_reference(deployment, &())]),
            ..ObjectMeta::default()
        },
        spec: MachineSetSpec {
            cluster_name: deployment.spec.cluster_name.clone(),
            replicas: Some(replicas),
            selector: selector(observed, current, &hash),
            template: template_of(observed, current, template_labels, &hash),
            deletion: deployment.spec.deletion.clone(),
            machine_naming: deployment.spec.machine_naming.clone(),
        },
        status: None,
    }
}

fn selector(observed: &Observed, current: Option<&MachineSet>, hash: &str) -> LabelSelector {
    if let Some(current) = current {
        return current.spec.selector.clone();
    }
    let mut selector = observed.deployment.spec.selector.clone();
    selector.match_labels.get_or_insert_default().insert(HASH.to_owned(), hash.to_owned());
    selector
}

/// Returns the template: fields that need a rollout keep their value in an existing MachineSet, the others
/// follow the MachineDeployment.
fn template_of(
    observed: &Observed,
    current: Option<&MachineSet>,
    mut labels: BTreeMap<String, String>,
    hash: &str,
) -> MachineTemplateSpec {
    let desired = &observed.deployment.spec.template;
    if !hash.is_empty() {
        labels.insert(HASH.to_owned(), hash.to_owned());
    }
    labels.insert(CLUSTER_NAME.to_owned(), observed.deployment.spec.cluster_name.clone());
    let annotations = desired.metadata.clone().unwrap_or_default().annotations;
    let mut spec = current.map_or_else(|| desired.spec.clone(), |current| current.spec.template.spec.clone());
    spec.min_ready_seconds = desired.spec.min_ready_seconds;
    spec.readiness_gates = desired.spec.readiness_gates.clone();
    spec.deletion = desired.spec.deletion.clone();
    spec.taints = desired.spec.taints.clone();
    MachineTemplateSpec { metadata: Some(ObjectMetaTemplate { labels, annotations }), spec }
}

fn annotations(
    observed: &Observed,
    current: Option<&MachineSet>,
    new_revision: Option<i64>,
    limits: &Limits,
) -> BTreeMap<String, String> {
    let deployment = observed.deployment.as_ref();
    let mut annotations = deployment.metadata.annotations.clone().unwrap_or_default();
    annotations.retain(|key, _| !NOT_PROPAGATED.contains(&key.as_str()));
    let mut insert = |key: &str, value: String| annotations.insert(key.to_owned(), value);
    insert(DESIRED_REPLICAS, limits.replicas.to_string());
    insert(MAX_REPLICAS, limits.replicas.saturating_add(limits.surge).to_string());
    let disabled = new_revision.is_none() && is_on_delete(deployment);
    insert(DISABLE_CREATE, disabled.to_string());
    let before = current.and_then(|current| annotation(current, REVISION)).map(str::to_owned);
    let history = current.and_then(|current| annotation(current, REVISION_HISTORY)).map(str::to_owned);
    let now = new_revision.map(|revision| revision.to_string()).or_else(|| before.clone());
    let moved = before.filter(|before| now.as_ref() != Some(before));
    let history: Vec<String> = history.into_iter().chain(moved).collect();
    if let Some(now) = now {
        insert(REVISION, now);
    }
    if !history.is_empty() {
        insert(REVISION_HISTORY, history.join(","));
    }
    annotations
}
