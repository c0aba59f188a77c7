//! Maintains the inventory of clusterctl: a `Provider` object for each provider of a management cluster. The controllers of this
//! process are providers, too. With their entries, `clusterctl init` adds further providers instead of installing these again, and
//! `clusterctl move` recognises that the target can take over the source's objects.

use anyhow::{Context as _, Result, anyhow};
use futures::future::try_join_all;
use registry::{Context, Input};
use serde_json::{Value, json};

use crate::controllers::Selection;
use crate::names::FIELD_MANAGER;
use crate::plane::Plane;

/// The release of Cluster API that the controllers implement.
const VERSION: &str = "v1.14.0";

/// The group, version and plural of the inventory.
const PROVIDERS: (&str, &str, &str) = ("clusterctl.cluster.x-k8s.io", "v1alpha3", "providers");

/// Creates the entries of the selected providers. Existing entries are not changed, because they contain the version of a provider that
/// somebody installed.
///
/// # Errors
/// The API refuses a write.
pub async fn record(plane: &Plane, selection: &Selection) -> Result<()> {
    let namespaces = namespaces(selection);
    try_join_all(namespaces.map(|namespace| create(plane, ("", "v1", "namespaces"), namespace))).await?;
    try_join_all(entries(selection).map(|entry| create(plane, PROVIDERS, entry))).await?;
    Ok(())
}

/// Returns the namespaces of the entries.
pub fn namespaces(selection: &Selection) -> impl Iterator<Item = Value> {
    selection.inventory().into_iter().map(|provider| {
        let labels = json!({"cluster.x-k8s.io/provider": provider.label, "clusterctl.cluster.x-k8s.io": ""});
        let metadata = json!({"name": provider.namespace, "labels": labels});
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    })
}

/// Returns an entry for each provider.
pub fn entries(selection: &Selection) -> impl Iterator<Item = Value> {
    selection.inventory().into_iter().map(|provider| {
        let labels = json!({
            "cluster.x-k8s.io/provider": provider.label,
            "clusterctl.cluster.x-k8s.io": "",
            "clusterctl.cluster.x-k8s.io/core": "inventory",
        });
        json!({
            "apiVersion": format!("{}/{}", PROVIDERS.0, PROVIDERS.1),
            "kind": "Provider",
            "metadata": {"name": provider.label, "namespace": provider.namespace, "labels": labels},
            "providerName": provider.name,
            "type": provider.kind,
            "version": VERSION,
        })
    })
}

async fn create(plane: &Plane, resource: (&str, &str, &str), object: Value) -> Result<()> {
    let (group, version, plural) = resource;
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
    let served = plane.registry.served(group, version, plural);
    let served = served.with_context(|| format!("{plural} are not served"))?;
    let mut context = Context::internal(FIELD_MANAGER);
    match plane.registry.create(&mut context, &served, &namespace, Input::new(object)).await {
        Err(status) if status.reason != "AlreadyExists" => {
            Err(anyhow!("clusterctl's inventory cannot be written: {status}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use engine::network::RealNetwork;
    use machinery::clock::Clock;
    use machinery::random::Random;
    use registry::{ListOptions, PatchBody, Subresource};
    use store::{Memory, Store};

    use super::*;
    use crate::plane::Doors;

    #[tokio::test]
    async fn entries_are_made_once_and_then_left_alone() {
        let (clock, random) = (Clock::system(), Random::seeded(1));
        let store = Store::open(Memory::default(), clock.clone()).await.unwrap();
        let keys = pki::TokenKeys::generate(&random).unwrap();
        let doors = Doors { clock, random, network: Arc::new(RealNetwork) };
        let plane = Plane::start(store, &doors, None, keys).await.unwrap();
        let served = plane.registry.served(PROVIDERS.0, PROVIDERS.1, PROVIDERS.2).unwrap();
        let mut context = Context::internal("test");

        record(&plane, &Selection::NONE).await.unwrap();
        let listed = plane.registry.list(&mut context, &served, "", &ListOptions::default()).await.unwrap();
        assert!(listed.items.is_empty());

        let all: Selection = "all".parse().unwrap();
        record(&plane, &all).await.unwrap();
        let newer = PatchBody::Merge(r#"{"version": "v1.14.1"}"#.into());
        let (namespace, name) = ("capi-system", "cluster-api");
        let patched = plane.registry.patch(&mut context, &served, namespace, name, Subresource::None, newer);
        patched.await.unwrap();
        record(&plane, &all).await.unwrap();
        let listed = plane.registry.list(&mut context, &served, "", &ListOptions::default()).await.unwrap();
        let entries: Vec<(String, String)> = listed
            .items
            .iter()
            .map(|item| {
                let entry: Value = serde_json::from_slice(&item.object).unwrap();
                (item.name.clone(), entry["version"].as_str().unwrap().to_owned())
            })
            .collect();
        let expected =
            [("bootstrap-kubeadm", VERSION), ("control-plane-kubeadm", VERSION), ("cluster-api", "v1.14.1")];
        assert_eq!(entries, expected.map(|(name, version)| (name.to_owned(), version.to_owned())));
    }
}
