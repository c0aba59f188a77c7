//! `upgrade` and `delete`.

use serde_json::{Value, json};

use super::site::{NAMESPACE, RUNS, Site};
use crate::pods::image;

const GARDENS: &str = "/apis/infrastructure.cluster.x-k8s.io/v1/namespaces/default/gardenclusters";

async fn installed() -> Site {
    let site = Site::start().await;
    site.succeed(&["init", "--infrastructure", "garden:v0.3.0", "--wait-providers"]);
    site
}

async fn version(site: &Site) -> Value {
    site.inventory().await["infrastructure-garden"][0].clone()
}

#[tokio::test]
async fn a_provider_is_upgraded() {
    let site = installed().await;
    let (plan, _) = site.succeed(&["upgrade", "plan"]);
    assert!(plan.contains("You are already up to date!"), "{plan}");
    site.publish("v0.4.0", RUNS, image::NAME);
    site.publish("v0.5.0-rc.1", RUNS, image::NAME);
    let (plan, _) = site.succeed(&["upgrade", "plan"]);
    let expected = "
Latest release available for the v1beta2 Cluster API contract version:

NAME                    NAMESPACE                           TYPE                     CURRENT VERSION   NEXT VERSION
bootstrap-kubeadm       capi-kubeadm-bootstrap-system       BootstrapProvider        v1.14.0           Already up to date
control-plane-kubeadm   capi-kubeadm-control-plane-system   ControlPlaneProvider     v1.14.0           Already up to date
cluster-api             capi-system                         CoreProvider             v1.14.0           Already up to date
infrastructure-docker   capd-system                         InfrastructureProvider   v1.14.0           Already up to date
";
    assert!(plan.starts_with(expected), "{plan}");
    let row = "infrastructure-garden   garden-system                       InfrastructureProvider   v0.3.0            v0.4.0";
    assert!(plan.contains(row) && plan.contains("\nfirstlight upgrade apply --contract v1beta2\n"), "{plan}");

    let (_, err) = site.succeed(&["upgrade", "apply", "--contract", "v1beta2", "--wait-providers"]);
    for line in ["Scaling down provider=\"infrastructure-garden\"", "version=\"v0.4.0\""] {
        assert!(err.contains(line), "{err}");
    }
    assert!(site.is_available("v0.4.0").await);
    assert_eq!(version(&site).await, "v0.4.0");
}

#[tokio::test]
async fn a_failed_upgrade_is_undone() {
    let site = installed().await;
    let garden = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": "GardenCluster",
        "metadata": {"name": "bed"}, "spec": {"plot": 3},
    });
    let request = http::Request::post(GARDENS).header("content-type", "application/json");
    site.client.request::<Value>(request.body(garden.to_string().into_bytes()).unwrap()).await.unwrap();
    // A program that ends at once would be ready for a moment.
    site.publish("v0.4.0", RUNS, "registry.example/missing:v1");
    let apply = ["upgrade", "apply", "--infrastructure", "garden:v0.4.0"];
    let waiting = [&apply[..], &["--wait-providers", "--wait-provider-timeout", "3"]].concat();
    let error = site.fail(&waiting);
    assert!(error.contains("Error: the upgrade failed and was undone: "), "{error}");
    assert_eq!(version(&site).await, "v0.3.0");
    site.until("the old version runs again", async || site.is_available("v0.3.0").await).await;
    assert_eq!(site.get(&format!("{GARDENS}/bed")).await.unwrap()["spec"]["plot"], 3);

    // What is missing is noticed before anything is changed.
    site.configure(json!({}));
    let error = site.fail(&apply);
    assert!(error.contains("value for variables [GARDEN_TOKEN] is not set"), "{error}");
    assert!(site.is_available("v0.3.0").await);
}

#[tokio::test]
async fn upgrades_that_clusterctl_refuses() {
    let site = installed().await;
    site.publish("v0.4.0", RUNS, image::NAME);
    for (arguments, expected) in [
        (
            &["--contract", "v1beta1"][..],
            "current version of clusterctl could only upgrade to v1beta2 contract, requested v1beta1",
        ),
        (&[], "Either the --contract flag or at least one of the following flags has to be set"),
        (
            &["--contract", "v1beta2", "-i", "garden:v0.4.0"],
            "The --contract flag can't be used in combination with",
        ),
        (
            &["-i", "garden"],
            "Provider name should be in the form namespace/provider:version or provider:version",
        ),
        (&["-i", "pond:v1.0.0"], "unable to find default namespace for provider \"pond:v1.0.0\""),
        (&["-i", "elsewhere/garden:v0.4.0"], "in not part of the management cluster"),
        (
            &["-i", "garden:v0.2.0"],
            "implements the v1alpha4 contract version, while the core provider supports v1beta1, v1beta2",
        ),
        (&["-i", "garden:v7.0.0"], "does not match any release series"),
        (
            &["--core", "cluster-api:v1.15.0"],
            "cluster-api runs in the process of the server, and is upgraded with it",
        ),
    ] {
        let error = site.fail(&[&["upgrade", "apply"], arguments].concat());
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    assert!(site.is_available("v0.3.0").await && version(&site).await == "v0.3.0");
}

#[tokio::test]
async fn a_provider_is_deleted() {
    let site = installed().await;
    let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/garden-system-manager-role";
    let garden = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1", "kind": "GardenCluster", "metadata": {"name": "bed"},
    });
    let request = http::Request::post(GARDENS).header("content-type", "application/json");
    site.client.request::<Value>(request.body(garden.to_string().into_bytes()).unwrap()).await.unwrap();
    for (arguments, expected) in [
        (&[][..], "should be specified or the --all flag should be set"),
        (&["--all", "-i", "garden"], "The --all flag can't be used in combination with"),
        (&["-i", "pond"], "failed to identify the namespace for the \"pond\" provider"),
        (&["-i", "garden:v0.4.0"], "failed to identify the provider \"garden\" with version \"v0.4.0\""),
        (&["--core", "cluster-api"], "cluster-api runs in the process of the server, and is not deleted"),
        (
            &["-i", "garden", "--include-crd"],
            "found existing objects for provider CRDs \"infrastructure-garden\": [GardenCluster]",
        ),
    ] {
        let error = site.fail(&[&["delete"], arguments].concat());
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    assert!(site.is_available("v0.3.0").await);

    site.succeed(&["delete", "--infrastructure", "garden"]);
    assert!(site.deployment().await.is_none() && version(&site).await.is_null());
    assert!(site.get(role).await.is_none());
    assert!(site.get(&format!("{GARDENS}/bed")).await.is_some(), "its kinds stay without --include-crd");
    assert!(site.get(&format!("/api/v1/namespaces/{NAMESPACE}")).await.is_some());

    site.succeed(&["init", "--infrastructure", "garden:v0.3.0"]);
    let request = http::Request::delete(format!("{GARDENS}/bed")).body(Vec::new()).unwrap();
    site.client.request::<Value>(request).await.unwrap();
    let (_, err) = site.succeed(&["delete", "--all", "--include-crd", "--include-namespace"]);
    assert!(err.contains("cluster-api runs in the process of the server, and is not deleted"), "{err}");
    site.until("the namespace is gone", async || {
        site.get(&format!("/api/v1/namespaces/{NAMESPACE}")).await.is_none()
    })
    .await;
    assert!(site.get(GARDENS).await.is_none());
    assert!(!site.inventory().await["cluster-api"].is_null());
    let pods = site.server.kubeconfig().parent().unwrap().join("pods/pods");
    site.until("nothing is left of its Pods", async || std::fs::read_dir(&pods).unwrap().count() == 0).await;
}
