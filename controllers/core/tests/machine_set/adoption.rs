//! Owners and labels of MachineSets, their Machines and templates.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use cluster_core::Reference;
use cluster_core::machine_set::plan;
use engine::owners;
use engine::steps::Patch;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::{CLUSTER_NAME, CORE, bootstrap, external, machine, observed, of_deployment, patched, set, with};

#[test]
fn labels_and_owner_of_a_set() {
    let bare = json!({"/metadata/labels": {}, "/spec/selector/matchLabels": {"pool": "a"},
        "/spec/template/metadata/labels": {"pool": "a"}});
    let going = json!({"/metadata/deletionTimestamp": "2026-11-21T00:00:00Z"});
    let lost = json!({"/metadata/labels": {"cluster.x-k8s.io/deployment-name": "md"}, "/metadata/ownerReferences": null});
    // Columns: what, changes of the set, whether the Cluster becomes an owner, whether selector and template get its label.
    let rows = [
        ("alone", json!({}), true, true),
        ("of a MachineDeployment", of_deployment(), false, true),
        ("of a MachineDeployment whose reference was removed", lost, false, true),
        ("in deletion", going, false, false),
    ];
    for (what, changes, is_owned, is_labelled) in rows {
        let plan = plan(&observed(&with(with(set(), bare.clone()), changes), Vec::new()));
        let set = &plan.wanted;
        assert_eq!(set.metadata.labels.as_ref().unwrap()[CLUSTER_NAME], "plain", "{what}");
        assert_eq!(owners::is_owned_by(set, "plain"), is_owned, "{what}");
        let selects = set.spec.selector.match_labels.as_ref().unwrap().contains_key(CLUSTER_NAME);
        let template = set.spec.template.metadata.as_ref().unwrap().labels.contains_key(CLUSTER_NAME);
        assert_eq!((selects, template), (is_labelled, is_labelled), "{what}");
    }
}

#[test]
fn the_cluster_owns_the_templates() {
    let alone = json!({"/metadata/ownerReferences": null});
    let mut observed = observed(&set(), vec![machine("a", json!({}))]);
    assert_eq!(plan(&observed).steps.texts(), ["apply Machine default/a"]);
    observed.bootstrap = bootstrap(alone.clone());
    observed.infrastructure =
        Reference::Found(external("infrastructure.cluster.x-k8s.io", "DevMachineTemplate", alone));
    let plan = plan(&observed);
    let expected = [
        "patch DevMachineTemplate default/t",
        "patch KubeadmConfigTemplate default/t",
        "apply Machine default/a",
    ];
    assert_eq!(plan.steps.texts(), expected);
    let mut changes = plan.steps.of::<Patch<DynamicObject>>();
    assert!(changes.all(|change| owners::is_owned_by(&change.wanted, "plain")));
}

#[test]
fn a_machine_without_a_controller_is_adopted() {
    let cluster: Value = json!([{"apiVersion": CORE, "kind": "Cluster", "name": "plain", "uid": "plain"}]);
    for owners in [json!(null), cluster] {
        let orphan = machine("a", json!({"/metadata/ownerReferences": owners}));
        let plan = plan(&observed(&set(), vec![orphan]));
        assert_eq!(plan.steps.texts(), ["patch Machine default/a"], "the rest follows when it is adopted");
        assert!(owners::is_controlled_by(patched(&plan)[0], "set"));
    }
}
