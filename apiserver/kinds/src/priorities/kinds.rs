//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use machinery::meta::text;

use super::priority_class::{self, GROUP};
use crate::columns::{AGE, Column, NAME, column, counter};
use crate::kind::{Kind, kind};
use crate::subject::{NOTHING, Subject};

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject { kinds: &KINDS, columns, ..NOTHING };

#[rustfmt::skip]
static KINDS: [Kind; 1] = [
    kind(GROUP, "PriorityClass", "priorityclasses", &["pc"]).cluster().rules(priority_class::PRIORITY),
];

fn columns(group: &str, kind: &str) -> Option<Vec<Column>> {
    ((group, kind) == (GROUP, "PriorityClass")).then(|| {
        vec![
            NAME,
            counter("Value", "The priority.", |one, _| one["value"].as_i64().unwrap_or_default().into()),
            Column {
                kind: "boolean",
                ..column("Global-Default", "Whether pods without a class have it.", |one, _| {
                    (one["globalDefault"] == true).into()
                })
            },
            AGE,
            column("PreemptionPolicy", "Whether its pods preempt others.", |one, _| {
                text(one, &["preemptionPolicy"]).into()
            }),
        ]
    })
}
