//! The events that lead to a reconcile: whatever an object depends on has changed.

use std::collections::BTreeMap;

use clusterctl::configuration::ProviderType;
use clusterctl::inventory;
use engine::object::label;
use engine::{Change, Controller, Kind, Manager, NamespacedName, Objects, Request, selector};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::core::PartialObjectMeta;

use crate::declared::Declared;
use crate::names::PROVIDER;
use crate::observe::all_declared;

/// The objects of one kind, and what concerns them.
#[derive(Clone)]
pub(crate) struct Triggers {
    kind: ProviderType,
    objects: Objects<DynamicObject>,
}

impl Triggers {
    pub fn new(kind: ProviderType, objects: &Objects<DynamicObject>) -> Self {
        Self { kind, objects: objects.clone() }
    }

    /// Adds all watches to the controller. Of ConfigMaps and Secrets, only metadata are cached: their contents are those of all clusters.
    pub fn watch(self, manager: &Manager, controller: Controller) -> Controller {
        let secrets: Objects<PartialObjectMeta<Secret>> = manager.objects();
        let maps: Objects<PartialObjectMeta<ConfigMap>> = manager.objects();
        let deployments: Objects<Deployment> = manager.objects();
        let inventory = manager.dynamic(&inventory::resource());
        let (of_like, of_secret, of_map, of_deployment, of_entry) =
            (self.clone(), self.clone(), self.clone(), self.clone(), self.clone());
        controller
            .watches(&self.objects, move |change| of_like.alike(change))
            .watches(&secrets, move |change| of_secret.with_secret(&change.name()))
            .watches(&maps, move |change| of_map.with_map(change))
            .watches(&deployments, move |change| of_deployment.with_components(change))
            .watches(&inventory, move |change| of_entry.with_entry(change))
    }

    fn that(&self, concerns: impl Fn(&Declared) -> bool) -> Vec<Request> {
        let all = self.objects.all();
        let all = all_declared(self.kind, all.iter().map(AsRef::as_ref)).into_iter();
        let request = |one: Declared| NamespacedName::new(one.namespace, one.provider.name);
        all.filter(concerns).map(request).collect()
    }

    /// The other objects of the same provider: one of them counts, and its end lets the next one.
    fn alike(&self, change: &Change<DynamicObject>) -> Vec<Request> {
        let changed = change.name();
        let is_core = self.kind == ProviderType::Core;
        self.that(|one| {
            let same = is_core || one.provider.name == changed.name;
            same && (one.namespace != changed.namespace || one.provider.name != changed.name)
        })
    }

    fn with_secret(&self, secret: &NamespacedName) -> Vec<Request> {
        let secret = (secret.namespace.clone(), secret.name.clone());
        self.that(|one| {
            one.spec.config_secret.as_ref().is_some_and(|reference| one.referred(reference) == secret)
        })
    }

    fn with_map(&self, change: &Change<PartialObjectMeta<ConfigMap>>) -> Vec<Request> {
        let name = change.name();
        let map = (name.namespace.clone(), name.name.clone());
        let labels: Vec<BTreeMap<String, String>> =
            change.objects().map(|object| object.labels().clone()).collect();
        self.that(|one| {
            let source = one.spec.fetch_config.as_ref();
            let is_selected = source.and_then(|source| source.selector.as_ref()).is_some_and(|selector| {
                labels.iter().any(|labels| selector::matches(selector, Some(labels)))
            });
            let additional = one.spec.additional_manifests.as_ref();
            (is_selected && one.namespace == map.0)
                || additional.is_some_and(|reference| one.referred(reference) == map)
        })
    }

    /// The object of the provider to which a component belongs.
    fn with_components<K: Kind>(&self, change: &Change<K>) -> Vec<Request> {
        let labels: Vec<&str> =
            change.objects().filter_map(|object| label(object.as_ref(), PROVIDER)).collect();
        if labels.is_empty() {
            return Vec::new();
        }
        self.that(|one| labels.contains(&one.provider.label().as_str()))
    }

    /// The object of the provider of an entry, and all objects if it is the entry of the core provider, for which they wait.
    fn with_entry(&self, change: &Change<DynamicObject>) -> Vec<Request> {
        let is_core = change.objects().any(|entry| entry.data["type"] == ProviderType::Core.name());
        if is_core { self.that(|_| true) } else { self.with_components(change) }
    }
}
