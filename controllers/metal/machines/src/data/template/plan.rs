//! The rules of a template: which claim gets which index, which index is released, and the status of the template.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::object::is_deleting;
use engine::{finalizer, owners};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use machinery::clock::rfc3339;
use schemas::infrastructure::{
    Metal3Data, Metal3DataClaim, Metal3DataSpec, Metal3DataTemplate, Metal3DataTemplateIndex, Metal3Machine,
    Metal3ObjectReference,
};

use super::observed::Observed;
use super::{in_name, template_of};
use crate::data::names::{CLAIM_FINALIZER, TEMPLATE_FINALIZER};

/// What to do for a template.
#[derive(Debug, Default)]
pub struct Plan {
    /// The template as it should be.
    pub template: Option<Metal3DataTemplate>,
    /// What to do for each claim.
    pub steps: Vec<(Arc<Metal3DataClaim>, Step)>,
    /// The Metal3Data that nothing but this controller's finalizer keeps, because their claims do not exist.
    pub orphans: Vec<Arc<Metal3Data>>,
}

/// What to do for a claim.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Create this Metal3Data, and record it in the claim.
    Create(Box<Metal3Data>),
    /// Record the existing Metal3Data of this name in the claim.
    Settle(String),
    /// Record in the claim why it gets no index.
    Refuse(String),
    /// Delete this Metal3Data, if there is one, and let the claim go.
    Release(Option<Arc<Metal3Data>>),
}

/// Computes the plan.
pub fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let ours: Vec<&Arc<Metal3Data>> =
        observed.data.iter().filter(|data| template_of(data).as_ref() == Some(&observed.name)).collect();
    let by_claim: BTreeMap<&str, &Arc<Metal3Data>> =
        ours.iter().map(|data| (claim_of(data), *data)).collect();
    let named =
        observed.data.iter().filter_map(|data| in_name(data)).filter(|(name, _)| *name == observed.name);
    let mut taken: BTreeSet<i32> = named.map(|(_, index)| index).collect();
    taken.extend(ours.iter().filter_map(|data| data.spec.index));
    let mut free = (0..=i32::MAX).filter(|index| !taken.contains(index));
    let mut claims = observed.claims.clone();
    claims
        .sort_by_cached_key(|claim| (claim.metadata.creation_timestamp.clone(), claim.metadata.name.clone()));
    let mut plan = Plan::default();
    for claim in claims {
        let data = by_claim.get(claim.metadata.name.as_deref().unwrap_or_default()).copied();
        let step = match data {
            _ if is_deleting(claim.as_ref()) => {
                if !finalizer::has(claim.as_ref(), CLAIM_FINALIZER) {
                    continue;
                }
                Step::Release(data.cloned())
            }
            Some(data) if !is_deleting(data.as_ref()) => {
                Step::Settle(data.metadata.name.clone().unwrap_or_default())
            }
            // The claim gets another index as soon as its old one is released.
            Some(_) => continue,
            None => create(observed, &claim, &mut free)
                .map_or_else(Step::Refuse, |data| Step::Create(Box::new(data))),
        };
        plan.steps.push((claim, step));
    }
    let is_orphan = |data: &Arc<Metal3Data>| {
        let name = data.metadata.name.as_deref().unwrap_or_default();
        is_deleting(data.as_ref())
            && finalizer::has(data.as_ref(), CLAIM_FINALIZER)
            && observed.without_claim.iter().any(|other| other == name)
    };
    plan.orphans = ours.iter().filter(|data| is_orphan(data)).map(|data| Arc::clone(data)).collect();
    plan.template = observed.template.as_ref().map(|template| wanted(template, observed, &ours, now));
    plan
}

/// Returns the name of the claim of a Metal3Data.
fn claim_of(data: &Metal3Data) -> &str {
    data.spec.claim.as_ref().and_then(|claim| claim.name.as_deref()).unwrap_or_default()
}

/// Creates the Metal3Data of a claim with the lowest free index.
fn create(
    observed: &Observed,
    claim: &Metal3DataClaim,
    free: &mut impl Iterator<Item = i32>,
) -> Result<Metal3Data, String> {
    let name = &observed.name;
    let Some(template) = &observed.template else {
        return Err(format!("there is no Metal3DataTemplate {name}: create it"));
    };
    let cluster = &template.spec.cluster_name;
    if is_deleting(template.as_ref()) {
        return Err(format!("Metal3DataTemplate {name} is being deleted"));
    }
    if observed.cluster.is_none() && !cluster.is_empty() {
        let namespace = &name.namespace;
        return Err(format!(
            "Metal3DataTemplate {name} waits for Cluster {namespace}/{cluster} of its spec.clusterName: create it"
        ));
    }
    let there = claim.spec.template.as_ref().and_then(|template| template.namespace.as_deref());
    if let Some(there) = there.filter(|there| !there.is_empty() && *there != name.namespace) {
        return Err(format!(
            "spec.template.namespace is {there}: a template is in the namespace of its claim"
        ));
    }
    let machine = owners::find(claim, Metal3Machine::GROUP, Metal3Machine::KIND)
        .ok_or("it has no owner reference to a Metal3Machine, for which data could be rendered")?;
    let index = free.next().ok_or_else(|| format!("Metal3DataTemplate {name} has no free index"))?;
    let reference = |name: Option<&String>| {
        Some(Metal3ObjectReference { name: name.cloned(), namespace: template.metadata.namespace.clone() })
    };
    let owner = OwnerReference { controller: Some(true), ..owners::reference(template.as_ref(), &()) };
    let machine = OwnerReference { controller: None, block_owner_deletion: None, ..machine.clone() };
    Ok(Metal3Data {
        metadata: ObjectMeta {
            name: Some(format!("{}-{index}", name.name)),
            namespace: template.metadata.namespace.clone(),
            labels: claim.metadata.labels.clone(),
            finalizers: Some(vec![CLAIM_FINALIZER.to_owned()]),
            owner_references: Some(vec![owner, owners::reference(claim, &()), machine]),
            ..ObjectMeta::default()
        },
        spec: Metal3DataSpec {
            claim: reference(claim.metadata.name.as_ref()),
            index: Some(index),
            template: reference(template.metadata.name.as_ref()),
            ..Metal3DataSpec::default()
        },
        status: None,
    })
}

/// Returns the template with its wanted metadata and status.
fn wanted(
    template: &Metal3DataTemplate,
    observed: &Observed,
    ours: &[&Arc<Metal3Data>],
    now: DateTime<Utc>,
) -> Metal3DataTemplate {
    let mut wanted = template.clone();
    if let Some(cluster) = &observed.cluster {
        owners::ensure(&mut wanted, owners::reference(cluster.as_ref(), &()));
        let name = cluster.metadata.name.clone().unwrap_or_default();
        wanted.metadata.labels.get_or_insert_default().insert(engine::names::CLUSTER_NAME.to_owned(), name);
    }
    if is_deleting(template) && ours.is_empty() {
        finalizer::remove(&mut wanted, TEMPLATE_FINALIZER);
        return wanted;
    }
    let indexes = ours.iter().map(|data| (data.spec.index.unwrap_or_default(), claim_of(data).to_owned()));
    let indexes: BTreeMap<i32, String> = indexes.collect();
    let indexes = indexes.into_iter().map(|(index, name)| Metal3DataTemplateIndex { index, name }).collect();
    let status = wanted.status.get_or_insert_default();
    if status.last_updated.is_none() || status.indexes != indexes {
        status.indexes = indexes;
        status.last_updated = Some(rfc3339(now));
    }
    wanted
}
