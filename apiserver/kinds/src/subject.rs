//! The interface that each folder of this crate implements for its kinds.

use std::sync::Arc;

use serde_json::Value;

use crate::columns::Column;
use crate::kind::Kind;
use crate::strategy::Strategy;

/// A write of an object of a built-in kind, for which warnings are computed.
pub(crate) struct Change<'v> {
    /// The API group; empty for the core group.
    pub(crate) group: &'v str,
    /// The kind.
    pub(crate) kind: &'v str,
    /// The new object.
    pub(crate) object: &'v Value,
    /// The object before the update; `None` for a creation.
    pub(crate) old: Option<&'v Value>,
}

impl Change<'_> {
    /// Returns whether the write changes the spec. Workloads get warnings only then.
    pub(crate) fn is_of_spec(&self) -> bool {
        self.old.is_none_or(|old| old["spec"] != self.object["spec"])
    }
}

/// The kinds of one folder, and the functions that differ between them.
pub(crate) struct Subject {
    /// The kinds of the table.
    pub(crate) kinds: &'static [Kind],
    /// The kinds that are written as CustomResourceDefinitions, as JSON text.
    pub(crate) manifests: &'static [&'static str],
    /// Returns the strategy of a resource by group and plural; `None` for kinds of the table and for other folders.
    pub(crate) strategy: fn(&str, &str) -> Option<Arc<dyn Strategy>>,
    /// Returns the computed columns of a kind by group and kind; `None` if the kind has none.
    pub(crate) columns: fn(&str, &str) -> Option<Vec<Column>>,
    /// Adds the warnings about a write.
    pub(crate) warnings: fn(&Change<'_>, &mut Vec<String>),
}

/// A subject without kinds, whose fields a folder overrides.
pub(crate) const NOTHING: Subject =
    Subject { kinds: &[], manifests: &[], strategy: |_, _| None, columns: |_, _| None, warnings: |_, _| {} };
