//! The answers of admission webhooks.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinery::status::Status;
use serde_json::{Value, json};

/// A valid answer.
#[derive(Debug, PartialEq)]
pub(crate) struct Verdict {
    /// The `status` of the refusal; `None` if the request is allowed.
    pub(crate) denied: Option<Value>,
    /// The JSON patch as text; empty if there is none.
    pub(crate) patch: Vec<u8>,
    pub(crate) warnings: Vec<String>,
}

/// Reads the answer to the review with the given `uid`.
///
/// # Errors
/// Why the answer is invalid.
pub(crate) fn read(answer: &Value, version: &str, uid: &str, mutating: bool) -> Result<Verdict, String> {
    let found = |field: &str| answer[field].as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (found("apiVersion"), found("kind"));
    if api_version != version || kind != "AdmissionReview" {
        return Err(format!(
            "expected webhook response of {version}, Kind=AdmissionReview, got {api_version}, Kind={kind}"
        ));
    }
    let response = &answer["response"];
    if !response.is_object() {
        return Err("webhook response was absent".to_owned());
    }
    let beta = version.ends_with("v1beta1");
    let given = response["uid"].as_str().unwrap_or_default();
    // `v1beta1` does not require the UID in the response.
    if given != uid && !beta {
        return Err(format!("expected response.uid={uid:?}, got {given:?}"));
    }
    let patch = match (mutating, beta) {
        (true, _) => patch(response, beta)?,
        (false, true) => Vec::new(),
        (false, false) => no_patch(response)?,
    };
    let denied = (response["allowed"] != true).then(|| match &response["status"] {
        Value::Object(_) => response["status"].clone(),
        _ => json!({}),
    });
    let warnings = response["warnings"].as_array().into_iter().flatten();
    let warnings = warnings.filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(Verdict { denied, patch, warnings })
}

/// Refuses the answer of a validating webhook that would change the object.
fn no_patch(response: &Value) -> Result<Vec<u8>, String> {
    let is_given = |field: &str| !response[field].is_null() && response[field] != "";
    match ["patch", "patchType"].into_iter().find(|field| is_given(field)) {
        Some(field) => Err(format!("validating webhook may not return response.{field}")),
        None => Ok(Vec::new()),
    }
}

fn patch(response: &Value, beta: bool) -> Result<Vec<u8>, String> {
    let text = response["patch"].as_str().unwrap_or_default();
    let patch =
        STANDARD.decode(text).map_err(|error| format!("response.patch is not valid base64: {error}"))?;
    match (patch.is_empty(), response["patchType"].as_str()) {
        // `v1beta1` knows no other type.
        (false, None) if !beta => {
            Err("webhook returned response.patch but not response.patchType".to_owned())
        }
        (true, Some(_)) => Err("webhook returned response.patchType but not response.patch".to_owned()),
        (false, Some(kind)) if kind != "JSONPatch" => {
            Err(format!("webhook returned invalid response.patchType of {kind:?}"))
        }
        _ => Ok(patch),
    }
}

/// Reasons that a refusal may contain: those that a `Status` of this server can have.
const REASONS: [&str; 18] = [
    "Unauthorized",
    "Forbidden",
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Gone",
    "Invalid",
    "ServerTimeout",
    "Timeout",
    "TooManyRequests",
    "BadRequest",
    "MethodNotAllowed",
    "NotAcceptable",
    "RequestEntityTooLarge",
    "UnsupportedMediaType",
    "InternalError",
    "Expired",
    "ServiceUnavailable",
];

/// Builds the refusal for the client from the `Status` in the answer.
pub(crate) fn denial(webhook: &str, status: &Value) -> Status {
    let denied = format!("admission webhook \"{webhook}\" denied the request");
    let text = |field: &str| status[field].as_str().unwrap_or_default();
    let message = match (text("message"), text("reason")) {
        ("", "") => format!("{denied} without explanation"),
        ("", why) | (why, _) => format!("{denied}: {why}"),
    };
    let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(0);
    let reason = REASONS.into_iter().find(|reason| *reason == text("reason")).unwrap_or_default();
    let mut refusal = Status::new(if code < 400 { 400 } else { code }, reason, message);
    refusal.details = Some(status["details"].clone()).filter(Value::is_object);
    refusal
}
