//! What the workload cluster needs before a Node of the present spec joins.

use kubeadm::controlplane::addons::{BINDINGS, Change};
use kubeadm::controlplane::plan::Plan;

use super::*;

/// A control plane of v1.36.0 that is still v1.35.0, in the workload cluster as well.
fn outdated() -> Fixture {
    let mut fixture = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.35.0", 30)]);
    fixture.view().addons.kubeadm_config = Some(kubeadm_config("v1.35.0"));
    fixture.view().addons.missing_bindings = BINDINGS.to_vec();
    fixture
}

fn planned(fixture: &Fixture) -> Plan {
    plan(&fixture.observed, now())
}

#[test]
fn bindings_and_configuration_come_before_the_machine() {
    let steps = outdated().steps();
    let [Step::ChangeAddon(first), Step::ChangeAddon(second), Step::ChangeAddon(third), create] = &steps[..]
    else {
        panic!("{steps:?}")
    };
    assert_eq!(*first, Change::ClusterRoleBinding(BINDINGS[0]));
    assert_eq!(*second, Change::ClusterRoleBinding(BINDINGS[1]));
    let Change::KubeadmConfig { text, version } = third else { panic!("{third:?}") };
    assert!(text.contains("kubernetesVersion: v1.36.0"), "{text}");
    assert_eq!(version, "7", "of what was read, so that nothing that came after is overwritten");
    assert_eq!(*create, Step::CreateMachine(Entry::Join, None));
}

#[test]
fn what_is_there_is_not_written_again() {
    let mut fixture = outdated();
    fixture.view().addons.kubeadm_config = Some(kubeadm_config("v1.36.0"));
    fixture.view().addons.missing_bindings = vec![BINDINGS[1]];
    let bind = Step::ChangeAddon(Change::ClusterRoleBinding(BINDINGS[1]));
    assert_eq!(fixture.steps(), [bind, Step::CreateMachine(Entry::Join, None)]);
    fixture.view().addons.missing_bindings.clear();
    assert_eq!(fixture.steps(), [Step::CreateMachine(Entry::Join, None)]);
}

#[test]
fn a_machine_that_only_adds_to_the_others_needs_no_preparation() {
    let mut fixture = Fixture::new(3, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    fixture.view().addons.kubeadm_config = None;
    assert_eq!(fixture.steps(), [Step::CreateMachine(Entry::Join, None)]);
}

#[test]
fn without_a_configuration_no_machine_is_replaced_and_the_reason_is_told() {
    let map =
        |data: Value| Some(Arc::new(from(json!({"metadata": {"name": "kubeadm-config"}, "data": data}))));
    let rows = [
        (None, "ConfigMap kubeadm-config does not exist in the workload cluster: kubeadm can't join nodes"),
        (map(json!({})), "ConfigMap kubeadm-config has no key ClusterConfiguration"),
        (map(json!({"ClusterConfiguration": "- a"})), "ClusterConfiguration can't be read"),
    ];
    for (config, message) in rows {
        let mut fixture = outdated();
        fixture.view().addons.kubeadm_config = config;
        assert_eq!(fixture.steps(), [], "{message}");
        let errors = planned(&fixture).errors;
        assert!(errors.len() == 1 && errors[0].contains(message), "{errors:?}");
    }
}
