//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use std::sync::Arc;

use super::{columns, definition};
use crate::columns::{CREATED, NAME};
use crate::kind::{Kind, kind};
use crate::strategy::rules::{NONE, Rules};
use crate::subject::Subject;

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject {
    kinds: &KINDS,
    manifests: &[include_str!("customresourcedefinition.json")],
    strategy: |group, plural| match (group, plural) {
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            Some(Arc::new(definition::CustomResourceDefinitions))
        }
        _ => None,
    },
    columns: |group, kind| match (group, kind) {
        ("apiextensions.k8s.io", "CustomResourceDefinition") => Some(vec![NAME, CREATED]),
        ("apiregistration.k8s.io", "APIService") => Some(columns::api_service()),
        _ => None,
    },
    warnings: |change, found| {
        if (change.group, change.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition") {
            found.extend(apiextensions::crd::format_warnings(change.object, change.old));
        }
    },
};

#[rustfmt::skip]
static KINDS: [Kind; 1] = [
    kind("apiregistration.k8s.io", "APIService", "apiservices", &[]).cluster().status().extension().conditional().metadata_repeats(2, 0)
        .rules(Rules { check_name: machinery::names::path_segment, ..NONE }),
];
