//! Columns of Jobs and CronJobs.

use chrono::{DateTime, Utc};
use machinery::clock::parse_rfc3339;
use machinery::meta::text;
use machinery::table::human_duration;
use serde_json::Value;

use crate::columns::{AGE, Column, NAME, age, column, counter, number, or};
use crate::workloads::columns::{selector, with};

pub(crate) fn job() -> Vec<Column> {
    let completions = |job: &Value, _| {
        let done = number(job, "succeeded");
        match (job["spec"]["completions"].as_i64(), job["spec"]["parallelism"].as_i64().unwrap_or(0)) {
            (Some(wanted), _) => format!("{done}/{wanted}"),
            (None, parallel) if parallel > 1 => format!("{done}/1 of {parallel}"),
            (None, _) => format!("{done}/1"),
        }
        .into()
    };
    let columns = vec![
        NAME,
        column("Status", "How far it is.", job_status),
        column("Completions", "How many of its pods are done.", completions),
        column("Duration", "How long it took, or takes until now.", job_duration),
        AGE,
    ];
    with(columns, Some(selector))
}

pub(crate) fn cron_job() -> Vec<Column> {
    let last = |job: &Value, now| {
        let time = text(job, &["status", "lastScheduleTime"]);
        if time.is_empty() { "<none>".into() } else { age(time, now) }
    };
    let columns = vec![
        NAME,
        column("Schedule", "When it runs, as cron writes it.", |job, _| {
            text(job, &["spec", "schedule"]).into()
        }),
        column("Timezone", "Time zone of the schedule.", |job, _| {
            or(text(job, &["spec", "timeZone"]), "<none>")
        }),
        Column {
            kind: "boolean",
            ..column("Suspend", "Whether it is suspended.", |job, _| {
                if job["spec"]["suspend"] == true { "True" } else { "False" }.into()
            })
        },
        counter("Active", "Jobs that run now.", |job, _| {
            job["status"]["active"].as_array().map_or(0, Vec::len).into()
        }),
        column("Last Schedule", "When it ran last.", last),
        AGE,
    ];
    with(columns, Some(|_, _| "<none>".into()))
}

fn job_status(job: &Value, _: DateTime<Utc>) -> Value {
    let conditions = job["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is = |kind: &str| conditions.iter().any(|one| one["type"] == kind && one["status"] == "True");
    let deleted = !text(job, &["metadata", "deletionTimestamp"]).is_empty();
    let named = [("Complete", "Complete"), ("Failed", "Failed")].into_iter().find(|(kind, _)| is(kind));
    let named = named.or(deleted.then_some(("", "Terminating")));
    let later = [
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ];
    named
        .or_else(|| later.into_iter().find(|(kind, _)| is(kind)))
        .map_or("Running", |(_, shown)| shown)
        .into()
}

fn job_duration(job: &Value, now: DateTime<Utc>) -> Value {
    let at = |field: &str| parse_rfc3339(text(job, &["status", field]));
    match (at("startTime"), at("completionTime")) {
        (None, _) => "".into(),
        (Some(start), end) => human_duration(end.unwrap_or(now) - start).into(),
    }
}
