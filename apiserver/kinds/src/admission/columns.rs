//! Columns of the kinds that configure admission.

use chrono::{DateTime, Utc};
use machinery::meta::text;
use serde_json::Value;

use crate::columns::{AGE, Column, NAME, column, counter};

/// Returns the columns of a kind of the group.
pub(crate) fn of(group: &str, kind: &str) -> Option<Vec<Column>> {
    if group != "admissionregistration.k8s.io" {
        return None;
    }
    Some(match kind {
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            let cell = |one: &Value, _| one["webhooks"].as_array().map_or(0, Vec::len).into();
            vec![NAME, counter("Webhooks", "How many webhooks it calls.", cell), AGE]
        }
        "ValidatingAdmissionPolicy" => {
            let cell = |one: &Value, _| one["spec"]["validations"].as_array().map_or(0, Vec::len).into();
            vec![NAME, counter("Validations", "How many rules it has.", cell), param_kind(), AGE]
        }
        "MutatingAdmissionPolicy" => {
            let cell = |one: &Value, _| one["spec"]["mutations"].as_array().map_or(0, Vec::len).into();
            vec![NAME, counter("Mutations", "How many changes it makes.", cell), param_kind(), AGE]
        }
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => vec![
            NAME,
            column("PolicyName", "The policy that is bound.", |one, _| {
                text(one, &["spec", "policyName"]).into()
            }),
            column("ParamRef", "The parameters it is given.", param_ref),
            AGE,
        ],
        _ => return None,
    })
}

pub(crate) fn param_kind() -> Column {
    column("ParamKind", "The kind of its parameters.", |one, _| {
        let kind = &one["spec"]["paramKind"];
        if kind.is_null() {
            return "<unset>".into();
        }
        format!("{}/{}", text(kind, &["apiVersion"]), text(kind, &["kind"])).into()
    })
}

pub(crate) fn param_ref(one: &Value, _: DateTime<Utc>) -> Value {
    let reference = &one["spec"]["paramRef"];
    if reference.is_null() {
        return "<unset>".into();
    }
    let (namespace, name) = (text(reference, &["namespace"]), text(reference, &["name"]));
    match (namespace, name) {
        (_, "") => "*".into(),
        ("", name) => format!("*/{name}").into(),
        (namespace, name) => format!("{namespace}/{name}").into(),
    }
}
