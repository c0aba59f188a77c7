//! What is seen of the hosts at the target while upstream's controllers run.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, WatchEvent, WatchParams};
use parking_lot::Mutex;
use serde_json::Value;

use super::objects::{HOSTS, NAMESPACE, PAUSED};

/// Every version of each host, in order.
#[derive(Debug, Default, Clone)]
pub struct Witness(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    hosts: BTreeMap<String, Vec<Value>>,
    /// Why the witness saw no more.
    lost: Option<String>,
}

impl Witness {
    /// Lists the hosts, and watches them until the witness's task is dropped with the runtime.
    ///
    /// # Errors
    /// The hosts cannot be listed or watched.
    pub async fn start(client: Client) -> Result<Self> {
        let resource =
            ApiResource::from_gvk(&GroupVersionKind::gvk("metal3.io", "v1alpha1", "BareMetalHost"));
        let hosts: Api<DynamicObject> = Api::namespaced_with(client, NAMESPACE, &resource);
        let listed = hosts.list(&Default::default()).await?;
        let version = listed.metadata.resource_version.unwrap_or_default();
        let witness = Self::default();
        for host in &listed.items {
            witness.see(host)?;
        }
        let mut events = hosts.watch(&WatchParams::default().timeout(290), &version).await?.boxed();
        let seen = witness.clone();
        tokio::spawn(async move {
            let mut version = version;
            let follow = async {
                loop {
                    while let Some(event) = events.try_next().await? {
                        version = seen.take(event)?.unwrap_or(version);
                    }
                    events = hosts.watch(&WatchParams::default().timeout(290), &version).await?.boxed();
                }
            };
            let ended: Result<()> = follow.await;
            seen.0.lock().lost = ended.err().map(|error| format!("{error:#}"));
        });
        Ok(witness)
    }

    /// Keeps the host of an event; returns its resourceVersion. `Err` ends the watch, for example because versions are missing.
    fn take(&self, event: WatchEvent<DynamicObject>) -> Result<Option<String>> {
        match event {
            WatchEvent::Added(host) | WatchEvent::Modified(host) | WatchEvent::Deleted(host) => {
                self.see(&host)?;
                Ok(host.metadata.resource_version)
            }
            WatchEvent::Bookmark(_) => Ok(None),
            WatchEvent::Error(status) => bail!("{status:?}"),
        }
    }

    fn see(&self, host: &DynamicObject) -> Result<()> {
        let name = host.metadata.name.clone().unwrap_or_default();
        self.0.lock().hosts.entry(name).or_default().push(serde_json::to_value(host)?);
        Ok(())
    }

    /// Returns what changed that must not change, since the hosts were as `before` at the source. `node_of` is the UUID of a host's node
    /// in Ironic. While a host is being copied it is paused, and only its last version counts.
    pub fn wrong(
        &self,
        before: &BTreeMap<&str, Value>,
        node_of: impl Fn(&str) -> Option<String>,
    ) -> Vec<String> {
        let all = self.0.lock();
        let lost = all.lost.iter().map(|why| format!("the hosts were not watched to the end: {why}"));
        let mut wrong: Vec<String> = lost.collect();
        for host in &HOSTS {
            let versions = all.hosts.get(host.name).map(Vec::as_slice).unwrap_or_default();
            let is_active = |version: &&Value| version["metadata"]["annotations"][PAUSED].is_null();
            let (Some(before), Some(last)) = (before.get(host.name), versions.last()) else {
                wrong.push(format!("{} did not arrive", host.name));
                continue;
            };
            let arrived = versions.iter().find(is_active).unwrap_or(last);
            let arrived_as = &arrived["status"]["provisioning"]["ID"];
            for version in versions.iter().filter(is_active).chain([last]) {
                wrong.extend(changed(host.name, before, version));
                let id = &version["status"]["provisioning"]["ID"];
                // Upstream registers a host as a new node of Ironic, and notes the node's UUID.
                if id != arrived_as && node_of(host.name).is_none_or(|node| *id != node) {
                    wrong.push(format!("{}: provisioning.ID became {id}, which is not its node", host.name));
                }
            }
        }
        wrong.sort();
        wrong.dedup();
        wrong
    }
}

/// Returns the fields that differ in a later version of a host although nobody may change them.
fn changed(name: &str, first: &Value, later: &Value) -> Vec<String> {
    const KEPT: [&str; 6] = [
        "/status/provisioning/state",
        "/status/provisioning/image",
        "/status/poweredOn",
        "/spec/online",
        "/spec/image",
        "/spec/consumerRef",
    ];
    let mut wrong: Vec<String> = KEPT
        .iter()
        .map(|field| (field, first.pointer(field), later.pointer(field)))
        .filter(|(_, before, after)| before != after)
        .map(|(field, before, after)| format!("{name}: {field} was {before:?} and became {after:?}"))
        .collect();
    let error = later["status"]["errorType"].as_str().unwrap_or_default();
    if !error.is_empty() {
        wrong.push(format!("{name}: {error}: {}", later["status"]["errorMessage"]));
    }
    if later["metadata"]["deletionTimestamp"].is_string() {
        wrong.push(format!("{name} is being deleted"));
    }
    wrong
}
