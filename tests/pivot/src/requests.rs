//! Requests to a server, and the preparation of a server for random graphs.

use anyhow::Result;
use machinery::random::Random;
use serde_json::{Value, json};
use server::names::MANIFEST_HASH;
use store::{Key, Operation};

use crate::graphs::{CLASSES, NAMESPACES};
use crate::place::Place;

/// A cluster-scoped kind. Its objects move together with their dependents.
const IDENTITIES: &str = "identities.graphs.test";
const IDENTITY_PATH: &str = "/apis/graphs.test/v1/identities";

/// Makes the server accept identities and ClusterClasses. Our own admission rules still reject
/// ClusterClasses, so the definitions are marked as installed by another program.
///
/// # Errors
/// The server rejects a definition.
pub async fn serve_kinds(place: &Place) -> Result<()> {
    serve_identities(place).await?;
    for kind in ["clusters", "clusterclasses"] {
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{kind}.cluster.x-k8s.io");
        let stranger = json!({"metadata": {"annotations": {MANIFEST_HASH: null}}});
        send(place, "PATCH", &path, &stranger).await?;
    }
    Ok(())
}

/// Creates the namespaces of the graphs.
///
/// # Errors
/// The server rejects a namespace.
pub async fn make_namespaces(place: &Place) -> Result<()> {
    for name in [CLASSES, NAMESPACES[1]] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        post(place, "/api/v1/namespaces", &namespace).await?;
    }
    Ok(())
}

/// Creates the definition of identities at `place`.
///
/// # Errors
/// The server rejects the definition.
async fn serve_identities(place: &Place) -> Result<()> {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": IDENTITIES, "labels": {
            "clusterctl.cluster.x-k8s.io": "", "clusterctl.cluster.x-k8s.io/move-hierarchy": "",
        }},
        "spec": {
            "group": "graphs.test", "scope": "Cluster",
            "names": {"plural": "identities", "singular": "identity", "kind": "Identity", "listKind": "IdentityList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    });
    post(place, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).await
}

/// Creates an identity with the same name as that of the graphs and with another content.
///
/// # Errors
/// The server rejects it.
pub async fn make_identity(place: &Place) -> Result<()> {
    let object = json!({
        "apiVersion": "graphs.test/v1", "kind": "Identity", "metadata": {"name": "identity"}, "spec": {"key": "its own"},
    });
    post(place, IDENTITY_PATH, &object).await
}

/// Writes an object directly to the store.
///
/// # Errors
/// The store rejects it.
pub async fn plant(place: &Place, key: &str, mut object: Value) -> Result<()> {
    let value = move |revision: store::Revision| {
        object["metadata"]["resourceVersion"] = revision.to_string().into();
        object.to_string().into()
    };
    place.store.commit(vec![Operation::create(Key::parse(key)?, value)]).await?;
    Ok(())
}

/// Writes another object with the key of `object` to the store.
///
/// # Errors
/// The store rejects it.
pub async fn take_name(place: &Place, key: &str, object: &Value, random: &Random) -> Result<()> {
    let mut other = object.clone();
    let metadata = &object["metadata"];
    other["metadata"] = json!({
        "name": metadata["name"], "namespace": metadata["namespace"], "uid": random.uid(),
        "creationTimestamp": "2027-01-01T00:00:00Z", "generation": 1,
    });
    plant(place, key, other).await
}

/// Creates an object.
///
/// # Errors
/// The server rejects it.
pub async fn post(place: &Place, path: &str, object: &Value) -> Result<()> {
    send(place, "POST", path, object).await.map(drop)
}

/// Sends a request; a PATCH is sent as a merge patch.
///
/// # Errors
/// The server rejects it.
pub async fn send(place: &Place, method: &str, path: &str, body: &Value) -> Result<Value> {
    let media_type = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", media_type)
        .body(body.to_string().into_bytes())?;
    Ok(place.plane.client("kubectl").request::<Value>(request).await?)
}
