//! Two processes of `firstlight controllers --leader-elect` on one server: one acts, and the other goes on when it is killed.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use engine::{Manager, NamespacedName};
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use k8s_openapi::api::coordination::v1::Lease;
use parking_lot::Mutex;
use schemas::cluster::{Cluster, Machine, MachineDeployment};
use serde_json::json;
use server::leader_election::LEASE;

use crate::place::Place;

const DEADLINE: Duration = Duration::from_secs(90);

/// A replica, which is killed when the test ends.
struct Replica(Child);

impl Replica {
    fn start(kubeconfig: &Path, log: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
        command.args(["controllers", "--controllers", "core,kubeadm", "--leader-elect"]);
        command.args(["--leader-elect-namespace", "default", "--leader-elect-lease-duration", "10s"]);
        command.args(["--leader-elect-renew-deadline", "8s", "--leader-elect-retry-period", "200ms"]);
        command.arg("--kubeconfig").arg(kubeconfig);
        let log = std::fs::File::create(log).unwrap();
        Self(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Waits for a change of a Cluster, a Machine or a Lease after which `is_met` holds.
async fn until(manager: &Manager, what: &str, is_met: impl Fn() -> bool) {
    let changed = Arc::new(tokio::sync::Notify::new());
    let notify = || {
        let changed = changed.clone();
        move || changed.notify_one()
    };
    let (of_cluster, of_machine, of_lease) = (notify(), notify(), notify());
    manager.objects::<Cluster>().subscribe(move |_| of_cluster());
    manager.objects::<Machine>().subscribe(move |_| of_machine());
    manager.objects::<Lease>().subscribe(move |_| of_lease());
    let met = async {
        while !is_met() {
            changed.notified().await;
        }
    };
    assert!(tokio::time::timeout(DEADLINE, met).await.is_ok(), "not within {DEADLINE:?}: {what}");
}

fn is_available(manager: &Manager) -> bool {
    let cluster = manager.objects::<Cluster>().get(&NamespacedName::new("default", "minimal"));
    let conditions = cluster.and_then(|cluster| Some(cluster.status.clone()?.conditions)).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == "Available" && condition.status == "True")
}

fn holder(manager: &Manager) -> Option<String> {
    let lease = manager.objects::<Lease>().get(&NamespacedName::new("default", LEASE))?;
    lease.spec.as_ref()?.holder_identity.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_replica_goes_on_and_nothing_is_done_twice() {
    let place = Place::start("simulated", &[]).await;
    let (process, folder) = (&place.process, place.folder.path());
    let (client, manager) = (process.plane.client("test"), process.manager.clone());
    let created = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = created.clone();
    manager.objects::<Machine>().subscribe(move |change| {
        let uids = change.objects().filter_map(|machine| machine.metadata.uid.clone());
        seen.lock().extend(uids);
    });
    let mut first = Replica::start(&process.kubeconfig, &folder.join("first.log"));
    until(&manager, "the first replica leads", || holder(&manager).is_some()).await;
    let leader = holder(&manager);
    let _second = Replica::start(&process.kubeconfig, &folder.join("second.log"));

    let text = std::fs::read_to_string("../../examples/minimal.yaml").unwrap();
    let documents = parse("minimal.yaml", &text).unwrap();
    apply_all(&process.plane.registry, &client, &documents).await.unwrap();
    until(&manager, "the first Machine exists", || !created.lock().is_empty()).await;
    first.0.kill().unwrap();
    until(&manager, "the second replica leads", || holder(&manager).is_some_and(|name| Some(name) != leader))
        .await;
    until(&manager, "the Cluster is Available", || is_available(&manager)).await;
    assert_eq!(created.lock().len(), 1, "one Machine was wanted, and no other was created");

    let workers = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
        "metadata": {"name": "workers", "namespace": "default"},
        "spec": {"clusterName": "minimal", "replicas": 2, "template": {"spec": {"clusterName": "minimal", "version": "v1.35.0",
            "bootstrap": {"dataSecretName": "any"},
            "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": "minimal-control-plane"}}}}});
    let workers: MachineDeployment = serde_json::from_value(workers).unwrap();
    manager.objects::<MachineDeployment>().create(&workers).await.unwrap();
    until(&manager, "three Machines exist", || created.lock().len() >= 3).await;
    assert_eq!(created.lock().len(), 3);
    place.process.stop().await;
}
