//! A provider that is built in is replaced by one from a folder, and comes back when that is deleted.

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::{Value, json};

use super::site::Site;
use crate::pods::image;

const COMPONENTS: &str = include_str!("docker.yaml");
const METADATA: &str = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries: [{major: 1, minor: 14, contract: v1beta2}]\n";
const INIT: [&str; 3] = ["init", "--infrastructure", "docker:v1.14.2"];
const CLUSTERS: &str = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/devclusters";

/// Publishes the provider in a folder.
fn publish(site: &Site) {
    let folder = site.folder.path().join("infrastructure-docker/v1.14.2");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("infrastructure-components-development.yaml");
    std::fs::write(&file, COMPONENTS.replace("IMAGE", image::NAME)).unwrap();
    std::fs::write(folder.join("metadata.yaml"), METADATA).unwrap();
    site.configure_providers(json!([{"name": "docker", "type": "InfrastructureProvider", "url": file}]));
}

/// Creates a simulated Cluster without machines.
async fn cluster(site: &Site) {
    let metadata = json!({"name": "first"});
    let dev = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevCluster", "metadata": metadata,
        "spec": {"backend": {"inMemory": {}}}});
    site.post(CLUSTERS, dev).await;
    let reference =
        json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevCluster", "name": "first"});
    let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata,
        "spec": {"infrastructureRef": reference}});
    site.post("/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters", cluster).await;
}

/// Returns the condition `Ready` of the DevCluster.
async fn ready(site: &Site) -> Value {
    let dev = site.get(&format!("{CLUSTERS}/first")).await.unwrap();
    let conditions = dev["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == "Ready").unwrap_or_default()
}

#[tokio::test]
async fn a_provider_from_a_folder_takes_the_kinds_of_a_built_in_one() {
    let site = Site::start().await;
    // Without a place where it comes from, it is the one in the server, which is listed from the start.
    assert_eq!(site.inventory().await["infrastructure-docker"], json!(["v1.14.0", "capd-system"]));
    let (_, err) = site.succeed(&INIT);
    assert!(err.contains("Skipping infrastructure-docker: its controllers run in the server"), "{err}");
    assert_eq!(site.inventory().await["infrastructure-docker"], json!(["v1.14.0", "capd-system"]));

    publish(&site);
    let (_, err) = site.succeed(&[&INIT[..], &["--wait-providers"]].concat());
    assert!(err.contains("Installing provider=\"infrastructure-docker\" version=\"v1.14.2\""), "{err}");
    cluster(&site).await;
    site.until("the DevCluster is left to it", async || ready(&site).await["reason"] == "NotReconciledHere")
        .await;
    let message = ready(&site).await["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("infrastructure-docker") && message.contains("capd-system/capd-controller-manager"),
        "{message}"
    );
    let plan = site.succeed(&["upgrade", "plan"]).0;
    assert!(plan.contains("infrastructure-docker"), "{plan}");
    // Once more, it is there already.
    let (_, err) = site.succeed(&INIT);
    assert!(err.contains("Skipping infrastructure-docker: it is installed already"), "{err}");

    assert_eq!(site.inventory().await["infrastructure-docker"], json!(["v1.14.2", "capd-system"]));
    site.succeed(&["delete", "--infrastructure", "docker"]);
    assert_eq!(site.inventory().await["infrastructure-docker"], json!(["v1.14.0", "capd-system"]));
    site.until("the server takes over", async || ready(&site).await["status"] == "True").await;
}

#[tokio::test]
async fn the_entry_of_a_built_in_provider_goes_with_it() {
    let site = Site::start().await;
    publish(&site);
    site.succeed(&[&INIT[..], &["--target-namespace", "elsewhere"]].concat());
    let entries = site.get("/apis/clusterctl.cluster.x-k8s.io/v1alpha3/providers").await.unwrap();
    let is_docker = |entry: &&Value| entry["providerName"] == "docker";
    let namespaces: Vec<&Value> = entries["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(is_docker)
        .map(|entry| &entry["metadata"]["namespace"])
        .collect();
    assert_eq!(namespaces, ["elsewhere"]);
    site.succeed(&["delete", "--infrastructure", "docker", "--include-namespace"]);
    site.until("the built-in one is listed alone", async || {
        site.inventory().await["infrastructure-docker"] == json!(["v1.14.0", "capd-system"])
    })
    .await;
}

#[tokio::test]
async fn a_built_in_provider_that_cannot_be_listed_again_keeps_no_other_from_its_deletion() {
    let site = Site::start().await;
    site.succeed(&["init", "--infrastructure", "garden:v0.3.0"]);
    publish(&site);
    site.succeed(&[&INIT[..], &["--target-namespace", "elsewhere"]].concat());
    // The namespace of the built-in one is being deleted, which something in it delays.
    let metadata = json!({"name": "stays", "finalizers": ["example.com/stays"]});
    let stays = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    site.post("/api/v1/namespaces/capd-system/configmaps", stays).await;
    let namespaces: Api<Namespace> = Api::all(site.client.clone());
    namespaces.delete("capd-system", &DeleteParams::default()).await.unwrap();

    let (_, err) = site.succeed(&["delete", "--infrastructure", "docker", "--infrastructure", "garden"]);
    let expected = "infrastructure-docker also runs in the server, whose next start lists it again: ";
    assert!(err.contains(expected) && err.contains("being terminated"), "{err}");
    let inventory = site.inventory().await;
    assert!(inventory["infrastructure-docker"].is_null() && inventory["infrastructure-garden"].is_null());
}
