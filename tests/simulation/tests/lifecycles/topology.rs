//! Tests of `simulation::lifecycles::topology`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use simulation::lifecycles::topology::{CLONED_FROM, OWNED};

fn told(object: &Value) -> BTreeMap<String, String> {
    let facts = simulation::lifecycles::facts::facts(object);
    facts.into_iter().map(|(name, fact)| (name, fact.value)).collect()
}

#[test]
fn objects_of_a_topology_say_more() {
    let labels = json!({OWNED: "", "md-label": "one"});
    let spec = json!({"template": {"spec": {"version": "v1.35.0", "minReadySeconds": 1, "deletion": {"nodeDrainTimeoutSeconds": 61},
        "infrastructureRef": {"kind": "DevMachineTemplate", "name": "a"}, "bootstrap": {"configRef": {"kind": "KubeadmConfigTemplate", "name": "b"}}}}});
    let mut object = json!({"kind": "MachineDeployment", "metadata": {"labels": labels}, "spec": spec});
    let expected = [
        ("label md-label", "one"),
        ("minReadySeconds", "1"),
        ("nodeDrainTimeoutSeconds", "61"),
        ("reference DevMachineTemplate", "a"),
        ("reference KubeadmConfigTemplate", "b"),
        ("version", "v1.35.0"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(told(&object), BTreeMap::from(expected));
    object["metadata"]["labels"] = json!({});
    assert!(told(&object).is_empty());
    let template =
        json!({"kind": "DevMachineTemplate", "metadata": {"annotations": {CLONED_FROM: "workers"}}});
    assert_eq!(told(&template)["cloned from"], "workers");
    let status = json!({"workers": {"upgradePlan": [{"version": "v1.35.0"}, {"version": "v1.36.0"}]}});
    let cluster = json!({"kind": "Cluster", "metadata": {"labels": {OWNED: ""}}, "status": status});
    assert_eq!(told(&cluster)["upgradePlan workers"], "v1.35.0 v1.36.0");
}
