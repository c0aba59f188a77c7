//! The controller of Issuers and ClusterIssuers: it says whether they can sign.

use engine::{Action, Controller, Descriptor, GroupKind, Manager, Objects, Reconciler, Request, Result};
use kube::api::DynamicObject;
use machinery::clock::{Clock, rfc3339};
use serde_json::{Value, json};

use crate::cluster::{Definitions, is_ours};
use crate::names::{GROUP, resource};

/// The descriptor of the controller.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "issuer",
    reconciles: &[GroupKind::new(GROUP, "Issuer"), GroupKind::new(GROUP, "ClusterIssuer")],
    start: |manager, ()| {
        start(manager, "Issuer");
        start(manager, "ClusterIssuer");
    },
};

struct Issuers {
    issuers: Objects<DynamicObject>,
    definitions: Definitions,
    clock: Clock,
}

fn start(manager: &Manager, kind: &str) {
    let this = Issuers {
        issuers: manager.dynamic(&resource(kind)),
        definitions: manager.objects(),
        clock: manager.clock().clone(),
    };
    Controller::new(manager, if kind == "Issuer" { "issuer" } else { "clusterissuer" })
        .reconciles(&this.issuers)
        .reads(&this.definitions)
        .start(this);
}

impl Reconciler for Issuers {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(issuer) = self.issuers.get(&request) else { return Ok(Action::done()) };
        if !is_ours(&self.definitions) {
            return Ok(Action::done());
        }
        let signs = ["selfSigned", "ca"].iter().any(|kind| issuer.data["spec"].get(*kind).is_some());
        let (status, reason, message) = match signs {
            true => ("True", "IsReady", ""),
            false => (
                "False",
                "UnsupportedIssuer",
                "only selfSigned and ca are supported; install cert-manager for others",
            ),
        };
        if let Some(conditions) = with_ready(&issuer.data, status, (reason, message), &self.clock) {
            self.issuers
                .merge(&request, Some("status"), json!({"status": {"conditions": conditions}}))
                .await?;
        }
        Ok(Action::done())
    }
}

/// Returns all conditions with this one for `Ready`; `None` if they have it already.
pub(crate) fn with_ready(object: &Value, status: &str, words: (&str, &str), clock: &Clock) -> Option<Value> {
    let (reason, message) = words;
    let mut conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let before =
        conditions.iter().position(|condition| condition["type"] == "Ready").map(|at| conditions.remove(at));
    let before = before.unwrap_or_default();
    if before["status"] == status && before["reason"] == reason && before["message"] == message {
        return None;
    }
    let now = Value::String(rfc3339(clock.now()));
    let since = if before["status"] == status { before["lastTransitionTime"].clone() } else { now };
    conditions.push(json!({
        "type": "Ready", "status": status, "reason": reason, "message": message, "lastTransitionTime": since,
    }));
    Some(conditions.into())
}
