//! Builds the wanted objects of a control plane Machine. Pure functions.

use std::collections::BTreeMap;

use engine::names as shared;
use engine::object;
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

/// The naming template of Machines.
const DEFAULT_NAME: &str = "{{ .kubeadmControlPlane.name }}-{{ .random }}";
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

/// Returns the labels of a Machine and of all its objects.
pub fn all_labels(control_plane: &KubeadmControlPlane, cluster: &str) -> BTreeMap<String, String> {
    let mut all = template_metadata(control_plane).labels;
    all.extend(labels(control_plane, cluster));
    all
}

/// Returns the Machine `existing` with the fields that change in place. Version, failure domain and references are kept, since they change
/// only with a new Machine.
pub fn existing_machine(
    control_plane: &KubeadmControlPlane,
    cluster: &str,
    etcd_managed: bool,
    existing: &Machine,
) -> Machine {
    let name = existing.metadata.name.as_deref().unwrap_or_default();
    let continued = object::annotation(existing, names::REMEDIATION_FOR).map(str::to_owned);
    let mut machine = machine(control_plane, cluster, name, None, etcd_managed, continued);
    // With the UID, the apply fails instead of recreating a Machine that was deleted in the meantime.
    machine.metadata.uid = existing.metadata.uid.clone();
    machine.spec.version = existing.spec.version.clone();
    machine.spec.failure_domain = existing.spec.failure_domain.clone();
    machine.spec.infrastructure_ref = existing.spec.infrastructure_ref.clone();
    machine.spec.bootstrap.config_ref = existing.spec.bootstrap.config_ref.clone();
    machine
}

/// Returns a Machine in deletion with the fields that still apply to it: time-outs and taints.
pub fn deleting_machine(control_plane: &KubeadmControlPlane, existing: &Machine) -> Machine {
    let template = &control_plane.spec.machine_template.spec;
    let mut machine = existing.clone();
    if template.deletion.is_some() || machine.spec.deletion.is_some() {
        let wanted = template.deletion.clone().unwrap_or_default();
        let deletion = machine.spec.deletion.get_or_insert_default();
        deletion.node_drain_timeout_seconds = wanted.node_drain_timeout_seconds;
        deletion.node_volume_detach_timeout_seconds = wanted.node_volume_detach_timeout_seconds;
        // The API server fills in a default for this one.
        deletion.node_deletion_timeout_seconds =
            wanted.node_deletion_timeout_seconds.or(deletion.node_deletion_timeout_seconds);
    }
    machine.spec.taints.clone_from(&template.taints);
    machine
}

/// Builds the new Machine `name`; `remediation` is the record of the remediation that it continues.
pub fn machine(
    control_plane: &KubeadmControlPlane,
    cluster: &str,
    name: &str,
    failure_domain: Option<&str>,
    etcd_managed: bool,
    remediation: Option<String>,
) -> Machine {
    let mut annotations = template_metadata(control_plane).annotations;
    annotations.insert(names::CLEANUP_HOOK.to_owned(), String::new());
    annotations.extend(remediation.map(|record| (names::REMEDIATION_FOR.to_owned(), record)));
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
    machine.metadata.labels = Some(all_labels(control_plane, cluster));
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
/// Says why the naming template cannot be rendered.
pub fn machine_name(
    control_plane: &KubeadmControlPlane,
    cluster: &str,
    random: &str,
) -> engine::Result<String> {
    let name = control_plane.metadata.name.as_deref().unwrap_or_default();
    let naming = control_plane.spec.machine_naming.as_ref().and_then(|naming| naming.template.as_deref());
    let template = naming.filter(|template| !template.is_empty()).unwrap_or(DEFAULT_NAME);
    shared::machine_name(template, &[("cluster.name", cluster), ("kubeadmControlPlane.name", name)], random)
}
