//! What is to be done for a Deployment.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::Action;
use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;

use super::rollout::rollout;
use super::status::status;
use crate::pods::hash;

/// The label that separates the Pods of one template from those of others.
const HASH: &str = "pod-template-hash";
/// The annotation that numbers the templates of a Deployment; `kubectl rollout` reads it.
pub const REVISION: &str = "deployment.kubernetes.io/revision";
/// The number of old ReplicaSets that are kept for `kubectl rollout undo`, if the Deployment names none.
const HISTORY: i32 = 10;

/// The steps, and the wanted status.
pub struct Plan {
    /// The ReplicaSet of a new template.
    pub create: Option<ReplicaSet>,
    /// ReplicaSets with their new numbers of Pods.
    pub scale: Vec<(Arc<ReplicaSet>, i32)>,
    /// ReplicaSets that the history has no room for.
    pub delete: Vec<Arc<ReplicaSet>>,
    /// The revision of the current template.
    pub revision: String,
    /// The wanted status.
    pub status: DeploymentStatus,
    /// When to look again.
    pub action: Action,
}

/// Plans for a Deployment with all its ReplicaSets.
pub fn plan(deployment: &Deployment, sets: &[Arc<ReplicaSet>], now: DateTime<Utc>) -> Plan {
    let spec = deployment.spec.clone();
    let template = template_of(deployment);
    let current = sets.iter().find(|set| is_of(set, &template));
    let old: Vec<Arc<ReplicaSet>> = sets
        .iter()
        .filter(|set| current.is_none_or(|current| current.name_any() != set.name_any()))
        .cloned()
        .collect();
    let highest = sets.iter().map(|set| revision(set)).max().unwrap_or_default();
    let revision = match current {
        // A template that comes back gets the next number.
        Some(current) if revision(current) == highest => highest,
        _ => highest + 1,
    };
    let is_paused = spec.paused == Some(true);
    let scale = if is_paused { Vec::new() } else { rollout(&spec, current, &old) };
    let create = (current.is_none() && !is_paused)
        .then(|| new_set(deployment, &template, revision, super::rollout::first(&spec, &old)));
    let (status, action) = status(deployment, current, sets, now);
    Plan {
        create,
        scale,
        delete: forgotten(&old, spec.revision_history_limit),
        revision: revision.to_string(),
        status,
        action,
    }
}

fn template_of(deployment: &Deployment) -> PodTemplateSpec {
    deployment.spec.template.clone()
}

/// Returns whether a set was made from a template: both are equal without the hash.
fn is_of(set: &ReplicaSet, template: &PodTemplateSpec) -> bool {
    let Some(mut own) = set.spec.template.clone() else { return false };
    if let Some(labels) = own.metadata.as_mut().and_then(|metadata| metadata.labels.as_mut()) {
        labels.remove(HASH);
    }
    own == *template
}

fn revision(set: &ReplicaSet) -> u64 {
    set.annotations().get(REVISION).and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn new_set(deployment: &Deployment, template: &PodTemplateSpec, revision: u64, replicas: i32) -> ReplicaSet {
    let spec = deployment.spec.clone();
    let hash = hash(template);
    let hashed = |labels: Option<BTreeMap<String, String>>| {
        let mut labels = labels.unwrap_or_default();
        labels.insert(HASH.to_owned(), hash.clone());
        Some(labels)
    };
    let mut template = template.clone();
    let metadata = template.metadata.get_or_insert_default();
    metadata.labels = hashed(metadata.labels.take());
    let labels = metadata.labels.clone();
    let mut selector = spec.selector.clone();
    selector.match_labels = hashed(selector.match_labels.take());
    ReplicaSet {
        metadata: ObjectMeta {
            name: Some(format!("{}-{hash}", deployment.name_any())),
            namespace: deployment.namespace(),
            labels,
            annotations: Some([(REVISION.to_owned(), revision.to_string())].into()),
            owner_references: Some(vec![engine::owners::controller_reference(deployment, &())]),
            ..ObjectMeta::default()
        },
        spec: ReplicaSetSpec {
            replicas: Some(replicas),
            min_ready_seconds: spec.min_ready_seconds,
            selector,
            template: Some(template),
        },
        status: None,
    }
}

/// Returns the oldest sets without Pods for which the history has no room.
fn forgotten(old: &[Arc<ReplicaSet>], limit: Option<i32>) -> Vec<Arc<ReplicaSet>> {
    let kept = usize::try_from(limit.unwrap_or(HISTORY)).unwrap_or_default();
    let is_empty = |set: &&Arc<ReplicaSet>| {
        set.spec.replicas == Some(0) && set.status.as_ref().is_none_or(|status| status.replicas == 0)
    };
    let mut empty: Vec<Arc<ReplicaSet>> = old.iter().filter(is_empty).cloned().collect();
    empty.sort_by_key(|set| revision(set));
    empty.truncate(empty.len().saturating_sub(kept));
    empty
}
