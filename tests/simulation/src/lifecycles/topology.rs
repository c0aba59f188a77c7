//! What a recording says about the objects of a Cluster of a class, and about the templates. Pure functions.

use serde_json::Value;

use super::facts::{COMPARED, Facts, add, text};

/// Label of the objects that a topology has made, and of their Machines.
pub const OWNED: &str = "topology.cluster.x-k8s.io/owned";
/// Annotation of a template with the name of the class's template.
pub const CLONED_FROM: &str = "cluster.x-k8s.io/cloned-from-name";
/// The labels that are compared. The users of the recordings set them.
const LABELS: [&str; 3] = ["cp-label", "md-label", "stranger"];
/// The timeouts of Machines that are compared.
const TIMEOUTS: [&str; 3] =
    ["nodeDeletionTimeoutSeconds", "nodeDrainTimeoutSeconds", "nodeVolumeDetachTimeoutSeconds"];

/// Adds the facts that only templates and objects of a topology have.
pub fn add_facts(kind: &str, object: &Value, facts: &mut Facts) {
    let metadata = &object["metadata"];
    if kind.ends_with("Template") {
        if let Some(name) = metadata["annotations"][CLONED_FROM].as_str() {
            add(facts, "cloned from", name);
        }
        return;
    }
    if !COMPARED.contains(&kind) || metadata["labels"][OWNED].is_null() {
        return;
    }
    for label in LABELS {
        if let Some(value) = metadata["labels"][label].as_str() {
            add(facts, &format!("label {label}"), value);
        }
    }
    upgrade_plans(&object["status"], facts);
    machines(kind, &object["spec"], facts);
    let conditions = object["spec"]["checks"]["unhealthyNodeConditions"].as_array();
    for condition in conditions.into_iter().flatten() {
        let name = format!("unhealthy {} {}", text(&condition["type"]), text(&condition["status"]));
        add(facts, &name, text(&condition["timeoutSeconds"]));
    }
}

fn upgrade_plans(status: &Value, facts: &mut Facts) {
    for part in ["controlPlane", "workers"] {
        let steps = status[part]["upgradePlan"].as_array().into_iter().flatten();
        let versions: Vec<String> = steps.map(|step| text(&step["version"])).collect();
        if !versions.is_empty() {
            add(facts, &format!("upgradePlan {part}"), versions.join(" "));
        }
    }
}

/// Adds version, references and timeouts of the Machines of an owner, or of a Machine.
fn machines(kind: &str, spec: &Value, facts: &mut Facts) {
    let machine = match kind {
        "Cluster" | "Machine" => spec,
        "KubeadmControlPlane" => &spec["machineTemplate"]["spec"],
        _ => &spec["template"]["spec"],
    };
    let version = if kind == "KubeadmControlPlane" { &spec["version"] } else { &machine["version"] };
    if let Some(version) = version.as_str() {
        add(facts, "version", version);
    }
    let references =
        [&machine["infrastructureRef"], &spec["controlPlaneRef"], &machine["bootstrap"]["configRef"]];
    for reference in references.into_iter().filter(|reference| !reference.is_null()) {
        add(facts, &format!("reference {}", text(&reference["kind"])), text(&reference["name"]));
    }
    for timeout in TIMEOUTS.iter().filter(|timeout| !machine["deletion"][**timeout].is_null()) {
        add(facts, timeout, text(&machine["deletion"][*timeout]));
    }
    if !machine["minReadySeconds"].is_null() {
        add(facts, "minReadySeconds", text(&machine["minReadySeconds"]));
    }
}
