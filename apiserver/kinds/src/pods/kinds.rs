//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use super::{columns, rules, warnings};
use crate::kind::{Kind, kind};
use crate::subject::{NOTHING, Subject};
use crate::subresource::Subresource;

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject {
    kinds: &KINDS,
    columns: |group, kind| match (group, kind) {
        ("", "Pod") => Some(columns::columns()),
        ("", "PodTemplate") => Some(columns::template()),
        _ => None,
    },
    warnings: warnings::of,
    ..NOTHING
};

#[rustfmt::skip]
static KINDS: [Kind; 3] = [
    kind("", "Binding", "bindings", &[]).answered(),
    kind("", "Pod", "pods", &["po"]).status().all().generation()
        .parts(&[Subresource::EphemeralContainers, Subresource::Resize]).returns_deleted().selectable(&[
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName", "spec.host",
    ]).metadata_repeats(2, 2).rules(rules::POD),
    kind("", "PodTemplate", "podtemplates", &[]).generation().returns_deleted().rules(rules::POD_TEMPLATE),
];
