//! What differs from kind to kind: a [`Strategy`] a kind, everything else is the same code.

mod addresses;
mod admission;
mod autoscaler;
mod certificate;
mod classes;
mod config;
mod container;
mod counters;
mod cron;
mod default;
mod definition;
mod endpoints;
mod event;
mod failure_policy;
mod gated;
mod indexes;
mod job;
mod job_status;
mod known;
mod lease;
mod mount;
mod namespace;
mod network;
mod node;
mod pod;
mod pod_annotations;
mod pod_part;
mod pod_spec;
mod pod_status;
mod pod_update;
mod probe;
mod quota;
mod rbac;
mod resources;
mod scheduling;
mod security;
mod service;
mod service_account;
mod storage;
mod volume;
pub(crate) mod warnings;
mod workload;

use std::sync::Arc;

use machinery::field::FieldError;
use serde_json::Value;

pub(crate) use admission::{POLICY_VARIABLES, REQUEST};
pub(crate) use default::{BuiltIn, Custom};

use crate::context::Subresource;
use crate::definition::Definition;

/// When `metadata.generation` rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// Never: the kind keeps what the client wrote at creation.
    Untouched,
    /// When anything but `metadata` and `status` changes.
    Spec,
    /// When anything but `metadata` and `status`, or the annotations change.
    SpecAndAnnotations,
    /// When anything but `metadata`, or the labels change.
    SpecAndLabels,
    /// When anything but `metadata` changes.
    All,
}

/// Finds an object of the cluster by its group, plural and name.
pub(crate) type Find<'f> = dyn Fn(&str, &str, &str) -> Option<Value> + 'f;

/// The rules of one kind.
pub(crate) trait Strategy: Send + Sync {
    /// Defaults and normal forms that the client counts as having written.
    fn normalize(&self, _object: &mut Value) {}

    /// What follows from a name that the server has made.
    fn name_generated(&self, _object: &mut Value) {}

    /// What the server notes of who creates the object.
    fn requested_by(&self, _object: &mut Value, _user: &crate::context::User) {}

    /// Why an object cannot be made as things are, and what the classes that it names add to it.
    ///
    /// # Errors
    /// The reason.
    fn admit_create(&self, _object: &mut Value, _find: &Find<'_>) -> Result<(), String> {
        Ok(())
    }

    /// What the server sets at creation, after field ownership was noted.
    fn prepare_create(&self, _object: &mut Value) {}

    /// What the server sets or keeps at each update, after field ownership was noted.
    fn prepare_update(&self, _object: &mut Value, _old: &Value) {}

    /// What the server sets or keeps at an update through `/status` or a part of the object (`parts` of its version). `now`: the time, as
    /// `metav1.Time` is written.
    fn prepare_part_update(&self, _part: Subresource, _object: &mut Value, _old: &Value, _now: &str) {}

    /// Why nobody may create the object, valid as it is, if so.
    fn create_refusal(&self, _object: &Value) -> Option<String> {
        None
    }

    /// What is wrong with a new object.
    fn validate(&self, _object: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// What is wrong with an update; includes what is wrong with the object as such.
    fn validate_update(&self, object: &Value, _old: &Value) -> Vec<FieldError> {
        self.validate(object)
    }

    /// What is wrong with an update through `/status`, which keeps the rest of the object.
    fn validate_status_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        self.validate_update(object, old)
    }

    /// What is wrong with an update through a part of the object that is neither `status` nor `scale`.
    fn validate_part_update(&self, _part: Subresource, object: &Value, old: &Value) -> Vec<FieldError> {
        self.validate_update(object, old)
    }

    /// What is wrong with a name. `prefix`: it is a `generateName`.
    fn check_name(&self, name: &str, prefix: bool) -> Vec<String> {
        machinery::names::dns1123_subdomain(if prefix { masked(name) } else { name.to_owned() }.as_str())
    }

    /// Whether PUT creates what is not there.
    fn create_on_update(&self) -> bool {
        false
    }

    /// Whether PUT may leave the `resourceVersion` out.
    fn unconditional_update(&self) -> bool {
        true
    }

    /// When the generation rises.
    fn generation(&self) -> Generation {
        Generation::Untouched
    }

    /// The field selectors beside `metadata.name` and `metadata.namespace`.
    fn selectable(&self) -> &'static [&'static str] {
        &[]
    }

    /// The value of a field of [`Self::selectable`].
    fn field(&self, object: &Value, field: &str) -> String {
        let mut value = object;
        for part in field.split('.') {
            value = &value[part];
        }
        match value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        }
    }

    /// The words for a field that cannot be selected by, when the kind has its own.
    fn unknown_field(&self, field: &str) -> String {
        unknown_field(self.selectable(), field)
    }

    /// Whether dependents stay when a deletion does not say what to do with them.
    fn orphans_by_default(&self) -> bool {
        false
    }

    /// Whether the answer to a DELETE that removes the object is the object.
    fn delete_returns_object(&self) -> bool {
        false
    }

    /// What a deletion changes in an object that finalizers may hold.
    fn prepare_delete(&self, _object: &mut Value) {}

    /// How many seconds the object may take to end, of kinds that are told so.
    fn grace_period(&self, _object: &Value, _asked: Option<i64>) -> Option<i64> {
        None
    }

    /// Whether a deletion notes its grace period and raises the generation.
    fn graceful(&self) -> bool {
        true
    }

    /// Why the object of that name can never be deleted, if so.
    fn undeletable(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Whether a finalizer without a slash is refused (built-in kinds) or only warned about.
    fn qualified_finalizers(&self) -> bool {
        true
    }
}

/// `object` in another version of its built-in kind.
pub(crate) fn in_version(definition: &Definition, version: &str, mut object: Value) -> Value {
    if definition.kind == "HorizontalPodAutoscaler" {
        return autoscaler::in_version(object, version);
    }
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".into(), definition.api_version(version).into());
    }
    object
}

/// The words for a field that cannot be selected by.
pub(crate) fn unknown_field(selectable: &[&str], field: &str) -> String {
    if selectable.is_empty() {
        return format!(
            "\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
    }
    format!("field label not supported: {field}")
}

/// `generateName` may end with a dash: a letter stands for what will follow.
pub(crate) fn masked(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(stem) => format!("{stem}a"),
        None => prefix.to_owned(),
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";

/// The strategy of a resource.
pub(crate) fn of(definition: &Definition) -> Arc<dyn Strategy> {
    if !definition.built_in {
        return Arc::new(Custom::new(definition));
    }
    match (definition.group.as_str(), definition.plural.as_str()) {
        ("", "configmaps") => Arc::new(config::ConfigMaps),
        ("", "secrets") => Arc::new(config::Secrets),
        ("", "namespaces") => Arc::new(namespace::Namespaces),
        ("", "serviceaccounts") => Arc::new(service_account::ServiceAccounts),
        ("", "events") => Arc::new(event::Events { strict: false }),
        ("events.k8s.io", "events") => Arc::new(event::Events { strict: true }),
        ("coordination.k8s.io", "leases") => Arc::new(lease::Leases),
        (RBAC, "roles") => Arc::new(rbac::Roles { cluster: false }),
        (RBAC, "clusterroles") => Arc::new(rbac::Roles { cluster: true }),
        (RBAC, "rolebindings") => Arc::new(rbac::Bindings { cluster: false }),
        (RBAC, "clusterrolebindings") => Arc::new(rbac::Bindings { cluster: true }),
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            Arc::new(definition::CustomResourceDefinitions)
        }
        _ => match (crate::kinds::find(definition), definition.known()) {
            (Some(kind), Some(schema)) => Arc::new(known::Known::new(kind, schema)),
            _ => Arc::new(BuiltIn::new(definition)),
        },
    }
}
