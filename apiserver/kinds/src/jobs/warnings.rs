//! Warnings about valid but questionable fields of Jobs and CronJobs.

use serde_json::Value;

use crate::pods::warnings::{label_name, pod, template};
use crate::subject::Change;

/// Adds the warnings for a write to `found`.
pub(crate) fn of(change: &Change<'_>, found: &mut Vec<String>) {
    let spec = &change.object["spec"];
    if change.group != "batch" || !matches!(change.kind, "Job" | "CronJob") || !change.is_of_spec() {
        return;
    }
    if change.old.is_none() {
        found.extend(label_name(change.object, "Pod names and hostnames"));
    }
    if change.kind == "Job" {
        many_indexes(spec, "spec", found);
        template(spec, found);
    } else {
        pod("spec.jobTemplate.spec.template.", &spec["jobTemplate"]["spec"]["template"], true, found);
    }
}

/// Number of completions of an Indexed Job above which its status may not track all indexes.
const INDEXES_MANY: i64 = 100_000;
/// Parallelism above which the warning about completions applies.
const PARALLEL_MANY: i64 = 10_000;

fn many_indexes(spec: &Value, at: &str, found: &mut Vec<String>) {
    let number = |field: &str| spec[field].as_i64().unwrap_or(0);
    let many = number("completions") > INDEXES_MANY && number("parallelism") > PARALLEL_MANY;
    if spec["completionMode"] == "Indexed" && many {
        found.push(format!(
            "{at}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, \
             Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        ));
    }
}
