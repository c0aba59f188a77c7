//! Columns of APIServices.

use machinery::meta::text;
use serde_json::Value;

use crate::columns::{AGE, Column, NAME, column};

pub(crate) fn api_service() -> Vec<Column> {
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
