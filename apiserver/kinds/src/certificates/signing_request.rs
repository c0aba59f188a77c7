//! CertificateSigningRequests. The server records the requesting user, and the spec is immutable. Approvers write
//! conditions through `/approval`, signers write the certificate through `/status`.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinery::apply::Reset;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::names;
use serde_json::{Value, json};

use super::{pem, request};
use crate::fields::{forbidden, invalid, required};
use crate::strategy::rules::{NONE, Rules};
use crate::subresource::Subresource;
use crate::user::User;

/// `certificates.k8s.io/v1` CertificateSigningRequest.
pub(crate) const REQUEST: Rules = Rules {
    prepare: |request| request["status"] = json!({}),
    prepare_update: |request, old| {
        for part in ["spec", "status"] {
            request[part] = old[part].clone();
        }
    },
    reset: |part| match part {
        Subresource::Status => Some(Reset::Fields(&[&["spec"], &["status", "conditions"]])),
        Subresource::Approval => Some(Reset::Fields(&[&["spec"], &["status", "certificate"]])),
        // Neither spec nor status can be changed through the main resource.
        Subresource::None => Some(Reset::Fields(&[&["spec"], &["status"]])),
        _ => None,
    },
    requested_by,
    create_refusal: refusal,
    prepare_part,
    validate_new: validate,
    validate_part,
    ..NONE
};

const APPROVED: &str = "Approved";
const DENIED: &str = "Denied";
const FAILED: &str = "Failed";

fn conditions(request: &Value) -> &[Value] {
    request["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn of_type<'v>(request: &'v Value, kind: &'static str) -> impl Iterator<Item = &'v Value> {
    conditions(request).iter().filter(move |condition| condition["type"] == kind)
}

/// Restricts a write: `/approval` changes conditions only, and `/status` changes the status except `Approved` and
/// `Denied`.
fn prepare_part(part: Subresource, request: &mut Value, old: &Value, now: &str) {
    request["spec"] = old["spec"].clone();
    if part == Subresource::Approval {
        let asked = request["status"]["conditions"].take();
        request["status"] = old["status"].clone();
        request["status"]["conditions"] = asked;
    } else {
        keep_decisions(request, old, APPROVED);
        keep_decisions(request, old, DENIED);
    }
    if let Some(list) = request["status"]["conditions"].as_array_mut() {
        let times = times(old);
        list.iter_mut().for_each(|condition| date(condition, &times, now));
    }
    if let Some(status) = request["status"].as_object_mut() {
        status.retain(|_, value| !crate::decode::empty(value));
    }
}

/// Restores the old conditions of `kind` if their number is unchanged. Validation refuses any other number.
fn keep_decisions(request: &mut Value, old: &Value, kind: &'static str) {
    let before: Vec<Value> = of_type(old, kind).cloned().collect();
    if before.len() != of_type(request, kind).count() {
        return;
    }
    let list = request["status"]["conditions"].as_array_mut().into_iter().flatten();
    for (condition, before) in list.filter(|condition| condition["type"] == kind).zip(before) {
        *condition = before;
    }
}

/// The `lastTransitionTime` of conditions by type and status.
type Times<'v> = BTreeMap<(&'v str, &'v str), &'v Value>;

fn times(request: &Value) -> Times<'_> {
    let mut times = Times::new();
    for one in conditions(request) {
        let text = |field: &str| one[field].as_str().unwrap_or_default();
        times.entry((text("type"), text("status"))).or_insert(&one["lastTransitionTime"]);
    }
    times
}

/// Fills in `lastUpdateTime` and `lastTransitionTime` of a condition if they are missing.
fn date(condition: &mut Value, times: &Times<'_>, now: &str) {
    let text = |field: &str| condition[field].as_str().unwrap_or_default();
    let before = times.get(&(text("type"), text("status"))).map(|time| (*time).clone());
    let Some(condition) = condition.as_object_mut() else { return };
    let lacks = |field: &str, condition: &serde_json::Map<String, Value>| {
        condition.get(field).is_none_or(Value::is_null)
    };
    if lacks("lastUpdateTime", condition) {
        condition.insert("lastUpdateTime".into(), now.into());
    }
    if lacks("lastTransitionTime", condition) {
        let before = before.filter(|time| !time.is_null());
        condition.insert("lastTransitionTime".into(), before.unwrap_or_else(|| now.into()));
    }
}

/// Validates an update through `/approval` or `/status`.
fn validate_part(part: Subresource, request: &Value, old: &Value) -> Vec<FieldError> {
    const CONDITIONS: &str = "status.conditions";
    const CERTIFICATE: &str = "status.certificate";
    let mut errors = validate_conditions(request, old);
    let certificate =
        |request: &Value| request["status"]["certificate"].as_str().unwrap_or_default().to_owned();
    let (now, before) = (certificate(request), certificate(old));
    if now != before
        && let Err(why) = pem::check_certificates(&STANDARD.decode(&now).unwrap_or_default())
    {
        errors.push(invalid(CERTIFICATE, "<certificate data>", why));
    }
    let count = |request: &Value, kind| of_type(request, kind).count();
    for kind in [APPROVED, DENIED, FAILED] {
        if count(request, kind) < count(old, kind) {
            let why = format!("updates may not remove a condition of type {kind:?}");
            errors.push(forbidden(CONDITIONS, why));
        }
    }
    for kind in [APPROVED, DENIED] {
        if part != Subresource::Approval && count(request, kind) > count(old, kind) {
            let why = format!("updates may not add a condition of type {kind:?}");
            errors.push(forbidden(CONDITIONS, why));
        }
    }
    if now != before && part == Subresource::Approval {
        errors.push(forbidden(CERTIFICATE, "updates may not set certificate content"));
    } else if now != before && !before.is_empty() {
        errors.push(forbidden(CERTIFICATE, "updates may not modify existing certificate content"));
    }
    errors
}

fn validate_conditions(request: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let decided_twice = of_type(old, APPROVED).next().is_some() && of_type(old, DENIED).next().is_some();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let list = conditions(request);
    for (index, condition) in list.iter().enumerate() {
        let path = format!("status.conditions[{index}]");
        let (kind, status) = (text(&condition["type"]), text(&condition["status"]));
        if kind.is_empty() {
            errors.push(required(format!("{path}.type"), ""));
        }
        let allowed: &[&str] = match kind.as_str() {
            APPROVED | DENIED | FAILED => &["True"],
            _ => &["False", "True", "Unknown"],
        };
        if status.is_empty() {
            errors.push(required(format!("{path}.status"), ""));
        } else if !allowed.contains(&status.as_str()) {
            let allowed: Vec<Value> = allowed.iter().map(|one| (*one).into()).collect();
            errors.push(FieldError::not_supported(format!("{path}.status"), &condition["status"], &allowed));
        }
        let earlier = |wanted: &str| seen.contains(wanted);
        let excluded = match kind.as_str() {
            APPROVED => earlier(DENIED),
            DENIED => earlier(APPROVED),
            _ => false,
        };
        if excluded && !decided_twice {
            let why = "Approved and Denied conditions are mutually exclusive";
            errors.push(invalid("status.conditions", kind.as_str(), why));
        }
        if earlier(&kind) {
            errors.push(FieldError::new(
                FieldErrorKind::Duplicate,
                format!("{path}.type"),
                &condition["type"],
                "",
            ));
        }
        seen.insert(kind);
    }
    errors
}

/// The signer of client certificates that the API server itself trusts.
const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// Returns the reason to refuse the creation of a request: the cluster's own signer must not issue `system:masters`.
pub(crate) fn refusal(request: &Value) -> Option<String> {
    if request["spec"]["signerName"] != CLIENT_SIGNER {
        return None;
    }
    let masters = request::organizations(&encoded(request)).iter().any(|one| one == "system:masters");
    masters.then(|| format!("use of {CLIENT_SIGNER} signer with system:masters group is not allowed"))
}

fn encoded(request: &Value) -> Vec<u8> {
    STANDARD.decode(request["spec"]["request"].as_str().unwrap_or_default()).unwrap_or_default()
}

/// Records the requesting user in the spec and overwrites what the client wrote there.
pub(crate) fn requested_by(request: &mut Value, user: &User) {
    let Some(spec) = request["spec"].as_object_mut() else { return };
    for field in ["username", "uid", "groups", "extra"] {
        spec.remove(field);
    }
    spec.insert("username".into(), user.name.as_str().into());
    if !user.uid.is_empty() {
        spec.insert("uid".into(), user.uid.as_str().into());
    }
    if !user.groups.is_empty() {
        spec.insert("groups".into(), user.groups.clone().into());
    }
    if !user.extra.is_empty() {
        spec.insert("extra".into(), json!(user.extra));
    }
}

/// Minimum of `spec.expirationSeconds`.
const SECONDS_MIN: i64 = 600;

fn validate(request: &Value) -> Vec<FieldError> {
    let spec = &request["spec"];
    let mut errors = Vec::new();
    if let Err(why) = request::check(&encoded(request)) {
        errors.push(invalid("spec.request", spec["request"].clone(), why));
    }
    let usages = spec["usages"].as_array().map(Vec::as_slice).unwrap_or_default();
    if usages.is_empty() {
        errors.push(required("spec.usages", ""));
    }
    for (index, usage) in usages.iter().enumerate().filter(|(index, usage)| usages[..*index].contains(usage))
    {
        errors.push(FieldError::new(FieldErrorKind::Duplicate, format!("spec.usages[{index}]"), usage, ""));
    }
    let signer = spec["signerName"].as_str().unwrap_or_default();
    errors.extend(if signer.is_empty() { Vec::new() } else { signer_problems(signer) });
    if let Some(seconds) = spec["expirationSeconds"].as_i64().filter(|seconds| *seconds < SECONDS_MIN) {
        let why = "may not specify a duration less than 600 seconds (10 minutes)";
        errors.push(invalid("spec.expirationSeconds", seconds, why));
    }
    errors
}

fn signer_problems(signer: &str) -> Vec<FieldError> {
    const FIELD: &str = "spec.signerName";
    if signer == "kubernetes.io/legacy-unknown" {
        let why = "the legacy signerName is not allowed via this API version";
        return vec![invalid(FIELD, signer, why)];
    }
    let parts = signer.split_once('/').filter(|(domain, path)| domain.contains('.') && !path.contains('/'));
    let Some((domain, path)) = parts else {
        let why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return vec![invalid(FIELD, signer, why)];
    };
    let mut errors = Vec::new();
    for label in domain.split('.') {
        let problems = names::dns1123_label(label).into_iter();
        errors
            .extend(problems.map(|why| invalid(FIELD, domain, format!("validating label {label:?}: {why}"))));
    }
    for label in path.split('/') {
        let problems = names::dns1123_subdomain(label).into_iter();
        errors.extend(problems.map(|why| invalid(FIELD, path, format!("validating label {label:?}: {why}"))));
    }
    errors
}
