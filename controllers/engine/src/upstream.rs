//! Whether a provider is installed whose kinds controllers of this process reconcile, too. Then it has the kinds, and these controllers stand
//! aside.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;

use crate::cache::Change;
use crate::controller::Controller;
use crate::manager::Manager;
use crate::names::PROVIDER;
use crate::object::{self, NamespacedName, Request};
use crate::objects::Objects;
use crate::planned::Left;

/// Index of Deployments by the provider that they belong to.
const BY_PROVIDER: &str = "provider";

/// The Deployments of a provider. Whichever way it was installed, its Deployment and its Namespace have the label of a provider. Only
/// administrators can label a Namespace, so nobody else can stop the controllers of this process. Cheap to clone.
#[derive(Clone)]
pub struct Upstream {
    provider: &'static str,
    deployments: Objects<PartialObjectMeta<Deployment>>,
    namespaces: Objects<PartialObjectMeta<Namespace>>,
}

impl Upstream {
    /// Watches the Deployments of the provider with this name in the label `cluster.x-k8s.io/provider`, such as `infrastructure-docker`.
    pub fn new(manager: &Manager, provider: &'static str) -> Self {
        let deployments: Objects<PartialObjectMeta<Deployment>> = manager.objects();
        deployments.index(BY_PROVIDER, |deployment| {
            object::label(deployment, PROVIDER).map(str::to_owned).into_iter().collect()
        });
        Self { provider, deployments, namespaces: manager.objects() }
    }

    /// Returns the Deployment of the provider; `None` if the provider is not installed.
    pub fn installed(&self) -> Option<NamespacedName> {
        let all = self.deployments.by_index(BY_PROVIDER, self.provider);
        let names = all.iter().map(|deployment| NamespacedName::of(deployment.as_ref()));
        names.filter(|name| self.is_for_providers(&name.namespace)).min()
    }

    /// Returns that an object of this kind is left to the provider; `None` if the provider is not installed.
    pub fn left(&self, kind: &str) -> Option<Left> {
        let deployment = self.installed()?;
        let provider = self.provider;
        Some(Left::ToNobodyHere(format!(
            "this {kind} is left to the provider {provider}, which is installed (Deployment {deployment}): as long as it is, the \
             controllers of this server stand aside"
        )))
    }

    fn is_for_providers(&self, namespace: &str) -> bool {
        let namespace = self.namespaces.get(&NamespacedName::new("", namespace));
        namespace.is_some_and(|namespace| has_label(&namespace))
    }
}

impl Controller {
    /// Reconciles the objects that `all` returns when the provider was installed or deleted.
    pub fn stands_aside(
        self,
        upstream: &Upstream,
        all: impl Fn() -> Vec<Request> + Send + Sync + 'static,
    ) -> Self {
        let (provider, all) = (upstream.provider, Arc::new(all));
        let also_all = all.clone();
        let is_of = move |deployment: &Arc<PartialObjectMeta<Deployment>>| {
            object::label(deployment.as_ref(), PROVIDER) == Some(provider)
        };
        self.watches(
            &upstream.deployments,
            move |change| if differs(change, is_of) { all() } else { Vec::new() },
        )
        .watches(&upstream.namespaces, move |change| {
            if differs(change, has_label) { also_all() } else { Vec::new() }
        })
    }
}

/// Returns whether a Namespace is one for providers.
fn has_label(namespace: &Arc<PartialObjectMeta<Namespace>>) -> bool {
    object::label(namespace.as_ref(), PROVIDER).is_some()
}

/// Returns whether an object has become such a one, or is none any more.
fn differs<K>(change: &Change<K>, is_one: impl Fn(&Arc<K>) -> bool) -> bool {
    change.old.as_ref().is_some_and(&is_one) != change.new.as_ref().is_some_and(&is_one)
}
