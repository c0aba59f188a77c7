//! The table of the kinds of this folder, with references to their rules, columns and warnings.

use super::{columns, cron_job, job, warnings};
use crate::kind::{Kind, kind};
use crate::subject::{NOTHING, Subject};

/// The kinds of this folder.
pub(crate) static SUBJECT: Subject = Subject {
    kinds: &KINDS,
    columns: |group, kind| match (group, kind) {
        ("batch", "Job") => Some(columns::job()),
        ("batch", "CronJob") => Some(columns::cron_job()),
        _ => None,
    },
    warnings: warnings::of,
    ..NOTHING
};

#[rustfmt::skip]
static KINDS: [Kind; 2] = [
    kind("batch", "CronJob", "cronjobs", &["cj"]).status().all().generation().status_without_metadata().rules(cron_job::CRON_JOB),
    kind("batch", "Job", "jobs", &[]).status().all().generation().orphans().selectable(&["status.successful"]).metadata_repeats(2, 2).rules(job::JOB),
];
