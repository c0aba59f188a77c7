//! Whether a template changed so that it needs another name.
//!
//! Machines are made from templates, so a template is never changed under the machines that were made from it: a changed one gets a new name, and whoever uses it is told.
//! Only labels and annotations are changed in place.
//!
//! The server adds defaults to what the topology applies, so more fields in the current template are no change. Fields that the topology applied before and no longer
//! wants are known from the current template's `metadata.managedFields`; without them, only what is added or different is found.

use serde_json::{Map, Value};

use crate::desired::{Contract, Desired, DesiredWorkers};
use crate::names::{self, Random};
use crate::object;

/// The field manager of topologies.
pub const FIELD_MANAGER: &str = "capi-topology";

/// Returns whether the spec of the desired template differs from the current one in what the topology decides about.
pub fn template_spec_changed(current: &Value, desired: &Value) -> bool {
    let nothing = Value::Null;
    let spec = |template: &'_ Value| template.get("spec").cloned().unwrap_or_default();
    if !contains(current.get("spec").unwrap_or(&nothing), desired.get("spec").unwrap_or(&nothing)) {
        return true;
    }
    let (current_spec, desired_spec) = (spec(current), spec(desired));
    managed(current).any(|fields| {
        fields.get("f:spec").is_some_and(|fields| is_missing(fields, &current_spec, &desired_spec))
    })
}

/// Returns whether labels or annotations of the desired object are not in the current one, or are no longer wanted.
pub fn metadata_changed(current: &Value, desired: &Value) -> bool {
    let nothing = Value::Null;
    let metadata = |object: &'_ Value| object.get("metadata").cloned().unwrap_or_default();
    let (current_metadata, desired_metadata) = (metadata(current), metadata(desired));
    ["labels", "annotations"].into_iter().any(|name| {
        let (ours, theirs) = (desired_metadata.get(name), current_metadata.get(name));
        let (ours, theirs) = (ours.unwrap_or(&nothing), theirs.unwrap_or(&nothing));
        let taken_away = |fields: &Value| {
            let fields = fields.get("f:metadata").and_then(|fields| fields.get(format!("f:{name}")));
            fields.is_some_and(|fields| is_missing(fields, theirs, ours))
        };
        !contains(theirs, ours) || managed(current).any(taken_away)
    })
}

/// Gives the desired template a new name, so that it is created beside the current one, which stays as long as something uses it. The current name is no new one.
pub fn rotate(current: &Value, desired: &mut Value, new_name: &str) {
    if object::name(current) != new_name {
        rename(desired, new_name);
    }
}

impl DesiredWorkers {
    /// Gives the bootstrap template a new name, and lets the workers use it. `topology_name` is the name in the topology.
    pub fn rotate_bootstrap(&mut self, cluster: &str, topology_name: &str, random: Random<'_>) {
        let name = names::with_prefix(&format!("{cluster}-{topology_name}-"), random);
        rename(&mut self.bootstrap_template, &name);
        rename_reference(&mut self.object, &["spec", "template", "spec", "bootstrap", "configRef"], &name);
    }

    /// Gives the infrastructure template a new name, and lets the workers use it. `topology_name` is the name in the topology.
    pub fn rotate_infrastructure(&mut self, cluster: &str, topology_name: &str, random: Random<'_>) {
        let name = names::with_prefix(&format!("{cluster}-{topology_name}-"), random);
        rename(&mut self.infrastructure_template, &name);
        rename_reference(&mut self.object, &["spec", "template", "spec", "infrastructureRef"], &name);
    }
}

impl Desired {
    /// Gives the template of control plane machines a new name, and lets the control plane use it.
    pub fn rotate_control_plane_machines(&mut self, cluster: &str, contract: Contract, random: Random<'_>) {
        let Some(template) = &mut self.control_plane_machines_template else { return };
        let name = names::with_prefix(&format!("{cluster}-"), random);
        rename(template, &name);
        let path: &[&str] = match contract {
            Contract::V1Beta1 => &["spec", "machineTemplate", "infrastructureRef"],
            Contract::V1Beta2 => &["spec", "machineTemplate", "spec", "infrastructureRef"],
        };
        rename_reference(&mut self.control_plane, path, &name);
    }
}

fn rename(object: &mut Value, name: &str) {
    rename_reference(object, &["metadata"], name);
}

fn rename_reference(object: &mut Value, path: &[&str], name: &str) {
    let place = path.iter().try_fold(object, |value, name| value.get_mut(name));
    if let Some(Value::Object(fields)) = place {
        fields.insert("name".to_owned(), Value::from(name));
    }
}

/// Returns whether all of `part` is in `whole`. Lists must be of the same length, because what is missing may have been taken away. Null is the same as absent.
fn contains(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (_, Value::Null) => true,
        (Value::Object(whole), Value::Object(part)) => {
            let nothing = Value::Null;
            part.iter().all(|(name, part)| contains(whole.get(name).unwrap_or(&nothing), part))
        }
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| contains(whole, part))
        }
        (whole, part) => whole == part,
    }
}

/// The fields that topologies applied.
fn managed(object: &Value) -> impl Iterator<Item = &Value> {
    let entries = object::at(object, &["metadata", "managedFields"]).and_then(Value::as_array);
    let ours = |entry: &&Value| {
        object::text(entry, &["manager"]) == FIELD_MANAGER && object::text(entry, &["operation"]) == "Apply"
    };
    entries.into_iter().flatten().filter(ours).filter_map(|entry| entry.get("fieldsV1"))
}

/// Returns whether a managed field (`fieldsV1`) that is in the current value is not in the desired one. Lists are compared by [`contains`] already.
fn is_missing(fields: &Value, current: &Value, desired: &Value) -> bool {
    let (Some(fields), Some(current)) = (fields.as_object(), current.as_object()) else { return false };
    let nothing = Map::new();
    let desired = desired.as_object().unwrap_or(&nothing);
    fields.iter().any(|(key, below)| {
        let Some(name) = key.strip_prefix("f:") else { return false };
        match (current.get(name), desired.get(name)) {
            (None | Some(Value::Null), _) => false,
            (Some(_), None | Some(Value::Null)) => true,
            (Some(current), Some(desired)) => is_missing(below, current, desired),
        }
    })
}
