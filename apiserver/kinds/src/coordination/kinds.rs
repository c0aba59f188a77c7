//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use std::sync::Arc;

use machinery::meta::text;
use serde_json::Value;

use super::lease;
use crate::columns::{AGE, NAME, column};
use crate::subject::{NOTHING, Subject};

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject {
    manifests: &[include_str!("lease.json")],
    strategy: |group, plural| match (group, plural) {
        ("coordination.k8s.io", "leases") => Some(Arc::new(lease::Leases)),
        _ => None,
    },
    columns: |group, kind| {
        if (group, kind) != ("coordination.k8s.io", "Lease") {
            return None;
        }
        let holder = |object: &Value, _| text(object, &["spec", "holderIdentity"]).into();
        Some(vec![NAME, column("Holder", "Who holds the lease.", holder), AGE])
    },
    ..NOTHING
};
