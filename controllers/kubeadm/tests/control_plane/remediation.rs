//! Table tests of the remediation of unhealthy Machines.

use super::*;

const CANNOT: &str = "CannotBeRemediated";
const DEFERRED: &str = "RemediationDeferred";
const IN_PROGRESS: &str = "controlplane.cluster.x-k8s.io/remediation-in-progress";
const FOR: &str = "controlplane.cluster.x-k8s.io/remediation-for";

/// Marks a Machine as a MachineHealthCheck does.
fn mark(fixture: &mut Fixture, index: usize) {
    fixture.change(index, |machine| {
        let conditions =
            [("HealthCheckSucceeded", "UnhealthyNode"), ("OwnerRemediated", "WaitingForRemediation")];
        for (type_, reason) in conditions {
            engine::conditions::set(machine, now(), engine::conditions::new(type_, "False", reason, ""));
        }
    });
}

/// Kills the etcd member of a Machine: it does not answer.
fn kill(fixture: &mut Fixture, index: usize) {
    let id = fixture.etcd().members[index].id;
    fixture.etcd().silent.insert(id);
}

fn annotate(fixture: &mut Fixture, index: usize, key: &str, value: &str) {
    fixture.change(index, |machine| {
        let annotations = machine.metadata.annotations.get_or_insert_default();
        annotations.insert(key.to_owned(), value.to_owned());
    });
}

fn machines(count: usize) -> Vec<Machine> {
    let ages = (0..count).map(|index| i64::try_from(index).unwrap());
    ages.map(|index| machine(&format!("m{index}"), "v1.36.0", 60 - index)).collect()
}

fn fixture(count: usize) -> Fixture {
    let mut fixture = Fixture::new(i32::try_from(count).unwrap(), "v1.36.0", machines(count));
    // The leader is a Machine that no test marks.
    fixture.etcd().leader = u64::try_from(count).unwrap();
    fixture
}

fn in_progress(fixture: &Fixture) -> Option<Value> {
    let control_plane = plan(&fixture.observed, now()).control_plane;
    let annotations = control_plane.metadata.annotations.unwrap_or_default();
    annotations.get(IN_PROGRESS).map(|text| serde_json::from_str(text).unwrap())
}

/// Carries out the first of the two plans of a remediation, which only records it.
fn record(fixture: &mut Fixture) {
    let plan = plan(&fixture.observed, now());
    assert!(plan.remediates.is_none());
    fixture.observed.control_plane = Arc::new(plan.control_plane);
}

/// Returns the steps of a remediation after it was recorded, and the reason of `OwnerRemediated` of each Machine.
fn remediate(fixture: &mut Fixture) -> (Vec<Step>, Vec<Option<String>>) {
    record(fixture);
    let plan = plan(&fixture.observed, now());
    let reason = |machine: &Machine| machine.condition("OwnerRemediated").map(|found| found.reason.clone());
    (fixture.steps(), plan.machines.iter().map(reason).collect())
}

/// Returns reason and message of a Machine's `OwnerRemediated`.
fn remediated(fixture: &Fixture, index: usize) -> (String, String) {
    let machine = plan(&fixture.observed, now()).machines[index].clone();
    let found = machine.condition("OwnerRemediated").unwrap();
    (found.reason.clone(), found.message.clone())
}

#[test]
fn a_remediation_is_recorded_before_its_machine_is_deleted() {
    let mut fixture = fixture(3);
    mark(&mut fixture, 1);
    assert_eq!(fixture.steps(), []);
    let expected = json!({"machine": "m1", "timestamp": "2026-11-21T03:00:00Z", "retryCount": 0});
    assert_eq!(in_progress(&fixture), Some(expected.clone()));
    let (steps, reasons) = remediate(&mut fixture);
    assert_eq!(steps, [Step::DeleteMachine("m1".to_owned())]);
    assert_eq!(reasons, [None, Some("MachineDeleting".to_owned()), None]);
    assert_eq!(in_progress(&fixture), Some(expected));
    assert_eq!(fixture.condition("Remediating").0, "True");
    let status = plan(&fixture.observed, now()).control_plane.status.unwrap().last_remediation.unwrap();
    assert_eq!((status.machine.as_str(), status.retry_count), ("m1", 0));
    assert_eq!(status.time, "2026-11-21T03:00:00Z");
}

/// Each row: the number of Machines, the Machines whose members are dead, and the steps for the first of them, which is marked.
#[test]
fn a_machine_is_replaced_only_if_the_members_of_the_others_are_a_quorum() {
    let rows: [(usize, &[usize], bool); 8] = [
        (1, &[0], false),
        (3, &[], true),
        (3, &[0], true),
        (3, &[0, 1], false),
        (5, &[0], true),
        (5, &[0, 1], true),
        (5, &[0, 1, 2], false),
        (5, &[1, 2], false),
    ];
    for (count, dead, goes) in rows {
        let mut fixture = fixture(count);
        mark(&mut fixture, 0);
        dead.iter().for_each(|index| kill(&mut fixture, *index));
        let (steps, reasons) = remediate(&mut fixture);
        let expected = if goes { vec![Step::DeleteMachine("m0".to_owned())] } else { Vec::new() };
        assert_eq!(
            steps.iter().filter(|step| matches!(step, Step::DeleteMachine(_))).count(),
            expected.len()
        );
        assert!(!goes || steps == expected, "{count} {dead:?}: {steps:?}");
        let reason = if goes { "MachineDeleting" } else { CANNOT };
        assert_eq!(reasons[0].as_deref(), Some(reason), "{count} {dead:?}");
        assert_eq!(in_progress(&fixture).is_some(), goes, "{count} {dead:?}");
    }
}

/// Each row: what is wrong besides a marked Machine, and reason and message of its condition.
#[test]
fn what_a_remediation_waits_for() {
    type Change = fn(&mut Fixture);
    let provisioning = "KubeadmControlPlane waiting for control plane Machine provisioning to complete before triggering remediation";
    let deletion = "KubeadmControlPlane waiting for control plane Machine deletion to complete before triggering remediation";
    let safety = "KubeadmControlPlane can't remediate this Machine because this could result in loosing Kubernetes control plane components \
                  or in etcd quorum loss";
    let rows: [(&str, Change, &str, &str); 6] = [
        (
            "provisioning",
            |fixture| _ = fixture.change(1, |machine| machine.status.as_mut().unwrap().node_ref = None),
            DEFERRED,
            provisioning,
        ),
        (
            "deletion",
            |fixture| {
                fixture.change(1, |machine| {
                    machine.metadata.deletion_timestamp = Some(engine::time::time(now()))
                });
            },
            DEFERRED,
            deletion,
        ),
        (
            "etcd",
            |fixture| fixture.view().etcd = Some(Err("down".to_owned())),
            DEFERRED,
            "KubeadmControlPlane waiting for etcd to report the list of members before triggering remediation",
        ),
        ("learner", |fixture| fixture.etcd().members[2].is_learner = true, CANNOT, safety),
        (
            "components",
            |fixture| fixture.view().pods.retain(|name, _| !name.starts_with("kube-scheduler")),
            CANNOT,
            safety,
        ),
        (
            "topology",
            |fixture| {
                let topology = json!({"version": "v1.37.0", "classRef": {"name": "c"}});
                Arc::make_mut(&mut fixture.observed.cluster).spec.topology = Some(from(topology));
            },
            DEFERRED,
            "KubeadmControlPlane can't remediate while waiting for a version upgrade to v1.37.0 to be propagated from Cluster.spec.topology",
        ),
    ];
    for (name, change, reason, message) in rows {
        let mut fixture = fixture(3);
        mark(&mut fixture, 0);
        change(&mut fixture);
        assert_eq!(remediated(&fixture, 0), (reason.to_owned(), message.to_owned()), "{name}");
        assert_eq!(in_progress(&fixture), None, "{name}");
        assert_eq!(
            fixture.condition("Remediating"),
            condition("True", "Remediating", &format!("* Machine m0: {message}"))
        );
    }
    let mut one = fixture(1);
    mark(&mut one, 0);
    let message = "KubeadmControlPlane can't remediate if current replicas are less or equal to 1";
    assert_eq!(remediated(&one, 0), (CANNOT.to_owned(), message.to_owned()));
}

#[test]
fn what_became_unsafe_after_it_was_recorded_is_not_done() {
    let mut fixture = fixture(3);
    mark(&mut fixture, 0);
    record(&mut fixture);
    kill(&mut fixture, 1);
    assert!(!fixture.steps().contains(&Step::DeleteMachine("m0".to_owned())));
    assert_eq!(remediated(&fixture, 0).0, CANNOT);
    assert_eq!(in_progress(&fixture), None);
}

#[test]
fn the_leader_moves_first() {
    let mut fixture = fixture(3);
    mark(&mut fixture, 0);
    fixture.etcd().leader = 1;
    let youngest = Step::MoveLeader { from: "m0".to_owned(), to: 3 };
    let delete = Step::DeleteMachine("m0".to_owned());
    assert_eq!(remediate(&mut fixture).0, [youngest, delete.clone()]);
    unreachable_node(&mut fixture, "m0");
    assert_eq!(fixture.steps(), [delete], "the request would go through its kubelet");
}

#[test]
fn the_most_broken_machine_goes_first() {
    type Change = fn(&mut Fixture);
    let rows: [(&str, Change, &str); 7] = [
        ("the oldest", |_| {}, "m0"),
        ("its scheduler", |fixture| drop(fixture.view().pods.remove("kube-scheduler-m1")), "m1"),
        (
            "its API server before a scheduler",
            |fixture| {
                fixture.view().pods.remove("kube-scheduler-m1");
                fixture.view().pods.remove("kube-apiserver-m2");
            },
            "m2",
        ),
        (
            "etcd before an API server",
            |fixture| {
                fixture.view().pods.remove("kube-apiserver-m1");
                kill(fixture, 2);
            },
            "m2",
        ),
        (
            "the label of its Node",
            |fixture| Arc::make_mut(fixture.view().nodes.get_mut("m1").unwrap()).metadata.labels = None,
            "m1",
        ),
        (
            "no Node before all others",
            |fixture| {
                kill(fixture, 1);
                fixture.change(2, |machine| machine.status.as_mut().unwrap().node_ref = None);
            },
            "m2",
        ),
        (
            "what somebody wants",
            |fixture| {
                annotate(fixture, 1, "cluster.x-k8s.io/remediate-machine", "");
                fixture.change(2, |machine| machine.status.as_mut().unwrap().node_ref = None);
            },
            "m1",
        ),
    ];
    for (name, change, expected) in rows {
        let mut fixture = fixture(5);
        (0..3).for_each(|index| mark(&mut fixture, index));
        change(&mut fixture);
        let record = in_progress(&fixture).unwrap_or_default();
        assert_eq!(record["machine"], expected, "{name}");
    }
}

/// Each row: seconds since the last remediation, its number of retries, the limits, and the number of the next try or the reason why there
/// is none, with the time until it may change.
#[test]
fn tries_are_limited() {
    let none = json!({});
    let period = json!({"retryPeriodSeconds": 600});
    let most = json!({"maxRetry": 2});
    let short = json!({"maxRetry": 2, "minHealthyPeriodSeconds": 60});
    let rows = [
        (30, 0, &none, Ok(1)),
        (3599, 7, &none, Ok(8)),
        (3600, 7, &none, Ok(0)),
        (599, 0, &period, Err((DEFERRED, 1))),
        (600, 0, &period, Ok(1)),
        (30, 1, &most, Ok(2)),
        (30, 2, &most, Err((CANNOT, 3570))),
        (59, 2, &short, Err((CANNOT, 1))),
        (60, 2, &short, Ok(0)),
    ];
    for (ago, count, limits, expected) in rows {
        let mut fixture = fixture(3);
        mark(&mut fixture, 0);
        let time = machinery::clock::rfc3339(now() - Duration::seconds(ago));
        let last = json!({"machine": "old", "timestamp": time, "retryCount": count}).to_string();
        annotate(&mut fixture, 0, FOR, &last);
        Arc::make_mut(&mut fixture.observed.control_plane).spec.remediation = Some(from(limits.clone()));
        let name = format!("{ago} {count} {limits}");
        match expected {
            Ok(next) => assert_eq!(in_progress(&fixture).unwrap()["retryCount"], next, "{name}"),
            Err((reason, seconds)) => {
                assert_eq!(remediated(&fixture, 0).0, reason, "{name}");
                assert_eq!(in_progress(&fixture), None, "{name}");
                let wait = plan(&fixture.observed, now()).requeue.unwrap();
                assert_eq!(wait.as_secs(), seconds, "{name}");
            }
        }
        let status = plan(&fixture.observed, now()).control_plane.status.unwrap();
        assert!(status.last_remediation.is_some(), "{name}");
    }
    let mut fixture = fixture(3);
    mark(&mut fixture, 0);
    annotate(&mut fixture, 0, FOR, "?");
    assert_eq!(remediated(&fixture, 0).0, "InternalError");
}

#[test]
fn a_control_plane_that_is_not_initialised_has_nothing_to_lose() {
    let mut fixture = Fixture::new(3, "v1.36.0", machines(1));
    mark(&mut fixture, 0);
    fixture.observed.workload = None;
    Arc::make_mut(&mut fixture.observed.control_plane).status = None;
    let replaces_all =
        |fixture: &Fixture| kubeadm::controlplane::remediation::candidates::replaces_all(&fixture.observed);
    assert!(replaces_all(&fixture), "and is not initialised by a Machine that goes");
    assert_eq!(remediate(&mut fixture).0, [Step::DeleteMachine("m0".to_owned())]);
    fixture.deleting(0);
    assert!(replaces_all(&fixture));
    assert_eq!(fixture.steps(), [Step::RemoveHook("m0".to_owned())]);
    fixture.observed.machines.clear();
    assert_eq!(fixture.steps(), [Step::CreateMachine(Entry::Init, None)]);
    assert!(kubeadm::controlplane::record::carried(&fixture.observed).is_some(), "it continues the try");
    assert!(!replaces_all(&Fixture::new(1, "v1.36.0", machines(1))));
}

#[test]
fn a_machine_that_became_healthy_is_left_alone() {
    let mut fixture = fixture(3);
    mark(&mut fixture, 0);
    record(&mut fixture);
    fixture.change(0, |machine| {
        let condition = engine::conditions::is_true("HealthCheckSucceeded", "HealthCheckSucceeded");
        engine::conditions::set(machine, now(), condition);
    });
    let plan = plan(&fixture.observed, now());
    assert!(plan.machines[0].condition("OwnerRemediated").is_none());
    assert_eq!(in_progress(&fixture), None);
    assert_eq!(fixture.condition("Remediating"), condition("False", "NotRemediating", ""));
    assert_eq!(fixture.steps(), []);
}

#[test]
fn a_replacement_carries_the_record_and_ends_the_remediation() {
    let mut fixture = fixture(3);
    mark(&mut fixture, 0);
    mark(&mut fixture, 1);
    record(&mut fixture);
    fixture.observed.machines.remove(0);
    fixture.etcd().members.remove(0);
    assert_eq!(remediated(&fixture, 0).0, DEFERRED, "one after the other");
    assert!(in_progress(&fixture).is_some());
    assert_eq!(fixture.steps(), [Step::CreateMachine(Entry::Join, None)]);
    let record = kubeadm::controlplane::record::carried(&fixture.observed).unwrap();
    let new = kubeadm::controlplane::desired::machine(
        &fixture.observed.control_plane,
        "c",
        "new",
        None,
        true,
        Some(record.clone()),
    );
    assert_eq!(new.metadata.annotations.unwrap()[FOR], record);

    fixture.add("new");
    annotate(&mut fixture, 2, FOR, &record);
    let others = |fixture: &Fixture| in_progress(fixture).map(|record| record["machine"].clone());
    assert_eq!(others(&fixture), Some(json!("m1")), "then the next one");
    assert_eq!(kubeadm::controlplane::record::carried(&fixture.observed), None, "and that is no retry");
}

#[test]
fn a_control_plane_that_becomes_smaller_replaces_nothing() {
    let mut fixture = fixture(3);
    mark(&mut fixture, 0);
    record(&mut fixture);
    fixture.observed.machines.remove(0);
    fixture.etcd().members.remove(0);
    Arc::make_mut(&mut fixture.observed.control_plane).spec.replicas = Some(1);
    assert_eq!(in_progress(&fixture), None);
}

/// Each row: what is wrong with the others after one of five was deleted, and whether the next one is made.
#[test]
fn a_replacement_is_made_although_others_are_unhealthy() {
    type Change = fn(&mut Fixture);
    let rows: [(&str, Change, bool); 5] = [
        ("nothing", |_| {}, true),
        ("one member is dead", |fixture| kill(fixture, 0), true),
        ("two are", |fixture| (0..2).for_each(|index| kill(fixture, index)), false),
        ("a scheduler is gone", |fixture| drop(fixture.view().pods.remove("kube-scheduler-m1")), true),
        (
            "all are",
            |fixture| fixture.view().pods.retain(|name, _| !name.starts_with("kube-scheduler")),
            false,
        ),
    ];
    for (name, change, is_made) in rows {
        let mut fixture = fixture(5);
        mark(&mut fixture, 4);
        record(&mut fixture);
        fixture.observed.machines.remove(4);
        fixture.etcd().members.remove(4);
        fixture.etcd().leader = 4;
        change(&mut fixture);
        let create = Step::CreateMachine(Entry::Join, None);
        assert_eq!(fixture.steps().contains(&create), is_made, "{name}: {:?}", fixture.event());
        Arc::make_mut(&mut fixture.observed.control_plane).metadata.annotations = None;
        assert_eq!(fixture.steps().contains(&create), name == "nothing", "{name}, without a remediation");
    }
}
