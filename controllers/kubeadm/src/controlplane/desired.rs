//! Builds the wanted objects of a control plane Machine. Pure functions.

use std::collections::BTreeMap;

use engine::names as shared;
use schemas::bootstrap::{JoinControlPlane, KubeadmConfigSpec};
use schemas::cluster::{Bootstrap, ConditionGate, Machine, MachineSpec};
use schemas::controlplane::KubeadmControlPlane;
use schemas::meta::{ContractVersionedObjectReference, ObjectMetaTemplate};

use super::observed::component_conditions;
use crate::names::{self, condition};
use schemas::version::Version;

/// The way in which a control plane node enters the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// By `kubeadm init`.
    Init,
    /// By `kubeadm join`.
    Join,
}

/// The kubeadm feature gate by which a joining node's kubelet talks to its own API server. It is set in the
/// releases where it exists and is off by default.
const LOCAL_MODE: &str = "ControlPlaneKubeletLocalMode";

/// Returns the spec of a new Machine's KubeadmConfig.
pub fn kubeadm_config(control_plane: &KubeadmControlPlane, entry: Entry) -> KubeadmConfigSpec {
    let mut spec = control_plane.spec.kubeadm_config_spec.clone().unwrap_or_default();
    match entry {
        Entry::Init => spec.join_configuration = None,
        Entry::Join => {
            spec.init_configuration = None;
            let join = spec.join_configuration.get_or_insert_default();
            join.control_plane.get_or_insert_with(JoinControlPlane::default);
        }
    }
    let version = Version::parse(&control_plane.spec.version).map(|version| version.release());
    if version.is_some_and(|version| version.at_least(1, 31) && !version.at_least(1, 36)) {
        let gates = &mut spec.cluster_configuration.get_or_insert_default().feature_gates;
        gates.entry(LOCAL_MODE.to_owned()).or_insert(true);
    }
    spec
}

/// Returns the labels that identify a control plane's Machines.
pub fn labels(control_plane: &KubeadmControlPlane, cluster: &str) -> BTreeMap<String, String> {
    let name = control_plane.metadata.name.as_deref().unwrap_or_default();
    [
        (shared::CLUSTER_NAME.to_owned(), cluster.to_owned()),
        (shared::CONTROL_PLANE.to_owned(), String::new()),
        (shared::CONTROL_PLANE_NAME.to_owned(), schemas::naming::label_value(name)),
    ]
    .into()
}

/// Returns the labels and annotations that the spec sets on a Machine and its objects.
pub fn template_metadata(control_plane: &KubeadmControlPlane) -> ObjectMetaTemplate {
    control_plane.spec.machine_template.metadata.clone().unwrap_or_default()
}

/// Returns the conditions that a control plane Machine needs to be ready, besides those of every Machine.
fn readiness_gates(control_plane: &KubeadmControlPlane, etcd_managed: bool) -> Vec<ConditionGate> {
    let mut types = vec![condition::NODE_LABELS_AND_TAINTS_SET];
    types.extend(component_conditions(etcd_managed));
    if etcd_managed {
        types.push(condition::ETCD_MEMBER);
    }
    let gate = |type_: &&str| ConditionGate { condition_type: (*type_).to_owned(), polarity: None };
    let mut gates: Vec<ConditionGate> = types.iter().map(gate).collect();
    for gate in &control_plane.spec.machine_template.spec.readiness_gates {
        if !gates.iter().any(|present| present.condition_type == gate.condition_type) {
            gates.push(gate.clone());
        }
    }
    gates
}

/// Builds the Machine `name`, either new (`existing` is `None`) or updated. Version, failure domain and
/// references of an existing Machine are kept, since they change only with a new Machine.
pub fn machine(
    control_plane: &KubeadmControlPlane,
    cluster: &str,
    name: &str,
    failure_domain: Option<&str>,
    etcd_managed: bool,
    existing: Option<&Machine>,
) -> Machine {
    let template = template_metadata(control_plane);
    let mut all_labels = template.labels;
    all_labels.extend(labels(control_plane, cluster));
    let mut annotations = template.annotations;
    annotations.insert(names::CLEANUP_HOOK.to_owned(), String::new());
    let wanted = &control_plane.spec.machine_template.spec;
    let mut machine = Machine::default();
    machine.metadata.name = Some(name.to_owned());
    machine.metadata.namespace = control_plane.metadata.namespace.clone();
    machine.metadata.owner_references = Some(vec![engine::owners::controller_reference(control_plane, &())]);
    let infrastructure = ContractVersionedObjectReference {
        name: name.to_owned(),
        kind: infrastructure_kind(control_plane).to_owned(),
        api_group: wanted.infrastructure_ref.api_group.clone(),
    };
    machine.spec = MachineSpec {
        bootstrap: Bootstrap {
            config_ref: Some(ContractVersionedObjectReference {
                api_group: schemas::bootstrap::KubeadmConfig::GROUP.to_owned(),
                kind: schemas::bootstrap::KubeadmConfig::KIND.to_owned(),
                name: name.to_owned(),
            }),
            data_secret_name: None,
        },
        cluster_name: cluster.to_owned(),
        deletion: wanted.deletion.clone(),
        failure_domain: failure_domain.map(str::to_owned),
        infrastructure_ref: infrastructure,
        readiness_gates: readiness_gates(control_plane, etcd_managed),
        taints: wanted.taints.clone(),
        version: Some(control_plane.spec.version.clone()),
        ..MachineSpec::default()
    };
    if let Some(existing) = existing {
        machine.metadata.uid = existing.metadata.uid.clone();
        machine.spec.version = existing.spec.version.clone();
        machine.spec.failure_domain = existing.spec.failure_domain.clone();
        machine.spec.infrastructure_ref = existing.spec.infrastructure_ref.clone();
        machine.spec.bootstrap.config_ref = existing.spec.bootstrap.config_ref.clone();
        let continued = engine::object::annotation(existing, names::REMEDIATION_FOR);
        if let Some(value) = continued {
            annotations.insert(names::REMEDIATION_FOR.to_owned(), value.to_owned());
        }
    }
    machine.metadata.labels = Some(all_labels);
    machine.metadata.annotations = Some(annotations);
    machine
}

/// Returns the kind of a Machine's infrastructure: the template's kind without `Template`.
pub fn infrastructure_kind(control_plane: &KubeadmControlPlane) -> &str {
    let kind = &control_plane.spec.machine_template.spec.infrastructure_ref.kind;
    kind.strip_suffix("Template").unwrap_or(kind)
}

/// Returns `Kind.group` of the infrastructure template, the value of the cloned-from annotation.
pub fn template_group_kind(control_plane: &KubeadmControlPlane) -> String {
    let template = &control_plane.spec.machine_template.spec.infrastructure_ref;
    format!("{}.{}", template.kind, template.api_group)
}

/// Returns the name of a new Machine.
///
/// # Errors
/// Says in words why the naming template cannot be rendered.
pub fn machine_name(
    control_plane: &KubeadmControlPlane,
    cluster: &str,
    random: &str,
) -> Result<String, String> {
    let name = control_plane.metadata.name.as_deref().unwrap_or_default();
    let naming = control_plane.spec.machine_naming.as_ref().and_then(|naming| naming.template.as_deref());
    let template = naming.filter(|template| !template.is_empty());
    let template = template.unwrap_or("{{ .kubeadmControlPlane.name }}-{{ .random }}");
    let render = |name: &str| {
        let values = [("cluster.name", cluster), ("kubeadmControlPlane.name", name), ("random", random)];
        schemas::naming::render(template, &values)
    };
    let full = render(name)?;
    // Machine names become label values of at most 63 characters; the random characters must be kept.
    if full.len() <= 63 {
        return Ok(full);
    }
    let mut kept = full;
    let mut end = 63 - random.len();
    while !kept.is_char_boundary(end) {
        end -= 1;
    }
    kept.truncate(end);
    Ok(kept + random)
}
