//! Creates namespaces at the target.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::error::Result;
use crate::plan::Plan;
use crate::server::Server;

/// The label with which every namespace has its own name.
const OWN_NAME: &str = "kubernetes.io/metadata.name";

/// The namespaces that are known to exist at the target.
#[derive(Default)]
pub(super) struct Namespaces(BTreeSet<String>);

impl Namespaces {
    pub(super) fn known(names: BTreeSet<String>) -> Self {
        Self(names)
    }

    /// Creates the namespaces that the plan needs, with their labels and annotations of the source. A rollback keeps them, because
    /// others may use them meanwhile.
    pub(super) async fn ensure(&mut self, source: &Server, target: &Server, plan: &Plan) -> Result<()> {
        for name in plan.namespaces() {
            if !self.0.contains(name) {
                ensure(source, target, name).await?;
                self.0.insert(name.to_owned());
            }
        }
        Ok(())
    }
}

pub(super) async fn ensure(source: &Server, target: &Server, name: &str) -> Result<()> {
    let (what, path) = (format!("get Namespace {name}"), format!("/api/v1/namespaces/{name}"));
    if target.find(&what, &path).await?.is_some() {
        return Ok(());
    }
    let original: Value = source.get(&what, &path).await?;
    let mut labels = original["metadata"]["labels"].clone();
    if let Some(labels) = labels.as_object_mut() {
        labels.remove(OWN_NAME);
    }
    let namespace = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels, "annotations": original["metadata"]["annotations"]},
    });
    create(target, name, &namespace).await
}

/// Creates a namespace; one that exists already is left as it is.
async fn create(target: &Server, name: &str, namespace: &Value) -> Result<()> {
    match target.create(&format!("create Namespace {name}"), "/api/v1/namespaces", namespace).await {
        Err(error) if !error.is_already_exists() => Err(error),
        _ => Ok(()),
    }
}

/// Creates a namespace of which nothing but its name is known.
pub(super) async fn make(target: &Server, name: &str) -> Result<()> {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    create(target, name, &namespace).await
}
