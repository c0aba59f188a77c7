//! Updates of machines in place.

use std::time::Duration;

use chrono::TimeDelta;
use engine::in_place::{Decision, Objects, SPEC, TEMPLATE_SPEC};
use serde_json::{Value, json};
use simulated::updates::{Stage, decide, parts, stage};

use super::*;

/// Seconds since the beginning, the parts, and the next part with its remaining seconds.
type Row<'a> = (i64, &'a [Part], Option<(Part, u64)>);

#[tokio::test]
async fn node_and_static_pods_get_the_version() {
    let cluster = cluster().await;
    cluster.start("a", 1).await;
    let pods: Api<Pod> = Api::namespaced(cluster.client(), "kube-system");
    let seen = async |pod: &str| {
        let pod = pods.get(pod).await.expect("the Pod");
        let status = pod.status.and_then(|status| status.container_statuses).unwrap_or_default();
        let image = pod.spec.expect("a spec").containers[0].image.clone().unwrap_or_default();
        (image, status[0].image.clone(), status[0].restart_count, pod.metadata.annotations)
    };
    let member = seen("etcd-a").await;
    for part in [Part::Etcd, Part::ApiServer, Part::Node] {
        for _ in 0..2 {
            cluster.workload.update("a", part, "v1.36.0").await.expect("the update, also a second time");
        }
    }
    let (image, running, restarts, _) = seen("kube-scheduler-a").await;
    let expected = "registry.k8s.io/kube-scheduler:v1.36.0";
    assert_eq!((image.as_str(), running.as_str(), restarts), (expected, expected, 1));
    assert_eq!(seen("etcd-a").await, member, "its image is that of kubeadm's configuration");
    let node = Api::<Node>::all(cluster.client()).get("a").await.expect("the Node");
    let info = node.status.and_then(|status| status.node_info).expect("what it runs");
    assert_eq!(info.kubelet_version, "v1.36.0");
    assert!(
        cluster.workload.update("b", Part::ApiServer, "v1.36.0").await.is_err(),
        "there is no such machine"
    );
}

#[test]
fn an_update_takes_as_long_as_its_parts() {
    let component = |time: &str| json!({"provisioning": {"startupDuration": time}});
    let backend = json!({"vm": component("99s"), "node": component("3s"), "etcd": component("2s")});
    let backend = serde_json::from_value(backend).expect("a backend");
    let of_worker = parts(Some(&backend), false);
    assert_eq!(of_worker, [(Part::Node, TimeDelta::seconds(3))]);
    let of_plane = parts(Some(&backend), true);
    let rows: [Row<'_>; 5] = [
        (0, &[], Some((Part::Etcd, 2))),
        (1, &[], Some((Part::Etcd, 1))),
        (2, &[Part::Etcd, Part::ApiServer], Some((Part::Node, 3))),
        (4, &[Part::Etcd, Part::ApiServer], Some((Part::Node, 1))),
        (5, &[Part::Etcd, Part::ApiServer, Part::Node], None),
    ];
    for (elapsed, updated, next) in rows {
        let next = next.map(|(part, seconds)| (part, Duration::from_secs(seconds)));
        let expected = Stage { updated: updated.to_vec(), next };
        assert_eq!(stage(&of_plane, TimeDelta::seconds(elapsed)), expected, "{elapsed}");
    }
    assert_eq!(stage(&parts(None, true), TimeDelta::zero()).next, None, "machines that start at once");
}

/// A Machine with its objects.
fn objects(machine: Value, kind: &str) -> Objects {
    let object = |group: &str, kind: &str, spec: Value| json!({"apiVersion": format!("{group}cluster.x-k8s.io/v1beta2"), "kind": kind, "spec": spec});
    Objects {
        infrastructure: Some(object("infrastructure.", kind, json!({"backend": machine["version"]}))),
        bootstrap: Some(object("bootstrap.", "KubeadmConfig", json!({"files": machine["version"]}))),
        machine: object("", "Machine", machine),
    }
}

#[test]
fn what_a_simulated_machine_can_change() {
    let old = || objects(json!({"version": "v1"}), "DevMachine");
    let to = |desired: &Objects| decide(&old(), desired, "DevMachine", SPEC);
    assert_eq!(to(&objects(json!({"version": "v2"}), "DevMachine")), Decision::InPlace);
    let elsewhere = to(&objects(json!({"version": "v2", "failureDomain": "b"}), "DevMachine"));
    assert_eq!(elsewhere, Decision::Rollout(vec!["Machine: spec.failureDomain".to_owned()]));
    let other = objects(json!({"version": "v2"}), "OtherMachine");
    let foreign = Decision::Rollout(vec!["only objects of the kind DevMachine are updated here".to_owned()]);
    assert_eq!(to(&other), foreign);
    let set = |version: &str| {
        let template = json!({"template": {"spec": {"version": version}}});
        let of = |kind: &str| json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind, "spec": template});
        Objects { machine: of("MachineSet"), infrastructure: Some(of("DevMachineTemplate")), bootstrap: None }
    };
    assert_eq!(decide(&set("v1"), &set("v2"), "DevMachineTemplate", TEMPLATE_SPEC), Decision::InPlace);
}
