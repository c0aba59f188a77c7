//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use std::sync::Arc;

use machinery::meta::text;
use serde_json::Value;

use super::namespace;
use crate::columns::{AGE, NAME, column};
use crate::subject::{NOTHING, Subject};

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject {
    manifests: &[include_str!("namespace.json")],
    strategy: |group, plural| match (group, plural) {
        ("", "namespaces") => Some(Arc::new(namespace::Namespaces)),
        _ => None,
    },
    columns: |group, kind| {
        if (group, kind) != ("", "Namespace") {
            return None;
        }
        let phase = |object: &Value, _| text(object, &["status", "phase"]).into();
        Some(vec![NAME, column("Status", "The status of the namespace", phase), AGE])
    },
    ..NOTHING
};
