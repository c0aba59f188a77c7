//! Requests that kube-apiserver forwards to a kubelet, a Pod or a Service. Logs, HTTP requests and port-forwards reach the Pods of a [`Node`] of the embedding
//! program; otherwise the server answers like a kube-apiserver that cannot reach them.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use http::Response;
use machinery::field::{FieldError, FieldErrorKind};
use machinery::meta;
use machinery::status::Status;
use registry::Registry;
use serde_json::Value;

use super::node::{LogOptions, Node};
use super::posted::{container, core, object, shown};
use super::proxy;
use crate::resources::connect::{Connect, ConnectRequest};
use crate::response::answer::Answer;
use crate::response::negotiate::{Offer, negotiate};
use crate::transport::body::Body;

/// The target of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    Log,
    /// A process in a container: `exec`, `attach`.
    Container,
    /// The Pod's host: `portforward`.
    Host,
    PodProxy,
    ServiceProxy,
    NodeProxy,
}

pub(crate) struct Kubelet {
    pub(crate) registry: Registry,
    pub(crate) what: What,
    /// The Node whose Pods run in this process.
    pub(crate) node: Option<Arc<dyn Node>>,
}

impl Connect for Kubelet {
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> {
        let (registry, what, node) = (self.registry.clone(), self.what, self.node.clone());
        async move { reach(&registry, what, node, request).await }.boxed()
    }
}

async fn reach(
    registry: &Registry,
    what: What,
    own: Option<Arc<dyn Node>>,
    request: ConnectRequest,
) -> Result<Response<Body>, Status> {
    let (namespace, name) = (request.namespace.as_str(), request.name.as_str());
    let own = |pod: &Value| own.clone().filter(|own| pod["spec"]["nodeName"] == own.name());
    match what {
        What::Log | What::Container | What::Host => {
            if matches!(what, What::Log) {
                negotiate(&request.parts.headers, Offer { streams: false, protobuf: true })?;
                log_options(&request)?;
            }
            let pod = object(registry, "pods", namespace, name).await?;
            if !matches!(what, What::Host) {
                container(&pod, &request.query("container").unwrap_or_default())?;
            }
            if let (What::Log, Some(own)) = (what, own(&pod)) {
                return logged(own.as_ref(), &pod, &request);
            }
            if let (What::Host, Some(own)) = (what, own(&pod)) {
                return own.port_forward(request).await;
            }
            match (pod["spec"]["nodeName"].as_str().unwrap_or_default(), what) {
                // A Pod without a Node has no log.
                ("", What::Log) => Ok(Answer::empty(204).finish(&request.parts.headers, &[])),
                ("", _) => Err(Status::bad_request(format!("pod {name} does not have a host assigned"))),
                (node, _) => Err(host(registry, node, "pods").await),
            }
        }
        What::PodProxy => {
            let name = name.to_owned();
            let (scheme, pod, port) = proxied(&name).ok_or_else(|| invalid("pod", &name))?;
            let found = object(registry, "pods", namespace, pod).await?;
            match own(&found) {
                Some(own) => proxy::proxy(own.as_ref(), &found, (scheme, port), request).await,
                None => Err(Status::bad_request("address not allowed")),
            }
        }
        What::ServiceProxy => Err(service(registry, namespace, name).await),
        What::NodeProxy => {
            let (_, node, _) = proxied(name).ok_or_else(|| invalid("node", name))?;
            Err(host(registry, node, "nodes").await)
        }
    }
}

/// Answers with the log of a container of an own Pod.
fn logged(node: &dyn Node, pod: &Value, request: &ConnectRequest) -> Result<Response<Body>, Status> {
    let number = |name: &str| request.query(name).and_then(|text| text.parse().ok());
    let flag =
        |name: &str| request.query(name).is_some_and(|text| text == "true" || text == "1" || text.is_empty());
    let first = || pod["spec"]["containers"][0]["name"].as_str().unwrap_or_default().to_owned();
    let options = LogOptions {
        container: request.query("container").filter(|name| !name.is_empty()).unwrap_or_else(first),
        follow: flag("follow"),
        previous: flag("previous"),
        tail: number("tailLines"),
        since_seconds: number("sinceSeconds"),
        since_time: request.query("sinceTime"),
        limit: number("limitBytes"),
        timestamps: flag("timestamps"),
    };
    let mut answer = Response::new(Body::stream(node.log(pod, options)?));
    answer.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("text/plain"));
    Ok(answer)
}

/// Returns why the kubelet of a Node is unreachable. The error for a missing Node names the resource `kind`.
async fn host(registry: &Registry, node: &str, kind: &'static str) -> Status {
    match object(registry, "nodes", "", node).await {
        Err(_) => Status::not_found(core(kind), node),
        Ok(found) => {
            let addresses = found["status"]["addresses"].as_array().cloned().unwrap_or_default();
            let known: Vec<&str> = addresses.iter().filter_map(|one| one["type"].as_str()).collect();
            if known.is_empty() {
                return Status::new(500, "", "no preferred addresses found; known addresses: []");
            }
            Status::new(503, "ServiceUnavailable", format!("no kubelet answers on node {}", shown(node)))
        }
    }
}

async fn service(registry: &Registry, namespace: &str, name: &str) -> Status {
    let Some((_, service, port)) = proxied(name) else { return invalid("service", name) };
    let found = match object(registry, "services", namespace, service).await {
        Ok(found) => found,
        Err(status) => return status,
    };
    let mut ports = found["spec"]["ports"].as_array().into_iter().flatten();
    let has = match port.parse::<i64>() {
        Ok(number) => ports.any(|one| one["port"] == number),
        Err(_) => true,
    };
    let why = if has {
        format!("no endpoints available for service {}", shown(meta::name(&found)))
    } else {
        format!("no service port {port} found for service {}", shown(service))
    };
    Status::new(503, "ServiceUnavailable", why)
}

/// Splits `https:name:port`, `name:port` or `name` into scheme, name and port.
fn proxied(text: &str) -> Option<(&str, &str, &str)> {
    match text.split(':').collect::<Vec<_>>()[..] {
        [name] => Some(("", name, "")),
        [name, port] => Some(("", name, port)),
        [scheme @ ("" | "http" | "https"), name, port] => Some((scheme, name, port)),
        _ => None,
    }
}

fn invalid(kind: &str, text: &str) -> Status {
    Status::bad_request(format!("invalid {kind} request {}", shown(text)))
}

fn log_options(request: &ConnectRequest) -> Result<(), Status> {
    let mut errors = Vec::new();
    for (field, least) in [("tailLines", 0), ("sinceSeconds", 1), ("limitBytes", 1)] {
        let Some(text) = request.query(field) else { continue };
        let number: i64 = text.parse().map_err(|_| {
            Status::bad_request(format!("strconv.ParseInt: parsing {}: invalid syntax", shown(&text)))
        })?;
        if number < least {
            let why =
                if least == 0 { "must be greater than or equal to 0" } else { "must be greater than 0" };
            errors.push(FieldError::new(FieldErrorKind::Invalid, field, &number.into(), why));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("", "PodLogOptions", &request.name, &errors)) }
}
