//! Calls of runtime extensions at the steps of a Cluster's life, and the hooks that are still to be called.

use std::collections::BTreeSet;

use engine::object::annotation;
use engine::{NamespacedName, Result};
use schemas::cluster::Cluster;
use serde_json::{Value, json};

use super::blocked::Blocked;
use super::observe::TopologyController;
use crate::extensions::Hook;
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

impl TopologyController {
    /// Calls the extensions of `hook`, unless an earlier answer said to wait and the time has not come. Returns what holds up the Cluster;
    /// `None` if nothing does, also if there are no extensions.
    ///
    /// # Errors
    /// An extension failed.
    pub(super) async fn call_hook(
        &self,
        cluster: &Cluster,
        hook: Hook,
        fields: Value,
    ) -> Result<Option<Blocked>> {
        let name = NamespacedName::of(cluster);
        if !self.manager.features().runtime_sdk || !self.extensions.has_handler(hook, &name.namespace).await?
        {
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
    pub(super) async fn mark_hooks(
        &self,
        name: &NamespacedName,
        add: &[&str],
        remove: &[&str],
    ) -> Result<()> {
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
