//! Images that come from a registry.

use std::fs;
use std::path::Path;

use container_images::{Client, Credentials, Hosts, Name, Policy, Registries, Store};
use machinery::clock::Clock;
use test_registry::{Registry, config, image};

use super::archives::{Entry, layer};

fn registries() -> Registries {
    Registries::new(Client::new(Hosts::default(), Clock::system()))
}

fn put(registry: &Registry, tag: &str, content: &str, architecture: Option<&str>) {
    let layers = [layer(&[Entry::File("manager", content)])];
    let layers: Vec<&[u8]> = layers.iter().map(Vec::as_slice).collect();
    registry.with(|state| image(state, &format!("provider:{tag}"), &config(&layers, architecture), &layers));
}

/// Pulls the image with this tag, and returns what its program is; the error is its whole text.
async fn pull(folder: &Path, registry: &Registry, tag: &str, policy: Policy) -> Result<String, String> {
    let name: Name = format!("{}/provider:{tag}", registry.name()).parse().unwrap();
    let store = Store::open(folder).unwrap();
    let pulled = registries().pull(&store, &name, policy, &Credentials::default()).await;
    pulled
        .map(|unpacked| fs::read_to_string(unpacked.root.join("manager")).unwrap())
        .map_err(|error| format!("{error:#}"))
}

#[tokio::test]
async fn an_image_is_pulled_once_and_asked_for_by_its_policy() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start().await.unwrap();
    put(&registry, "v1", "one", None);
    let asked = || registry.with(|state| state.asked.len());
    assert_eq!(pull(folder.path(), &registry, "v1", Policy::IfNotPresent).await.unwrap(), "one");
    assert!(!folder.path().join("blobs").exists());
    let first = asked();
    assert_eq!(pull(folder.path(), &registry, "v1", Policy::IfNotPresent).await.unwrap(), "one");
    assert_eq!(asked(), first, "another process knows the image, too");
    let layers = registry.with(|state| state.count("/blobs/"));
    assert_eq!(pull(folder.path(), &registry, "v1", Policy::Always).await.unwrap(), "one");
    assert_eq!(registry.with(|state| state.count("/blobs/")), layers + 1, "only the config");
    put(&registry, "v1", "two", None);
    assert_eq!(pull(folder.path(), &registry, "v1", Policy::IfNotPresent).await.unwrap(), "one");
    assert_eq!(pull(folder.path(), &registry, "v1", Policy::Always).await.unwrap(), "two");
}

#[tokio::test]
async fn an_image_of_another_architecture_is_not_fetched() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start().await.unwrap();
    put(&registry, "v1", "one", Some("riscv64"));
    let error = pull(folder.path(), &registry, "v1", Policy::Always).await.unwrap_err();
    assert!(error.contains("it is an image for linux/riscv64"), "{error}");
    assert_eq!(registry.with(|state| state.count("/blobs/")), 1, "only the config");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
