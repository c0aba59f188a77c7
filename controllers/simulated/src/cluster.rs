//! DevCluster: the infrastructure that all machines of a simulated cluster share, which is a port.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::conditions;
use engine::object::{annotation, is_deleting};
use engine::{
    Action, Controller, Descriptor, Error, GroupKind, Manager, NamespacedName, Objects, Reconciler, Request, Result, finalizer,
    paused,
};
use schemas::HasConditions;
use schemas::cluster::Cluster;
use schemas::infrastructure::DevCluster;
use schemas::meta::ApiEndpoint;

use crate::backend::Backend;
use crate::hand_over::{HAND_OVER, MOVED_TO, MOVING, NEEDED, READY};
use crate::names::{CLUSTER_FINALIZER, LISTENER};
use crate::owner::owner_name;

/// The controller's row of the table.
pub const CONTROLLER: Descriptor<Backend> = Descriptor {
    name: "devcluster",
    reconciles: &[GroupKind::new(DevCluster::GROUP, DevCluster::KIND)],
    start,
};

/// Starts the controller.
fn start(manager: &Manager, backend: &Backend) {
    let objects = manager.objects::<DevCluster>();
    let clusters = manager.objects::<Cluster>();
    let reconciler = DevClusterReconciler {
        objects: objects.clone(),
        clusters: clusters.clone(),
        backend: backend.clone(),
        manager: manager.clone(),
    };
    let by_cluster = objects.clone();
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&objects)
        .watches(&clusters, move |change| {
            let cluster = change.name();
            let owned = |dev: &Arc<DevCluster>| {
                owner_name(dev.as_ref(), "Cluster").as_deref() == Some(cluster.name.as_str())
            };
            let all = by_cluster.in_namespace(&cluster.namespace);
            all.iter().filter(|dev| owned(dev)).map(|dev| NamespacedName::of(dev.as_ref())).collect()
        })
        .start(reconciler);
}

struct DevClusterReconciler {
    objects: Objects<DevCluster>,
    clusters: Objects<Cluster>,
    backend: Backend,
    manager: Manager,
}

impl Reconciler for DevClusterReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(read) = self.objects.get(&request) else {
            self.forget(&request.namespace).await;
            return Ok(Action::done());
        };
        // Without an owner it belongs to no cluster yet; the Cluster's controller makes itself the owner.
        let Some(cluster_name) = owner_name(read.as_ref(), "Cluster") else { return Ok(Action::done()) };
        let key = NamespacedName::new(request.namespace.clone(), cluster_name);
        let cluster = self.clusters.get(&key);
        let read = finalizer::ensure(&self.objects, &read, CLUSTER_FINALIZER).await?;
        let mut wanted = read.as_ref().clone();
        let is_paused = paused::set(&mut wanted, cluster.as_deref(), self.manager.clock().now());
        let mut outcome = Ok(());
        if is_paused {
            self.hand_over(&key, cluster.as_deref(), &mut wanted).await?;
        } else {
            if is_deleting(read.as_ref()) {
                self.backend.remove(&key).await;
                finalizer::remove(&mut wanted, CLUSTER_FINALIZER);
            } else {
                outcome = self.provision(&key, &mut wanted).await;
                self.report(&mut wanted, &outcome);
            }
        }
        self.objects.patch(&read, &wanted, &["Paused", "Ready"]).await?;
        outcome.map(|()| Action::done())
    }
}

/// The port of an endpoint that has one.
fn port(endpoint: &ApiEndpoint) -> Option<u16> {
    endpoint.port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0)
}

impl DevClusterReconciler {
    /// The ports of all endpoints: after a restart their clusters may not listen yet, and a new one must not come before them.
    fn reserved(&self) -> BTreeSet<u16> {
        let endpoint =
            |cluster: &Arc<DevCluster>| cluster.spec.control_plane_endpoint.as_ref().and_then(port);
        self.objects.all().iter().filter_map(endpoint).collect()
    }

    /// Says why the cluster does not run. One that has always run has no `Ready`, as nothing about it can be otherwise.
    fn report(&self, wanted: &mut DevCluster, outcome: &Result<()>) {
        let condition = match outcome {
            Err(error) => conditions::is_false("Ready", "NotReady", error.to_string()),
            Ok(()) if wanted.condition("Ready").is_some() => conditions::is_true("Ready", "Ready"),
            Ok(()) => return,
        };
        conditions::set(wanted, self.manager.clock().now(), condition);
    }

    /// Clusters whose DevCluster is no longer there.
    async fn forget(&self, namespace: &str) {
        let all = self.objects.in_namespace(namespace);
        let named = |cluster: &NamespacedName| {
            all.iter()
                .any(|dev| owner_name(dev.as_ref(), "Cluster").as_deref() == Some(cluster.name.as_str()))
        };
        self.backend.retain(namespace, named).await;
    }

    /// Writes down the state of a cluster that is about to move, and closes one that has moved.
    async fn hand_over(
        &self,
        key: &NamespacedName,
        cluster: Option<&Cluster>,
        wanted: &mut DevCluster,
    ) -> Result<()> {
        let has = |name: &str| cluster.is_some_and(|cluster| annotation(cluster, name).is_some());
        if has(MOVED_TO) {
            self.backend.remove(key).await;
        } else if has(MOVING) && annotation(wanted, HAND_OVER) != Some(READY) {
            // One that does not run has nothing that is not in its objects.
            if let Some(workload) = self.backend.get(key).await {
                let state = workload.rows().hold().map_err(|why| {
                    Error::failed(format!("the state of Cluster {key} cannot be written down: {why}"))
                })?;
                self.backend.hand_over().write(key, wanted, &state).await?;
            }
            wanted.metadata.annotations.get_or_insert_default().insert(HAND_OVER.into(), READY.into());
        }
        Ok(())
    }

    async fn provision(&self, key: &NamespacedName, wanted: &mut DevCluster) -> Result<()> {
        if wanted.spec.backend.in_memory.is_none() {
            return Err(Error::failed(format!(
                "DevCluster {key} has spec.backend.docker: only spec.backend.inMemory is simulated here"
            )));
        }
        let endpoint = wanted.spec.control_plane_endpoint.clone().unwrap_or_default();
        let (workload, port) = self.backend.start(key, port(&endpoint), &self.reserved()).await?;
        workload.rows().release();
        self.backend.hand_over().discard(key).await?;
        let annotations = wanted.metadata.annotations.get_or_insert_default();
        annotations.insert(LISTENER.to_owned(), key.to_string());
        annotations.insert(HAND_OVER.to_owned(), NEEDED.to_owned());
        wanted.spec.control_plane_endpoint =
            Some(ApiEndpoint { host: Some(self.backend.host().to_owned()), port: Some(i32::from(port)) });
        wanted.status.get_or_insert_default().initialization.get_or_insert_default().provisioned = Some(true);
        Ok(())
    }
}
