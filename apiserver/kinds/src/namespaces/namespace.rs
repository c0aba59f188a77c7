//! Namespaces.

use machinery::field::FieldError;
use machinery::{meta, names};
use serde_json::{Map, Value, json};

use crate::fields::invalid;
use crate::strategy::{Strategy, masked};
use crate::subresource::Subresource;

/// The strategy of `v1.Namespace`.
pub(crate) struct Namespaces;

/// The label of each namespace that holds its name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
const FINALIZER: &str = "kubernetes";

impl Strategy for Namespaces {
    fn normalize(&self, object: &mut Value) {
        let name = meta::name(object).to_owned();
        if let Some(metadata) = meta::metadata_mut(object)
            && !name.is_empty()
            && let Some(labels) =
                metadata.entry("labels").or_insert_with(|| Value::Object(Map::new())).as_object_mut()
        {
            labels.insert(NAME_LABEL.into(), name.into());
        }
    }

    fn name_generated(&self, object: &mut Value) {
        self.normalize(object);
    }

    fn prepare_create(&self, object: &mut Value) {
        object["status"] = json!({"phase": "Active"});
        if !object["spec"]["finalizers"].is_array() {
            object["spec"]["finalizers"] = json!([]);
        }
        if let Some(finalizers) = object["spec"]["finalizers"].as_array_mut()
            && !finalizers.iter().any(|name| name == FINALIZER)
        {
            finalizers.push(FINALIZER.into());
        }
    }

    /// Restores spec and status, because only `/finalize` changes `spec.finalizers`.
    fn prepare_update(&self, object: &mut Value, old: &Value) {
        object["spec"] = old["spec"].clone();
        object["status"] = old["status"].clone();
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for name in object["spec"]["finalizers"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            errors.extend(
                names::qualified_name(name).into_iter().map(|why| invalid("spec.finalizers", name, why)),
            );
            if errors.is_empty() && !name.contains('/') && name != FINALIZER {
                let why = "name is neither a standard finalizer name nor is it fully qualified";
                errors.push(invalid("spec.finalizers", name, why));
            }
        }
        errors
    }

    fn prepare_part_update(&self, part: Subresource, object: &mut Value, _old: &Value, _now: &str) {
        if part == Subresource::Status && crate::decode::empty(&object["status"]["phase"]) {
            object["status"]["phase"] =
                if meta::is_deleting(object) { "Terminating" } else { "Active" }.into();
        }
    }

    fn validate_status_update(&self, object: &Value, _old: &Value) -> Vec<FieldError> {
        let phase = &object["status"]["phase"];
        let why = match (meta::is_deleting(object), phase.as_str().unwrap_or_default()) {
            (false, "Active") | (true, "Terminating") => return Vec::new(),
            (false, _) => "may only be 'Active' if `deletionTimestamp` is empty",
            (true, _) => "may only be 'Terminating' if `deletionTimestamp` is not empty",
        };
        vec![invalid("status.Phase", phase.clone(), why)]
    }

    fn validate_update(&self, object: &Value, _old: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for (index, name) in object["spec"]["finalizers"].as_array().into_iter().flatten().enumerate() {
            let name = name.as_str().unwrap_or_default();
            if !name.contains('/') && name != FINALIZER {
                let why = "name is neither a standard finalizer name nor is it fully qualified";
                errors.push(invalid(format!("spec.finalizers[{index}]"), name, why));
            }
        }
        errors
    }

    fn check_name(&self, name: &str, prefix: bool) -> Vec<String> {
        let name = if prefix { masked(name) } else { name.to_owned() };
        names::dns1123_label(&name)
    }

    fn selectable(&self) -> &'static [&'static str] {
        &["status.phase"]
    }

    fn prepare_delete(&self, object: &mut Value) {
        object["status"]["phase"] = "Terminating".into();
    }

    fn graceful(&self) -> bool {
        false
    }

    fn undeletable(&self, name: &str) -> Option<&'static str> {
        let standard = matches!(name, "default" | "kube-system" | "kube-public");
        standard.then_some("this namespace may not be deleted")
    }
}
