//! Tests of `firstlight::tree::words`.

use chrono::DateTime;
use firstlight::tree::model::{Entry, State};
use firstlight::tree::words::{Sentence, WAITS_FOR_CONTROL_PLANE, sentences};

fn entry(depth: usize, key: &str, summary: &str, causes: &[&str]) -> Entry {
    Entry {
        depth,
        key: key.to_owned(),
        label: key.replace("default/", ""),
        state: if causes.is_empty() { State::Good } else { State::Waiting },
        summary: summary.to_owned(),
        causes: causes.iter().map(|cause| (*cause).to_owned()).collect(),
        since: None,
        starts: None,
    }
}

#[test]
fn the_cause_comes_first_and_what_follows_from_it_is_left_out() {
    let cases: [(&[&str], &[&str]); 14] = [
        (
            &[
                "InfrastructureReady: VMProvisioned: WaitingForStartupTimeout; NodeProvisioned: WaitingForVMProvisioned",
                "NodeHealthy: Waiting for Cluster control plane to be initialized",
            ],
            &["its machine starts (InfrastructureReady)"],
        ),
        (
            &[
                "InfrastructureReady: EtcdProvisioned: WaitingForStartupTimeout; APIServerProvisioned: WaitingForStartupTimeout",
                "Control plane components: Pod does not exist",
                "EtcdMemberHealthy: Etcd doesn't have an etcd member for Node first-x",
            ],
            &["its etcd starts (InfrastructureReady)", "has no etcd member (EtcdMemberHealthy)"],
        ),
        (
            &[
                "BootstrapConfigReady: DataSecretAvailable: Waiting for Cluster control plane to be initialized; CertificatesAvailable: Condition not yet reported",
                "NodeHealthy: Waiting for Cluster control plane to be initialized",
            ],
            &["waits for the control plane (BootstrapConfigReady)"],
        ),
        (
            &[
                "WorkersAvailable: MachineDeployment first-workers: 0 available replicas, at least 3 required (spec.replicas is 3)",
            ],
            &["first-workers: 0 machines are available, at least 3 are needed (WorkersAvailable)"],
        ),
        (
            &[
                "Scaling up from 2 to 3 replicas is blocked because:",
                "waiting for etcd cluster to become healthy",
                "x",
            ],
            &["scaling up from 2 to 3 machines is held up: waiting for etcd cluster to become healthy; x"],
        ),
        (
            &[
                "KubeadmControlPlane first-control-plane: Scaling up from 2 to 3 replicas is blocked because: waiting for a; waiting for b",
            ],
            &[
                "first-control-plane: scaling up from 2 to 3 machines is held up: waiting for a; waiting for b",
            ],
        ),
        (
            &[
                "RemoteConnectionProbe: Remote connection not established yet; connection refused: nothing listens at 10.0.0.7:6443",
            ],
            &["connection refused: nothing listens at 10.0.0.7:6443 (RemoteConnectionProbe)"],
        ),
        (
            &["InfrastructureReady: DevMachine status.initialization.provisioned is false"],
            &["its DevMachine is not provisioned yet (InfrastructureReady)"],
        ),
        (
            &["RemoteConnectionProbe: Remote connection not established yet"],
            &["its API server is not connected yet (RemoteConnectionProbe)"],
        ),
        (
            &[
                "InfrastructureReady: CGroupsReady: WaitingForContainer; ContainerProvisioned: Waiting for image node:v1; PreLoadedImagesReady: WaitingForCGroups; BootstrapCompleted: WaitingForPreloadedImages",
            ],
            &["waits for image node:v1 (InfrastructureReady)"],
        ),
        (
            &[
                "InfrastructureReady: BootstrapCompleted: Running bootstrap command [ kubeadm init --config /x ] (5 of 7)",
            ],
            &["its bootstrap runs kubeadm init --config /x (5 of 7) (InfrastructureReady)"],
        ),
        (&["Control plane not yet initialized"], &["waits for its first machine"]),
        (&["no quota left: ask somebody"], &["no quota left: ask somebody"]),
        (&["registration error: 401"], &["registration error: 401"]),
    ];
    for (causes, expected) in cases {
        let found = sentences(&[entry(2, "Machine default/first-x", "", causes)], 0, None);
        let found: Vec<String> = found.iter().map(Sentence::text).collect();
        assert_eq!(found, expected, "{causes:?}");
    }
}

#[test]
fn a_cluster_says_how_far_its_control_plane_is() {
    let entries = [
        entry(
            0,
            "Cluster default/first",
            "Provisioned",
            &["ControlPlaneAvailable: Control plane not yet initialized"],
        ),
        entry(1, "DevCluster default/first", "", &[]),
        entry(
            1,
            "KubeadmControlPlane default/cp",
            "1/3 available v1.35.0",
            &["Control plane not yet initialized"],
        ),
        entry(2, "Machine default/cp-a", "Running", &[]),
        entry(
            2,
            "Machine default/cp-b",
            "Running",
            &["EtcdMemberHealthy: Etcd doesn't have an etcd member for Node cp-b"],
        ),
        entry(1, "MachineDeployment default/workers", "", &[]),
        entry(2, "Machine default/workers-c", "", &["x"]),
    ];
    let expected = "waits for the control plane: 1 of 3 machines are ready, cp-b: has no etcd member (ControlPlaneAvailable)";
    assert_eq!(sentences(&entries, 0, None)[0].text(), expected);
    assert_eq!(sentences(&entries[..1], 0, None)[0].text, WAITS_FOR_CONTROL_PLANE);
}

#[test]
fn a_simulated_machine_says_how_far_it_is() {
    let mut machine =
        entry(2, "Machine default/a", "", &["InfrastructureReady: VMProvisioned: WaitingForStartupTimeout"]);
    machine.starts = Some(firstlight::tree::model::Starts { since: DateTime::UNIX_EPOCH, seconds: 10 });
    let at = |seconds| {
        let now = DateTime::UNIX_EPOCH + chrono::Duration::seconds(seconds);
        sentences(std::slice::from_ref(&machine), 0, Some(now)).remove(0).text
    };
    assert_eq!((at(3).as_str(), at(11).as_str()), ("its machine starts: 3 of 10 s", "its machine starts"));
}
