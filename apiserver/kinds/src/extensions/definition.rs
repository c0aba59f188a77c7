//! CustomResourceDefinitions.

use apiextensions::crd;
use machinery::field::FieldError;
use serde_json::{Value, json};

use crate::strategy::{Generation, Strategy};

/// The strategy of `apiextensions.k8s.io/v1.CustomResourceDefinition`.
pub(crate) struct CustomResourceDefinitions;

impl Strategy for CustomResourceDefinitions {
    fn metadata_repeats(&self) -> (usize, usize) {
        (1, 0)
    }

    /// Adds a finalizer, which the server removes after it has deleted all custom resources of the definition.
    fn prepare_delete(&self, object: &mut Value) {
        if machinery::meta::is_deleting(object) {
            return;
        }
        let Some(metadata) = machinery::meta::metadata_mut(object) else { return };
        let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
        if let Some(list) = finalizers.as_array_mut()
            && !list.iter().any(|name| name == crd::CLEANUP_FINALIZER)
        {
            list.push(crd::CLEANUP_FINALIZER.into());
        }
    }

    fn graceful(&self) -> bool {
        false
    }

    fn normalize(&self, object: &mut Value) {
        // Field ownership is compared with a zero object, which has no `kind`. That object must not get the default of
        // `conversion`, because kube-apiserver defaults pointer fields only in objects that clients write.
        if object.get("kind").is_some() {
            crd::default(object);
        }
    }

    fn prepare_create(&self, object: &mut Value) {
        crd::prepare_for_create(object);
    }

    fn prepare_update(&self, object: &mut Value, old: &Value) {
        crd::prepare_for_update(object, old);
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        crd::validate(object)
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        crd::validate_update(object, old)
    }

    fn validate_status_update(&self, object: &Value, _old: &Value) -> Vec<FieldError> {
        crd::validate_status_update(object)
    }

    fn qualified_finalizers(&self) -> bool {
        false
    }

    fn unconditional_update(&self) -> bool {
        false
    }

    fn generation(&self) -> Generation {
        Generation::Spec
    }
}
