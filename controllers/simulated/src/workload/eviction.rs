//! Serves `pods/{name}/eviction`. The Pod is deleted at once, since nothing runs in it. Of a
//! PodDisruptionBudget only `status.disruptionsAllowed` is respected.

use futures::FutureExt;
use futures::future::BoxFuture;
use http::{HeaderValue, Response, header};
use machinery::status::Status;
use serde_json::{Value, json};
use serving::{Body, Connect, ConnectRequest, ConnectResource};

use super::api::{Api, Place};

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

/// The handler of the subresource.
pub struct Eviction(pub Api);

impl Connect for Eviction {
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> {
        let api = self.0.clone();
        async move { evict(&api, &request).await }.boxed()
    }
}

async fn evict(api: &Api, request: &ConnectRequest) -> Result<Response<Body>, Status> {
    let place = Place::pod(&request.namespace, &request.name);
    let resource = machinery::status::GroupResource { group: "", resource: "pods" };
    let pod = api.get(place).await.ok_or_else(|| Status::not_found(resource, &request.name))?;
    let budgets =
        Place { group: "policy", plural: "poddisruptionbudgets", namespace: &request.namespace, name: "" };
    for budget in api.list(budgets, "").await? {
        if protects(&budget, &pod) {
            let name = budget["metadata"]["name"].as_str().unwrap_or_default();
            let message = "Cannot evict pod as it would violate the pod's disruption budget.";
            let mut status = Status::new(429, "TooManyRequests", message);
            let cause = json!({"reason": "DisruptionBudget", "message": format!("The disruption budget {name} does not allow it")});
            status.details = Some(json!({"causes": [cause]}));
            return Err(status);
        }
    }
    api.delete(place).await?;
    let body =
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    let mut response = Response::new(Body::pieces([body.to_string().into()]));
    *response.status_mut() = http::StatusCode::CREATED;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Returns whether the budget selects the Pod and allows no disruption.
fn protects(budget: &Value, pod: &Value) -> bool {
    let Some(labels) = budget["spec"]["selector"]["matchLabels"].as_object() else { return false };
    let selected = labels.iter().all(|(key, value)| pod["metadata"]["labels"].get(key) == Some(value));
    selected && budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0) <= 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_protects_what_it_selects_until_it_allows_more() {
        let pod = json!({"metadata": {"labels": {"app": "a", "x": "y"}}});
        let budget = |label: &str, allowed: i64| json!({"spec": {"selector": {"matchLabels": {"app": label}}}, "status": {"disruptionsAllowed": allowed}});
        assert!(protects(&budget("a", 0), &pod));
        assert!(!protects(&budget("a", 1), &pod));
        assert!(!protects(&budget("b", 0), &pod));
        assert!(!protects(&json!({}), &pod));
    }
}
