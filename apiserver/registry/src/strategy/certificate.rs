//! CertificateSigningRequests: who asks is who wrote them, and what is asked for stays.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::names;
use serde_json::{Value, json};

use super::default::{forbidden, invalid, required};
use super::known::{NONE, Rules};
use crate::context::User;

/// `certificates.k8s.io/v1` CertificateSigningRequest
pub(super) const REQUEST: Rules = Rules {
    prepare: |request| request["status"] = json!({}),
    prepare_update: |request, old| {
        for part in ["spec", "status"] {
            request[part] = old[part].clone();
        }
    },
    validate_new: validate,
    immutable: |request, old| {
        let mut errors = Vec::new();
        for kind in ["Approved", "Denied", "Failed"] {
            let has = |request: &Value| {
                let conditions = request["status"]["conditions"].as_array();
                conditions.is_some_and(|list| list.iter().any(|condition| condition["type"] == kind))
            };
            // A decision is written through `/approval`, a failure by the signer.
            if has(request) && !has(old) && kind != "Failed" {
                let why = format!("updates may not add a condition of type {kind:?}");
                errors.push(forbidden("status.conditions", why));
            }
            if !has(request) && has(old) {
                let why = format!("updates may not remove a condition of type {kind:?}");
                errors.push(forbidden("status.conditions", why));
            }
        }
        errors
    },
    ..NONE
};

/// Notes who asks, whatever the request says.
pub(super) fn requested_by(request: &mut Value, user: &User) {
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
}

/// Shortest life of a certificate that can be asked for, in seconds.
const SECONDS_MIN: i64 = 600;

fn validate(request: &Value) -> Vec<FieldError> {
    let spec = &request["spec"];
    let mut errors = Vec::new();
    if let Some(why) = problem(spec["request"].as_str().unwrap_or_default()) {
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
    let Some((domain, path)) = signer.split_once('/').filter(|(domain, _)| domain.contains('.')) else {
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

/// Why a text is no request for a certificate. Its signature is the signer's to look at.
fn problem(encoded: &str) -> Option<String> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----";
    const END: &str = "-----END CERTIFICATE REQUEST-----";
    let text = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.unwrap_or_default();
    let inner = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(inner, _)| inner);
    let Some(inner) = inner else { return Some("PEM block type must be CERTIFICATE REQUEST".to_owned()) };
    let joined: String = inner.split_ascii_whitespace().collect();
    let Ok(der) = STANDARD.decode(joined) else {
        return Some("PEM block type must be CERTIFICATE REQUEST".to_owned());
    };
    is_sequence(&der).err().map(str::to_owned)
}

/// Whether the bytes are one sequence of ASN.1, as a request is.
fn is_sequence(der: &[u8]) -> Result<(), &'static str> {
    const TRUNCATED: &str = "asn1: syntax error: truncated tag or length";
    let (&[tag, first], rest) = der.split_first_chunk::<2>().ok_or(TRUNCATED)?;
    if tag != 0x30 {
        return Err("asn1: structure error: tags don't match");
    }
    let (length, body) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let count = usize::from(first & 0x7f);
        if count == 0 || count > 4 || rest.len() < count {
            return Err(TRUNCATED);
        }
        let (digits, body) = rest.split_at(count);
        (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), body)
    };
    match body.len() {
        found if found < length => Err("asn1: syntax error: data truncated"),
        found if found > length => Err("asn1: syntax error: trailing data"),
        _ => Ok(()),
    }
}
