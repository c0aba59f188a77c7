//! Invalid input for a pivot: it must report a clear error and lose nothing.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::sync::LazyLock;

use pivot::Options;
use pivot::journal::MemoryDisk;
use pivot_tests::fixture::{Fixture, Size};
use pivot_tests::journal::Stop;
use pivot_tests::outcome::{Objects, content, wrong_after_move, wrong_after_roll_back};
use pivot_tests::place::Place;
use pivot_tests::requests::post;
use pivot_tests::{Scene, simulated};
use serde_json::{Value, json};
use store::Memory;

static FIXTURE: LazyLock<Fixture> =
    LazyLock::new(|| Fixture::make(Size { clusters: 1, control_plane: 1, workers: 1 }).unwrap());

fn assert_untouched(scene: &Scene, original: &Objects) {
    let wrong = wrong_after_roll_back(scene, original);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn assert_says(error: &impl ToString, words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

async fn provider(place: &Place, version: &str) {
    provider_named(place, "infrastructure-x", version).await;
}

async fn provider_named(place: &Place, name: &str, version: &str) {
    let object = json!({"apiVersion": "clusterctl.cluster.x-k8s.io/v1alpha3", "kind": "Provider",
        "metadata": {"name": name, "namespace": "default"},
        "providerName": "x", "type": "InfrastructureProvider", "version": version});
    let path = "/apis/clusterctl.cluster.x-k8s.io/v1alpha3/namespaces/default/providers";
    post(place, path, &object).await.unwrap();
}

#[test]
fn a_target_with_an_older_provider() {
    simulated(async {
        let scene = Scene::new(&FIXTURE).await.unwrap();
        let original = content(scene.source.objects());
        provider(&scene.source, "v1.14.0").await;
        provider(&scene.target, "v1.9.3").await;
        let error = scene.pivot().unwrap().run().await.unwrap_err();
        assert_says(&error, &["infrastructure-x", "v1.9.3, older than v1.14.0", "clusterctl upgrade apply"]);
        assert_untouched(&scene, &original);
    });
}

/// The target has the definitions of a provider that is missing in clusterctl's inventory.
#[test]
fn a_target_without_an_inventory() {
    simulated(async {
        let scene = Scene::new(&FIXTURE).await.unwrap();
        let original = content(scene.source.objects());
        provider_named(&scene.source, "infrastructure-x", "v1.14.0").await;
        let error = scene.pivot().unwrap().run().await.unwrap_err();
        assert_says(
            &error,
            &["infrastructure-x", "the target does not have it", "clusterctl init", "--install"],
        );
        assert_untouched(&scene, &original);
        scene.source.plane.client("kubectl").request::<Value>(
            http::Request::delete("/apis/clusterctl.cluster.x-k8s.io/v1alpha3/namespaces/default/providers/infrastructure-x")
                .body(Vec::new())
                .unwrap(),
        ).await.unwrap();
        provider_named(&scene.source, "cluster-api", "v1.14.0").await;
        let report = scene.pivot().unwrap().run().await.unwrap();
        assert!(
            report.to_string().contains("no entry in clusterctl's inventory; it is entered there as v1.14.0"),
            "{report}"
        );
        let entry =
            scene.target.object("/registry/clusterctl.cluster.x-k8s.io/providers/default/cluster-api");
        assert_eq!(entry.unwrap()["version"], "v1.14.0");
    });
}

const INTERRUPTED: Stop = Stop { record: 9, written: true };

#[test]
fn a_target_that_comes_back_empty() {
    simulated(async {
        let mut scene = Scene::new(&FIXTURE).await.unwrap();
        let original = content(scene.source.objects());
        scene.pivot_with(Options::default(), Some(INTERRUPTED)).unwrap().run().await.unwrap_err();
        // The disk is an older copy: the server has the same identity, but without the copied objects.
        scene.replace_target(FIXTURE.target()).await.unwrap();
        scene.pivot().unwrap().resume().await.unwrap();
        let wrong = wrong_after_move(&scene, &original, |key| key.ends_with("/stranger"));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

#[test]
fn a_target_that_was_made_anew() {
    simulated(async {
        let mut scene = Scene::new(&FIXTURE).await.unwrap();
        let original = content(scene.source.objects());
        scene.pivot_with(Options::default(), Some(INTERRUPTED)).unwrap().run().await.unwrap_err();
        scene.replace_target(Memory::default()).await.unwrap();
        for outcome in [scene.pivot().unwrap().resume().await, scene.pivot().unwrap().roll_back().await] {
            assert_says(&outcome.unwrap_err(), &["whose target was another server", "--target-is-gone"]);
        }
        scene.pivot().unwrap().roll_back_without_target().await.unwrap();
        assert_untouched(&scene, &original);
        scene.pivot().unwrap().run().await.unwrap();
        let wrong = wrong_after_move(&scene, &original, |key| key.ends_with("/stranger"));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

#[test]
fn a_damaged_journal() {
    simulated(async {
        let mut scene = Scene::new(&FIXTURE).await.unwrap();
        scene.pivot_with(Options::default(), Some(INTERRUPTED)).unwrap().run().await.unwrap_err();
        let before = (scene.source.objects(), scene.target.objects());
        let mut content = scene.disk.content();
        content[100] ^= 1;
        let whole = std::mem::replace(&mut scene.disk, MemoryDisk::holding(content));
        let error = scene.pivot().err().unwrap();
        assert_says(&error, &["is damaged at byte 0", "nothing was done", "paused"]);
        assert_eq!((scene.source.objects(), scene.target.objects()), before);
        scene.disk = whole;
        scene.pivot().unwrap().resume().await.unwrap();
    });
}

#[test]
fn a_full_disk() {
    simulated(async {
        let scene = Scene::new(&FIXTURE).await.unwrap();
        let original = content(scene.source.objects());
        let full = Stop { record: 6, written: false };
        let error = scene.pivot_with(Options::default(), Some(full)).unwrap().run().await.unwrap_err();
        assert_says(&error, &["the journal"]);
        scene.pivot().unwrap().roll_back().await.unwrap();
        assert_untouched(&scene, &original);
    });
}

/// Admission configurations that reject requests, or whose webhook cannot be reached.
fn refusals() -> Vec<(&'static str, Value, &'static str)> {
    let group = "/apis/admissionregistration.k8s.io/v1";
    let rules = json!([{"apiGroups": ["cluster.x-k8s.io"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["machines"], "scope": "*"}]);
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "none"},
        "spec": {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": rules},
                 "validations": [{"expression": "false", "message": "no machines here"}]}});
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "none"},
        "spec": {"policyName": "none", "validationActions": ["Deny"]}});
    let webhook = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "none"},
        "webhooks": [{"name": "none.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
                      "clientConfig": {"url": "https://127.0.0.1:1/none"}, "rules": rules}]});
    let path = |plural: &str| -> &'static str { format!("{group}/{plural}").leak() };
    vec![
        (path("validatingadmissionpolicies"), policy, ""),
        (path("validatingadmissionpolicybindings"), binding, "no machines here"),
        (path("validatingwebhookconfigurations"), webhook, "failed calling webhook"),
    ]
}

#[test]
fn a_target_that_refuses_objects() {
    let refusals = refusals();
    for (configurations, words) in [(&refusals[..2], refusals[1].2), (&refusals[2..], refusals[2].2)] {
        simulated(async {
            let scene = Scene::new(&FIXTURE).await.unwrap();
            let original = content(scene.source.objects());
            for (path, object, _) in configurations {
                post(&scene.target, path, object).await.unwrap();
            }
            scene.clock.sleep(std::time::Duration::from_secs(2)).await;
            let error = scene.pivot().unwrap().run().await.unwrap_err();
            assert_says(&error, &["nothing was moved", "Machine default/", words, "webhook or quota"]);
            let left: Vec<String> = wrong_after_roll_back(&scene, &original)
                .into_iter()
                .filter(|line| !line.contains("/admissionregistration.k8s.io/"))
                .collect();
            assert!(left.is_empty(), "{}", left.join("\n"));
        });
    }
}
