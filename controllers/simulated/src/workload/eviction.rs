//! Serves `pods/{name}/eviction`. The Pod is deleted at once, since nothing runs in it, unless a PodDisruptionBudget forbids it. One that
//! finalizers hold stays as its kubelet would leave it.

use chrono::{DateTime, Utc};
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{HeaderValue, Response, header};
use machinery::clock::{Clock, rfc3339};
use machinery::status::Status;
use serde_json::{Value, json};
use serving::{Body, Connect, ConnectRequest, ConnectResource};

use super::api::{Api, Place};
use super::budget::{self, Verdict};

/// The path and methods of the subresource.
pub const RESOURCE: ConnectResource = ConnectResource {
    group: "",
    version: "v1",
    resource: "pods",
    subresource: "eviction",
    kind: "Eviction",
    kind_group_version: Some(("policy", "v1")),
    methods: &[http::Method::POST],
};

/// The message of the API for a Pod that several budgets select.
const SEVERAL_BUDGETS: &str =
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";

/// The condition of a Pod that the API server or a controller is about to end.
const DISRUPTION_TARGET: &str = "DisruptionTarget";

/// The handler of the subresource.
pub struct Eviction {
    /// The API of the cluster.
    pub api: Api,
    /// The time of evictions.
    pub clock: Clock,
}

impl Connect for Eviction {
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> {
        let (api, now) = (self.api.clone(), self.clock.now());
        async move { evict(&api, &request, now).await }.boxed()
    }
}

async fn evict(api: &Api, request: &ConnectRequest, now: DateTime<Utc>) -> Result<Response<Body>, Status> {
    let place = Place::pod(&request.namespace, &request.name);
    let resource = machinery::status::GroupResource { group: "", resource: "pods" };
    let pod = api.get(place).await.ok_or_else(|| Status::not_found(resource, &request.name))?;
    let namespace = request.namespace.as_str();
    let budgets = Place { group: "policy", plural: "poddisruptionbudgets", namespace, name: "" };
    let (pods, budgets) = (api.list(Place::pod(namespace, ""), "").await?, api.list(budgets, "").await?);
    match budget::judge(&pod, &pods, &budgets) {
        Verdict::Allowed => {}
        Verdict::Forbidden(message) => return Err(forbidden(&message)),
        Verdict::Ambiguous => return Err(Status::internal(SEVERAL_BUDGETS)),
    }
    if pod["metadata"]["deletionTimestamp"].is_null() {
        api.merge_status(place, json!({"status": disrupted(&pod["status"], now)})).await?;
    }
    api.delete(place).await?;
    let body =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    let mut response = Response::new(Body::pieces([body.to_string().into()]));
    *response.status_mut() = http::StatusCode::CREATED;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Returns what an eviction changes in a Pod's status: the API's condition about it, and the phase after the kubelet has ended the
/// containers.
fn disrupted(status: &Value, now: DateTime<Utc>) -> Value {
    let is_other = |condition: &&Value| condition["type"] != DISRUPTION_TARGET;
    let conditions = status["conditions"].as_array().into_iter().flatten().filter(is_other).cloned();
    let condition = json!({"type": DISRUPTION_TARGET, "status": "True", "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting", "lastTransitionTime": rfc3339(now)});
    let conditions: Vec<Value> = conditions.chain([condition]).collect();
    let phase = if status["phase"] == "Running" { &json!("Succeeded") } else { &status["phase"] };
    json!({"conditions": conditions, "phase": phase})
}

/// Returns the error for an eviction that a budget forbids; `cause` names the budget.
fn forbidden(cause: &str) -> Status {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut status = Status::new(429, "TooManyRequests", message);
    status.details = Some(json!({"causes": [{"reason": "DisruptionBudget", "message": cause}]}));
    status
}
