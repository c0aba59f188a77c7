//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use super::{autoscaler, columns};
use crate::kind::{Kind, kind};
use crate::subject::{NOTHING, Subject};

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject {
    kinds: &KINDS,
    columns: |group, kind| match (group, kind) {
        ("autoscaling", "HorizontalPodAutoscaler") => Some(columns::autoscaler()),
        _ => None,
    },
    ..NOTHING
};

#[rustfmt::skip]
static KINDS: [Kind; 1] = [
    kind("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", &["hpa"]).versions("v2", &["v1"]).status().all()
        .rules(autoscaler::AUTOSCALER),
];
