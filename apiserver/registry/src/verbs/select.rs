//! Selection of the objects of a list or watch. It looks at what is kept beside the objects, not at their text.

use std::sync::Arc;

use machinery::selector::{FieldSelector, LabelSelector};
use machinery::status::Status;
use serde_json::Value;
use store::Stored;

use crate::limits::{ASIDE_FROM_BYTES, OBJECT_WORK_BYTES};
use crate::storage::outline::{self, Outline, Texts};
use crate::versions::convert;
use crate::versions::definitions::Served;
use crate::versions::fields::{fields, selectable};
use crate::versions::view::View;

/// Number of requirements of a selector that are about as much work as an object itself.
const TERMS: usize = 16;

/// The parsed selectors of a request.
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
    served: Served,
    /// Where the field of each term of `fields` is.
    places: Vec<Place>,
}

/// Where the value of a field is.
enum Place {
    Name,
    Namespace,
    /// Among the selectable fields of the kind.
    Own(usize),
}

impl Selection {
    /// Parses the selectors of the query. The caller must also call [`Self::check_fields`].
    pub(crate) fn parse(served: &Served, labels: &str, fields: &str) -> Result<Self, Status> {
        let labels = LabelSelector::parse(labels).map_err(Status::bad_request)?;
        let fields = FieldSelector::parse(fields).map_err(Status::bad_request)?;
        let namespaced = served.definition.namespaced;
        let place = |field: &str| match field {
            "metadata.name" => Place::Name,
            "metadata.namespace" if served.strategy().selects_namespace(namespaced) => Place::Namespace,
            // A field that the kind does not have is refused later.
            field => Place::Own(selectable(served).position(|own| own == field).unwrap_or(usize::MAX)),
        };
        let places = fields.terms.iter().map(|term| place(&term.field)).collect();
        Ok(Self { labels, fields, served: served.clone(), places })
    }

    /// Refuses fields that the kind does not support in field selectors.
    pub(crate) fn check_fields(&self) -> Result<(), Status> {
        let unknown = |place: &Place| matches!(place, Place::Own(usize::MAX));
        match self.fields.terms.iter().zip(&self.places).find(|(_, place)| unknown(place)) {
            Some((term, _)) => Err(Status::bad_request(self.served.strategy().unknown_field(&term.field))),
            None => Ok(()),
        }
    }

    /// Returns the name if a single one is selected, so that at most one object per namespace matches.
    pub(crate) fn one_name(&self) -> Option<&str> {
        let mut terms = self.fields.terms.iter();
        terms.find(|term| term.field == "metadata.name" && term.equal).map(|term| term.value.as_str())
    }

    /// Returns whether an object may be selected, by what is kept beside it and at once. What is not known about it yet may be so, and many
    /// requirements are for [`Self::matches`], which others do not have to wait for.
    pub(crate) fn may_match(&self, stored: &Stored) -> bool {
        let is_shown_otherwise = || {
            let conversion = self.served.definition.conversion.is_some();
            conversion && !convert::as_stored(&self.served, stored.mod_revision.0)
        };
        if self.labels.len() + self.fields.terms.len() > TERMS
            || !stored.derived.is_known()
            || is_shown_otherwise()
        {
            return true;
        }
        let Some(outline) = outline::of(stored) else { return false };
        if !self.labels.selects(|key| outline.label(key)) {
            return false;
        }
        if !self.is_deep() {
            return self.fields_match(stored, &Texts::default());
        }
        let known = outline.ask_fields(&self.served.version, |fields| self.fields_match(stored, fields));
        known.unwrap_or(true)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether a field other than name and namespace is selected.
    fn is_deep(&self) -> bool {
        self.places.iter().any(|place| matches!(place, Place::Own(_)))
    }

    /// Returns the work on a stored object in bytes: to look at what is kept beside it, to read that if it is not known yet, and to convert
    /// the object to the version that clients see.
    pub(crate) fn work(&self, stored: &Stored) -> usize {
        let terms = (self.labels.len() + self.fields.terms.len()) / TERMS;
        let mut bytes = OBJECT_WORK_BYTES * (1 + terms);
        bytes += convert::work(&self.served, stored.mod_revision.0, stored.value.len());
        if !self.is_empty() {
            let unread = outline::unread(stored);
            let are_known = || {
                outline::of(stored)
                    .is_some_and(|outline| outline.known_fields(&self.served.version).is_some())
            };
            bytes += unread;
            // Without an outline, the fields are unknown, too.
            if self.is_deep() && (unread > 0 || !are_known()) {
                bytes += stored.value.len();
            }
        }
        bytes
    }

    /// Returns the work on these objects in bytes, as far as it matters.
    pub(crate) fn work_on(&self, entries: &[Arc<Stored>]) -> usize {
        let mut bytes = 0;
        for stored in entries {
            if bytes >= ASIDE_FROM_BYTES {
                break;
            }
            bytes += self.work(stored);
        }
        bytes
    }

    /// Returns whether a stored object, in the version that clients see, is selected.
    pub(crate) fn matches(&self, view: &View, stored: &Stored) -> bool {
        if self.is_empty() {
            return true;
        }
        let shown = view.converted(stored.mod_revision.0);
        let outline = match shown {
            Some(shown) => shown.outline(),
            None => outline::of(stored),
        };
        let Some(outline) = outline else { return false };
        if !self.labels.selects(|key| outline.label(key)) {
            return false;
        }
        let parsed = || match shown {
            Some(shown) => machinery::decode::own(&shown.text).ok(),
            None => convert::value(&self.served, &stored.value, stored.mod_revision.0),
        };
        let fields = if self.is_deep() { self.fields_of(outline, parsed) } else { Arc::default() };
        self.fields_match(stored, &fields)
    }

    /// Returns whether all terms about fields hold for an object with these selectable fields.
    fn fields_match(&self, stored: &Stored, fields: &Texts) -> bool {
        self.fields.terms.iter().zip(&self.places).all(|(term, place)| {
            let value = match place {
                Place::Name => stored.key.name(),
                Place::Namespace => stored.key.namespace().unwrap_or_default(),
                Place::Own(index) => fields.get(*index),
            };
            (value == term.value) == term.equal
        })
    }

    /// Returns the selectable fields of an object, in the version that clients see.
    fn fields_of(&self, outline: &Outline, parsed: impl FnOnce() -> Option<Value>) -> Arc<Texts> {
        let version = &self.served.version;
        if let Some(known) = outline.known_fields(version) {
            return known;
        }
        let fields = Arc::new(fields(&self.served, &parsed().unwrap_or_default()));
        outline.keep_fields(version, fields.clone());
        fields
    }
}
