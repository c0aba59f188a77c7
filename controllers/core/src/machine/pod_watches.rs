//! Watches of the Pods on Nodes that are being drained, so that a drain goes on when a Pod is gone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use engine::queue::Cause;
use engine::{Manager, Queue, Request, Workload};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{WatchEvent, WatchParams};
use parking_lot::Mutex;
use tokio::task::JoinHandle;

/// Number of Nodes whose Pods are watched at the same time. The drains of other Nodes look after their Pods
/// at intervals.
pub const WATCHES: usize = 100;
/// A watch ends after this time at the latest; the next read of the Pods starts another one.
const WATCH_LIMIT: Duration = Duration::from_secs(290);

/// Changes within this time lead to one reconcile: the Pods of a Node often end together.
const GATHERED: Duration = Duration::from_secs(1);

/// At most one watch for each Machine. It ends with the first change, and requests a reconcile.
#[derive(Default)]
pub struct PodWatches(Mutex<BTreeMap<Request, JoinHandle<()>>>);

impl PodWatches {
    /// Requests a reconcile of the Machine `request` for the next change of a Pod on `node` after `version`.
    pub fn start(
        &self,
        manager: &Manager,
        queue: &Arc<Queue>,
        request: Request,
        workload: &Workload,
        node: &str,
        version: String,
    ) {
        if version.is_empty() {
            return;
        }
        let api = Api::<Pod>::all(workload.dedicated_client().clone());
        let (queue, node, key) = (queue.clone(), node.to_owned(), request.clone());
        self.keep(request, || {
            manager.spawn(async move {
                if let Ok(true) = tokio::time::timeout(WATCH_LIMIT, changes(&api, &node, &version)).await {
                    queue.add_after(key, GATHERED, Cause::Changed("Pod".into()));
                }
            })
        });
    }

    /// Starts a watch, unless there is one for this Machine or there are too many.
    pub fn keep(&self, request: Request, start: impl FnOnce() -> JoinHandle<()>) {
        let mut running = self.0.lock();
        running.retain(|_, watch| !watch.is_finished());
        if !running.contains_key(&request) && running.len() < WATCHES {
            running.insert(request, start());
        }
    }

    /// Ends the watch for a Machine.
    pub fn stop(&self, request: &Request) {
        if let Some(watch) = self.0.lock().remove(request) {
            watch.abort();
        }
    }
}

/// Returns whether a Pod on `node` changed, once one has or the watch has ended.
async fn changes(api: &Api<Pod>, node: &str, version: &str) -> bool {
    let parameters = WatchParams::default().fields(&format!("spec.nodeName={node}")).disable_bookmarks();
    let Ok(events) = api.watch_metadata(&parameters, version).await else { return false };
    let mut events = std::pin::pin!(events);
    let first = events.next().await;
    matches!(first, Some(Ok(WatchEvent::Added(_) | WatchEvent::Modified(_) | WatchEvent::Deleted(_))))
}
