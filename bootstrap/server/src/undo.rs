//! `clusters/NAME/undo`: takes the deletion of a Cluster back, while its grace period lasts and nothing of it has been deleted.
//!
//! The Cluster's controller ends the period by removing the annotation, before it deletes anything. The registry stores the undone Cluster only
//! if it still is the one that was checked, with the annotation. So no deletion of an object can begin in between.

use bytes::Bytes;
use engine::deletion_grace;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::{HeaderValue, Method, Response, header};
use machinery::clock::{Clock, rfc3339};
use machinery::meta;
use machinery::status::{GroupResource, Status};
use registry::{Definition, Preconditions, Reader, Registry};
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachinePool, MachineSet};
use schemas::deletion_grace::{ANNOTATION, parse};
use schemas::names::CLUSTER_NAME;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serving::{Body, Connect, ConnectRequest, ConnectResource};

/// The path of the subresource. Whoever may `update` it may undo deletions.
pub const RESOURCE: ConnectResource = ConnectResource {
    group: Cluster::GROUP,
    version: "v1beta2",
    resource: "clusters",
    subresource: "undo",
    kind: "Undo",
    kind_group_version: Some((GROUP, VERSION)),
    methods: &[Method::PUT],
};

const GROUP: &str = "firstlight.dev";
const VERSION: &str = "v1alpha1";
const CLUSTERS: GroupResource<'_> = GroupResource { group: Cluster::GROUP, resource: RESOURCE.resource };
/// The kinds of which no object may be in deletion. What belongs to them follows them.
const PARTS: [&str; 4] = [MachineDeployment::KIND, MachineSet::KIND, MachinePool::KIND, Machine::KIND];

/// The implementation of the subresource.
pub struct Undo {
    /// The registry with the Clusters.
    pub registry: Registry,
    /// The clock by which the grace period ends.
    pub clock: Clock,
}

/// The request body. An empty body has no preconditions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct UndoRequest {
    /// `firstlight.dev/v1alpha1`, or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// `Undo`, or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// What the stored Cluster must be.
    pub preconditions: UndoPreconditions,
}

/// What the stored Cluster must be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct UndoPreconditions {
    /// Its UID; `None` for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Its `resourceVersion`; `None` for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
}

impl Connect for Undo {
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Response<Body>, Status>> {
        let (registry, clock) = (self.registry.clone(), self.clock.clone());
        async move { undo(&registry, &clock, &request).await }.boxed()
    }
}

async fn undo(
    registry: &Registry,
    clock: &Clock,
    request: &ConnectRequest,
) -> Result<Response<Body>, Status> {
    let asked = parse_request(&request.body)?;
    let clusters = registry.served(RESOURCE.group, RESOURCE.version, RESOURCE.resource);
    let clusters = clusters.ok_or_else(Status::no_such_path)?;
    let preconditions = Preconditions {
        uid: asked.preconditions.uid,
        resource_version: asked.preconditions.resource_version,
    };
    let key = (request.namespace.as_str(), request.name.as_str());
    let check = |cluster: &Value, reader: &Reader<'_>| {
        refusal(cluster, reader, clock).map_or(Ok(()), |why| Err(Status::conflict(CLUSTERS, key.1, &why)))
    };
    let mut context = request.write_context("firstlight-undo");
    let written = registry.undelete(&mut context, &clusters, key, &preconditions, check).await?;
    let mut response = Response::new(Body::from(written.object));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

fn parse_request(body: &Bytes) -> Result<UndoRequest, Status> {
    if body.is_empty() {
        return Ok(UndoRequest::default());
    }
    // A list, too, could be read as a request, with its entries as the fields.
    let parsed = serde_json::from_slice::<Map<String, Value>>(body);
    let request = parsed.and_then(|fields| UndoRequest::deserialize(Value::Object(fields)));
    let request = request.map_err(|error| {
        Status::bad_request(format!(
            "the body must be empty, or JSON such as {{\"preconditions\":{{\"uid\":\"...\"}}}}: {error}"
        ))
    })?;
    let is_empty = request.api_version.is_empty() && request.kind.is_empty();
    if is_empty || (request.api_version == format!("{GROUP}/{VERSION}") && request.kind == RESOURCE.kind) {
        return Ok(request);
    }
    Err(Status::bad_request(format!(
        "the body must be an Undo of {GROUP}/{VERSION}, or have no apiVersion and no kind"
    )))
}

/// Says why the deletion of a Cluster cannot be undone; `None` if it can.
fn refusal(stored: &Value, reader: &Reader<'_>, clock: &Clock) -> Option<String> {
    let cluster: Cluster = match serde_json::from_value(stored.clone()) {
        Ok(cluster) => cluster,
        Err(error) => return Some(format!("it cannot be read: {error}")),
    };
    let deleting = cluster.condition("Deleting").filter(|condition| condition.status == "True");
    match deletion_grace::end(&cluster) {
        None => {
            return Some(format!(
                "its objects are being deleted: it has no grace period (annotation {ANNOTATION}), or the period has ended"
            ));
        }
        Some(Ok(end)) if end <= clock.now() => {
            return Some(format!("the grace period of its deletion has passed at {}", rfc3339(end)));
        }
        Some(_) => {}
    }
    if let Some(begun) = deleting.filter(|condition| condition.reason != deletion_grace::REASON) {
        return Some(format!("its objects are being deleted ({})", begun.reason));
    }
    deleted_part(stored, reader).unwrap_or_else(Some)
}

/// Says what else is being deleted, with which the Cluster would not be as before.
///
/// # Errors
/// A sentence: the objects cannot be read.
fn deleted_part(cluster: &Value, reader: &Reader<'_>) -> Result<Option<String>, String> {
    let (namespace, name) = (meta::namespace(cluster), meta::name(cluster));
    if reader.get("", "Namespace", "", namespace)?.is_some_and(|found| meta::is_deleting(&found)) {
        return Ok(Some(format!("its namespace {namespace} is being deleted")));
    }
    for kind in PARTS {
        let parts = reader.list(Cluster::GROUP, kind, namespace)?;
        let found = parts.iter().find(|part| {
            let label = meta::labels(part).and_then(|labels| labels.get(CLUSTER_NAME));
            meta::is_deleting(part) && label.is_some_and(|label| label == name)
        });
        if let Some(part) = found {
            return Ok(Some(format!("its {kind} {} is being deleted", meta::name(part))));
        }
    }
    Ok(None)
}

/// Returns the warning for whoever deletes an object: how long the deletion can be undone, and how.
pub(crate) fn advice(definition: &Definition, object: &Value) -> Option<String> {
    if (definition.group.as_str(), definition.kind.as_str()) != (Cluster::GROUP, Cluster::KIND) {
        return None;
    }
    let period = meta::annotations(object)?.get(ANNOTATION)?.as_str()?;
    let (namespace, name) = (meta::namespace(object), meta::name(object));
    // Without a finalizer, it is gone at once.
    let waits = parse(period).is_ok() && meta::finalizers(object).next().is_some();
    waits.then(|| {
        format!("nothing of the Cluster is deleted for {period}; until then, `firstlight undo cluster {name} -n {namespace}` undoes the deletion")
    })
}
