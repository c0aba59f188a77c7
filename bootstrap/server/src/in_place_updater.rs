//! Who updates the machines of a Cluster in place: the simulated infrastructure, if the user of the Cluster asks for it, or else a runtime extension.

use std::sync::{Arc, OnceLock};

use engine::Result;
use engine::in_place::{Decision, Objects, Progress, Subject, Updater};
use futures::future::BoxFuture;
use machinery::clock::Clock;
use runtime_extensions::Client;
use schemas::cluster::Cluster;
use simulated::{Backend, updates};

/// Both of those who update machines.
pub(crate) struct InPlaceUpdater {
    extensions: Client,
    backend: Arc<OnceLock<Backend>>,
    clock: Clock,
    simulated: OnceLock<updates::Updater>,
}

impl InPlaceUpdater {
    /// Creates the updater. `backend` has the simulated machines once their controllers run.
    pub(crate) fn new(extensions: Client, backend: Arc<OnceLock<Backend>>, clock: Clock) -> Self {
        Self { extensions, backend, clock, simulated: OnceLock::new() }
    }

    /// Returns who updates the machines of this Cluster.
    fn of(&self, cluster: &Cluster) -> &dyn Updater {
        match self.backend.get() {
            Some(backend) if updates::is_asked(cluster) => {
                self.simulated.get_or_init(|| updates::Updater::new(backend.clone(), self.clock.clone()))
            }
            _ => &self.extensions,
        }
    }
}

impl Updater for InPlaceUpdater {
    fn is_present<'a>(&'a self, cluster: &'a Cluster) -> BoxFuture<'a, Result<bool>> {
        self.of(cluster).is_present(cluster)
    }

    fn can_update<'a>(
        &'a self,
        subject: Subject,
        cluster: &'a Cluster,
        current: &'a Objects,
        desired: &'a Objects,
    ) -> BoxFuture<'a, Result<Decision>> {
        self.of(cluster).can_update(subject, cluster, current, desired)
    }

    fn update_machine<'a>(
        &'a self,
        cluster: &'a Cluster,
        desired: &'a Objects,
    ) -> BoxFuture<'a, Result<Progress>> {
        self.of(cluster).update_machine(cluster, desired)
    }
}
