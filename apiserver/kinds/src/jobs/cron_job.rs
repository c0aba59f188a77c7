//! CronJobs.

use machinery::field::FieldError;
use machinery::meta;
use machinery::names::validate_labels;
use serde_json::Value;

use super::job::never_always;
use super::{cron, failure_policy};
use crate::fields::{invalid, required};
use crate::pods::defaults::default_template;
use crate::pods::gated::drop_gated;
use crate::pods::spec::validate_spec;
use crate::strategy::rules::{NONE, Rules};

/// `batch/v1` CronJob.
pub(crate) const CRON_JOB: Rules = Rules {
    drop_gated: |object| drop_gated(object, "/spec/jobTemplate/spec/template/spec"),
    normalize: |object| default_template(&mut object["spec"]["jobTemplate"]["spec"]["template"]),
    validate: |object| {
        let job = &object["spec"]["jobTemplate"]["spec"];
        let labels = &job["template"]["metadata"]["labels"];
        let mut errors = validate_labels(Some(labels), "spec.jobTemplate.spec.template.labels");
        errors.extend(schedule(object));
        errors.extend(validate_spec(&job["template"]["spec"], "spec.jobTemplate.spec.template.spec"));
        errors.extend(never_always(job, "spec.jobTemplate.spec"));
        let path = "spec.jobTemplate.spec";
        if job["completionMode"] == "Indexed" && job["completions"].is_null() {
            errors.push(required(format!("{path}.completions"), "when completion mode is Indexed"));
        }
        failure_policy::success(job, path, &mut errors);
        failure_policy::check(job, path, &mut errors);
        if !job["selector"].is_null() {
            let why = "`selector` will be auto-generated";
            errors.push(invalid(format!("{path}.selector"), job["selector"].clone(), why));
        }
        if job["manualSelector"] == true {
            let allowed = ["nil".into(), "false".into()];
            let field = format!("{path}.manualSelector");
            errors.push(FieldError::not_supported(field, &true.into(), &allowed));
        }
        errors
    },
    ..NONE
};

/// Maximum length of a CronJob's name, which leaves room for the suffix of its Jobs' names.
const CRON_JOB_NAME_MAX: usize = 52;

/// Validates name, schedule and time zone of a CronJob.
fn schedule(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if meta::name(object).len() > CRON_JOB_NAME_MAX {
        let why = format!("must be no more than {CRON_JOB_NAME_MAX} characters");
        errors.push(invalid("metadata.name", meta::name(object), why));
    }
    let spec = &object["spec"];
    let text = spec["schedule"].as_str().unwrap_or_default();
    if text.contains("TZ") {
        let why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.push(invalid("spec.schedule", text, why));
    } else if !text.is_empty()
        && let Err(why) = cron::check(text)
    {
        errors.push(invalid("spec.schedule", text, why));
    }
    let why = match spec["timeZone"].as_str() {
        Some("") => "timeZone must be nil or non-empty string".to_owned(),
        Some(zone) if zone.eq_ignore_ascii_case("local") => {
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones".to_owned()
        }
        Some(zone) if !cron::is_zone(zone) => format!("unknown time zone {zone}"),
        _ => return errors,
    };
    errors.push(invalid("spec.timeZone", spec["timeZone"].clone(), why));
    errors
}
