//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use crate::subject::{NOTHING, Subject};

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject {
    manifests: &[
        include_str!("tokenreview.json"),
        include_str!("tokenrequest.json"),
        include_str!("selfsubjectreview.json"),
        include_str!("subjectaccessreview.json"),
        include_str!("selfsubjectaccessreview.json"),
        include_str!("localsubjectaccessreview.json"),
        include_str!("selfsubjectrulesreview.json"),
    ],
    ..NOTHING
};
