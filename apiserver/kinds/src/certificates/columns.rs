//! Columns of CertificateSigningRequests.

use machinery::meta::text;
use machinery::table::human_duration;
use serde_json::Value;

use crate::columns::{AGE, Column, NAME, column, or};

pub(crate) fn signing_request() -> Vec<Column> {
    let duration = |one: &Value, _| {
        let seconds = one["spec"]["expirationSeconds"].as_i64();
        seconds.map_or("<none>".into(), |seconds| human_duration(chrono::Duration::seconds(seconds)).into())
    };
    let condition = |one: &Value, _| {
        let conditions = one["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let has = |kind: &str| conditions.iter().any(|one| one["type"] == kind);
        let mut shown = if has("Denied") {
            "Denied"
        } else if has("Approved") {
            "Approved"
        } else {
            "Pending"
        }
        .to_owned();
        if has("Failed") {
            shown.push_str(",Failed");
        }
        if !text(one, &["status", "certificate"]).is_empty() {
            shown.push_str(",Issued");
        }
        shown.into()
    };
    vec![
        NAME,
        AGE,
        column("SignerName", "The signer.", |one, _| or(text(one, &["spec", "signerName"]), "<none>")),
        column("Requestor", "Who asks.", |one, _| text(one, &["spec", "username"]).into()),
        column("RequestedDuration", "For how long.", duration),
        column("Condition", "How far it is.", condition),
    ]
}
