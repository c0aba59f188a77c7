//! Validation of updates of a Job's status: conditions, times and counters must agree.

use std::collections::BTreeSet;

use machinery::field::{FieldError, FieldErrorKind};
use serde_json::Value;

use super::indexes;
use crate::fields::{internal, invalid, required};

/// Returns an `Invalid` error without a value.
fn wrong(field: &str, why: impl Into<String>) -> FieldError {
    FieldError::bare(FieldErrorKind::Invalid, format!("status.{field}"), why)
}

/// Access to the fields and conditions of a Job's status.
struct Status<'v>(&'v Value);

impl Status<'_> {
    fn number(&self, field: &str) -> i64 {
        self.0[field].as_i64().unwrap_or(0)
    }

    fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap_or_default()
    }

    fn is(&self, condition: &str, state: &str) -> bool {
        let conditions = self.0["conditions"].as_array().into_iter().flatten();
        conditions.filter(|one| one["type"] == condition).any(|one| one["status"] == state)
    }

    fn complete(&self) -> bool {
        self.is("Complete", "True")
    }

    fn failed(&self) -> bool {
        self.is("Failed", "True")
    }

    fn finished(&self) -> bool {
        self.complete() || self.failed()
    }

    fn met(&self) -> bool {
        self.is("SuccessCriteriaMet", "True")
    }

    fn doomed(&self) -> bool {
        self.is("FailureTarget", "True")
    }
}

/// Validates an update of a Job's status.
pub(crate) fn check(job: &Value, old: &Value) -> Vec<FieldError> {
    let (now, before) = (Status(&job["status"]), Status(&old["status"]));
    let mut errors = numbers(&now);
    let changed = |field: &str| now.0[field] != before.0[field];
    conditions(&now, &before, &mut errors);
    times(&now, &before, &changed, &mut errors);
    finished(&job["spec"], &now, &before, &changed, &mut errors);
    indexed(&job["spec"], &now, &changed, &mut errors);
    let counted = !now.0["ready"].is_null();
    if counted && (changed("ready") || changed("active")) && now.number("ready") > now.number("active") {
        let why = "cannot set more ready pods than active";
        errors.push(invalid("status.ready", now.number("ready"), why));
    }
    together(&job["spec"], &now, &mut errors);
    since(&job["spec"], &now, &before, &mut errors);
    errors
}

fn numbers(now: &Status<'_>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["active", "succeeded", "failed", "ready", "terminating"] {
        if now.number(field) < 0 {
            let why = "must be greater than or equal to 0";
            errors.push(invalid(format!("status.{field}"), now.number(field), why));
        }
    }
    let mut seen = BTreeSet::new();
    for list in ["succeeded", "failed"] {
        let pods = now.0["uncountedTerminatedPods"][list].as_array().into_iter().flatten();
        for (index, pod) in pods.filter_map(Value::as_str).enumerate() {
            let path = format!("status.uncountedTerminatedPods.{list}[{index}]");
            if pod.is_empty() {
                errors.push(invalid(path, pod, "must not be empty"));
            } else if !seen.insert(pod) {
                errors.push(FieldError::new(FieldErrorKind::Duplicate, path, &pod.into(), ""));
            }
        }
    }
    errors
}

fn conditions(now: &Status<'_>, before: &Status<'_>, errors: &mut Vec<FieldError>) {
    let completed = now.complete() != before.complete();
    if (completed || now.failed() != before.failed()) && now.complete() && now.failed() {
        errors.push(wrong("conditions", "cannot set Complete=True and Failed=true conditions"));
    }
    if (completed || now.doomed() != before.doomed()) && now.complete() && now.doomed() {
        errors.push(wrong("conditions", "cannot set Complete=True and FailureTarget=true conditions"));
    }
}

fn times(
    now: &Status<'_>,
    before: &Status<'_>,
    changed: &dyn Fn(&str) -> bool,
    errors: &mut Vec<FieldError>,
) {
    let (start, end) = (now.text("startTime"), now.text("completionTime"));
    let ended = now.complete() != before.complete() || changed("completionTime");
    if ended && !end.is_empty() && !now.complete() {
        let why = "cannot set completionTime when there is no Complete=True condition";
        errors.push(invalid("status.completionTime", end, why));
    }
    if ended && end.is_empty() && now.complete() {
        let why = "completionTime is required for Complete jobs";
        errors.push(required("status.completionTime", why));
    }
    let moved = changed("startTime") || changed("completionTime");
    // Times are stored in UTC with a resolution of seconds, so string comparison orders them.
    if moved && !start.is_empty() && !end.is_empty() && end < start {
        errors.push(invalid("status.completionTime", end, "must be equal to or after `startTime`"));
    }
}

fn finished(
    spec: &Value,
    now: &Status<'_>,
    before: &Status<'_>,
    changed: &dyn Fn(&str) -> bool,
    errors: &mut Vec<FieldError>,
) {
    let ended = now.finished() != before.finished();
    let index_of_failed = changed("failedIndexes");
    if (now.failed() != before.failed() || index_of_failed) && now.failed() && !now.doomed() {
        let why = "cannot set Failed=True condition without the FailureTarget=true condition";
        errors.push(wrong("conditions", why));
    }
    let completed = now.complete() != before.complete() || now.met() != before.met();
    if completed && now.complete() && !now.met() {
        let why = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
        errors.push(wrong("conditions", why));
    }
    if !now.finished() {
        return;
    }
    if (ended || changed("active")) && now.number("active") > 0 {
        let why = "active>0 is invalid for finished job";
        errors.push(invalid("status.active", now.number("active"), why));
    }
    let nothing_to_do = spec["suspend"] == true && spec["completions"] == 0;
    if (ended || changed("startTime")) && !nothing_to_do && now.text("startTime").is_empty() {
        errors.push(required("status.startTime", "startTime is required for finished job"));
    }
    let uncounted = &now.0["uncountedTerminatedPods"];
    let any = ["succeeded", "failed"]
        .iter()
        .any(|list| uncounted[*list].as_array().is_some_and(|pods| !pods.is_empty()));
    if (ended || changed("uncountedTerminatedPods")) && any {
        let (field, ty) = ("status.uncountedTerminatedPods", "batch.UncountedTerminatedPods");
        errors.push(internal(field.to_owned(), ty, uncounted, "must be empty for finished job"));
    }
    if (ended || changed("terminating")) && now.number("terminating") > 0 {
        let why = "terminating>0 is invalid for finished job";
        errors.push(invalid("status.terminating", now.number("terminating"), why));
    }
}

/// Validates `completedIndexes` and `failedIndexes`.
fn indexed(spec: &Value, now: &Status<'_>, changed: &dyn Fn(&str) -> bool, errors: &mut Vec<FieldError>) {
    let count = spec["completions"].as_i64();
    let limited = !spec["backoffLimitPerIndex"].is_null();
    let (done, failed) = (now.text("completedIndexes"), now.0["failedIndexes"].as_str());
    let completed = changed("completedIndexes");
    for (field, text, wanted) in [
        ("completedIndexes", Some(done), completed),
        ("failedIndexes", failed, changed("failedIndexes") && limited),
    ] {
        if let (Some(text), Some(count), true) = (text, count, wanted)
            && let Err(why) = indexes::parse(text, count)
        {
            errors.push(invalid(format!("status.{field}"), text, format!("error parsing {field}: {why}")));
        }
    }
    if completed && !done.is_empty() && spec["completionMode"] != "Indexed" {
        let why = "cannot set non-empty completedIndexes when non-indexed completion mode";
        errors.push(invalid("status.completedIndexes", done, why));
    }
    let Some(failed) = failed else { return };
    if changed("failedIndexes") && !limited {
        let why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null";
        errors.push(invalid("status.failedIndexes", failed, why));
    }
    if (completed || changed("failedIndexes"))
        && let Some(count) = count
        && let (Ok(done), Ok(found)) = (indexes::parse(done, count), indexes::parse(failed, count))
        && let Some(index) = indexes::first_common(&done, &found)
    {
        let why = format!("failedIndexes and completedIndexes overlap at index: {index}");
        errors.push(invalid("status.failedIndexes", failed, why));
    }
}

/// Refuses conditions that exclude each other.
fn together(spec: &Value, now: &Status<'_>, errors: &mut Vec<FieldError>) {
    if now.met() && now.failed() {
        errors.push(wrong("conditions", "cannot set SuccessCriteriaMet=True and Failed=true conditions"));
    }
    if now.met() && now.doomed() {
        let why = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
        errors.push(wrong("conditions", why));
    }
    if spec["successPolicy"].is_object() && !now.met() && now.complete() {
        let why = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
        errors.push(wrong("conditions", why));
    }
}

/// Refuses changes of terminal conditions, counters and times that must not be reverted.
fn since(spec: &Value, now: &Status<'_>, before: &Status<'_>, errors: &mut Vec<FieldError>) {
    for condition in ["Failed", "Complete", "FailureTarget"] {
        if before.is(condition, "True") && !now.is(condition, "True") {
            let why = format!("cannot disable the terminal {condition}=True condition");
            errors.push(wrong("conditions", why));
        }
    }
    let elastic = spec["completionMode"] == "Indexed" && spec["completions"] == spec["parallelism"];
    for field in ["failed", "succeeded"] {
        let counted = field == "failed" || !elastic;
        if counted && now.number(field) < before.number(field) {
            let why = format!("cannot decrease the {field} counter");
            errors.push(invalid(format!("status.{field}"), now.number(field), why));
        }
    }
    let (end, ended) = (now.text("completionTime"), before.text("completionTime"));
    if !end.is_empty() && !ended.is_empty() && end != ended {
        errors.push(invalid("status.completionTime", end, "field is immutable"));
    }
    let (start, started) = (&now.0["startTime"], &before.0["startTime"]);
    let resumed = before.is("Suspended", "True") && now.is("Suspended", "False");
    if !started.is_null() && start != started && spec["suspend"] != true && !resumed {
        let why = "field is immutable for unsuspended job once set";
        errors.push(invalid("status.startTime", start.clone(), why));
    }
    if before.met() && !now.met() {
        errors.push(wrong("conditions", "cannot disable the SuccessCriteriaMet=True condition"));
    }
    if before.complete() && !before.met() && now.met() {
        let why = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
        errors.push(wrong("conditions", why));
    }
}
