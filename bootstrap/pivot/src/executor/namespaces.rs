//! Creates namespaces at the target.

use serde_json::{Value, json};

use super::{Pivot, Work};
use crate::error::Result;
use crate::server::Server;

/// The label with which every namespace has its own name.
const OWN_NAME: &str = "kubernetes.io/metadata.name";

impl Pivot {
    /// Creates the namespaces that the plan needs, with their labels and annotations of the source. A rollback keeps them, because
    /// others may use them meanwhile.
    pub(super) async fn ensure_namespaces(&self, work: &mut Work) -> Result<()> {
        for name in work.inventory.plan.namespaces() {
            if !work.namespaces.contains(name) {
                ensure(&self.source, &self.target, name).await?;
                work.namespaces.insert(name.to_owned());
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
    match target.create(&format!("create Namespace {name}"), "/api/v1/namespaces", &namespace).await {
        Err(error) if !error.is_already_exists() => Err(error),
        _ => Ok(()),
    }
}
