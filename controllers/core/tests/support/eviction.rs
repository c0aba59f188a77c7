//! The eviction of Pods in the workload cluster. The label `eviction` of a Pod says what happens: `refused` by
//! a PodDisruptionBudget, `broken`, or `silent`. Other Pods are deleted.

use std::sync::{Arc, OnceLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use http::Response;
use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use kube::{Api, Client};
use machinery::status::Status;
use serde_json::json;
use serving::{Body, Connect, ConnectRequest, ConnectResource};

/// The subresource.
pub const RESOURCE: ConnectResource = ConnectResource {
    group: "",
    version: "v1",
    resource: "pods",
    subresource: "eviction",
    kind: "Eviction",
    kind_group_version: Some(("policy", "v1")),
    methods: &[http::Method::POST],
};

#[derive(Clone, Default)]
pub struct Eviction(Arc<OnceLock<Client>>);

impl Eviction {
    /// Sets the client of the cluster.
    pub fn serve(&self, client: Client) {
        let _ = self.0.set(client);
    }
}

impl Connect for Eviction {
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> {
        let client = self.0.get().unwrap().clone();
        async move {
            let pods = Api::<Pod>::namespaced(client, &request.namespace);
            let pod = pods.get(&request.name).await.unwrap();
            match engine::object::label(&pod, "eviction") {
                Some("silent") => std::future::pending().await,
                Some("broken") => return Err(Status::new(500, "InternalError", "the webhook is down")),
                Some("refused") => return Err(refused()),
                _ => {}
            }
            let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
            pods.delete(&request.name, &at_once).await.unwrap();
            let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
            Ok(Response::new(Body::pieces([body.to_string().into()])))
        }
        .boxed()
    }
}

fn refused() -> Status {
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut status = Status::new(429, "TooManyRequests", message);
    let cause = json!({"reason": "DisruptionBudget", "message": "The disruption budget x needs 1 healthy pods and has 1 currently"});
    status.details = Some(json!({"causes": [cause]}));
    status
}
