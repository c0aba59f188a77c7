//! Columns of the kinds that configure the API or limit workloads.

use chrono::{DateTime, Utc};
use machinery::meta::text;
use machinery::table::human_duration;
use serde_json::Value;

use super::service::plain;
use super::{AGE, Column, NAME, column, counter, number, or};

/// Returns the columns of a kind in one of these groups; `None` if the columns of its definition apply.
pub(super) fn of(kind: &str) -> Option<Vec<Column>> {
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
        "APIService" => api_service(),
        "HorizontalPodAutoscaler" => autoscaler(),
        "CertificateSigningRequest" => signing_request(),
        "PodDisruptionBudget" => vec![
            NAME,
            column("Min Available", "Pods that must be available.", |one, _| bound(one, "minAvailable")),
            column("Max Unavailable", "Pods that may be away.", |one, _| bound(one, "maxUnavailable")),
            counter("Allowed Disruptions", "Pods that may be evicted now.", |one, _| {
                number(one, "disruptionsAllowed")
            }),
            AGE,
        ],
        "PriorityClass" => vec![
            NAME,
            counter("Value", "The priority.", |one, _| one["value"].as_i64().unwrap_or_default().into()),
            Column {
                kind: "boolean",
                ..column("Global-Default", "Whether pods without a class have it.", |one, _| {
                    (one["globalDefault"] == true).into()
                })
            },
            AGE,
            column("PreemptionPolicy", "Whether its pods displace others.", |one, _| {
                text(one, &["preemptionPolicy"]).into()
            }),
        ],
        _ => return None,
    })
}

fn param_kind() -> Column {
    column("ParamKind", "The kind of its parameters.", |one, _| {
        let kind = &one["spec"]["paramKind"];
        if kind.is_null() {
            return "<unset>".into();
        }
        format!("{}/{}", text(kind, &["apiVersion"]), text(kind, &["kind"])).into()
    })
}

fn param_ref(one: &Value, _: DateTime<Utc>) -> Value {
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

fn bound(one: &Value, field: &str) -> Value {
    let found = &one["spec"][field];
    if found.is_null() { "N/A".into() } else { plain(found).into() }
}

fn api_service() -> Vec<Column> {
    let service = |one: &Value, _| {
        let service = &one["spec"]["service"];
        if service.is_null() {
            return "Local".into();
        }
        format!("{}/{}", text(service, &["namespace"]), text(service, &["name"])).into()
    };
    let available = |one: &Value, _| {
        let conditions = one["status"]["conditions"].as_array().into_iter().flatten();
        let found = conditions.rev().find(|one| one["type"] == "Available");
        found.map_or("Unknown".into(), |one| match (text(one, &["status"]), text(one, &["reason"])) {
            (status @ "True", _) | (status, "") => status.into(),
            (status, reason) => format!("{status} ({reason})").into(),
        })
    };
    vec![
        NAME,
        column("Service", "Who serves it.", service),
        column("Available", "Whether it is served.", available),
        AGE,
    ]
}

fn autoscaler() -> Vec<Column> {
    let reference = |one: &Value, _| {
        let target = &one["spec"]["scaleTargetRef"];
        format!("{}/{}", text(target, &["kind"]), text(target, &["name"])).into()
    };
    let minimum = |one: &Value, _| {
        let found = one["spec"]["minReplicas"].as_i64();
        found.map_or("<unset>".into(), |count| count.to_string().into())
    };
    vec![
        NAME,
        column("Reference", "What it scales.", reference),
        column("Targets", "What it aims at.", targets),
        column("MinPods", "The fewest pods.", minimum),
        column("MaxPods", "The most pods.", |one, _| {
            one["spec"]["maxReplicas"].as_i64().unwrap_or_default().into()
        }),
        column("Replicas", "The pods that there are.", |one, _| number(one, "currentReplicas")),
        AGE,
    ]
}

/// The cell shows at most this many metrics.
const TARGETS_MAX: usize = 2;

/// Lists measured and target value of each metric.
fn targets(autoscaler: &Value, _: DateTime<Utc>) -> Value {
    let metrics = autoscaler["spec"]["metrics"].as_array().map(Vec::as_slice).unwrap_or_default();
    if metrics.is_empty() {
        return "<none>".into();
    }
    let measured = autoscaler["status"]["currentMetrics"].as_array().map(Vec::as_slice).unwrap_or_default();
    let shown = metrics.iter().enumerate().take(TARGETS_MAX);
    let shown = shown.map(|(index, metric)| target(metric, measured.get(index).unwrap_or(&Value::Null)));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if metrics.len() > TARGETS_MAX {
        text.push_str(&format!(" + {} more...", metrics.len() - TARGETS_MAX));
    }
    text.into()
}

fn target(metric: &Value, measured: &Value) -> String {
    let (part, named) = match text(metric, &["type"]) {
        "Resource" => ("resource", text(metric, &["resource", "name"])),
        "ContainerResource" => ("containerResource", text(metric, &["containerResource", "name"])),
        "Pods" => ("pods", ""),
        "Object" => ("object", ""),
        "External" => ("external", ""),
        _ => return "<unknown type>".to_owned(),
    };
    let (wanted, current) = (&metric[part]["target"], &measured[part]["current"]);
    let average = !wanted["averageValue"].is_null();
    let shown = if wanted["averageUtilization"].is_null() || average {
        let field = if average { "averageValue" } else { "value" };
        let suffix = if average && matches!(part, "object" | "external") { " (avg)" } else { "" };
        format!("{}/{}{suffix}", or(text(current, &[field]), "<unknown>"), text(wanted, &[field]))
            .replace('"', "")
    } else {
        let found = current["averageUtilization"].as_i64();
        let found = found.map_or_else(|| "<unknown>".to_owned(), |percent| format!("{percent}%"));
        format!("{found}/{}%", wanted["averageUtilization"])
    };
    if named.is_empty() { shown } else { format!("{named}: {shown}") }
}

fn signing_request() -> Vec<Column> {
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
        column("SignerName", "Who is to sign.", |one, _| or(text(one, &["spec", "signerName"]), "<none>")),
        column("Requestor", "Who asks.", |one, _| text(one, &["spec", "username"]).into()),
        column("RequestedDuration", "For how long.", duration),
        column("Condition", "How far it is.", condition),
    ]
}
