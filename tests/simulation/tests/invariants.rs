//! Tests of `simulation::invariants`.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use simulation::invariants::Invariants;
use store::{Key, Operation, Revision, Store};

const PLANE: &str = "/registry/controlplane.cluster.x-k8s.io/kubeadmcontrolplanes/default/cp";
const CLUSTER: &str = "/registry/cluster.x-k8s.io/clusters/default/c";

/// A simulation with one cluster, whose time the test sets, and the number of its violations that were read.
struct Observed(Invariants, DateTime<Utc>, usize);

impl Observed {
    fn new(replicas: i64) -> Self {
        let mut observed =
            Self(Invariants::default(), DateTime::from_timestamp(1_800_000_000, 0).unwrap(), 0);
        observed
            .write(CLUSTER, json!({"kind": "Cluster", "metadata": {"name": "c", "namespace": "default"}}));
        let status = json!({"initialization": {"controlPlaneInitialized": true}});
        observed.write(
            PLANE,
            json!({"kind": "KubeadmControlPlane", "spec": {"replicas": replicas, "version": "v1"}, "status": status,
                "metadata": {"name": "cp", "namespace": "default", "labels": {"cluster.x-k8s.io/cluster-name": "c"}}}),
        );
        observed
    }

    fn write(&mut self, key: &str, object: Value) {
        self.0.observe(self.1, key, Some(object));
    }

    fn machine(&mut self, name: &str, change: impl FnOnce(&mut Value)) {
        let key = key(name);
        let mut machine = self.0.get(&key).cloned().unwrap_or_else(|| {
            json!({
                "kind": "Machine", "apiVersion": "cluster.x-k8s.io/v1beta2", "spec": {"version": "v1"},
                "metadata": {"name": name, "namespace": "default", "annotations": {HOOK: ""}, "labels": {
                    "cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/control-plane-name": "cp"}},
                "status": {"nodeRef": {"name": name}, "conditions": [{"type": "UpToDate", "status": "True"}]},
            })
        });
        change(&mut machine);
        self.write(&key, machine);
    }

    /// The violations since the last call.
    fn violations(&mut self) -> Vec<String> {
        let found = self.0.violations()[self.2..].to_vec();
        self.2 += found.len();
        found
    }
}

const HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup";

fn key(name: &str) -> String {
    format!("/registry/cluster.x-k8s.io/machines/default/{name}")
}

fn delete(machine: &mut Value) {
    machine["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
}

fn no_change(_: &mut Value) {}

#[test]
fn one_machine_too_many_is_seen() {
    let mut observed = Observed::new(1);
    observed.machine("a", no_change);
    observed.machine("b", no_change);
    assert!(observed.violations().is_empty(), "one may be more");
    observed.machine("c", no_change);
    let found = observed.violations();
    assert!(found.len() == 1 && found[0].contains("has 3 Machines with c, and allows 2"), "{found:?}");
}

#[test]
fn a_deletion_needs_a_reason() {
    let mut observed = Observed::new(3);
    for name in ["a", "b", "c"] {
        observed.machine(name, no_change);
    }
    observed.machine("a", delete);
    let found = observed.violations();
    assert!(found.len() == 1 && found[0].starts_with("reason: Machine a"), "{found:?}");
    observed.machine("a", |machine| machine["metadata"]["annotations"] = json!({}));
    observed.0.observe(observed.1, &key("a"), None);
    observed.machine("d", no_change);
    observed.machine("b", |machine| machine["status"]["conditions"][0]["status"] = "False".into());
    observed.machine("b", delete);
    assert_eq!(observed.violations(), Vec::<String>::new(), "b is outdated");
}

#[test]
fn a_machine_whose_node_came_too_late_may_be_replaced() {
    for (startup, is_allowed) in [(50, false), (70, true)] {
        let mut observed = Observed::new(3);
        observed.machine("b", no_change);
        observed.machine("c", no_change);
        let created = observed.1.to_rfc3339_opts(chrono::SecondsFormat::Secs, true);
        observed.machine("a", |machine| {
            machine["metadata"]["creationTimestamp"] = created.into();
            machine["status"]["nodeRef"] = Value::Null;
        });
        observed.1 += TimeDelta::seconds(startup);
        observed.machine("a", |machine| machine["status"]["nodeRef"] = json!({"name": "a"}));
        observed.1 += TimeDelta::seconds(20);
        observed.machine("a", delete);
        assert_eq!(observed.violations().is_empty(), is_allowed, "a Node after {startup} s");
    }
}

#[test]
fn two_machines_at_once_and_the_last_healthy_members_are_seen() {
    let mut observed = Observed::new(3);
    for name in ["a", "b", "c"] {
        observed.machine(name, no_change);
    }
    observed.0.deletes(&key("a"));
    observed.0.deletes(&key("b"));
    observed.machine("a", delete);
    observed.machine("b", delete);
    assert_eq!(observed.violations(), Vec::<String>::new(), "the user may delete several");
    let sick = json!({"kind": "DevMachine", "metadata": {"name": "c", "namespace": "default",
        "annotations": {"simulated.firstlight.dev/etcd-member-unhealthy": ""}}});
    observed.write("/registry/infrastructure.cluster.x-k8s.io/devmachines/default/c", sick);
    observed.1 += TimeDelta::minutes(1);
    observed.machine("a", |machine| machine["metadata"]["annotations"] = json!({}));
    let found = observed.violations();
    assert!(
        found.len() == 1 && found[0].contains("of the other 2 members 1 are healthy, 2 are needed"),
        "{found:?}"
    );
    observed.machine("b", |machine| machine["metadata"]["annotations"] = json!({}));
    let found = observed.violations();
    assert!(found.iter().any(|text| text.contains("2 control plane Machines go at once: a, b")), "{found:?}");
    assert_eq!(observed.0.orphans().len(), 4, "the Machines and their control plane");
}

#[tokio::test(start_paused = true)]
async fn the_last_changes_of_a_life_are_judged_one_after_the_other() {
    let mut observed = Observed::new(1);
    let clock = machinery::clock::Clock::simulated(observed.1);
    let store = Store::open(store::Memory::default(), clock).await.unwrap();
    let key = |kind: &str, name: &str| Key::new("cluster.x-k8s.io", kind, Some("default"), name).unwrap();
    let bytes = |object: Value| move |_: Revision| serde_json::to_vec(&object).unwrap().into();
    let set = |replicas: i64| {
        let metadata = json!({"name": "s", "namespace": "default"});
        bytes(json!({"kind": "MachineSet", "metadata": metadata, "spec": {"replicas": replicas}}))
    };
    let machine = |name: &str| {
        let metadata =
            json!({"name": name, "namespace": "default", "labels": {"cluster.x-k8s.io/set-name": "s"}});
        Operation::create(key("machines", name), bytes(json!({"kind": "Machine", "metadata": metadata})))
    };
    let first = vec![Operation::create(key("machinesets", "s"), set(1)), machine("a")];
    let mut revision = store.commit(first).await.unwrap()[0].object.mod_revision;
    let mut watcher = observed.0.begin_life(&store, observed.1).unwrap();
    for replicas in [2, 1] {
        let scaled = Operation::update(key("machinesets", "s"), revision, set(replicas));
        revision = store.commit(vec![scaled]).await.unwrap()[0].object.mod_revision;
        if replicas == 2 {
            store.commit(vec![machine("b")]).await.unwrap();
        }
    }
    observed.0.catch_up(&mut watcher, observed.1).unwrap();
    observed.0.begin_life(&store, observed.1).unwrap();
    assert_eq!(observed.violations(), Vec::<String>::new());
}
