//! Compares the template of a MachineSet with that of its MachineDeployment.

use machinery::hash::fnv1a_32;
use schemas::cluster::{MachineDeletionSpec, MachineTemplateSpec};
use schemas::meta::ObjectMetaTemplate;

/// Returns the template without the fields that are propagated in place; a difference in the remaining fields
/// needs a rollout.
pub fn rollout_fields(template: &MachineTemplateSpec) -> MachineTemplateSpec {
    let mut fields = template.clone();
    fields.metadata = None::<ObjectMetaTemplate>;
    fields.spec.cluster_name = String::new();
    fields.spec.provider_id = None;
    fields.spec.min_ready_seconds = None;
    fields.spec.readiness_gates = Vec::new();
    fields.spec.deletion = None::<MachineDeletionSpec>;
    fields.spec.taints = Vec::new();
    fields
}

/// Returns whether going from one template to the other needs no rollout.
pub fn is_same(a: &MachineTemplateSpec, b: &MachineTemplateSpec) -> bool {
    rollout_fields(a) == rollout_fields(b)
}

/// Returns a hash of the rollout fields.
pub fn hash(template: &MachineTemplateSpec) -> u32 {
    let text = serde_json::to_string(&rollout_fields(template)).unwrap_or_default();
    fnv1a_32(text.as_bytes())
}

/// Returns the reasons why Machines of `current` are not up to date with `desired`; a version difference
/// comes first.
pub fn differences(current: &MachineTemplateSpec, desired: &MachineTemplateSpec) -> Vec<String> {
    let (current, desired) = (rollout_fields(current).spec, rollout_fields(desired).spec);
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let mut reasons = Vec::new();
    if current.version != desired.version {
        reasons.push(format!("Version {}, {} required", text(&current.version), text(&desired.version)));
    }
    if current.failure_domain != desired.failure_domain {
        let (from, to) = (text(&current.failure_domain), text(&desired.failure_domain));
        reasons.push(format!("Failure domain {from}, {to} required"));
    }
    if current.bootstrap.config_ref != desired.bootstrap.config_ref {
        let reference = desired.bootstrap.config_ref.as_ref().or(current.bootstrap.config_ref.as_ref());
        let kind = reference.map_or("Bootstrap config", |reference| reference.kind.as_str());
        reasons.push(format!("{kind} is not up-to-date"));
    }
    if current.bootstrap.data_secret_name != desired.bootstrap.data_secret_name {
        let (from, to) =
            (text(&current.bootstrap.data_secret_name), text(&desired.bootstrap.data_secret_name));
        reasons.push(format!("spec.bootstrap.dataSecretName {from}, {to} required"));
    }
    if current.infrastructure_ref != desired.infrastructure_ref {
        reasons.push(format!("{} is not up-to-date", desired.infrastructure_ref.kind));
    }
    reasons
}
