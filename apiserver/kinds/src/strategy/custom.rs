//! The strategies of kinds without rules of their own.

use serde_json::Value;

use super::{Generation, Strategy};
use crate::definition::Definition;
use crate::fields::{or_zero, shown_at};

/// The strategy of custom resources.
pub(crate) struct Custom {
    generation: Generation,
}

impl Custom {
    pub(crate) fn new(definition: &Definition) -> Self {
        let status = definition.versions.iter().any(|version| version.status);
        Self { generation: if status { Generation::Spec } else { Generation::All } }
    }
}

impl Strategy for Custom {
    fn unconditional_update(&self) -> bool {
        false
    }

    fn generation(&self) -> Generation {
        self.generation
    }

    fn qualified_finalizers(&self) -> bool {
        false
    }

    fn metadata_repeats(&self) -> (usize, usize) {
        (1, 0)
    }

    fn selects_namespace(&self, namespaced: bool) -> bool {
        namespaced
    }

    fn unknown_field(&self, field: &str) -> String {
        format!("field label not supported: {field}")
    }
}

/// The strategy of built-in kinds that embedders register. Only the schema validates their objects.
pub(crate) struct BuiltIn {
    generation: Generation,
}

/// Kinds of the core group whose `metadata.generation` the server increments.
const CORE_WITH_GENERATION: [&str; 2] = ["pods", "replicationcontrollers"];

impl BuiltIn {
    pub(crate) fn new(definition: &Definition) -> Self {
        let status = definition.versions.iter().any(|version| version.status);
        let counts =
            !definition.group.is_empty() || CORE_WITH_GENERATION.contains(&definition.plural.as_str());
        Self { generation: if status && counts { Generation::Spec } else { Generation::Untouched } }
    }
}

impl Strategy for BuiltIn {
    fn generation(&self) -> Generation {
        self.generation
    }

    fn selectable(&self) -> &'static [&'static str] {
        &["spec.nodeName", "status.phase", "spec.schedulerName", "spec.unschedulable", "type"]
    }

    fn selects_namespace(&self, _namespaced: bool) -> bool {
        true
    }

    fn field(&self, object: &Value, field: &str) -> String {
        or_zero(shown_at(object, field), field, &[("spec.unschedulable", "false")])
    }
}
