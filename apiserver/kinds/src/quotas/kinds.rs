//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use super::{columns, limit_range, quota};
use crate::columns::{CREATED, NAME};
use crate::kind::{Kind, kind};
use crate::subject::{NOTHING, Subject};

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject {
    kinds: &KINDS,
    columns: |group, kind| match (group, kind) {
        ("", "LimitRange") => Some(vec![NAME, CREATED]),
        ("", "ResourceQuota") => Some(columns::quota()),
        _ => None,
    },
    ..NOTHING
};

#[rustfmt::skip]
static KINDS: [Kind; 2] = [
    kind("", "LimitRange", "limitranges", &["limits"]).create_on_update().rules(limit_range::LIMIT_RANGE),
    kind("", "ResourceQuota", "resourcequotas", &["quota"]).status().returns_deleted().rules(quota::QUOTA),
];
