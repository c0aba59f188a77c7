//! Keeps the annotation that `kubectl apply` needs to find removed fields, so that it does not warn about objects of `up`.

use kube::Client;
use serde_json::{Value, json};

use super::apply::{ApplyError, Target, request};
use super::explain::explain;
use super::read::Document;

/// The annotation with the manifest.
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The field manager with which kubectl keeps this annotation of objects that are applied on the server. If the manager of the manifest
/// owned it, the next `kubectl apply --server-side` would remove it.
const MANAGER: &str = "kubectl-last-applied";

/// The longest manifest that becomes an annotation: the API server allows 256 KiB for all annotations of an object.
const MANIFEST_BYTES_MAX: usize = 200 * 1024;

/// Sets the annotation of an object that was applied and does not have it yet; the server updates it with each apply.
///
/// # Errors
/// The server refuses the write.
pub(super) async fn remember(
    client: &Client,
    document: &Document,
    target: &Target,
    applied: &Value,
) -> Result<(), ApplyError> {
    let text = manifest(document, target);
    if applied["metadata"]["annotations"][ANNOTATION].is_string() || text.len() > MANIFEST_BYTES_MAX {
        return Ok(());
    }
    let object = json!({
        "apiVersion": applied["apiVersion"],
        "kind": applied["kind"],
        // With the UID, an object that has been deleted since is not created again.
        "metadata": {
            "name": applied["metadata"]["name"],
            "uid": applied["metadata"]["uid"],
            "annotations": {ANNOTATION: text},
        },
    });
    let query = format!("fieldManager={MANAGER}&force=true");
    let request = request(document, &object, target, &query)?;
    client.request::<Value>(request).await.map_err(|error| {
        let (line, message) = explain(document, target, &error);
        ApplyError { line, ..ApplyError::of(document, message) }
    })?;
    Ok(())
}

/// Returns whether two states of an object differ in nothing that the user wrote. The server writes the annotation in another form than
/// `kubectl apply` does, which alone is no change, nor is the time of a write, by which the server sorts the managers of fields.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    let reduced = |object: &Value| {
        let mut object = object.clone();
        let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return object };
        metadata.remove("resourceVersion");
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(ANNOTATION);
        }
        if let Some(managers) = metadata.get_mut("managedFields").and_then(Value::as_array_mut) {
            for entry in managers.iter_mut() {
                entry.as_object_mut().map(|entry| entry.remove("time"));
            }
            managers.sort_by_key(Value::to_string);
        }
        object
    };
    reduced(one) == reduced(other)
}

/// Returns the manifest as kubectl writes it: with the namespace and annotations, on one line.
fn manifest(document: &Document, target: &Target) -> String {
    let mut object = document.object.clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        if let Some(namespace) = &target.namespace {
            metadata.insert("namespace".to_owned(), namespace.clone().into());
        }
        metadata.entry("annotations").or_insert_with(|| json!({}));
    }
    format!("{object}\n")
}
