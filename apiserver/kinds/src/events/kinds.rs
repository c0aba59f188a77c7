//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use std::sync::Arc;

use super::{columns, event};
use crate::subject::{NOTHING, Subject};

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject {
    manifests: &[include_str!("event.json"), include_str!("event-events.json")],
    strategy: |group, plural| match (group, plural) {
        ("", "events") => Some(Arc::new(event::Events { strict: false })),
        ("events.k8s.io", "events") => Some(Arc::new(event::Events { strict: true })),
        _ => None,
    },
    columns: |group, kind| match (group, kind) {
        ("" | "events.k8s.io", "Event") => Some(columns::event()),
        _ => None,
    },
    ..NOTHING
};
