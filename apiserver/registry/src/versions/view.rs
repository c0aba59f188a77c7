//! What clients of one version see of stored objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::convert;
use super::converted::Shown;
use super::definitions::Served;

/// Stored objects as clients of one version get them. Contains, by revision, the objects that a webhook had to convert.
#[derive(Default)]
pub(crate) struct View(BTreeMap<u64, Arc<Shown>>);

impl View {
    /// Adds an object that a webhook has converted.
    pub(super) fn add(&mut self, revision: u64, shown: Arc<Shown>) {
        self.0.insert(revision, shown);
    }

    /// Returns the object as clients get it.
    pub(crate) fn text(&self, served: &Served, stored: &Bytes, revision: u64) -> Bytes {
        match self.0.get(&revision) {
            Some(shown) => shown.text.clone(),
            None => convert::text(served, stored, revision),
        }
    }

    /// Returns the object if a webhook converted it.
    pub(crate) fn converted(&self, revision: u64) -> Option<&Shown> {
        self.0.get(&revision).map(|shown| &**shown)
    }
}
