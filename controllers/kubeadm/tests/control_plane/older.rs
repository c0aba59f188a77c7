//! What clients of v1beta1 read of a control plane.

use schemas::meta::V1Beta1Condition;

use super::*;

/// Type, status, severity, reason and message of each condition.
fn conditions(fixture: &Fixture) -> Vec<String> {
    let status = plan(&fixture.observed, now()).control_plane.status.unwrap();
    let older = status.deprecated.unwrap().v1beta1.unwrap();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let line = |found: &V1Beta1Condition| {
        let parts = [
            &found.type_,
            &found.status,
            &text(&found.severity),
            &text(&found.reason),
            &text(&found.message),
        ];
        parts.map(String::as_str).join(" ").trim_end().to_owned()
    };
    older.conditions.iter().map(line).collect()
}

fn of(fixture: &Fixture, type_: &str) -> String {
    let all = conditions(fixture);
    all.into_iter().find(|line| line.starts_with(&format!("{type_} "))).unwrap_or_default()
}

fn numbers(fixture: &Fixture) -> [Option<i32>; 3] {
    let status = plan(&fixture.observed, now()).control_plane.status.unwrap();
    let older = status.deprecated.unwrap().v1beta1.unwrap();
    [older.ready_replicas, older.unavailable_replicas, older.updated_replicas]
}

fn settled() -> Fixture {
    let mut fixture = Fixture::new(3, "v1.36.0", three("v1.36.0"));
    for index in 0..3 {
        fixture.change(index, |machine| {
            engine::conditions::set(machine, now(), engine::conditions::is_true("Ready", "Ready"));
        });
    }
    fixture
}

/// As recorded from Cluster API 1.14.
#[test]
fn a_healthy_control_plane_is_ready_for_older_clients() {
    let fixture = settled();
    let all = [
        "Ready True",
        "Available True",
        "CertificatesAvailable True",
        "ControlPlaneComponentsHealthy True",
        "EtcdClusterHealthy True",
        "MachinesCreated True",
        "MachinesReady True",
        "Resized True",
    ];
    assert_eq!(conditions(&fixture), all);
    assert_eq!(numbers(&fixture), [3, 0, 3].map(Some));
    let planned = plan(&fixture.observed, now()).control_plane;
    let mut again = settled();
    again.observed.control_plane = Arc::new(planned.clone());
    assert_eq!(plan(&again.observed, now()).control_plane, planned, "at rest nothing changes");
}

#[test]
fn what_is_wrong_is_told_as_it_was() {
    let mut fixture = settled();
    Arc::make_mut(&mut fixture.observed.control_plane).spec.replicas = Some(5);
    let up = "False Warning ScalingUp Scaling up control plane to 5 replicas (actual 3)";
    assert_eq!(
        (of(&fixture, "Resized"), of(&fixture, "Ready")),
        (format!("Resized {up}"), format!("Ready {up}"))
    );

    let mut fixture = settled();
    fixture.view().pods.remove("kube-scheduler-b");
    let unwell = "False Error ControlPlaneComponentsUnhealthy Following Machines are reporting control plane errors: b";
    assert_eq!(
        of(&fixture, "ControlPlaneComponentsHealthy"),
        format!("ControlPlaneComponentsHealthy {unwell}")
    );

    let mut fixture = settled();
    let node = Arc::make_mut(fixture.view().nodes.get_mut("a").unwrap());
    node.status = None;
    assert_eq!(numbers(&fixture), [2, 1, 3].map(Some));

    let outdated = Fixture::new(3, "v1.36.0", three("v1.35.0"));
    let rolling =
        "False Warning RollingUpdateInProgress Rolling 3 replicas with outdated spec (0 replicas up to date)";
    assert_eq!(of(&outdated, "MachinesSpecUpToDate"), format!("MachinesSpecUpToDate {rolling}"));

    let mut fixture = settled();
    fixture.observed.unusable = vec!["Secret c-sa has no text".to_owned()];
    let broken = "CertificatesAvailable False Warning CertificatesGenerationFailed Secret c-sa has no text";
    assert_eq!(of(&fixture, "CertificatesAvailable"), broken);
}

#[test]
fn the_workload_cluster_that_cannot_be_read_changes_no_number() {
    let mut fixture = settled();
    let before = plan(&fixture.observed, now()).control_plane;
    fixture.observed.control_plane = Arc::new(before);
    fixture.observed.workload = None;
    assert_eq!(numbers(&fixture), [3, 0, 3].map(Some));
}
