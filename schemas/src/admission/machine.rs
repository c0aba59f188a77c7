//! Admission rules of Machine, and of machine specs in other kinds.

use machinery::names;
use serde_json::json;

use super::common::{self, Errors};
use super::features::{self as gates, Features};
use super::request::Request;
use crate::cluster::{Bootstrap, Machine, MachineNaming, MachineSpec, MachineTaint};
use crate::naming;

const CONTROL_PLANE_LABEL: &str = "cluster.x-k8s.io/control-plane";
const CONTROL_PLANE_TAINT: &str = "node-role.kubernetes.io/control-plane";
const OUT_OF_SERVICE_TAINT: &str = "node.kubernetes.io/out-of-service";

/// The object that a taint is part of; the control plane's own taint is not allowed everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaintsOf {
    /// Machines that may be control plane Machines.
    Anything,
    /// Machines that are workers.
    Workers,
}

pub fn machine(request: Request<'_>, machine: &Machine, errors: &mut Errors) {
    let labels = machine.metadata.labels.as_ref();
    let owners = machine.metadata.owner_references.iter().flatten();
    if owners.clone().all(|owner| owner.kind != "MachinePool") {
        bootstrap("spec.bootstrap", &machine.spec.bootstrap, errors);
    }
    common::immutable(request.old, request.new, &["spec", "clusterName"], errors);
    common::version("spec.version", machine.spec.version.as_deref(), errors);
    let worker = labels.is_none_or(|labels| !labels.contains_key(CONTROL_PLANE_LABEL));
    let taints_of = if worker { TaintsOf::Workers } else { TaintsOf::Anything };
    taints("spec.taints", &machine.spec.taints, taints_of, request.features, errors);
}

/// Checks the machine template of a MachineSet, MachineDeployment or MachinePool.
pub fn template_spec(field: &str, cluster_name: &str, spec: &MachineSpec, errors: &mut Errors) {
    bootstrap(&format!("{field}.bootstrap"), &spec.bootstrap, errors);
    if spec.cluster_name != cluster_name {
        errors.invalid(
            format_args!("{field}.clusterName"),
            spec.cluster_name.as_str(),
            "must be the same as spec.clusterName",
        );
    }
    common::version(&format!("{field}.version"), spec.version.as_deref(), errors);
}

fn bootstrap(field: &str, bootstrap: &Bootstrap, errors: &mut Errors) {
    let has_config = bootstrap.config_ref.as_ref().is_some_and(|reference| !reference.name.is_empty());
    if !has_config && bootstrap.data_secret_name.is_none() {
        errors.required(field, "either configRef or dataSecretName must be set");
    }
}

/// Checks the taints for Nodes.
pub fn taints(
    field: &str,
    taints: &[MachineTaint],
    taints_of: TaintsOf,
    features: Features,
    errors: &mut Errors,
) {
    if taints.is_empty() {
        return;
    }
    if !features.machine_taint_propagation {
        errors.forbidden(field, gates::off("MachineTaintPropagation"));
        return;
    }
    for (index, taint) in taints.iter().enumerate() {
        let field = format!("{field}[{index}].key");
        let key = taint.key.as_str();
        for problem in names::qualified_name(key) {
            errors.invalid(&field, key, problem);
        }
        if let Some(why) = refused_taint(key, taints_of) {
            errors.invalid(&field, key, why);
        }
    }
}

fn refused_taint(key: &str, taints_of: TaintsOf) -> Option<&'static str> {
    match key {
        "node.cluster.x-k8s.io/uninitialized" | "node.cluster.x-k8s.io/outdated-revision" => {
            Some("Cluster API puts this taint on nodes itself")
        }
        "node-role.kubernetes.io/master" => {
            Some("this taint is no longer used: use node-role.kubernetes.io/control-plane")
        }
        CONTROL_PLANE_TAINT if taints_of == TaintsOf::Workers => {
            Some("this taint is for nodes of the control plane only")
        }
        _ if key.starts_with("node.kubernetes.io/") && key != OUT_OF_SERVICE_TAINT => {
            Some("taints with the prefix node.kubernetes.io/ are for Kubernetes itself")
        }
        _ if key.starts_with("node.cloudprovider.kubernetes.io/") => {
            Some("taints with the prefix node.cloudprovider.kubernetes.io/ are for cloud providers")
        }
        _ => None,
    }
}

/// Checks the naming template of Machines. `owner` is the first word in the path of the owner's name, such as
/// `machineSet`.
pub fn machine_naming(owner: &str, naming: Option<&MachineNaming>, errors: &mut Errors) {
    const FIELD: &str = "spec.machineNaming.template";
    let Some(template) = naming.and_then(|naming| naming.template.as_deref()) else { return };
    if !template.contains("{{ .random }}") {
        errors.invalid(FIELD, template, "must contain {{ .random }}, so that names are unique");
        return;
    }
    let owner = format!("{owner}.name");
    let values = [("cluster.name", "cluster"), (owner.as_str(), "owner"), ("random", "x7k2p")];
    match naming::render(template, &values) {
        Err(problem) => errors.invalid(FIELD, template, problem),
        Ok(name) => {
            for problem in names::dns1123_subdomain(&name) {
                errors.invalid(FIELD, json!(template), format!("makes the name {name:?}: {problem}"));
            }
        }
    }
}
