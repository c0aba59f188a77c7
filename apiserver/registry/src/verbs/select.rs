//! Selection of the objects of a list or watch.

use machinery::selector::{FieldSelector, LabelSelector};
use machinery::status::Status;
use serde_json::Value;

use crate::storage::meta::Meta;
use crate::versions::convert::View;
use crate::versions::definitions::Served;

/// The parsed selectors of a request.
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
    served: Served,
    /// Whether a field other than name and namespace is selected, so that objects must be parsed.
    deep: bool,
}

impl Selection {
    /// Parses the selectors of the query. The caller must also call [`Self::check_fields`].
    pub(crate) fn parse(served: &Served, labels: &str, fields: &str) -> Result<Self, Status> {
        let labels = LabelSelector::parse(labels).map_err(Status::bad_request)?;
        let fields = FieldSelector::parse(fields).map_err(Status::bad_request)?;
        let deep = fields.terms.iter().any(|term| !is_key(&term.field));
        Ok(Self { labels, fields, served: served.clone(), deep })
    }

    /// Refuses fields that the kind does not support in field selectors.
    pub(crate) fn check_fields(&self) -> Result<(), Status> {
        let strategy = self.served.strategy();
        for term in &self.fields.terms {
            let field = term.field.as_str();
            let mut own =
                self.served.version.selectable_fields.iter().map(|path| path.trim_start_matches('.'));
            if !(is_key(field) || own.any(|own| own == field) || strategy.selectable().contains(&field)) {
                return Err(Status::bad_request(strategy.unknown_field(field)));
            }
        }
        Ok(())
    }

    /// Returns whether a single name is selected, so that at most one object per namespace matches.
    pub(crate) fn is_one_name(&self) -> bool {
        self.fields.terms.iter().any(|term| term.field == "metadata.name" && term.equal)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Returns whether a stored object, in the version that clients see, is selected.
    pub(crate) fn matches(&self, view: &View, stored: &[u8], revision: u64) -> bool {
        if self.is_empty() {
            return true;
        }
        let converted = view.converted(revision);
        let stored = converted.map_or(stored, |converted| &converted[..]);
        let Some(meta) = Meta::read(stored) else { return false };
        if !self.labels.matches(Some(&meta.labels)) {
            return false;
        }
        let object = match (self.deep, converted) {
            (false, _) => Value::Null,
            (true, Some(converted)) => machinery::decode::own(converted).unwrap_or_default(),
            (true, None) => {
                crate::versions::convert::value(&self.served, stored, revision).unwrap_or_default()
            }
        };
        self.fields.matches(|field| match field {
            "metadata.name" => meta.name.clone().into_owned(),
            "metadata.namespace" => meta.namespace.clone().into_owned(),
            field => self.served.strategy().field(&object, field),
        })
    }
}

fn is_key(field: &str) -> bool {
    matches!(field, "metadata.name" | "metadata.namespace")
}
