//! KubeadmConfigs that are compared with that of a new Machine.

use super::*;

/// Returns whether a Machine with the KubeadmConfig `present` is outdated in a control plane with `wanted`.
fn is_outdated(wanted: Value, present: &Value) -> bool {
    let mut fixture = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    Arc::make_mut(&mut fixture.observed.control_plane).spec.kubeadm_config_spec = Some(from(wanted));
    config(&mut fixture, present.clone());
    fixture.condition("RollingOut").0 == "True"
}

/// Arguments of the kubelet.
fn kubelet(value: &str) -> Value {
    json!({"nodeRegistration": {"kubeletExtraArgs": [{"name": "cloud-provider", "value": value}]}})
}

#[test]
fn a_joined_machine_that_does_not_say_so_is_left_alone() {
    let wanted =
        || json!({"initConfiguration": kubelet("external"), "joinConfiguration": kubelet("external")});
    let joined = json!({"joinConfiguration": kubelet("external")});
    assert!(!is_outdated(wanted(), &joined), "controlPlane was never written");
    let other = json!({"joinConfiguration": kubelet("none")});
    assert!(is_outdated(wanted(), &other), "other differences count");
    let mut both = joined;
    both["joinConfiguration"]["controlPlane"] = json!({});
    assert!(!is_outdated(wanted(), &both));
}

#[test]
fn the_machine_that_initialised_is_compared_as_one_that_joins_and_as_it_was() {
    let first = json!({"initConfiguration": kubelet("external")});
    // Columns: what the control plane says of init and of join, whether the first Machine is outdated.
    for (init, join, expected) in [
        (kubelet("external"), kubelet("external"), false),
        (kubelet("other"), kubelet("external"), false),
        (kubelet("external"), kubelet("other"), false),
        (kubelet("other"), kubelet("other"), true),
    ] {
        let wanted = json!({"initConfiguration": init, "joinConfiguration": join});
        assert_eq!(is_outdated(wanted.clone(), &first), expected, "{wanted}");
    }
    let mut skips = first.clone();
    skips["initConfiguration"]["skipPhases"] = json!(["addon/kube-proxy"]);
    let wanted =
        json!({"initConfiguration": skips["initConfiguration"], "joinConfiguration": kubelet("external")});
    assert!(!is_outdated(wanted, &skips), "as it was");
    let mut path = kubelet("external");
    path["caCertPath"] = json!("/ca.crt");
    let wanted = json!({"initConfiguration": kubelet("old"), "joinConfiguration": path});
    assert!(!is_outdated(wanted, &first), "only who joins can have it");
}
