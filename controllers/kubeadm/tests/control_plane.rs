//! Table tests of the rules of a KubeadmControlPlane.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests")]

mod adoption;
mod certificates;
mod in_place;
mod older;
mod outdated;
mod record;
mod remediation;
mod removal;
mod upgrade;
mod wake;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Duration, TimeZone, Utc};
use engine::clusters::Health;
use engine::etcd::{AlarmMember, Member};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kubeadm::certificates::Purpose;
use kubeadm::controlplane::addons::{Addons, kubeadm_config};
use kubeadm::controlplane::desired::Entry;
use kubeadm::controlplane::observed::{ControlPlaneMachine, Kubeconfig, Observed, Template, View};
use kubeadm::controlplane::plan::{Step, plan};
use kubeadm::etcd::Etcd;
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::{Cluster, Machine};
use schemas::controlplane::KubeadmControlPlane;
use schemas::version::Version;
use serde_json::{Value, json};

fn now() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 11, 21, 3, 0, 0).unwrap()
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn cluster() -> Cluster {
    from(json!({
        "metadata": {"name": "c", "namespace": "ns", "uid": "cluster"},
        "spec": {"controlPlaneEndpoint": {"host": "h", "port": 6443}},
        "status": {"initialization": {"infrastructureProvisioned": true}},
    }))
}

fn control_plane(replicas: i32, version: &str) -> KubeadmControlPlane {
    from(json!({
        "metadata": {"name": "cp", "namespace": "ns", "uid": "cp", "generation": 1,
            "finalizers": ["kubeadm.controlplane.cluster.x-k8s.io"]},
        "spec": {
            "replicas": replicas, "version": version,
            "machineTemplate": {"spec": {"infrastructureRef": {"apiGroup": "infra", "kind": "DevMachineTemplate", "name": "t"}}},
            "kubeadmConfigSpec": {"clusterConfiguration": {}},
        },
        "status": {"initialization": {"controlPlaneInitialized": true}},
    }))
}

/// Returns a healthy Machine; [`Fixture::new`] adds its Node, Pods and etcd member to the view.
fn machine(name: &str, version: &str, age_minutes: i64) -> Machine {
    let created = (now() - Duration::minutes(age_minutes)).to_rfc3339();
    from(json!({
        "metadata": {
            "name": name, "namespace": "ns", "uid": name, "creationTimestamp": created,
            "annotations": {"pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup": ""},
        },
        "spec": {
            "clusterName": "c", "version": version, "providerID": format!("in-memory://{name}"), "bootstrap": {},
            "infrastructureRef": {"apiGroup": "infra", "kind": "DevMachine", "name": name},
        },
        "status": {"nodeRef": {"name": name}},
    }))
}

/// Returns kubeadm's configuration in the workload cluster, up to date for `version`.
fn kubeadm_config(version: &str) -> Arc<ConfigMap> {
    let version = Version::parse(version).unwrap();
    let config = kubeadm_config::updated_configuration("", &Default::default(), &version).unwrap().unwrap();
    Arc::new(from(json!({"metadata": {"name": "kubeadm-config", "resourceVersion": "7"},
        "data": {"ClusterConfiguration": config.to_string()}})))
}

struct Fixture {
    observed: Observed,
}

impl Fixture {
    fn new(replicas: i32, version: &str, machines: Vec<Machine>) -> Self {
        let control_plane = control_plane(replicas, version);
        let config = |machine: &Machine| {
            let old = machine.spec.version.clone().unwrap();
            let spec = kubeadm::controlplane::desired::kubeadm_config(
                &self::control_plane(replicas, &old),
                Entry::Join,
            );
            Some(Arc::new(KubeadmConfig { spec, ..KubeadmConfig::default() }))
        };
        let members: Vec<Member> = machines
            .iter()
            .enumerate()
            .map(|(index, machine)| Member {
                id: index as u64 + 1,
                name: machine.metadata.name.clone().unwrap(),
                ..Member::default()
            })
            .collect();
        let mut view = View {
            initialized: true,
            addons: Addons { kubeadm_config: Some(kubeadm_config(version)), ..Addons::default() },
            etcd: Some(Ok(Etcd { members, leader: 1, ..Etcd::default() })),
            ..View::default()
        };
        for machine in &machines {
            add_node(&mut view, machine.metadata.name.as_deref().unwrap());
        }
        let machines = machines
            .into_iter()
            .map(|machine| ControlPlaneMachine {
                config: config(&machine),
                cloned_from: Some(("t".into(), "DevMachineTemplate.infra".into())),
                machine: Arc::new(machine),
            })
            .collect();
        let purposes = [
            Purpose::ClusterAuthority,
            Purpose::ServiceAccount,
            Purpose::FrontProxyAuthority,
            Purpose::EtcdAuthority,
        ];
        let observed = Observed {
            control_plane: Arc::new(control_plane),
            cluster: Arc::new(cluster()),
            machines,
            orphans: Vec::new(),
            foreign: Vec::new(),
            leftovers: Vec::new(),
            workers: Vec::new(),
            secrets: purposes.into_iter().map(|purpose| (purpose, true)).collect::<BTreeMap<_, _>>(),
            keyless: BTreeSet::new(),
            unusable: Vec::new(),
            valid_from: None,
            kubeconfig: Kubeconfig::Ours(now() + Duration::days(365)),
            template: Template::Owned,
            health: Health { connected: true, last_success: Some(now()), failures: 0 },
            workload: Some(view),
            updates_in_place: false,
            decisions: BTreeMap::new(),
        };
        Self { observed }
    }

    fn view(&mut self) -> &mut View {
        self.observed.workload.as_mut().unwrap()
    }

    fn etcd(&mut self) -> &mut Etcd {
        self.view().etcd.as_mut().unwrap().as_mut().unwrap()
    }

    fn change(&mut self, index: usize, change: impl FnOnce(&mut Machine)) -> &mut Self {
        change(Arc::make_mut(&mut self.observed.machines[index].machine));
        self
    }

    /// Marks a Machine as deleted and waiting for the control plane's hook.
    fn deleting(&mut self, index: usize) -> &mut Self {
        self.change(index, |machine| {
            machine.metadata.deletion_timestamp = Some(engine::time::time(now()));
            engine::conditions::set(
                machine,
                now(),
                engine::conditions::new("Deleting", "True", "WaitingForPreTerminateHook", ""),
            );
        })
    }

    /// Like [`Self::deleting`], a minute later.
    fn deleting_later(&mut self, index: usize) -> &mut Self {
        self.deleting(index).change(index, |machine| {
            machine.metadata.deletion_timestamp = Some(engine::time::time(now() + Duration::minutes(1)));
        })
    }

    /// Adds a healthy Machine that is younger than the others.
    fn add(&mut self, name: &str) {
        let first = self.observed.machines[0].clone();
        let machine = Arc::new(machine(name, first.machine.spec.version.as_deref().unwrap(), 1));
        self.observed.machines.push(ControlPlaneMachine { machine, ..first });
        add_node(self.view(), name);
        let id = self.etcd().members.len() as u64 + 1;
        self.etcd().members.push(Member { id, name: name.to_owned(), ..Member::default() });
    }

    /// Returns the planned steps without those that every reconcile has.
    fn steps(&self) -> Vec<Step> {
        let all = plan(&self.observed, now()).steps;
        all.into_iter()
            .filter(|step| !matches!(step, Step::SyncMachines | Step::ReadCertificateExpiry(_)))
            .collect()
    }

    fn condition(&self, type_: &str) -> (String, String, String) {
        let plan = plan(&self.observed, now());
        let found = plan.control_plane.condition(type_).unwrap().clone();
        (found.status, found.reason, found.message)
    }

    /// Returns the message of the planned event.
    fn event(&self) -> Option<String> {
        plan(&self.observed, now()).event.map(|event| event.message)
    }
}

fn add_node(view: &mut View, name: &str) {
    let node: Node = from(json!({
        "metadata": {"name": name, "labels": {"node-role.kubernetes.io/control-plane": ""}, "creationTimestamp": "2026-11-21T02:00:00Z"},
        "spec": {"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }));
    view.nodes.insert(name.to_owned(), Arc::new(node));
    for component in ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"] {
        let pod: Pod = from(json!({
            "metadata": {"name": format!("{component}-{name}"), "namespace": "kube-system"},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
        }));
        view.pods.insert(format!("{component}-{name}"), Arc::new(pod));
    }
}

fn unreachable_node(fixture: &mut Fixture, name: &str) {
    let node = Arc::make_mut(fixture.view().nodes.get_mut(name).unwrap());
    node.status.as_mut().unwrap().conditions.as_mut().unwrap()[0].status = "Unknown".to_owned();
}

fn three(version: &str) -> Vec<Machine> {
    vec![machine("a", version, 30), machine("b", version, 20), machine("c", version, 10)]
}

fn condition(status: &str, reason: &str, message: &str) -> (String, String, String) {
    (status.to_owned(), reason.to_owned(), message.to_owned())
}

#[test]
fn nothing_before_the_infrastructure_then_certificates_then_the_kubeconfig() {
    let mut fixture = Fixture::new(1, "v1.36.0", Vec::new());
    fixture.observed.workload = None;
    fixture.observed.secrets.clear();
    fixture.observed.kubeconfig = Kubeconfig::Missing;
    Arc::make_mut(&mut fixture.observed.control_plane).status = None;
    Arc::make_mut(&mut fixture.observed.cluster).status = None;
    assert_eq!(fixture.steps(), []);
    assert_eq!(
        fixture.condition("Available"),
        condition("False", "NotAvailable", "Control plane not yet initialized")
    );
    assert_eq!(
        fixture.condition("EtcdClusterHealthy"),
        condition("Unknown", "InspectionFailed", "Waiting for Cluster status.infrastructureReady to be true")
    );
    assert_eq!(
        fixture.condition("ScalingUp"),
        condition("True", "ScalingUp", "Scaling up from 0 to 1 replicas")
    );

    fixture.observed.cluster = Arc::new(cluster());
    let all = vec![
        Purpose::ClusterAuthority,
        Purpose::ServiceAccount,
        Purpose::FrontProxyAuthority,
        Purpose::EtcdAuthority,
    ];
    assert_eq!(fixture.steps(), [Step::MakeCertificates(all.clone())]);

    fixture.observed.secrets = all.into_iter().map(|purpose| (purpose, true)).collect();
    assert_eq!(fixture.steps(), [Step::MakeKubeconfig, Step::CreateMachine(Entry::Init, None)]);

    Arc::make_mut(&mut fixture.observed.cluster).spec.control_plane_endpoint = None;
    assert_eq!(fixture.steps(), []);
}

#[test]
fn lost_certificates_are_not_made_again_and_hold_up_new_machines_only() {
    let lose = |fixture: &mut Fixture| _ = fixture.observed.secrets.remove(&Purpose::ServiceAccount);
    let mut fixture = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    lose(&mut fixture);
    assert_eq!(fixture.steps(), []);
    let expected = condition("False", "NotAvailable", "Missing Secrets: c-sa");
    assert_eq!(fixture.condition("CertificatesAvailable"), expected);
    Arc::make_mut(&mut fixture.observed.control_plane).spec.replicas = Some(3);
    assert_eq!(fixture.steps(), []);
    let waits = fixture.condition("ScalingUp").2;
    assert!(waits.ends_with("* waiting for control plane certificates to become available"), "{waits}");

    let mut fixture = Fixture::new(1, "v1.36.0", three("v1.36.0"));
    lose(&mut fixture);
    fixture.etcd().leader = 3;
    assert_eq!(fixture.steps(), [Step::DeleteMachine("a".to_owned())], "scaling down goes on");
    fixture.deleting(0);
    assert_eq!(fixture.steps(), [Step::RemoveMember(1), Step::RemoveHook("a".to_owned())]);
    fixture.observed.kubeconfig = Kubeconfig::Missing;
    fixture.observed.secrets.remove(&Purpose::ClusterAuthority);
    assert!(!fixture.steps().contains(&Step::MakeKubeconfig), "nothing signs one");
    fixture.observed.machines.clear();
    assert_eq!(fixture.steps(), [], "nor is a new cluster initialised");
}

#[test]
fn a_settled_control_plane_is_left_alone() {
    let fixture = Fixture::new(3, "v1.36.0", three("v1.36.0"));
    assert_eq!(fixture.steps(), []);
    for type_ in ["Available", "EtcdClusterHealthy", "ControlPlaneComponentsHealthy", "Initialized"] {
        let (status, _, message) = fixture.condition(type_);
        assert_eq!((status.as_str(), message.as_str()), ("True", ""), "{type_}");
    }
    assert_eq!(fixture.condition("RollingOut").0, "False");
    let status = plan(&fixture.observed, now()).control_plane.status.unwrap();
    assert_eq!((status.replicas, status.up_to_date_replicas), (Some(3), Some(3)));
    assert_eq!(status.version.as_deref(), Some("v1.36.0"));
}

#[test]
fn scales_up_by_one_when_all_is_well() {
    let mut fixture = Fixture::new(5, "v1.36.0", three("v1.36.0"));
    assert_eq!(fixture.steps(), [Step::CreateMachine(Entry::Join, None)]);
    fixture.change(2, |machine| machine.status.as_mut().unwrap().node_ref = None);
    assert_eq!(fixture.steps(), []);
    let expected = "Scaling up from 3 to 5 replicas is blocked because:\n* waiting for control plane components to become healthy\n\
                    * waiting for etcd cluster to become healthy";
    assert_eq!(fixture.condition("ScalingUp"), condition("True", "ScalingUp", expected));
    let event = fixture.event().unwrap();
    assert!(
        event.ends_with("Machine c does not have a corresponding Node yet (Machine.status.nodeRef not set)"),
        "{event}"
    );
}

#[test]
fn what_a_stopped_process_left_is_deleted_first() {
    let mut fixture = Fixture::new(1, "v1.36.0", Vec::new());
    fixture.observed.leftovers = vec!["cp-x".to_owned()];
    let steps = [Step::DeleteLeftovers(vec!["cp-x".to_owned()]), Step::CreateMachine(Entry::Init, None)];
    assert_eq!(fixture.steps(), steps);
}

#[test]
fn joins_the_emptiest_failure_domain() {
    let mut fixture = Fixture::new(5, "v1.36.0", three("v1.36.0"));
    for (index, domain) in ["x", "y", "x"].into_iter().enumerate() {
        fixture.change(index, |machine| machine.spec.failure_domain = Some(domain.to_owned()));
    }
    let domains = ["x", "y", "z"].map(|name| json!({"name": name, "controlPlane": name != "z"}));
    let status = json!({"initialization": {"infrastructureProvisioned": true}, "failureDomains": domains});
    Arc::make_mut(&mut fixture.observed.cluster).status = Some(from(status));
    assert_eq!(fixture.steps(), [Step::CreateMachine(Entry::Join, Some("y".to_owned()))]);
    Arc::make_mut(&mut fixture.observed.control_plane).spec.replicas = Some(1);
    let steps = fixture.steps();
    assert_eq!(
        steps.last(),
        Some(&Step::DeleteMachine("a".to_owned())),
        "the oldest of the fullest: {steps:?}"
    );
}

#[test]
fn scaling_down_moves_the_leader_first() {
    let mut fixture = Fixture::new(1, "v1.36.0", three("v1.36.0"));
    let to_youngest = Step::MoveLeader { from: "a".to_owned(), to: 3 };
    assert_eq!(fixture.steps(), [to_youngest, Step::DeleteMachine("a".to_owned())]);
    fixture.etcd().leader = 2;
    assert_eq!(fixture.steps(), [Step::DeleteMachine("a".to_owned())]);
    fixture.change(1, |machine| {
        let annotations = machine.metadata.annotations.get_or_insert_default();
        annotations.insert("cluster.x-k8s.io/delete-machine".to_owned(), String::new());
    });
    let steps = fixture.steps();
    assert_eq!(steps.last(), Some(&Step::DeleteMachine("b".to_owned())), "marked goes first: {steps:?}");
}

#[test]
fn a_rollout_adds_then_removes_the_outdated() {
    let mut machines = three("v1.35.0");
    let fixture = Fixture::new(3, "v1.36.0", machines.clone());
    assert_eq!(fixture.steps(), [Step::CreateMachine(Entry::Join, None)]);
    let expected = "Rolling out 3 not up-to-date replicas\n* Version v1.35.0, v1.36.0 required\n* KubeadmConfig is not up-to-date";
    assert_eq!(fixture.condition("RollingOut"), condition("True", "RollingOut", expected));
    let expected =
        "* Machines a, b, c:\n  * Version v1.35.0, v1.36.0 required\n  * KubeadmConfig is not up-to-date";
    assert_eq!(fixture.condition("MachinesUpToDate"), condition("False", "NotUpToDate", expected));

    machines.push(machine("d", "v1.36.0", 1));
    let fixture = Fixture::new(3, "v1.36.0", machines);
    let steps = fixture.steps();
    assert_eq!(steps.last(), Some(&Step::DeleteMachine("a".to_owned())), "{steps:?}");
    assert!(steps.contains(&Step::MoveLeader { from: "a".to_owned(), to: 4 }), "up-to-date leads: {steps:?}");
}

#[test]
fn a_rollout_without_surge_removes_first() {
    let mut fixture = Fixture::new(3, "v1.36.0", three("v1.35.0"));
    let strategy = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}});
    Arc::make_mut(&mut fixture.observed.control_plane).spec.rollout = Some(from(strategy));
    assert_eq!(fixture.steps().last(), Some(&Step::DeleteMachine("a".to_owned())));
}

#[test]
fn what_makes_a_machine_outdated() {
    type Change = fn(&mut Fixture);
    let cases: [(&str, Change, bool); 7] = [
        ("nothing", |_| {}, false),
        (
            "template",
            |fixture| {
                fixture.observed.machines[0].cloned_from =
                    Some(("old".into(), "DevMachineTemplate.infra".into()))
            },
            true,
        ),
        ("infrastructure is gone", |fixture| fixture.observed.machines[0].cloned_from = None, false),
        ("config is gone", |fixture| fixture.observed.machines[0].config = None, false),
        (
            "discovery",
            |fixture| {
                config(
                    fixture,
                    json!({"joinConfiguration": {"controlPlane": {}, "discovery": {"tlsBootstrapToken": "x"}}, "clusterConfiguration": {"controlPlaneEndpoint": "e"}, "format": "cloud-config"}),
                )
            },
            false,
        ),
        (
            "initialised",
            |fixture| {
                config(
                    fixture,
                    json!({"initConfiguration": {"nodeRegistration": {"imagePullPolicy": "IfNotPresent"}}, "clusterConfiguration": {}}),
                )
            },
            false,
        ),
        (
            "kubelet arguments",
            |fixture| {
                config(
                    fixture,
                    json!({"joinConfiguration": {"controlPlane": {}, "nodeRegistration": {"kubeletExtraArgs": [{"name": "a", "value": "b"}]}}}),
                )
            },
            true,
        ),
    ];
    for (name, change, outdated) in cases {
        let mut fixture = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
        change(&mut fixture);
        assert_eq!(fixture.condition("RollingOut").0 == "True", outdated, "{name}");
    }
}

fn config(fixture: &mut Fixture, spec: Value) {
    fixture.observed.machines[0].config =
        Some(Arc::new(KubeadmConfig { spec: from(spec), ..KubeadmConfig::default() }));
}

#[test]
fn deletion_waits_for_workers_then_deletes_all_at_once() {
    let mut fixture = Fixture::new(3, "v1.36.0", three("v1.36.0"));
    Arc::make_mut(&mut fixture.observed.control_plane).metadata.deletion_timestamp =
        Some(engine::time::time(now()));
    fixture.observed.workers = vec!["Machine w".to_owned()];
    assert_eq!(fixture.steps(), []);
    assert_eq!(fixture.condition("Deleting").1, "WaitingForWorkersDeletion");
    fixture.observed.workers.clear();
    let steps = fixture.steps();
    assert_eq!(steps.iter().filter(|step| matches!(step, Step::DeleteMachine(_))).count(), 3);
    assert_eq!(steps.iter().filter(|step| matches!(step, Step::RemoveHook(_))).count(), 3);
    assert_eq!(
        fixture.condition("Deleting"),
        condition("True", "WaitingForMachineDeletion", "Deleting 3 Machines")
    );
    assert_eq!(fixture.condition("ScalingDown").2, "Scaling down from 3 to 0 replicas");
    fixture.observed.machines.clear();
    assert_eq!(fixture.steps(), []);
    assert_eq!(fixture.condition("Deleting").1, "DeletionCompleted");
    let finalizers = |fixture: &Fixture| plan(&fixture.observed, now()).control_plane.metadata.finalizers;
    assert_eq!(finalizers(&fixture), None, "and the control plane goes");
    fixture.observed.workers = vec!["Machine w".to_owned()];
    assert!(finalizers(&fixture).is_some());
}

#[test]
fn a_short_loss_of_connection_changes_nothing() {
    let mut fixture = Fixture::new(3, "v1.36.0", three("v1.36.0"));
    let before = plan(&fixture.observed, now());
    fixture.observed.control_plane = Arc::new(before.control_plane);
    for (member, machine) in fixture.observed.machines.iter_mut().zip(before.machines) {
        member.machine = Arc::new(machine);
    }
    fixture.observed.workload = None;
    fixture.observed.health =
        Health { connected: false, last_success: Some(now() - Duration::minutes(4)), failures: 3 };
    assert_eq!(fixture.condition("EtcdClusterHealthy").0, "True");
    assert_eq!(fixture.steps(), []);
    fixture.observed.health.last_success = Some(now() - Duration::minutes(6));
    assert_eq!(
        fixture.condition("EtcdClusterHealthy"),
        condition("Unknown", "ConnectionDown", "Last successful probe at 2026-11-21T02:54:00Z")
    );
}

#[test]
fn quorum_decides_on_availability() {
    let mut fixture =
        Fixture::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30), machine("b", "v1.36.0", 20)]);
    fixture.deleting(1);
    let expected = "* 1 of 2 etcd members is healthy, at least 2 healthy member required for etcd quorum";
    assert_eq!(fixture.condition("Available"), condition("False", "NotAvailable", expected));
}

#[test]
fn pods_tell_what_is_wrong() {
    let mut fixture = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    fixture.view().pods.clear();
    let expected = "* Machine a:\n  * Control plane components: Pod does not exist";
    assert_eq!(
        fixture.condition("ControlPlaneComponentsHealthy"),
        condition("False", "NotHealthy", expected)
    );
    let mut fixture = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    let crash = json!({
        "metadata": {"name": "kube-scheduler-a"},
        "status": {"phase": "Running", "containerStatuses": [{
            "name": "kube-scheduler", "image": "", "imageID": "", "ready": false, "restartCount": 3,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1}},
        }]},
    });
    fixture.view().pods.insert("kube-scheduler-a".to_owned(), Arc::new(from(crash)));
    let expected =
        "* Machine a:\n  * SchedulerPodHealthy: Container kube-scheduler is waiting: CrashLoopBackOff";
    assert_eq!(
        fixture.condition("ControlPlaneComponentsHealthy"),
        condition("False", "NotHealthy", expected)
    );
}

#[test]
fn a_failure_is_in_the_condition_of_the_work_that_it_prevents() {
    let failed = |fixture: &Fixture, type_: &str| {
        let error = engine::Error::failed("create Machine default/b: refused");
        let mut control_plane = plan(&fixture.observed, now()).control_plane;
        kubeadm::controlplane::status::report(&mut control_plane, &[&error]);
        control_plane.condition(type_).unwrap().message.clone()
    };
    let fixture = Fixture::new(3, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    let expected = "Scaling up from 1 to 3 replicas is blocked because:\n* create Machine default/b: refused";
    assert_eq!(failed(&fixture, "ScalingUp"), expected);
    assert_eq!(failed(&fixture, "Available"), "");
    let rollout = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.35.0", 30)]);
    assert!(failed(&rollout, "RollingOut").ends_with("\n* create Machine default/b: refused"));
    let settled = Fixture::new(3, "v1.36.0", three("v1.36.0"));
    assert_eq!(failed(&settled, "ScalingUp"), "");
    assert_eq!(failed(&settled, "Available"), "* create Machine default/b: refused", "no other work waits");
}
