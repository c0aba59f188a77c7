//! The interface that each folder of this crate implements for its kinds.

use std::sync::Arc;

use serde_json::Value;

use crate::columns::Column;
use crate::kind::Kind;
use crate::strategy::Strategy;

/// A write, as warnings look at it.
pub(crate) struct Change<'v> {
    /// Group of the object's kind, empty for the core group.
    pub(crate) group: &'v str,
    /// The kind.
    pub(crate) kind: &'v str,
    /// The object as it is written.
    pub(crate) object: &'v Value,
    /// The object before an update; `None` at its creation.
    pub(crate) old: Option<&'v Value>,
}

impl Change<'_> {
    /// Whether the spec is new: workloads are looked at when what they want changes.
    pub(crate) fn is_of_spec(&self) -> bool {
        self.old.is_none_or(|old| old["spec"] != self.object["spec"])
    }
}

/// The kinds of one subject, and what differs between them.
pub(crate) struct Subject {
    /// Kinds that a line says.
    pub(crate) kinds: &'static [Kind],
    /// Kinds that are written as CustomResourceDefinitions, JSON text.
    pub(crate) manifests: &'static [&'static str],
    /// The strategy of a group's resource, of kinds from manifests that have one of their own.
    pub(crate) strategy: fn(&str, &str) -> Option<Arc<dyn Strategy>>,
    /// The columns of a group's kind, where they are computed.
    pub(crate) columns: fn(&str, &str) -> Option<Vec<Column>>,
    /// What the client is warned of.
    pub(crate) warnings: fn(&Change<'_>, &mut Vec<String>),
}

/// No kinds.
pub(crate) const NOTHING: Subject =
    Subject { kinds: &[], manifests: &[], strategy: |_, _| None, columns: |_, _| None, warnings: |_, _| {} };
