//! The controller of Metal3DataTemplates: it gives indexes to the claims of a template, one template at a time.

mod apply;
mod observe;
mod observed;
mod plan;

use std::sync::Arc;

use engine::controller::requests_of;
use engine::object::is_deleting;
use engine::{
    Action, Change, Controller, Error, Manager, NamespacedName, Objects, Reconciler, Request, Result,
    finalizer, paused,
};
use schemas::cluster::Cluster;
use schemas::infrastructure::{Metal3Data, Metal3DataClaim, Metal3DataTemplate};

pub use observed::Observed;
pub use plan::{Plan, Step, plan};

use crate::data::names::{CLAIM_FINALIZER, TEMPLATE_FINALIZER};

/// Index of templates by their Cluster.
const BY_CLUSTER_NAME: &str = "spec.clusterName";
/// Index of the claims of a template for which there is something to do.
const UNSETTLED: &str = "unsettled";
/// Index of Metal3Data by their template, and by the template in their name.
const BY_TEMPLATE: &str = "template";

struct TemplateReconciler {
    manager: Manager,
    templates: Objects<Metal3DataTemplate>,
    claims: Objects<Metal3DataClaim>,
    data: Objects<Metal3Data>,
    clusters: Objects<Cluster>,
}

/// Starts the controller.
pub fn start(manager: &Manager) {
    let this = TemplateReconciler {
        manager: manager.clone(),
        templates: manager.objects(),
        claims: manager.objects(),
        data: manager.objects(),
        clusters: manager.objects(),
    };
    this.templates.index(BY_CLUSTER_NAME, |template| {
        let namespace = template.metadata.namespace.as_deref().unwrap_or_default();
        vec![NamespacedName::new(namespace, template.spec.cluster_name.as_str()).to_string()]
    });
    this.claims.index(UNSETTLED, |claim| {
        let template = template_of_claim(claim).filter(|_| !is_settled(claim));
        template.map(|template| template.to_string()).into_iter().collect()
    });
    this.data.index(BY_TEMPLATE, |data| {
        let named = in_name(data).map(|(template, _)| template);
        template_of(data).into_iter().chain(named).map(|template| template.to_string()).collect()
    });
    let templates = this.templates.clone();
    Controller::new(manager, "metal3datatemplate")
        .reconciles(&this.templates)
        .watches(&this.claims, |change| {
            let mut found: Vec<Request> =
                change.objects().filter_map(|claim| template_of_claim(claim)).collect();
            found.dedup();
            found
        })
        .watches(&this.data, |change| {
            let mut found: Vec<Request> = change.objects().filter_map(|data| template_of(data)).collect();
            found.dedup();
            found
        })
        .watches(&this.clusters, move |change| of_cluster(&templates, change))
        .start(this);
}

/// Returns the template of a claim.
fn template_of_claim(claim: &Metal3DataClaim) -> Option<NamespacedName> {
    let name = claim.spec.template.as_ref()?.name.clone()?;
    Some(NamespacedName::new(claim.metadata.namespace.clone().unwrap_or_default(), name))
}

/// Returns the template of a Metal3Data.
fn template_of(data: &Metal3Data) -> Option<NamespacedName> {
    let name = data.spec.template.as_ref()?.name.clone()?;
    Some(NamespacedName::new(data.metadata.namespace.clone().unwrap_or_default(), name))
}

/// Returns the template and the index in the name of a Metal3Data.
fn in_name(data: &Metal3Data) -> Option<(NamespacedName, i32)> {
    let (template, index) = data.metadata.name.as_deref()?.rsplit_once('-')?;
    Some((
        NamespacedName::new(data.metadata.namespace.clone().unwrap_or_default(), template),
        index.parse().ok()?,
    ))
}

/// Returns whether the controller has nothing more to do for a claim until it is deleted.
fn is_settled(claim: &Metal3DataClaim) -> bool {
    let is_rendered = claim.status.as_ref().is_some_and(|status| status.rendered_data.is_some());
    is_rendered && !is_deleting(claim) && finalizer::has(claim, CLAIM_FINALIZER)
}

/// Returns the templates of a Cluster that appeared, was deleted, or whose `spec.paused` changed.
fn of_cluster(templates: &Objects<Metal3DataTemplate>, change: &Change<Cluster>) -> Vec<Request> {
    let paused = |cluster: &Arc<Cluster>| cluster.spec.paused;
    if change.old.as_ref().map(paused) == change.new.as_ref().map(paused) {
        return Vec::new();
    }
    let found = templates.by_index(BY_CLUSTER_NAME, &change.name().to_string());
    requests_of(&found)
}

impl Reconciler for TemplateReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let (mut template, mut cluster) = (self.templates.get(&request), None);
        if let Some(found) = &template {
            let name = found.spec.cluster_name.as_str();
            cluster = self.clusters.get(&NamespacedName::new(request.namespace.as_str(), name));
            if !paused::causes(found.as_ref(), cluster.as_deref()).is_empty() {
                return Ok(Action::done());
            }
            // The finalizer is there before the first Metal3Data.
            template = Some(finalizer::ensure(&self.templates, found, TEMPLATE_FINALIZER).await?);
        }
        let observed = self.observe(&request, template, cluster);
        let plan = plan(&observed, self.manager.clock().now());
        Error::aggregate(self.apply(&observed, plan).await).map(|()| Action::done())
    }
}
