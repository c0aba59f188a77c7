//! `pods/NAME/binding` and `bindings`: a scheduler assigns a Pod to a Node.

use futures::FutureExt;
use futures::future::BoxFuture;
use http::Response;
use machinery::status::Status;
use registry::{Context, Registry};
use serde_json::Value;

use super::posted::{done, posted, served};
use crate::resources::connect::{Connect, ConnectRequest};
use crate::transport::body::Body;

pub(crate) struct Bind(pub(crate) Registry);

impl Connect for Bind {
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> {
        let registry = self.0.clone();
        async move {
            let posted = posted(&request, "Binding", &["v1"])?;
            bind(&registry, &posted.context, &request.namespace, &posted.object).await?;
            Ok(done(posted.media, &request.parts.headers))
        }
        .boxed()
    }
}

/// Executes a Binding from either path.
pub(crate) async fn bind(
    registry: &Registry,
    context: &Context,
    namespace: &str,
    binding: &Value,
) -> Result<(), Status> {
    let name = machinery::meta::name(binding);
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    let node = target(&binding["target"])?;
    let pods = served(registry, "", "pods")?;
    registry.bind(context, &pods, namespace, name, node, binding).await
}

/// Returns the name of the target Node.
fn target(target: &Value) -> Result<&str, Status> {
    let (kind, name) =
        (target["kind"].as_str().unwrap_or_default(), target["name"].as_str().unwrap_or_default());
    let mut wrong = Vec::new();
    if !matches!(kind, "" | "Node") {
        let shown = crate::resources::pods::posted::shown(kind);
        wrong.push(format!(
            "target.kind: Unsupported value: {shown}: supported values: \"Node\", \"<empty>\""
        ));
    }
    if name.is_empty() {
        wrong.push("target.name: Required value".to_owned());
    }
    match wrong.as_slice() {
        [] => Ok(name),
        [one] => Err(Status::new(500, "", one.clone())),
        all => Err(Status::new(500, "", format!("[{}]", all.join(", ")))),
    }
}
