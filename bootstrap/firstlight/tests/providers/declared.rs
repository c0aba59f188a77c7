//! Providers that are declared as objects.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use schemas::operator::{CoreProvider, InfrastructureProvider};
use serde_json::{Value, json};

use super::site::{NAMESPACE, RUNS, Site};
use crate::pods::image;

const NAME: &str = "garden";

/// Starts a server with clusterctl's configuration, and creates the namespace of the provider.
async fn site() -> Site {
    let folder = tempfile::tempdir().unwrap();
    let images = image::write(folder.path(), false);
    let configuration = folder.path().join("clusterctl.yaml");
    let options = [
        "--store",
        "memory",
        "--container-images",
        images.to_str().unwrap(),
        "--config",
        configuration.to_str().unwrap(),
    ];
    std::fs::write(&configuration, "{}").unwrap();
    let site = Site::start_with(folder, &options).await;
    create(
        &site.client,
        "/api/v1/namespaces",
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}),
    )
    .await;
    site
}

async fn create(client: &Client, path: &str, object: Value) {
    let request = http::Request::post(path).header("content-type", "application/json");
    client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap();
}

fn objects(site: &Site) -> Api<InfrastructureProvider> {
    Api::namespaced(site.client.clone(), NAMESPACE)
}

async fn declare(site: &Site, spec: Value) {
    let object = json!({"metadata": {"name": NAME}, "spec": spec});
    objects(site).create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

/// The condition of a type: status, reason and message.
async fn condition(site: &Site, type_: &str) -> (String, String, String) {
    let found = objects(site).get(NAME).await.unwrap().status.unwrap_or_default();
    let found = found.conditions.into_iter().find(|one| one.type_ == type_).unwrap_or_default();
    (found.status, found.reason, found.message)
}

async fn is_ready(site: &Site, version: &str) -> bool {
    let status = objects(site).get(NAME).await.unwrap().status.unwrap_or_default();
    status.installed_version.as_deref() == Some(version)
        && condition(site, "Ready").await.0 == "True"
        && site.is_available(version).await
}

#[tokio::test]
async fn a_declared_provider_runs_is_upgraded_and_goes() {
    let site = site().await;
    let maps: Api<ConfigMap> = Api::namespaced(site.client.clone(), NAMESPACE);
    for version in ["v0.3.0", "v0.4.0"] {
        site.publish(version, RUNS, image::NAME);
        let read = |file: &str| site.read(version, file);
        let map = json!({
            "metadata": {"name": version, "labels": {"files": NAME}},
            "data": {"metadata": read("metadata.yaml"), "components": read("infrastructure-components.yaml")},
        });
        maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
    }
    let spec = json!({
        "version": "v0.3.0", "configSecret": {"name": "variables"},
        "fetchConfig": {"selector": {"matchLabels": {"files": NAME}}},
        "manifestPatches": ["kind: Deployment\nmetadata: {annotations: {patched: 'yes'}}\n"],
    });
    declare(&site, spec).await;
    site.until("it waits for the Secret", async || {
        condition(&site, "PreflightCheckPassed").await.1 == "ConfigSecretNotFound"
    })
    .await;
    let secrets: Api<Secret> = Api::namespaced(site.client.clone(), NAMESPACE);
    let variables =
        json!({"metadata": {"name": "variables"}, "stringData": {"GARDEN_TOKEN": "peat-and-clay"}});
    secrets.create(&PostParams::default(), &serde_json::from_value(variables).unwrap()).await.unwrap();
    site.until("it runs", async || is_ready(&site, "v0.3.0").await).await;
    let deployment = site.deployment().await.unwrap();
    assert_eq!(deployment.metadata.annotations.unwrap()["patched"], "yes");
    assert_eq!(site.inventory().await["infrastructure-garden"], json!(["v0.3.0", NAMESPACE]));
    assert!(!site.server.log().contains("peat-and-clay"));

    let patch = Patch::Merge(json!({"spec": {"version": "v0.4.0"}}));
    objects(&site).patch(NAME, &PatchParams::default(), &patch).await.unwrap();
    site.until("the new version runs", async || is_ready(&site, "v0.4.0").await).await;
    assert_eq!(condition(&site, "ProviderUpgraded").await.0, "True");
    // `init` sees that it is there.
    site.configure(json!({"GARDEN_TOKEN": "moss"}));
    let (_, err) = site.succeed(&["init", "--infrastructure", "garden:v0.4.0"]);
    assert!(err.contains("Skipping infrastructure-garden"), "{err}");

    objects(&site).delete(NAME, &DeleteParams::default()).await.unwrap();
    site.until("the object is gone", async || objects(&site).get_opt(NAME).await.unwrap().is_none()).await;
    assert!(site.deployment().await.is_none() && site.inventory().await["infrastructure-garden"].is_null());
}

#[tokio::test]
async fn what_is_installed_or_runs_in_the_server_is_adopted() {
    let site = site().await;
    site.configure(json!({"GARDEN_TOKEN": "moss"}));
    site.succeed(&["init", "--infrastructure", "garden:v0.3.0"]);
    let before = site.deployment().await.unwrap();
    // Its address and the variable come from the configuration of the server.
    declare(&site, json!({})).await;
    site.until("it is adopted and runs", async || is_ready(&site, "v0.3.0").await).await;
    let after = site.deployment().await.unwrap();
    assert_eq!((after.metadata.uid, after.spec), (before.metadata.uid, before.spec));

    let core: Api<CoreProvider> = Api::namespaced(site.client.clone(), "capi-system");
    let object = json!({"metadata": {"name": "cluster-api"}, "spec": {"version": "v1.14.0"}});
    core.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    site.until("core is ready", async || {
        let status = core.get("cluster-api").await.unwrap().status.unwrap_or_default();
        status
            .conditions
            .iter()
            .any(|one| one.type_ == "Ready" && one.status == "True" && one.reason == "RunsInServer")
    })
    .await;
}
