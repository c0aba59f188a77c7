//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use super::columns;
use crate::kind::{Kind, kind};
use crate::strategy::rules::{NONE, Rules};
use crate::subject::{NOTHING, Subject};

const GROUP: &str = "flowcontrol.apiserver.k8s.io";

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject {
    kinds: &KINDS,
    columns: |group, kind| match (group, kind) {
        (GROUP, "FlowSchema") => Some(columns::flow_schema()),
        (GROUP, "PriorityLevelConfiguration") => Some(columns::priority_level()),
        _ => None,
    },
    ..NOTHING
};

/// Their names need only fit into a path.
const RULES: Rules = Rules { check_name: machinery::names::path_segment, ..NONE };

#[rustfmt::skip]
static KINDS: [Kind; 2] = [
    kind(GROUP, "FlowSchema", "flowschemas", &[]).cluster().status().generation().rules(RULES),
    kind(GROUP, "PriorityLevelConfiguration", "prioritylevelconfigurations", &[]).cluster().status().generation().rules(RULES),
];
