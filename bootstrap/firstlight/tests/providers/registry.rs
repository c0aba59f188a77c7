//! Images of providers that come from a registry.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, PostParams};
use serde_json::{Value, json};
use test_registry::{Registry, config, layout};

use super::site::{NAMESPACE, RUNS, Site};
use crate::pods::image;

/// A server without local images, and a registry with the image `shell:v1`.
async fn start() -> (Site, Registry) {
    let folder = tempfile::tempdir().unwrap();
    let archive = image::write(folder.path(), false);
    let registry = Registry::start().await.unwrap();
    registry.with(|state| layout(state, "shell:v1", &archive)).unwrap();
    std::fs::remove_file(archive).unwrap();
    let site = Site::start_with(folder, &["--store", "memory"]).await;
    site.publish("v0.3.0", RUNS, &format!("{}/shell:v1", registry.name()));
    (site, registry)
}

/// Returns what the only container of the provider waits for.
async fn waiting(site: &Site) -> Value {
    let pods: Api<Pod> = Api::namespaced(site.client.clone(), NAMESPACE);
    let pods = pods.list(&ListParams::default()).await.unwrap();
    let status = pods.items.first().and_then(|pod| serde_json::to_value(&pod.status).ok());
    status.map(|status| status["containerStatuses"][0]["state"]["waiting"].clone()).unwrap_or_default()
}

async fn until_waiting(site: &Site, reason: &str, message: &str) {
    site.until(&format!("{reason}: {message}"), async || {
        let waiting = waiting(site).await;
        waiting["reason"] == reason && waiting["message"].as_str().unwrap_or_default().contains(message)
    })
    .await;
}

// The registry answers while the program runs.
#[tokio::test(flavor = "multi_thread")]
async fn an_image_is_pulled_with_the_secret_of_the_account() {
    let (site, registry) = start().await;
    registry.with(|state| {
        state.password = Some("sesame".to_owned());
        (state.cut_off, state.unavailable) = (2, 1);
    });
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(site.client.clone());
    namespaces.create(&PostParams::default(), &serde_json::from_value(namespace).unwrap()).await.unwrap();
    let login = json!({"auths": {registry.name(): {"username": "user", "password": "sesame"}}});
    let secret = json!({
        "metadata": {"name": "login"}, "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": login.to_string()},
    });
    let secrets: Api<k8s_openapi::api::core::v1::Secret> = Api::namespaced(site.client.clone(), NAMESPACE);
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    let account = json!({"metadata": {"name": "garden-manager"}, "imagePullSecrets": [{"name": "login"}]});
    let accounts: Api<k8s_openapi::api::core::v1::ServiceAccount> =
        Api::namespaced(site.client.clone(), NAMESPACE);
    accounts.create(&PostParams::default(), &serde_json::from_value(account).unwrap()).await.unwrap();
    let output = site.run(&["init", "--infrastructure", "garden:v0.3.0", "--wait-providers"]);
    assert!(
        output.status.success(),
        "{}\n{:?}",
        waiting(&site).await,
        registry.with(|state| state.asked.clone())
    );
    assert!(registry.with(|state| state.count("/token")) > 0);
}

// The registry answers while the program runs.
#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_not_there_is_tried_ever_more_rarely() {
    let (site, registry) = start().await;
    site.configure(json!({"GARDEN_TOKEN": "moss", "images": {"all": {"tag": "absent"}}}));
    site.succeed(&["init", "--infrastructure", "garden:v0.3.0"]);
    until_waiting(&site, "ErrImagePull", "404 Not Found: manifest unknown").await;
    until_waiting(
        &site,
        "ImagePullBackOff",
        &format!("Back-off pulling image \"{}/shell:absent\"", registry.name()),
    )
    .await;
    let tag = registry.with(|state| state.tags["shell:v1"]);
    registry.with(|state| state.tags.insert("shell:absent".to_owned(), tag));
    site.until("runs", async || site.is_available("v0.3.0").await).await;
}

// The registry answers while the program runs.
#[tokio::test(flavor = "multi_thread")]
async fn an_image_of_another_architecture_is_refused_by_name() {
    let (site, registry) = start().await;
    registry.with(|state| test_registry::image(state, "shell:v1", &config(&[b""], Some("riscv64")), &[b""]));
    site.succeed(&["init", "--infrastructure", "garden:v0.3.0"]);
    let expected =
        format!("the image {}/shell:v1 cannot be pulled: it is an image for linux/riscv64", registry.name());
    until_waiting(&site, "ErrImagePull", &expected).await;
}
