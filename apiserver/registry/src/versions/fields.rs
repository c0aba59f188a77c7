//! The fields of objects that field selectors can select. They are kept beside the objects.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::definitions::Served;
use crate::storage::document::{self, Document};
use crate::storage::keys;
use crate::storage::outline::Texts;

/// Returns the names of the selectable fields of a kind beside name and namespace.
pub(crate) fn selectable(served: &Served) -> impl Iterator<Item = &str> {
    let custom = served.version.selectable_fields.iter().map(|path| path.trim_start_matches('.'));
    served.strategy().selectable().iter().copied().chain(custom)
}

/// Returns the values of [`selectable`] in an object in the version of `served`.
pub(crate) fn fields(served: &Served, object: &Value) -> Texts {
    Texts::of(selectable(served).map(|field| served.strategy().field(object, field)))
}

/// Returns the document of an object in its storage version, with what reads will ask of it.
pub(crate) fn document(served: &Served, object: &Value) -> Document {
    let definition = &served.definition;
    let document = Document::new(object, document::order(definition, object));
    // An Event of the other group is stored in the form of the core group, which has other fields.
    if keys::home(definition).0 == definition.group
        && let Some(version) = definition.version(&definition.storage_version)
        && let Some(outline) = document.outline()
    {
        let stored = Served { version: version.clone(), ..served.clone() };
        if selectable(&stored).next().is_some() {
            outline.keep_fields(version, Arc::new(fields(&stored, object)));
        }
    }
    document
}

/// Returns the text of an object in the version of `served`.
pub(crate) fn text(served: &Served, object: &Value) -> Bytes {
    document::text(object, document::order(&served.definition, object))
}
