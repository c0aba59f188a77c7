//! ClusterClasses that are shared by Clusters of several namespaces, where one namespace is moved after the
//! other.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::sync::LazyLock;

use pivot::Options;
use pivot::report::Outcome;
use pivot_tests::fixture::{Fixture, Size};
use pivot_tests::outcome::content;
use pivot_tests::requests::{make_namespaces, plant, send, serve_kinds};
use pivot_tests::{Scene, simulated};
use serde_json::{Value, json};
use store::Memory;

static FIXTURE: LazyLock<Fixture> =
    LazyLock::new(|| Fixture::make(Size { clusters: 1, control_plane: 1, workers: 1 }).unwrap());

const CLASS: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/classes/clusterclasses/shared";

/// A Cluster in each of two namespaces; both use a ClusterClass in a third namespace.
async fn scene() -> Scene {
    let scene = Scene::on(Memory::default(), FIXTURE.target()).await.unwrap();
    for place in [&scene.source, &scene.target] {
        serve_kinds(place).await.unwrap();
    }
    make_namespaces(&scene.source).await.unwrap();
    let pattern = Scene::new(&FIXTURE).await.unwrap().source;
    let pattern = pattern.object("/registry/cluster.x-k8s.io/clusters/default/c0").unwrap();
    for (number, namespace) in ["default", "other"].into_iter().enumerate() {
        let mut cluster = pattern.clone();
        cluster["metadata"]["namespace"] = namespace.into();
        cluster["metadata"]["uid"] = format!("00000000-0000-4000-8000-00000000000{number}").into();
        cluster["spec"]["topology"] =
            json!({"classRef": {"name": "shared", "namespace": "classes"}, "version": "v1.35.0"});
        let key = format!("/registry/cluster.x-k8s.io/clusters/{namespace}/c0");
        plant(&scene.source, &key, cluster).await.unwrap();
    }
    let reference = json!({"templateRef": {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate", "name": "t"}});
    let class = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass",
        "metadata": {"name": "shared", "namespace": "classes", "uid": "00000000-0000-4000-8000-000000000009",
                     "creationTimestamp": "2027-01-01T00:00:00Z", "generation": 1},
        "spec": {"controlPlane": reference, "infrastructure": reference}});
    plant(&scene.source, "/registry/cluster.x-k8s.io/clusterclasses/classes/shared", class).await.unwrap();
    scene
}

fn of(namespace: &str) -> Options {
    Options { namespace: namespace.into(), keep_source: false }
}

fn keys(objects: pivot_tests::outcome::Objects) -> Vec<String> {
    content(objects).into_keys().collect()
}

#[test]
fn a_shared_class_arrives_with_the_first_and_is_left_with_the_second() {
    simulated(async {
        let scene = scene().await;
        scene.pivot_with(of("default"), None).unwrap().run().await.unwrap();
        let there = send(&scene.target, "GET", CLASS, &Value::Null).await.unwrap();
        let report = scene.pivot_with(of("other"), None).unwrap().run().await.unwrap();
        assert_eq!(report.findings, [], "{report}");
        let left: Vec<String> = report
            .objects
            .iter()
            .filter(|entry| entry.outcome == Outcome::Left)
            .map(|entry| entry.object.to_string())
            .collect();
        assert_eq!(left, ["ClusterClass classes/shared"]);
        assert_eq!(send(&scene.target, "GET", CLASS, &Value::Null).await.unwrap(), there);
        let class = "/registry/cluster.x-k8s.io/clusterclasses/classes/shared";
        assert_eq!(keys(scene.source.objects()), [class]);
        let clusters =
            ["default", "other"].map(|name| format!("/registry/cluster.x-k8s.io/clusters/{name}/c0"));
        assert_eq!(keys(scene.target.objects()), [&[class.to_owned()][..], &clusters[..]].concat());
    });
}

/// After the hand-over, Clusters would follow the class of the target, which differs from that of the source.
#[test]
fn a_class_that_is_another_at_the_target_stands_in_the_way() {
    simulated(async {
        let scene = scene().await;
        scene.pivot_with(of("default"), None).unwrap().run().await.unwrap();
        let other = json!({"spec": {"infrastructure": {"templateRef": {"name": "another"}}}});
        send(&scene.target, "PATCH", CLASS, &other).await.unwrap();
        let before = (content(scene.source.objects()), content(scene.target.objects()));
        let error = scene.pivot_with(of("other"), None).unwrap().run().await.unwrap_err().to_string();
        let words = [
            "ClusterClass classes/shared at the target",
            "spec.infrastructure.templateRef.name",
            "both the same",
        ];
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        assert_eq!((content(scene.source.objects()), content(scene.target.objects())), before);
    });
}

#[test]
fn a_namespace_that_goes_away_at_the_target() {
    simulated(async {
        let scene = scene().await;
        make_namespaces(&scene.target).await.unwrap();
        let held = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "held", "namespace": "other", "finalizers": ["graphs.test/held"]}});
        let path = "/api/v1/namespaces/other/configmaps";
        send(&scene.target, "POST", path, &held).await.unwrap();
        send(&scene.target, "DELETE", "/api/v1/namespaces/other", &json!({})).await.unwrap();
        let error = scene.pivot_with(of("other"), None).unwrap().run().await.unwrap_err().to_string();
        let words = ["Namespace other at the target: it is being deleted", "wait until it is gone"];
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    });
}
