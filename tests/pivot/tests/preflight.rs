//! Checks before the first change.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::sync::LazyLock;

use access::User;
use chrono::TimeDelta;
use pivot::finding::{Finding, Severity};
use pivot::report::Outcome;
use pivot_tests::fixture::{Fixture, Size};
use pivot_tests::outcome::{content, wrong_after_move, wrong_after_roll_back};
use pivot_tests::place::Place;
use pivot_tests::requests::{post, send};
use pivot_tests::{Scene, simulated};
use serde_json::{Value, json};

static FIXTURE: LazyLock<Fixture> =
    LazyLock::new(|| Fixture::make(Size { clusters: 1, control_plane: 1, workers: 1 }).unwrap());

type Words = &'static [&'static str];

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CLUSTERS: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters";
const MACHINES: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines";

/// Asserts that the pivot is refused with findings that contain these words, and that nothing was changed.
async fn assert_refused(scene: &Scene, words: &[&str]) {
    let (source, target) = (content(scene.source.objects()), content(scene.target.objects()));
    let error = scene.pivot().unwrap().run().await.unwrap_err().to_string();
    for word in ["nothing was moved:"].iter().chain(words) {
        assert!(error.contains(word), "{word:?} is not in: {error}");
    }
    assert_eq!(content(scene.source.objects()), source);
    assert_eq!(content(scene.target.objects()), target);
}

async fn findings(scene: &Scene) -> Vec<Finding> {
    scene.pivot().unwrap().preview().await.unwrap().1.findings
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    simulated(async {
        let scene = Scene::new(&FIXTURE).await.unwrap();
        assert_eq!(findings(&scene).await, []);
    });
}

#[test]
fn clocks_that_differ() {
    for (apart, words) in [
        (0, None),
        (5, None),
        (-5, None),
        (6, Some("their clocks differ by 6 s")),
        (-90, Some("their clocks differ by 90 s")),
    ] {
        simulated(async {
            let scene = Scene::new(&FIXTURE).await.unwrap();
            // The clock of this machine does not matter.
            let now = scene.clock.now() + TimeDelta::hours(3);
            scene.faults.date("source", now);
            scene.faults.date("target", now + TimeDelta::seconds(apart));
            let found = findings(&scene).await;
            assert!(found.iter().all(|finding| finding.severity == Severity::Warning));
            let found: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
            assert_eq!(found, words.into_iter().collect::<Vec<&str>>(), "{apart}");
            scene.pivot().unwrap().run().await.unwrap();
        });
    }
}

/// Gives the user a ClusterRole with the first verbs and a Role in the moved namespace with the second verbs.
async fn give(place: &Place, everywhere: &[&str], here: &[&str]) {
    let group = "rbac.authorization.k8s.io";
    for (kind, folder, verbs) in
        [("ClusterRole", String::new(), everywhere), ("Role", "/namespaces/default".to_owned(), here)]
    {
        if verbs.is_empty() {
            continue;
        }
        let path = |plural: &str| format!("/apis/{group}/v1{folder}/{}s", plural.to_lowercase());
        let role = json!({"apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": "some"},
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": verbs}]});
        post(place, &path(kind), &role).await.unwrap();
        let kind_of_binding = format!("{kind}Binding");
        let binding = json!({"apiVersion": format!("{group}/v1"), "kind": kind_of_binding, "metadata": {"name": "some"},
            "roleRef": {"apiGroup": group, "kind": kind, "name": "some"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "nobody"}]});
        post(place, &path(&kind_of_binding), &binding).await.unwrap();
    }
}

#[test]
fn missing_rights() {
    const LOOK: Words = &["get", "list"];
    const ALL: Words = &["*"];
    const NOT_CHANGE: &str = "may not patch, delete";
    const NOT_MAKE: &str = "may not create, update, patch, delete";
    // The server where the rights are limited, the verbs in all namespaces, the verbs in the moved namespace,
    // and the words of the refusal.
    let cases: &[(&str, Words, Words, Words)] = &[
        ("target", &[], &[], &["target: get Namespace kube-system", "forbidden", "\"nobody\""]),
        ("source", &[], &[], &["source: get Namespace kube-system", "forbidden", "\"nobody\""]),
        ("target", LOOK, &[], &["machines.cluster.x-k8s.io in namespace default at the target", NOT_MAKE]),
        ("source", LOOK, &[], &["secrets in namespace default at the source", NOT_CHANGE, "a role"]),
        (
            "target",
            LOOK,
            &["create", "delete"],
            &["at the target: the kubeconfig's user may not update, patch;"],
        ),
        ("source", LOOK, ALL, &[]),
        ("target", LOOK, ALL, &[]),
    ];
    for (role, everywhere, here, words) in cases {
        simulated(async {
            let scene = Scene::new(&FIXTURE).await.unwrap();
            let original = content(scene.source.objects());
            let (master, nobody) = (User::master("pivot"), User::new("nobody", Vec::<String>::new()));
            let (place, users) = match *role {
                "source" => (&scene.source, (nobody, master)),
                _ => (&scene.target, (master, nobody)),
            };
            give(place, everywhere, here).await;
            let outcome = scene.pivot_as(users.0, users.1).unwrap().run().await;
            let wrong = if words.is_empty() {
                outcome.unwrap_or_else(|error| panic!("{role}: {error}"));
                wrong_after_move(&scene, &original, |key| key.ends_with("/stranger"))
            } else {
                let error = outcome.unwrap_err().to_string();
                assert!(
                    words.iter().all(|word| error.contains(word)),
                    "{role}: {words:?} is not in: {error}"
                );
                wrong_after_roll_back(&scene, &original)
            };
            assert!(wrong.is_empty(), "{role}: {}", wrong.join("\n"));
        });
    }
}

/// Deletes a definition at the target and waits until it is gone.
async fn remove(scene: &Scene, path: &str) {
    send(&scene.target, "DELETE", path, &json!({})).await.unwrap();
    while send(&scene.target, "GET", path, &Value::Null).await.is_ok() {
        scene.clock.sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[test]
fn kinds_that_the_target_lacks() {
    simulated(async {
        let scene = Scene::new(&FIXTURE).await.unwrap();
        let path = format!("{DEFINITIONS}/devmachines.infrastructure.cluster.x-k8s.io");
        let mut definition = send(&scene.target, "GET", &path, &Value::Null).await.unwrap();
        definition["spec"]["versions"][0]["served"] = false.into();
        send(&scene.target, "PUT", &path, &definition).await.unwrap();
        let not_served =
            "devmachines.infrastructure.cluster.x-k8s.io: the target does not serve version v1beta2";
        assert_refused(&scene, &[not_served, "upgrade the provider at the target"]).await;
        remove(&scene, &path).await;
        let missing = "devmachines.infrastructure.cluster.x-k8s.io: the target does not have it";
        assert_refused(&scene, &[missing, "install the provider of infrastructure.cluster.x-k8s.io"]).await;
        let path = format!("{DEFINITIONS}/clusters.cluster.x-k8s.io");
        remove(&scene, &path).await;
        let old = "clusters.cluster.x-k8s.io at the target: its storage version is missing, not v1beta2";
        assert_refused(&scene, &[missing, old, "v1.11 or newer"]).await;
    });
}

#[test]
fn names_that_are_taken() {
    simulated(async {
        let scene = Scene::new(&FIXTURE).await.unwrap();
        let path = "/api/v1/namespaces/default/configmaps";
        let own = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "addons-content"}, "data": {}});
        post(&scene.target, path, &own).await.unwrap();
        let words = ["ConfigMap default/addons-content at the target", "there already", "rename it"];
        assert_refused(&scene, &words).await;
    });
}

#[test]
fn clusters_that_are_not_at_rest() {
    let machine = |scene: &Scene| {
        let objects = scene.source.objects();
        let key = objects.keys().find(|key| key.contains("/cluster.x-k8s.io/machines/")).unwrap();
        key.rsplit('/').next().unwrap().to_owned()
    };
    simulated(async {
        let scene = Scene::new(&FIXTURE).await.unwrap();
        let name = machine(&scene);
        let path = format!("{MACHINES}/{name}/status");
        send(&scene.source, "PATCH", &path, &json!({"status": {"nodeRef": null}})).await.unwrap();
        let no_node = format!("Machine default/{name}: it has no node yet");
        assert_refused(&scene, &[&no_node]).await;
        let patch = json!({"status": {"initialization": {"infrastructureProvisioned": null}}});
        send(&scene.source, "PATCH", &format!("{CLUSTERS}/c0/status"), &patch).await.unwrap();
        let not_provisioned = "Cluster default/c0: its infrastructure is not provisioned yet";
        assert_refused(&scene, &[&no_node, not_provisioned]).await;
        send(&scene.source, "DELETE", &format!("{MACHINES}/{name}"), &json!({})).await.unwrap();
        let deleting = format!("Machine default/{name}: it is being deleted");
        assert_refused(&scene, &[&deleting, not_provisioned, "wait until it is gone"]).await;
    });
}

/// An owner that does not move: the object arrives without this owner reference, and with those that move.
#[test]
fn owners_that_do_not_move() {
    const WORKERS: &str = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machinedeployments/c0-workers";
    simulated(async {
        let scene = Scene::new(&FIXTURE).await.unwrap();
        let stranger = "/api/v1/namespaces/default/configmaps/stranger";
        let stranger = send(&scene.source, "GET", stranger, &Value::Null).await.unwrap();
        let mut workers = send(&scene.source, "GET", WORKERS, &Value::Null).await.unwrap();
        let owners = workers["metadata"]["ownerReferences"].as_array_mut().unwrap();
        let original = owners.len();
        owners.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "stranger", "uid": stranger["metadata"]["uid"]}));
        send(&scene.source, "PUT", WORKERS, &workers).await.unwrap();
        let report = scene.pivot().unwrap().run().await.unwrap();
        let found: Vec<String> =
            report.findings.iter().map(ToString::to_string).filter(|line| line.contains("owner")).collect();
        let expected = "warning: MachineDeployment default/c0-workers: its owner ConfigMap stranger does not move; \
                        it arrives without this owner reference";
        assert_eq!(found, [expected]);
        let there = send(&scene.target, "GET", WORKERS, &Value::Null).await.unwrap();
        let owners = there["metadata"]["ownerReferences"].as_array().unwrap();
        assert_eq!(owners.len(), original);
        assert!(owners.iter().all(|owner| owner["kind"] == "Cluster"), "{owners:?}");
    });
}

#[test]
fn what_stays_and_why() {
    simulated(async {
        let scene = Scene::new(&FIXTURE).await.unwrap();
        let path = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/default/devmachinetemplates";
        let list = send(&scene.source, "GET", path, &Value::Null).await.unwrap();
        let unused = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate",
            "metadata": {"name": "unused"}, "spec": list["items"][0]["spec"]});
        post(&scene.source, path, &unused).await.unwrap();
        let (plan, report) = scene.pivot().unwrap().preview().await.unwrap();
        let why = "no Cluster, ClusterClass or ClusterResourceSet that moves owns it";
        let stays: Vec<(String, &str)> = report
            .objects
            .iter()
            .filter(|entry| entry.outcome == Outcome::Stays)
            .map(|entry| (entry.object.to_string(), entry.why.as_str()))
            .collect();
        assert_eq!(stays, [("DevMachineTemplate default/unused".to_owned(), why)]);
        assert!(plan.to_string().contains(&format!("DevMachineTemplate default/unused: {why}")), "{plan}");
    });
}
