//! BareMetalHosts that move with their clusters, with and without a BMC, while the controllers of both sides
//! run.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::time::Duration;

use http::Request;
use kube::Client;
use pivot::Options;
use pivot::report::{Entry, Outcome};
use pivot_tests::fixture::{Fixture, Size};
use pivot_tests::journal::Stop;
use pivot_tests::place::Place;
use pivot_tests::{Scene, simulated};
use serde_json::{Value, json};

const SIZE: Size = Size { clusters: 1, control_plane: 1, workers: 0 };
const HOSTS: &str = "/apis/metal3.io/v1alpha1/namespaces/default/baremetalhosts";
const STATUS: &str = "baremetalhost.metal3.io/status";
const PAUSED: &str = "baremetalhost.metal3.io/paused";
const DETACHED: &str = "baremetalhost.metal3.io/detached";
const POWER: &str = "metal.firstlight.dev/power";
const HAND_OVER: &str = "firstlight.dev/hand-over";
const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

async fn until(scene: &Scene, what: &str, reached: impl Fn() -> bool) {
    let deadline = scene.clock.monotonic() + Duration::from_secs(1800);
    while !reached() {
        if scene.clock.monotonic() >= deadline {
            let places = [&scene.source, &scene.target];
            let hosts =
                places.map(|place| NAMES.map(|name| get(place, "baremetalhosts", name).unwrap_or_default()));
            panic!("{what} is not reached: {hosts:#?}");
        }
        scene.clock.sleep(Duration::from_secs(1)).await;
    }
}

async fn send(client: &Client, method: &str, path: &str, body: &Value) {
    let media_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = Request::builder().method(method).uri(path).header("content-type", media_type);
    client.request::<Value>(request.body(body.to_string().into_bytes()).unwrap()).await.unwrap();
}

fn get(place: &Place, resource: &str, name: &str) -> Option<Value> {
    place
        .objects()
        .into_iter()
        .find_map(|(key, object)| key.ends_with(&format!("/{resource}/default/{name}")).then_some(object))
}

fn host(place: &Place, name: &str) -> Value {
    get(place, "baremetalhosts", name).unwrap_or_else(|| panic!("no host {name} at the {}", place.role))
}

/// The parts of a host that a move must not change.
fn seen(place: &Place, name: &str) -> Value {
    let mut host = host(place, name);
    host["status"].as_object_mut().unwrap().remove("lastUpdated");
    for condition in host["status"]["conditions"].as_array_mut().unwrap() {
        condition.as_object_mut().unwrap().remove("observedGeneration");
    }
    json!([host["metadata"]["annotations"], host["metadata"]["labels"], host["spec"], host["status"]])
}

fn state(place: &Place, name: &str) -> Value {
    get(place, "baremetalhosts", name)
        .map(|host| host["status"]["provisioning"]["state"].clone())
        .unwrap_or_default()
}

/// Creates hosts in use with a BMC (which no test may access) and without, and a spare host. Each is created
/// with a status.
async fn describe(scene: &Scene) {
    let client = scene.source.plane.client("kubectl");
    let secret = |name: &str, data: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
    for secret in [
        secret("bmc", json!({"username": "admin", "password": "hunter2"})),
        secret("by-hand-user-data", json!({"userData": "#cloud-config\n"})),
    ] {
        send(&client, "POST", "/api/v1/namespaces/default/secrets", &secret).await;
    }
    let image = json!({"url": "http://images/a.raw", "checksum": "00", "checksumType": "sha256"});
    let status = |state: &str, image: &Value| {
        json!({
            "operationalStatus": "OK", "errorCount": 0, "errorMessage": "", "poweredOn": true,
            "provisioning": {"ID": "", "state": state, "image": image, "bootMode": "UEFI"},
            "hardware": {"ramMebibytes": 1024, "hostname": "node"},
        })
    };
    let power = json!({POWER: "manual"});
    let none = json!({"url": ""});
    for (number, (name, mut annotations, spec, status, cluster)) in [
        (
            "by-hand",
            power.clone(),
            json!({"image": image, "userData": {"name": "by-hand-user-data"}}),
            status("provisioned", &image),
            true,
        ),
        (
            "with-bmc",
            json!({DETACHED: ""}),
            json!({
                "image": image, "bmc": {"address": "ipmi://192.0.2.9", "credentialsName": "bmc"},
                "consumerRef": {
                    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
                    "namespace": "default", "name": "elsewhere",
                },
            }),
            status("provisioned", &image),
            true,
        ),
        ("spare", power, json!({}), status("available", &none), false),
    ]
    .into_iter()
    .enumerate()
    {
        annotations[STATUS] = status.to_string().into();
        let labels = if cluster { json!({CLUSTER_NAME: "c0"}) } else { json!({}) };
        let mut spec = spec;
        spec["online"] = true.into();
        spec["bootMACAddress"] = format!("52:54:00:00:00:0{number}").into();
        let metadata = json!({"name": name, "annotations": annotations, "labels": labels});
        let host = json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": metadata, "spec": spec});
        send(&client, "POST", HOSTS, &host).await;
        until(scene, "a status", || state(&scene.source, name) == status["provisioning"]["state"]).await;
        let owner = json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "name": name, "controller": true,
            "uid": self::host(&scene.source, name)["metadata"]["uid"],
        });
        let metadata = json!({"name": name, "ownerReferences": [owner], "finalizers": ["baremetalhost.metal3.io/hardwareData"]});
        let data = json!({
            "apiVersion": "metal3.io/v1alpha1", "kind": "HardwareData", "metadata": metadata,
            "spec": {"hardware": status["hardware"]},
        });
        send(&client, "POST", &HOSTS.replace("baremetalhosts", "hardwaredata"), &data).await;
    }
}

const NAMES: [&str; 3] = ["by-hand", "with-bmc", "spare"];

/// All objects of the hosts exist at `place` and are owned by the hosts there.
fn is_whole(place: &Place) {
    for name in NAMES {
        let uid = &host(place, name)["metadata"]["uid"];
        let hardware = get(place, "hardwaredata", name).unwrap();
        assert_eq!(hardware["metadata"]["ownerReferences"][0]["uid"], *uid, "{name}");
        assert_eq!(hardware["spec"]["hardware"]["ramMebibytes"], 1024);
    }
    let credentials = get(place, "secrets", "bmc").unwrap();
    assert_eq!(
        credentials["metadata"]["ownerReferences"][0]["uid"],
        host(place, "with-bmc")["metadata"]["uid"]
    );
    assert!(get(place, "secrets", "by-hand-user-data").is_some(), "nobody owns it");
}

fn is_gone(place: &Place) {
    let left: Vec<String> = place.objects().into_keys().filter(|key| key.contains("/metal3.io/")).collect();
    assert_eq!(left, Vec::<String>::new(), "{}", place.role);
    assert!(get(place, "secrets", "bmc").is_none() && get(place, "secrets", "by-hand-without-bmc").is_none());
}

#[test]
fn hosts_move_to_another_firstlight_and_back() {
    let fixture = Fixture::make(SIZE).unwrap();
    simulated(async {
        let scene = Scene::new(&fixture).await.unwrap();
        let managers = (scene.source.manage(), scene.target.manage());
        describe(&scene).await;
        until(&scene, "rest", || managers.0.is_idle(Duration::from_secs(5))).await;
        let before = NAMES.map(|name| seen(&scene.source, name));
        for name in NAMES {
            let annotations = &host(&scene.source, name)["metadata"]["annotations"];
            assert!(annotations[HAND_OVER].is_null(), "nobody moves {name}");
        }
        for (pivot, from, to, manager) in [
            (scene.pivot().unwrap(), &scene.source, &scene.target, &managers.1),
            (scene.pivot_back().unwrap(), &scene.target, &scene.source, &managers.0),
        ] {
            let report = pivot.run().await.unwrap_or_else(|error| panic!("{error}"));
            assert!(report.findings.is_empty(), "{report}");
            let is_taken_up = |name: &&str| host(to, name)["metadata"]["annotations"][PAUSED].is_null();
            until(&scene, "hosts that are taken up", || NAMES.iter().all(&is_taken_up)).await;
            until(&scene, "rest", || manager.is_idle(Duration::from_secs(5))).await;
            for (name, before) in NAMES.iter().zip(&before) {
                assert_eq!(seen(to, name), *before, "{name} at the {}", to.role);
            }
            is_whole(to);
            is_gone(from);
            assert_eq!(get(to, "secrets", "by-hand-without-bmc"), None, "{}", to.role);
        }
        assert_eq!(scene.watch.violations(), Vec::<String>::new());
        managers.0.stop().await;
        managers.1.stop().await;
    });
}

/// Neither the pivot nor the controllers of the source have ended their work when both are started again.
#[test]
fn hosts_are_handed_over_after_a_stop_in_the_middle() {
    let fixture = Fixture::make(SIZE).unwrap();
    simulated(async {
        let scene = Scene::new(&fixture).await.unwrap();
        let manager = scene.source.manage();
        describe(&scene).await;
        until(&scene, "rest", || manager.is_idle(Duration::from_secs(5))).await;
        manager.stop().await;
        let stop = Stop { record: 4, written: true };
        assert!(scene.pivot_with(Options::default(), Some(stop)).unwrap().run().await.is_err());
        let journal = pivot::Journal::open(Box::new(scene.disk.clone())).unwrap();
        assert!(journal.state().paused && journal.state().copied.is_empty());
        drop(journal);
        let manager = scene.source.manage();
        let report = scene.pivot().unwrap().resume().await.unwrap_or_else(|error| panic!("{error}"));
        assert!(report.findings.is_empty(), "{report}");
        for name in NAMES {
            let annotations = &host(&scene.target, name)["metadata"]["annotations"];
            assert!(annotations[STATUS].is_string() && annotations[HAND_OVER].is_null(), "{name}");
        }
        is_whole(&scene.target);
        is_gone(&scene.source);
        manager.stop().await;
    });
}

/// Nobody prepares hosts where the server names its providers and Metal3's is not among them.
#[test]
fn hosts_whose_controllers_do_not_run_are_not_waited_for() {
    let fixture = Fixture::make(SIZE).unwrap();
    simulated(async {
        let scene = Scene::new(&fixture).await.unwrap();
        let manager = scene.source.manage();
        describe(&scene).await;
        manager.stop().await;
        let client = scene.source.plane.client("kubectl");
        let built_in = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "firstlight-providers"},
            "data": {"infrastructure-docker": "{}"}});
        send(&client, "POST", "/api/v1/namespaces/kube-system/configmaps", &built_in).await;
        let report = scene.pivot().unwrap().run().await.unwrap_or_else(|error| panic!("{error}"));
        assert!(!report.objects.is_empty(), "{report}");
        for name in NAMES {
            assert!(host(&scene.target, name)["metadata"]["name"].is_string(), "{name}");
        }
    });
}

/// The target runs the controllers of Metal3, which restore a host only from its annotations
/// (`contract/metal3`, §3.3 and §3.5).
#[test]
fn hosts_arrive_as_metal3_keeps_them() {
    let fixture = Fixture::make(SIZE).unwrap();
    simulated(async {
        let scene = Scene::new(&fixture).await.unwrap();
        let manager = scene.source.manage();
        describe(&scene).await;
        until(&scene, "rest", || manager.is_idle(Duration::from_secs(5))).await;
        let before = NAMES.map(|name| seen(&scene.source, name));
        let report = scene.pivot().unwrap().run().await.unwrap_or_else(|error| panic!("{error}"));
        // It was created after the pivot had begun.
        let is_stand_in = |entry: &&Entry| entry.object.name == "by-hand-without-bmc";
        let stand_in: Vec<Outcome> =
            report.objects.iter().filter(is_stand_in).map(|entry| entry.outcome).collect();
        assert_eq!(stand_in, [Outcome::Moved], "{report}");
        let target = &scene.target;
        for name in NAMES {
            let host = host(target, name);
            let annotations = &host["metadata"]["annotations"];
            // Metal3's provider for Cluster API resumes the hosts of its machines, and nobody the others.
            let pause = if name == "with-bmc" { json!("metal3.io/capm3") } else { Value::Null };
            assert_eq!(annotations[PAUSED], pause, "{name}");
            let told: Value = serde_json::from_str(annotations[STATUS].as_str().unwrap()).unwrap();
            assert_eq!(told["provisioning"]["state"], host["status"]["provisioning"]["state"]);
            assert_eq!(told["hardware"]["ramMebibytes"], 1024);
        }
        let by_hand = host(target, "by-hand");
        assert!(by_hand["metadata"]["annotations"][DETACHED].is_string());
        assert!(by_hand["metadata"]["annotations"][POWER].is_null());
        assert_eq!(by_hand["spec"]["bmc"]["address"], "ipmi://192.0.2.1");
        let told: Value =
            serde_json::from_str(by_hand["metadata"]["annotations"][STATUS].as_str().unwrap()).unwrap();
        assert_eq!(
            (&told["operationalStatus"], &told["provisioning"]["ID"]),
            (&json!("detached"), &json!(""))
        );
        let nobody =
            get(target, "secrets", by_hand["spec"]["bmc"]["credentialsName"].as_str().unwrap()).unwrap();
        assert_eq!(nobody["metadata"]["ownerReferences"][0]["uid"], by_hand["metadata"]["uid"]);
        assert_eq!(nobody["metadata"]["labels"]["environment.metal3.io"], "baremetal");
        is_whole(target);
        is_gone(&scene.source);

        // clusterctl does not copy the status. Our controllers also restore it from the annotation.
        let client = target.plane.client("clusterctl");
        for name in NAMES {
            send(&client, "PATCH", &format!("{HOSTS}/{name}/status"), &json!({"status": null})).await;
            assert!(host(target, name)["status"].is_null());
        }
        let there = target.manage();
        let is_back = |name: &&str| {
            let host = host(target, name);
            host["metadata"]["annotations"][PAUSED].is_null() && host["status"].is_object()
        };
        until(&scene, "a status", || NAMES.iter().all(&is_back)).await;
        until(&scene, "rest", || there.is_idle(Duration::from_secs(5))).await;
        for (name, before) in NAMES.iter().zip(&before) {
            let (state, spec) = (&before[3]["provisioning"]["state"], &before[2]);
            let host = host(target, name);
            assert_eq!((&host["status"]["provisioning"]["state"], &host["spec"]), (state, spec), "{name}");
        }
        manager.stop().await;
        there.stop().await;
    });
}
