//! What the controllers of this process have not confirmed since it started.
//!
//! The status of an object says what the process before this one knew. It is known to be true once each controller has reconciled the object
//! in this process, and again after the first connection to the workload cluster, without which its Nodes cannot be seen. This is kept in
//! memory only: at rest nothing is written.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::object::Request;
use crate::queue::Queue;

/// The number of objects that are listed; the others are counted.
const LISTED_MAX: usize = 100;
/// The end of the names of Cluster API's groups. The status of a cluster depends on the objects of these groups only.
const GROUPS: &str = "cluster.x-k8s.io";

/// An object whose status is not known to be true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unconfirmed {
    /// The kind.
    pub kind: String,
    /// The namespace; empty for a cluster-scoped object.
    pub namespace: String,
    /// The name; empty if it may be any object of the kind.
    pub name: String,
    /// Why, for a person.
    pub cause: String,
}

/// The objects whose status is not known to be true; empty if all is confirmed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The objects, at most a hundred.
    pub unconfirmed: Vec<Unconfirmed>,
    /// The number of further objects.
    pub more: usize,
}

impl Report {
    /// Returns whether everything is confirmed.
    pub fn is_confirmed(&self) -> bool {
        self.unconfirmed.is_empty() && self.more == 0
    }

    fn add(&mut self, unconfirmed: impl FnOnce() -> Unconfirmed) {
        if self.unconfirmed.len() < LISTED_MAX {
            self.unconfirmed.push(unconfirmed());
        } else {
            self.more += 1;
        }
    }
}

/// The controllers of a process, and what they have not confirmed. It holds no client.
#[derive(Default)]
pub struct Startup {
    controllers: Mutex<Vec<Watched>>,
    /// Returns the Clusters that this process was never connected to, although their status says that they are.
    clusters: OnceLock<Unconnected>,
    changed: Notify,
    listeners: Mutex<Vec<Arc<Notify>>>,
}

/// Returns Clusters, each with the cause.
type Unconnected = Box<dyn Fn() -> Vec<(Request, Option<String>)> + Send + Sync>;

/// The queue of a controller, and the kind that it reconciles.
struct Watched {
    controller: &'static str,
    kind: String,
    queue: Arc<Queue>,
}

impl Startup {
    /// Follows a controller, if it reconciles a kind of Cluster API.
    pub(crate) fn follow(&self, controller: &'static str, group: &str, kind: &str, queue: &Arc<Queue>) {
        if group.ends_with(GROUPS) {
            let (kind, queue) = (kind.to_owned(), queue.clone());
            self.controllers.lock().push(Watched { controller, kind, queue });
        }
    }

    /// Follows the connections to workload clusters.
    pub(crate) fn follow_clusters(
        &self,
        clusters: impl Fn() -> Vec<(Request, Option<String>)> + Send + Sync + 'static,
    ) {
        // There is one cache for each manager.
        let _ = self.clusters.set(Box::new(clusters));
    }

    /// Wakes those who wait for a confirmation.
    pub(crate) fn confirmed(&self) {
        self.changed.notify_waiters();
        self.listeners.lock().iter().for_each(|listener| listener.notify_one());
    }

    /// Notifies `listener` of each confirmation from now on.
    pub fn notify(&self, listener: &Arc<Notify>) {
        self.listeners.lock().push(listener.clone());
    }

    /// Returns what is not confirmed now.
    pub fn report(&self) -> Report {
        let mut report = Report::default();
        for Watched { controller, kind, queue } in self.controllers.lock().iter() {
            if !queue.has_begun() {
                let cause = format!("the controller {controller} has not read its objects yet");
                report.add(|| unconfirmed(kind, &Request::default(), cause));
            }
            for (request, error) in queue.expected() {
                report.add(|| unconfirmed(kind, &request, cause(controller, error.as_deref())));
            }
        }
        for (cluster, problem) in self.clusters.get().map(|clusters| clusters()).unwrap_or_default() {
            let because = problem.map(|problem| format!(": {problem}")).unwrap_or_default();
            let cause = format!("this process is not connected to the workload cluster yet{because}");
            report.add(|| unconfirmed("Cluster", &cluster, cause));
        }
        report
    }

    /// Waits until everything is confirmed.
    pub async fn wait_until_confirmed(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on, a confirmation wakes this future, also one between the report and the wait.
            changed.as_mut().enable();
            if self.report().is_confirmed() {
                return;
            }
            changed.await;
        }
    }
}

fn unconfirmed(kind: &str, request: &Request, cause: String) -> Unconfirmed {
    Unconfirmed {
        kind: kind.to_owned(),
        namespace: request.namespace.clone(),
        name: request.name.clone(),
        cause,
    }
}

fn cause(controller: &str, error: Option<&str>) -> String {
    match error {
        None => format!("the controller {controller} has not reconciled it since this process started"),
        Some(error) => {
            format!("the controller {controller} could not reconcile it since this process started: {error}")
        }
    }
}
