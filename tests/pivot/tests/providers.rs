//! The provider that each firstlight lists, whether it is used or not: when the target needs it.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::sync::LazyLock;
use std::time::Duration;

use pivot::Options;
use pivot_tests::fixture::{Fixture, Size};
use pivot_tests::place::Place;
use pivot_tests::requests::{post, send};
use pivot_tests::{Scene, simulated};
use serde_json::{Value, json};

static FIXTURE: LazyLock<Fixture> =
    LazyLock::new(|| Fixture::make(Size { clusters: 1, control_plane: 1, workers: 0 }).unwrap());

const ENTRY: &str = "/registry/clusterctl.cluster.x-k8s.io/providers/default/infrastructure-docker";
const KINDS: [&str; 6] = [
    "devclusters",
    "devclustertemplates",
    "devmachines",
    "devmachinetemplates",
    "devmachinepools",
    "devmachinepooltemplates",
];

async fn list_docker(place: &Place) {
    let entry = json!({"apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Provider",
        "metadata": {"name": "infrastructure-docker", "namespace": "default"},
        "providerName": "docker", "type": "InfrastructureProvider", "version": "v1.14.0"});
    let path = "/apis/clusterctl.cluster.x-k8s.io/v1alpha3/namespaces/default/providers";
    post(place, path, &entry).await.unwrap();
}

/// Makes the provider one that somebody has installed: it has a Deployment.
async fn install_docker(place: &Place) {
    let labels = json!({"cluster.x-k8s.io/provider": "infrastructure-docker"});
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "capd-controller-manager", "namespace": "default", "labels": labels},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}});
    post(place, "/apis/apps/v1/namespaces/default/deployments", &deployment).await.unwrap();
}

/// Removes the kinds of the provider, as in a cluster where it has never been installed.
async fn remove_kinds(scene: &Scene) {
    for kind in KINDS {
        let path = format!(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{kind}.infrastructure.cluster.x-k8s.io"
        );
        send(&scene.target, "DELETE", &path, &json!({})).await.unwrap();
        while send(&scene.target, "GET", &path, &Value::Null).await.is_ok() {
            scene.clock.sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Creates an object in another namespace that moves and belongs to no provider of infrastructure.
async fn resource_set(place: &Place) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
    post(place, "/api/v1/namespaces", &namespace).await.unwrap();
    let set = json!({"apiVersion": "addons.cluster.x-k8s.io/v1beta2", "kind": "ClusterResourceSet",
        "metadata": {"name": "set", "namespace": "other"},
        "spec": {"clusterSelector": {"matchLabels": {"a": "b"}}, "resources": [{"kind": "ConfigMap", "name": "c"}]}});
    let path = "/apis/addons.cluster.x-k8s.io/v1beta2/namespaces/other/clusterresourcesets";
    post(place, path, &set).await.unwrap();
}

#[test]
fn where_objects_of_its_kinds_move_the_target_must_have_it() {
    simulated(async {
        let scene = Scene::new(&FIXTURE).await.unwrap();
        list_docker(&scene.source).await;
        remove_kinds(&scene).await;
        let error = scene.pivot().unwrap().run().await.unwrap_err().to_string();
        let expected = "InfrastructureProvider infrastructure-docker: the target does not have it";
        assert!(error.contains(expected), "{error}");
        list_docker(&scene.target).await;
        let error = scene.pivot().unwrap().run().await.unwrap_err().to_string();
        assert!(!error.contains(expected) && error.contains("devmachines"), "{error}");
    });
    simulated(async {
        let scene = Scene::new(&FIXTURE).await.unwrap();
        list_docker(&scene.source).await;
        scene.pivot().unwrap().run().await.unwrap();
        assert_eq!(scene.target.object(ENTRY).unwrap()["version"], "v1.14.0");
    });
}

#[test]
fn where_none_moves_the_target_needs_it_as_little_as_it_gets_it() {
    for has_kinds in [true, false] {
        simulated(async {
            let scene = Scene::new(&FIXTURE).await.unwrap();
            list_docker(&scene.source).await;
            resource_set(&scene.source).await;
            if !has_kinds {
                remove_kinds(&scene).await;
            }
            let options = Options { namespace: "other".to_owned(), keep_source: false };
            let report = scene.pivot_with(options, None).unwrap().run().await.unwrap();
            assert_eq!(report.findings, []);
            let moved = "/registry/addons.cluster.x-k8s.io/clusterresourcesets/other/set";
            assert!(scene.target.object(moved).is_some() && scene.source.object(moved).is_none());
            assert!(scene.target.object(ENTRY).is_none());
        });
    }
}

#[test]
fn labelled_secrets_move_from_its_namespace_where_it_is_installed() {
    for is_installed in [true, false] {
        simulated(async {
            let scene = Scene::new(&FIXTURE).await.unwrap();
            list_docker(&scene.source).await;
            resource_set(&scene.source).await;
            if is_installed {
                install_docker(&scene.source).await;
            }
            let labels = json!({"clusterctl.cluster.x-k8s.io/move": ""});
            let secret = json!({"apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": "identity", "namespace": "default", "labels": labels}});
            post(&scene.source, "/api/v1/namespaces/default/secrets", &secret).await.unwrap();
            let options = Options { namespace: "other".to_owned(), keep_source: false };
            scene.pivot_with(options, None).unwrap().run().await.unwrap();
            let key = "/registry/core/secrets/default/identity";
            assert_eq!(scene.target.object(key).is_some(), is_installed);
            assert!(scene.source.object(key).is_some(), "it stands in another namespace than what moves");
        });
    }
}
