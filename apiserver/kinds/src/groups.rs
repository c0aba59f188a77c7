//! All subjects of this crate, and the lookup of what each says about a kind.

use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::columns::Column;
use crate::definition::Definition;
use crate::kind::Kind;
use crate::strategy::Strategy;
use crate::strategy::custom::{BuiltIn, Custom};
use crate::strategy::known::Known;
use crate::subject::{Change, Subject};
use crate::{
    access_control, admission, autoscaling, certificates, configuration, coordination, devices, events,
    extensions, flow_control, jobs, namespaces, networking, nodes, pods, priorities, quotas, reviews,
    storage, workloads,
};

static SUBJECTS: [&Subject; 20] = [
    &access_control::kinds::SUBJECT,
    &admission::kinds::SUBJECT,
    &autoscaling::kinds::SUBJECT,
    &certificates::kinds::SUBJECT,
    &configuration::kinds::SUBJECT,
    &coordination::kinds::SUBJECT,
    &devices::kinds::SUBJECT,
    &events::kinds::SUBJECT,
    &extensions::kinds::SUBJECT,
    &flow_control::kinds::SUBJECT,
    &jobs::kinds::SUBJECT,
    &namespaces::kinds::SUBJECT,
    &networking::kinds::SUBJECT,
    &nodes::kinds::SUBJECT,
    &pods::kinds::SUBJECT,
    &priorities::kinds::SUBJECT,
    &quotas::kinds::SUBJECT,
    &reviews::kinds::SUBJECT,
    &storage::kinds::SUBJECT,
    &workloads::kinds::SUBJECT,
];

/// Returns the built-in kinds that the server acts on, as JSON text of CustomResourceDefinitions. The other built-in kinds
/// are in [`definitions`].
pub fn manifests() -> impl Iterator<Item = &'static str> {
    SUBJECTS.iter().flat_map(|subject| subject.manifests.iter().copied())
}

fn kinds() -> impl Iterator<Item = &'static Kind> {
    SUBJECTS.iter().flat_map(|subject| subject.kinds)
}

fn find(definition: &Definition) -> Option<&'static Kind> {
    kinds().find(|kind| kind.group == definition.group && kind.plural == definition.plural)
}

/// Returns the definitions of all kinds of the tables, built once for all servers of the process.
pub fn definitions() -> &'static [Definition] {
    static DEFINITIONS: LazyLock<Vec<Definition>> = LazyLock::new(|| kinds().map(Kind::definition).collect());
    &DEFINITIONS
}

/// Returns an object with the zero values of a kind of the tables; `None` for other kinds.
pub fn zero_object(definition: &Definition, version: &str) -> Option<Value> {
    let kind = find(definition)?;
    crate::types::zero_object(&crate::types::name_of(kind.group, version, kind.kind))
}

/// Reports whether the kind is one of the tables, so that its structure is in [`crate::types`].
pub fn is_known(definition: &Definition) -> bool {
    find(definition).is_some()
}

/// Converts `object` to another version of its built-in kind.
pub fn in_version(definition: &Definition, version: &str, mut object: Value) -> Value {
    if let Some(convert) = find(definition).and_then(|kind| kind.rules.in_version) {
        return convert(object, version);
    }
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".into(), definition.api_version(version).into());
    }
    object
}

/// Returns the strategy of a resource.
pub fn strategy(definition: &Definition) -> Arc<dyn Strategy> {
    if !definition.built_in {
        return Arc::new(Custom::new(definition));
    }
    let (group, plural) = (definition.group.as_str(), definition.plural.as_str());
    if let Some(own) = SUBJECTS.iter().find_map(|subject| (subject.strategy)(group, plural)) {
        return own;
    }
    match (find(definition), definition.known()) {
        (Some(kind), Some(schema)) => Arc::new(Known::new(kind, schema)),
        _ => Arc::new(BuiltIn::new(definition)),
    }
}

/// Returns the columns of a built-in kind; `None` if the columns of its definition apply.
pub fn columns(group: &str, kind: &str) -> Option<Vec<Column>> {
    SUBJECTS.iter().find_map(|subject| (subject.columns)(group, kind))
}

/// Returns the warnings for a written object of a built-in kind. `old` is the object before an update.
pub fn warnings(group: &str, kind: &str, object: &Value, old: Option<&Value>) -> Vec<String> {
    let change = Change { group, kind, object, old };
    let mut found = Vec::new();
    for subject in &SUBJECTS {
        (subject.warnings)(&change, &mut found);
    }
    found
}
