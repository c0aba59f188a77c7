//! What follows from the objects of a simulated cluster, as a kube-controller-manager, a scheduler and kubelets do it: Deployments,
//! ReplicaSets, StatefulSets, DaemonSets and Jobs have Pods, these have Nodes, and run there at once.
//!
//! One task for each cluster follows the changes of its store. At rest it waits, and costs nothing.

mod affinity;
mod daemon_sets;
mod deployments;
mod job_state;
mod jobs;
mod key;
mod kubelet;
mod objects;
mod pods;
mod scheduler;
mod stateful_sets;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::FutureExt;
use machinery::clock::Clock;
use machinery::random::Random;
use store::{Store, WatchEnd, Watcher};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::key::{Key, Kind};
use self::objects::Objects;
use self::view::View;
use super::api::Api;

/// The delays after errors: the first, and the longest.
const RETRIES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How long a change of a Pod, or of a Job's status, waits for others before the Job is reconciled, as in Kubernetes' job controller: a Job without end makes no
/// more Pods in this time than may run at once.
const JOB_BATCH: Duration = Duration::from_secs(1);

/// After so many reconciliations nobody waits any longer for a cluster to settle: a Job may have more Pods than anybody waits for.
const PATIENCE: u64 = 1_000;

/// The controllers of one cluster. They end with this.
pub(super) struct Controllers {
    waiting: mpsc::UnboundedSender<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Controllers {
    /// Starts the controllers on what is in the store, and on its changes.
    pub(super) fn start(store: Store, api: Api, clock: Clock, random: Random) -> Self {
        let (waiting, waits) = mpsc::unbounded_channel();
        let objects = Objects { store, api, clock, random };
        let worker = Worker {
            objects,
            view: View::default(),
            later: BTreeMap::new(),
            failures: BTreeMap::new(),
            reconciled: 0,
            waits,
            waiters: Vec::new(),
        };
        Self { waiting, task: tokio::spawn(worker.run()) }
    }

    /// Waits until everything has followed from all changes so far, but for what is tried again later, or until there was much to do.
    pub(super) async fn settled(&self) {
        let (done, is_done) = oneshot::channel();
        // Without the task nothing follows any more.
        if self.waiting.send(done).is_ok() {
            drop(is_done.await);
        }
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Worker {
    objects: Objects,
    view: View,
    /// What is reconciled without a change, and when.
    later: BTreeMap<Key, Instant>,
    /// How often in a row the reconciliation of an object failed.
    failures: BTreeMap<Key, u32>,
    /// How many reconciliations there were.
    reconciled: u64,
    waits: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
    /// Who waits until the cluster has settled, and since which reconciliation.
    waiters: Vec<(u64, oneshot::Sender<()>)>,
}

impl Worker {
    async fn run(mut self) {
        loop {
            let all = self.objects.all();
            let Ok(mut changes) = self.objects.watch(all.revision) else { return };
            self.view = View::of(&all.items);
            match self.follow(&mut changes).await {
                WatchEnd::TooSlow => {}
                WatchEnd::Stopped => return,
            }
        }
    }

    /// Follows changes until the watch ends.
    async fn follow(&mut self, changes: &mut Watcher) -> WatchEnd {
        loop {
            loop {
                match changes.try_next() {
                    Ok(Some(event)) => self.view.observe(&event),
                    Ok(None) => break,
                    Err(end) => return end,
                }
            }
            self.put_off_jobs();
            if let Some(key) = self.view.next() {
                self.reconcile(key).await;
                self.reconciled += 1;
                while let Ok(waiter) = self.waits.try_recv() {
                    self.waiters.push((self.reconciled, waiter));
                }
                self.answer(PATIENCE);
                tokio::task::yield_now().await;
                continue;
            }
            if let Some(event) = changes.next().now_or_never() {
                match event {
                    Ok(event) => self.view.observe(&event),
                    Err(end) => return end,
                }
                continue;
            }
            self.answer(0);
            let next = self.later.values().min().copied();
            let clock = self.objects.clock.clone();
            let again = async {
                match next {
                    Some(at) => clock.sleep(at.saturating_duration_since(clock.monotonic())).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                event = changes.next() => match event {
                    Ok(event) => self.view.observe(&event),
                    Err(end) => return end,
                },
                Some(waiter) = self.waits.recv() => self.waiters.push((self.reconciled, waiter)),
                () = again => self.view.mark_all(self.due()),
            }
        }
    }

    fn put_off_jobs(&mut self) {
        let at = self.objects.clock.monotonic() + JOB_BATCH;
        for job in self.view.take_jobs() {
            let due = self.later.entry(job).or_insert(at);
            *due = (*due).min(at);
        }
    }

    /// Answers those who wait since so many reconciliations.
    fn answer(&mut self, patience: u64) {
        let before = self.reconciled.saturating_sub(patience);
        for (_, waiter) in self.waiters.extract_if(.., |(since, _)| *since <= before) {
            // Who waited may have gone away.
            let _ = waiter.send(());
        }
    }

    /// Returns what is reconciled now without a change.
    fn due(&self) -> BTreeSet<Key> {
        let now = self.objects.clock.monotonic();
        self.later.iter().filter(|(_, at)| **at <= now).map(|(key, _)| key.clone()).collect()
    }

    async fn reconcile(&mut self, key: Key) {
        let (objects, view) = (&self.objects, &mut self.view);
        let outcome = match key.kind {
            Kind::Pod => pods::reconcile(objects, view, &key).await,
            Kind::Job => jobs::reconcile(objects, view, &key).await,
            Kind::StatefulSet => stateful_sets::reconcile(objects, view, &key).await,
            Kind::ReplicaSet => deployments::replica_set(objects, view, &key).await,
            Kind::Deployment => deployments::deployment(objects, &key).await,
            Kind::DaemonSet => daemon_sets::reconcile(objects, view, &key).await,
        };
        self.later.remove(&key);
        let after = match outcome {
            Ok(after) => {
                self.failures.remove(&key);
                after
            }
            // Somebody else changed it, which has it reconciled.
            Err(error) if error.code == 409 => None,
            Err(error) => {
                let failures = self.failures.entry(key.clone()).or_default();
                let after = RETRIES.0.saturating_mul(1 << (*failures).min(16)).min(RETRIES.1);
                *failures += 1;
                tracing::debug!(?key, %error, "a controller of a simulated cluster tries it again");
                Some(after)
            }
        };
        if let Some(after) = after {
            self.later.insert(key, self.objects.clock.monotonic() + after);
        }
    }
}
