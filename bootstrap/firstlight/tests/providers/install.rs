//! `init`: from a folder and from a bundle, and what it refuses.

use std::path::PathBuf;

use pki::kubeconfig::{Credentials, Kubeconfig};
use serde_json::{Value, json};

use super::site::{NAMESPACE, RUNS, Site};
use crate::pods::image;

const INIT: [&str; 3] = ["init", "--infrastructure", "garden:v0.3.0"];

#[tokio::test]
async fn a_provider_is_installed_and_runs() {
    let site = Site::start().await;
    let (_, err) = site.succeed(&[&INIT[..], &["--wait-providers"]].concat());
    for line in [
        "Fetching providers",
        "Installing provider=\"infrastructure-garden\" version=\"v0.3.0\" targetNamespace=\"garden-system\"",
    ] {
        assert!(err.contains(line), "{err}");
    }
    assert!(site.is_available("v0.3.0").await, "--wait-providers has waited for that");
    let secret = site.get("/api/v1/namespaces/garden-system/secrets/garden-credentials").await.unwrap();
    assert_eq!(secret["data"], json!({"token": "bW9zcw==", "size": "c21hbGw="}));
    let path = format!(
        "/apis/clusterctl.cluster.x-k8s.io/v1alpha3/namespaces/{NAMESPACE}/providers/infrastructure-garden"
    );
    let entry = site.get(&path).await.unwrap();
    let labels = json!({
        "cluster.x-k8s.io/provider": "infrastructure-garden",
        "clusterctl.cluster.x-k8s.io": "",
        "clusterctl.cluster.x-k8s.io/core": "inventory",
    });
    assert_eq!(entry["metadata"]["labels"], labels);
    assert_eq!(
        (&entry["providerName"], &entry["type"], &entry["version"]),
        (&json!("garden"), &json!("InfrastructureProvider"), &json!("v0.3.0"))
    );
    // The controllers of the server itself are providers, too.
    let inventory = site.inventory().await;
    for (name, namespace) in [
        ("cluster-api", "capi-system"),
        ("bootstrap-kubeadm", "capi-kubeadm-bootstrap-system"),
        ("control-plane-kubeadm", "capi-kubeadm-control-plane-system"),
        ("infrastructure-docker", "capd-system"),
    ] {
        assert_eq!(inventory[name], json!(["v1.14.0", namespace]), "{inventory}");
    }
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gardenclusters.infrastructure.cluster.x-k8s.io";
    let labels = site.get(definition).await.unwrap()["metadata"]["labels"].clone();
    let expected = json!({
        "cluster.x-k8s.io/provider": "infrastructure-garden",
        "cluster.x-k8s.io/v1beta1": "v1",
        "clusterctl.cluster.x-k8s.io": "",
    });
    assert_eq!(labels, expected);
    // Once more, it is there already.
    let (_, err) = site.succeed(&INIT);
    assert!(err.contains("Skipping infrastructure-garden"), "{err}");
    // It is the only infrastructure that somebody has chosen.
    site.write("v0.3.0", "cluster-template.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bed}\n");
    site.write(
        "v0.3.0",
        "cluster-template-wild.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: wild}\n",
    );
    let reader = reader_of_providers(&site).await;
    for (options, name) in [(&[][..], "name: bed"), (&["--flavor", "wild"], "name: wild")] {
        let generate = ["generate", "cluster", "bed", "--kubernetes-version", "v1.35.0"];
        let generate = [&generate[..], options].concat();
        let (template, _) = site.succeed(&generate);
        assert!(template.contains(name), "{template}");
        // Whoever may not ask which providers are built in gets the same.
        let output = site.run_with(&reader, &generate);
        assert_eq!(String::from_utf8_lossy(&output.stdout), template, "{output:?}");
    }
}

/// Returns the kubeconfig of a user who may read the inventory of providers and nothing else.
async fn reader_of_providers(site: &Site) -> PathBuf {
    const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
    let metadata = json!({"name": "reader"});
    site.post("/api/v1/namespaces/default/serviceaccounts", json!({"metadata": metadata})).await;
    let rules = json!([{"apiGroups": ["clusterctl.cluster.x-k8s.io"], "resources": ["providers"],
        "verbs": ["get", "list"]}]);
    site.post(&format!("{RBAC}/clusterroles"), json!({"metadata": metadata, "rules": rules})).await;
    let binding = json!({
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "reader"}],
    });
    site.post(&format!("{RBAC}/clusterrolebindings"), binding).await;
    let path = "/api/v1/namespaces/default/serviceaccounts/reader/token";
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"audiences": []}});
    let issued = site.post(path, request).await;
    let token = issued["status"]["token"].as_str().map(str::to_owned);
    let text = std::fs::read_to_string(site.server.kubeconfig()).unwrap();
    let admin = Kubeconfig::parse(&text).unwrap();
    let reader = Kubeconfig { credentials: Credentials { identity: None, token }, ..admin };
    let file = site.folder.path().join("reader");
    std::fs::write(&file, reader.to_yaml().unwrap()).unwrap();
    file
}

#[tokio::test]
async fn what_cannot_be_installed_says_why() {
    let site = Site::start().await;
    for version in ["v0.2.0", "v0.4.0", "v0.9.0"] {
        site.publish(version, RUNS, image::NAME);
    }
    site.configure(json!({}));
    let components = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: \"${ONE} ${TWO}\"}\n";
    site.write("v0.5.0", "infrastructure-components.yaml", components);
    site.publish("v0.5.1", RUNS, image::NAME);
    let none = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    site.write("v0.5.1", "infrastructure-components.yaml", none);
    let refused = |provider: &str, expected: &str| {
        let error = site.fail(&["init", "--infrastructure", provider]);
        assert!(error.contains(expected), "{provider}: {error}");
    };
    refused("garden:v0.3.0", "value for variables [GARDEN_TOKEN] is not set");
    refused("garden:v0.5.0", "value for variables [ONE, TWO] is not set");
    site.configure(json!({"GARDEN_TOKEN": "moss"}));
    refused("pond", "failed to get configuration for the InfrastructureProvider with name pond");
    refused("garden:v0.7.0", "no such file or directory");
    refused("garden:v0.2.0", "detected contract version v1alpha4 for provider infrastructure-garden");
    refused("garden:v0.9.0", "does not match any release series. Available series: [0.3, 0.4, 0.5, 0.2]");
    refused("garden:v0.5.1", "target namespace can't be defaulted. Please specify a target namespace");
    let twice = "there is already an instance of the \"infrastructure-garden\" provider installed in the \"garden-system\" namespace";
    refused("garden:v0.3.0,garden:v0.4.0", twice);
    assert!(site.inventory().await["infrastructure-garden"].is_null() && site.deployment().await.is_none());
    site.succeed(&INIT);
    refused("garden:v0.4.0", twice);
    let core = site.fail(&["init", "--core", "-"]);
    assert!(core.contains("the '-' value can not be used for the core provider"), "{core}");
}

#[tokio::test]
async fn one_file_has_the_provider_and_its_image() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, bundle) = (image::write(folder.path(), false), folder.path().join("site.bundle"));
    let (archive, bundle) = (archive.to_str().unwrap(), bundle.to_str().unwrap());
    let other = tempfile::tempdir().unwrap();
    let site = Site::start_with(other, &["--store", "memory"]).await;
    let repository = site.folder.path().join("repository");
    let made = std::process::Command::new(env!("CARGO_BIN_EXE_firstlight"))
        .args(["bundle", "create", bundle, "--without-firstlight", archive, "--provider"])
        .arg(&repository)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    drop(site);
    let site = Site::start_with(folder, &["--store", "memory", "--container-images", bundle]).await;
    std::fs::remove_dir_all(site.folder.path().join("repository")).unwrap();
    let (_, err) =
        site.succeed(&["init", "--infrastructure", "garden", "--bundle", bundle, "--wait-providers"]);
    assert!(err.contains("version=\"v0.3.0\""), "{err}");
    assert!(site.is_available("v0.3.0").await);
    let entry: &Value = &site.inventory().await["infrastructure-garden"];
    assert_eq!(*entry, json!(["v0.3.0", NAMESPACE]));
}

#[tokio::test]
async fn a_companion_comes_with_its_provider() {
    let site = Site::start().await;
    let folder = site.folder.path().join("infrastructure-openstack/v0.12.0");
    let write = |file: &str, text: &str| std::fs::write(folder.join(file), text).unwrap();
    std::fs::create_dir_all(&folder).unwrap();
    write(
        "metadata.yaml",
        "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\nreleaseSeries: [{major: 0, minor: 12, contract: v1beta1}]\n",
    );
    write(
        "infrastructure-components.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: capo-system}\n",
    );
    write("openstack-resource-controller.yaml", &COMPANION.replace("IMAGE", image::NAME));
    let url = folder.join("infrastructure-components.yaml");
    site.configure_providers(json!([{"name": "openstack", "type": "InfrastructureProvider", "url": url}]));
    let (_, err) = site.succeed(&["init", "--infrastructure", "openstack"]);
    let said = "Installing openstack-resource-controller, which infrastructure-openstack needs";
    assert!(err.contains(said), "{err}");
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/images.openstack.k-orc.cloud";
    let labels = site.get(definition).await.unwrap()["metadata"]["labels"].clone();
    assert_eq!(labels, json!({"clusterctl.cluster.x-k8s.io": "", "clusterctl.cluster.x-k8s.io/move": ""}));
    site.until("it runs", async || {
        let found = site.get("/apis/apps/v1/namespaces/orc-system/deployments/orc").await.unwrap();
        found["status"]["availableReplicas"] == 1
    })
    .await;
}

/// What OpenStack's provider needs, as far as it matters here.
const COMPANION: &str = "apiVersion: v1
kind: Namespace
metadata: {name: orc-system}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: images.openstack.k-orc.cloud}
spec:
  group: openstack.k-orc.cloud
  scope: Namespaced
  names: {plural: images, singular: image, kind: Image, listKind: ImageList}
  versions:
  - {name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: orc, namespace: orc-system}
spec:
  selector: {matchLabels: {app: orc}}
  template:
    metadata: {labels: {app: orc}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: manager, image: IMAGE, args: [\"while true; do sleep 1; done\"]}]
";
