//! Patches: their names, templates and JSON patches.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use templates::Template;

use super::selectors;
use crate::admission::common::Errors;
use crate::admission::features::{self, Features};
use crate::cluster::{ClusterClass, ClusterClassPatch, ExternalPatchDefinition, JsonPatch, JsonPatchValue};
use crate::variables::INLINE;

/// The builtin variables that `valueFrom.variable` can name.
const BUILTIN: [&str; 43] = [
    "builtin.cluster",
    "builtin.cluster.metadata.annotations",
    "builtin.cluster.metadata.labels",
    "builtin.cluster.name",
    "builtin.cluster.namespace",
    "builtin.cluster.network",
    "builtin.cluster.network.pods",
    "builtin.cluster.network.serviceDomain",
    "builtin.cluster.network.services",
    "builtin.cluster.topology",
    "builtin.cluster.topology.class",
    "builtin.cluster.topology.classNamespace",
    "builtin.cluster.topology.classRef.name",
    "builtin.cluster.topology.classRef.namespace",
    "builtin.cluster.topology.version",
    "builtin.cluster.uid",
    "builtin.controlPlane",
    "builtin.controlPlane.machineTemplate.infrastructureRef.name",
    "builtin.controlPlane.metadata.annotations",
    "builtin.controlPlane.metadata.labels",
    "builtin.controlPlane.name",
    "builtin.controlPlane.replicas",
    "builtin.controlPlane.version",
    "builtin.machineDeployment",
    "builtin.machineDeployment.bootstrap.configRef.name",
    "builtin.machineDeployment.class",
    "builtin.machineDeployment.infrastructureRef.name",
    "builtin.machineDeployment.metadata.annotations",
    "builtin.machineDeployment.metadata.labels",
    "builtin.machineDeployment.name",
    "builtin.machineDeployment.replicas",
    "builtin.machineDeployment.topologyName",
    "builtin.machineDeployment.version",
    "builtin.machinePool",
    "builtin.machinePool.bootstrap.configRef.name",
    "builtin.machinePool.class",
    "builtin.machinePool.infrastructureRef.name",
    "builtin.machinePool.metadata.annotations",
    "builtin.machinePool.metadata.labels",
    "builtin.machinePool.name",
    "builtin.machinePool.replicas",
    "builtin.machinePool.topologyName",
    "builtin.machinePool.version",
];
const OPERATIONS: [&str; 3] = ["add", "remove", "replace"];

pub fn patches(features: Features, class: &ClusterClass, errors: &mut Errors) {
    let mut names = BTreeSet::new();
    let variables = class.spec.variables.iter().map(|variable| variable.name.as_str()).collect();
    for (index, patch) in class.spec.patches.iter().enumerate() {
        let field = format!("spec.patches[{index}]");
        name(&patch.name, names.insert(patch.name.as_str()), &field, errors);
        template(patch.enabled_if.as_deref(), &format!("{field}.enabledIf"), errors);
        kind(patch, &field, errors);
        for (index, definition) in patch.definitions.iter().enumerate() {
            let field = format!("{field}.definitions[{index}]");
            for (index, patch) in definition.json_patches.iter().enumerate() {
                json_patch(patch, &variables, &format!("{field}.jsonPatches[{index}]"), errors);
            }
            selectors::selector(&definition.selector, class, &format!("{field}.selector"), errors);
        }
        if let Some(external) = &patch.external {
            external_patch(features, external, &format!("{field}.external"), errors);
        }
    }
}

fn name(name: &str, is_new: bool, field: &str, errors: &mut Errors) {
    let field = format!("{field}.name");
    if name.is_empty() {
        errors.required(&field, "a patch must have a name");
    }
    if name == INLINE {
        errors.invalid(&field, name, "this name is reserved for the variables that the class itself defines");
    }
    if !is_new {
        let detail = format!("names of patches must be unique: {name:?} is used more than once");
        errors.invalid(&field, name, detail);
    }
}

fn kind(patch: &ClusterClassPatch, field: &str, errors: &mut Errors) {
    match (patch.definitions.is_empty(), patch.external.is_some()) {
        (true, false) => errors.required(field, "either definitions or external must be set"),
        (false, true) => {
            errors.invalid(field, patch.name.as_str(), "only one of definitions and external can be set");
        }
        _ => {}
    }
}

fn external_patch(features: Features, external: &ExternalPatchDefinition, field: &str, errors: &mut Errors) {
    if !features.runtime_sdk {
        errors.forbidden(field, features::off("RuntimeSDK"));
    }
    let is_set = |name: &Option<String>| name.as_ref().is_some_and(|name| !name.is_empty());
    if !is_set(&external.generate_patches_extension) && !is_set(&external.validate_topology_extension) {
        errors.invalid(
            field,
            json!(external),
            "generatePatchesExtension or validateTopologyExtension must be set",
        );
    }
}

fn template(text: Option<&str>, field: &str, errors: &mut Errors) {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return };
    if let Err(problem) = Template::parse(text) {
        errors.invalid(field, text, problem.to_string());
    }
}

fn json_patch(patch: &JsonPatch, variables: &BTreeSet<&str>, field: &str, errors: &mut Errors) {
    if !OPERATIONS.contains(&patch.op.as_str()) {
        errors.not_supported(format_args!("{field}.op"), patch.op.as_str(), &OPERATIONS);
    }
    path(patch, &format!("{field}.path"), errors);
    if patch.op == "remove" {
        return;
    }
    match (&patch.value, &patch.value_from) {
        (None, None) => errors.invalid(field, shown(patch), "either value or valueFrom must be set"),
        (Some(_), Some(_)) => {
            errors.invalid(field, shown(patch), "only one of value and valueFrom can be set");
        }
        _ => {}
    }
    if let Some(from) = &patch.value_from {
        value_from(from, variables, &format!("{field}.valueFrom"), errors);
    }
}

/// Returns the patch without its value, which can be large.
fn shown(patch: &JsonPatch) -> Value {
    json!({ "op": patch.op, "path": patch.path })
}

/// Checks a path. What is in a list can only be added, at its beginning or its end: other places move when somebody changes the
/// template.
fn path(patch: &JsonPatch, field: &str, errors: &mut Errors) {
    let path = patch.path.as_str();
    if !path.starts_with("/spec") {
        errors.invalid(field, path, "must begin with /spec");
    }
    let is_number = |part: &str| {
        let digits = part.strip_prefix(['+', '-']).unwrap_or(part);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_zero = |part: &str| part.bytes().all(|byte| matches!(byte, b'0' | b'+' | b'-'));
    let mut numbers = path.split('/').filter(|part| is_number(part));
    match patch.op.as_str() {
        "add" if numbers.any(|part| !is_zero(part)) => {
            errors.invalid(field, path, "can add to a list only at its beginning (/0) or at its end (/-)");
        }
        "replace" | "remove" if numbers.next().is_some() => {
            errors.invalid(field, path, format!("cannot {} elements of a list", patch.op));
        }
        _ => {}
    }
}

fn value_from(from: &JsonPatchValue, variables: &BTreeSet<&str>, field: &str, errors: &mut Errors) {
    let text = from.template.as_deref().filter(|text| !text.is_empty());
    let variable = from.variable.as_deref().filter(|variable| !variable.is_empty());
    match (text, variable) {
        (None, None) => errors.invalid(field, json!({}), "either template or variable must be set"),
        (Some(_), Some(name)) => {
            errors.invalid(
                field,
                json!({ "variable": name }),
                "only one of template and variable can be set",
            );
        }
        _ => {}
    }
    template(text, &format!("{field}.template"), errors);
    let Some(variable) = variable else { return };
    let field = format!("{field}.variable");
    if variable.starts_with("builtin.") {
        if !BUILTIN.contains(&variable) {
            errors.invalid(field, variable, "there is no such builtin variable");
        }
        return;
    }
    // Whether the value has the fields that the rest of the path names is only known with the value.
    let name = variable.split(['.', '[']).find(|part| !part.is_empty()).unwrap_or_default();
    if !variables.contains(name) {
        errors.invalid(field, variable, format!("the class has no variable {name:?}"));
    }
}
