//! `baremetalhosts/NAME/reboot`: restarts a host. It sets the same annotation as Metal3's clients, and fails at once if the host would
//! ignore the annotation.

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{HeaderValue, Method, Response, header};
use machinery::field::{FieldError, FieldErrorKind};
use machinery::status::{GroupResource, Status};
use metal::names;
use metal::state::reboot_refusal;
use registry::{PatchBody, Registry, Subresource};
use schemas::metal3::BareMetalHost;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serving::{Body, Connect, ConnectRequest, ConnectResource};

/// The path of the subresource.
pub const RESOURCE: ConnectResource = ConnectResource {
    group: BareMetalHost::GROUP,
    version: "v1alpha1",
    resource: "baremetalhosts",
    subresource: "reboot",
    kind: "Reboot",
    kind_group_version: Some(("metal.firstlight.dev", "v1alpha1")),
    methods: &[Method::POST],
};

const HOSTS: GroupResource<'_> = GroupResource { group: BareMetalHost::GROUP, resource: "baremetalhosts" };
const MODES: [&str; 3] = ["", "soft", "hard"];

/// The implementation of the subresource.
pub struct Reboot(pub Registry);

/// The request body. An empty body requests a soft reboot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct RebootRequest {
    /// `metal.firstlight.dev/v1alpha1`, or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// `Reboot`, or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// `soft` or empty: the operating system is asked to shut down; `hard`: the power is cut.
    pub mode: String,
    /// Whether to restart the host even during inspection or provisioning, which then starts again.
    pub force: bool,
}

impl RebootRequest {
    /// Returns the value of the annotation that requests the reboot.
    pub fn annotation(&self) -> String {
        let mode = if self.mode == "hard" { "hard" } else { "soft" };
        match (mode, self.force) {
            ("soft", false) => String::new(),
            (mode, force) => json!({ "mode": mode, "force": force }).to_string(),
        }
    }
}

impl Connect for Reboot {
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> {
        let registry = self.0.clone();
        async move { reboot(&registry, &request).await }.boxed()
    }
}

async fn reboot(registry: &Registry, request: &ConnectRequest) -> Result<Response<Body>, Status> {
    let asked = parse(&request.name, &request.body)?;
    let hosts = registry.served(BareMetalHost::GROUP, "v1alpha1", HOSTS.resource);
    let hosts = hosts.ok_or_else(Status::no_such_path)?;
    let (namespace, name) = (request.namespace.as_str(), request.name.as_str());
    let stored = registry.get(&hosts, namespace, name, Subresource::None, "").await?;
    let host: BareMetalHost = serde_json::from_slice(&stored)
        .map_err(|error| Status::internal(format!("cannot read the BareMetalHost {name:?}: {error}")))?;
    if let Some(reason) = reboot_refusal(&host, asked.force) {
        return Err(Status::conflict(HOSTS, name, &reason));
    }
    let patch = json!({
        "metadata": {
            "annotations": { names::REBOOT: asked.annotation() },
            // Ensures that the host is unchanged since the check.
            "resourceVersion": host.metadata.resource_version,
        },
    });
    let mut context = request.write_context("firstlight-reboot");
    let patch = PatchBody::Merge(patch.to_string().into());
    let written = registry.patch(&mut context, &hosts, namespace, name, Subresource::None, patch).await?;
    let mut response = Response::new(Body::from(written.object));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// Reads the body of a request to reboot the machine of the host `name`.
///
/// # Errors
/// The body is no such request.
pub fn parse(name: &str, body: &Bytes) -> Result<RebootRequest, Status> {
    if body.is_empty() {
        return Ok(RebootRequest::default());
    }
    let request: RebootRequest = serde_json::from_slice(body).map_err(|error| {
        Status::bad_request(format!(
            "the body must be empty, or JSON such as {{\"mode\":\"hard\",\"force\":false}}: {error}"
        ))
    })?;
    let kind = [request.api_version.as_str(), request.kind.as_str()];
    if ![["", ""], ["metal.firstlight.dev/v1alpha1", "Reboot"]].contains(&kind) {
        return Err(Status::bad_request(
            "the body must be a Reboot of metal.firstlight.dev/v1alpha1, or have no apiVersion and no kind",
        ));
    }
    if MODES.contains(&request.mode.as_str()) {
        return Ok(request);
    }
    let allowed = MODES[1..].iter().map(|mode| format!("{mode:?}")).collect::<Vec<_>>().join(", ");
    let error = FieldError::new(
        FieldErrorKind::NotSupported,
        "mode",
        &Value::from(request.mode),
        format!("supported values: {allowed}"),
    );
    Err(Status::invalid("metal.firstlight.dev", "Reboot", name, &[error]))
}
