//! Calls of runtime extensions at the steps of a Cluster's life, and the hooks that are still to be called.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::object::annotation;
use engine::{Manager, NamespacedName, Objects, Result};
use schemas::cluster::Cluster;
use serde_json::{Value, json};

use super::blocked::Blocked;
use super::memory::Memory;
use crate::extensions::{Extensions, Hook};
use crate::names::{CONVERSION_DATA, LAST_APPLIED, PENDING_HOOKS};

/// Annotation on Clusters that are being deleted: the hook before it has nothing against it.
pub const OK_TO_DELETE: &str = "runtime.cluster.x-k8s.io/ok-to-delete";

/// Returns the hooks in the Cluster's annotation that are still to be called.
pub fn pending(cluster: &Cluster) -> BTreeSet<String> {
    let listed = annotation(cluster, PENDING_HOOKS).unwrap_or_default();
    listed.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns whether `hook` is still to be called.
pub fn is_pending(cluster: &Cluster, hook: Hook) -> bool {
    pending(cluster).contains(hook.name())
}

/// Returns the Cluster as extensions see it: without status and bookkeeping.
fn for_extensions(cluster: &Cluster) -> Value {
    let mut cluster = cluster.clone();
    cluster.status = None;
    cluster.metadata.managed_fields = None;
    if let Some(annotations) = &mut cluster.metadata.annotations {
        annotations.remove(LAST_APPLIED);
        annotations.remove(CONVERSION_DATA);
    }
    serde_json::to_value(&cluster).unwrap_or_default()
}

/// Returns the request of a hook, with the Cluster and further fields.
pub fn request(hook: Hook, cluster: &Cluster, fields: Value) -> Value {
    let mut request = json!({
        "apiVersion": "hooks.runtime.cluster.x-k8s.io/v1alpha1",
        "kind": format!("{}Request", hook.name()),
        "cluster": for_extensions(cluster),
    });
    if let (Value::Object(request), Value::Object(fields)) = (&mut request, fields) {
        request.extend(fields);
    }
    request
}

/// Calls the extensions of hooks, and records at the Clusters which hooks are still to be called.
pub(super) struct HookCalls {
    manager: Manager,
    clusters: Objects<Cluster>,
    extensions: Arc<dyn Extensions>,
    memory: Arc<Memory>,
}

impl HookCalls {
    /// Calls `extensions`, unless `memory` says that they are to be called later.
    pub fn new(manager: &Manager, extensions: &Arc<dyn Extensions>, memory: &Arc<Memory>) -> Self {
        Self {
            manager: manager.clone(),
            clusters: manager.objects(),
            extensions: extensions.clone(),
            memory: memory.clone(),
        }
    }

    /// Returns whether extensions are called (feature gate `RuntimeSDK`).
    pub fn is_on(&self) -> bool {
        self.manager.features().runtime_sdk
    }

    /// Returns the Cluster with the hooks that are still to be called by now.
    pub fn latest(&self, name: &NamespacedName) -> Option<Arc<Cluster>> {
        self.clusters.get(name)
    }

    /// Calls the extensions of `hook`, unless an earlier answer said to wait and the time has not come. Returns what holds up the Cluster;
    /// `None` if nothing does, also if there are no extensions.
    ///
    /// # Errors
    /// An extension failed.
    pub async fn call(&self, cluster: &Cluster, hook: Hook, fields: Value) -> Result<Option<Blocked>> {
        let name = NamespacedName::of(cluster);
        if !self.is_on() || !self.extensions.has_handler(hook, &name.namespace).await? {
            return Ok(None);
        }
        let (memory, now) = (self.memory.of(cluster), self.manager.clock().now());
        if let Some(blocked) = memory.waits_for(hook, now) {
            return Ok(Some(blocked));
        }
        let request = request(hook, cluster, fields);
        let answer = self.extensions.call_all(hook, cluster, request).await?;
        let blocked = answer.retry_after.filter(|wait| !wait.is_zero()).map(|retry_after| Blocked {
            hook: hook.name().to_owned(),
            message: answer.message,
            retry_after,
        });
        memory.set_answer(hook, blocked.as_ref(), now);
        Ok(blocked)
    }

    /// Removes hooks that were called from those that are still to be called, and adds others: a hook that was called for one step of an upgrade can
    /// be pending for the next one. Nothing is written if that changes nothing.
    ///
    /// # Errors
    /// The Cluster cannot be written.
    pub async fn mark(&self, name: &NamespacedName, add: &[&str], remove: &[&str]) -> Result<()> {
        let Some(cluster) = self.clusters.get(name) else { return Ok(()) };
        let mut hooks = pending(&cluster);
        let before = hooks.clone();
        hooks.retain(|hook| !remove.contains(&hook.as_str()));
        hooks.extend(add.iter().map(|hook| (*hook).to_owned()));
        if hooks == before {
            return Ok(());
        }
        let mut wanted = cluster.as_ref().clone();
        let annotations = wanted.metadata.annotations.get_or_insert_default();
        if hooks.is_empty() {
            annotations.remove(PENDING_HOOKS);
        } else {
            let list = hooks.into_iter().collect::<Vec<_>>().join(",");
            annotations.insert(PENDING_HOOKS.to_owned(), list);
        }
        self.clusters.patch(&cluster, &wanted, &[]).await.map(|_| ())
    }
}
