//! Fake providers: they report success as soon as their contract allows it.

use std::sync::Arc;

use engine::names::CONTROL_PLANE;
use engine::object::{is_deleting, label, uid};
use engine::{
    Action, Change, Controller, Manager, NamespacedName, Objects, Reconciler, Request, Result, finalizer,
    owners,
};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{DeleteParams, PostParams};
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::{Cluster, Machine};
use schemas::controlplane::KubeadmControlPlane;
use schemas::infrastructure::{DevCluster, DevMachine};
use serde_json::json;

use super::{HOST, PORT};

const FINALIZER: &str = "test/provider";

/// Starts all fake providers.
pub fn start(manager: &Manager, workload: &Client, kubeconfig: String) {
    let machines = manager.objects::<Machine>();
    let clusters = manager.objects::<Cluster>();
    let infrastructure = manager.objects::<DevCluster>();
    Controller::new(manager, "devcluster").reconciles(&infrastructure).start(Infrastructure(infrastructure));
    let configs = manager.objects::<KubeadmConfig>();
    let all = configs.clone();
    Controller::new(manager, "kubeadmconfig")
        .reconciles(&configs)
        .watches(&clusters, move |change| {
            all.by_cluster(&change.name()).iter().map(|config| NamespacedName::of(config.as_ref())).collect()
        })
        .reads(&machines)
        .start(Bootstrap { configs, clusters: clusters.clone(), machines: machines.clone() });
    let dev_machines = manager.objects::<DevMachine>();
    Controller::new(manager, "devmachine")
        .reconciles(&dev_machines)
        .watches(&machines, |change: &Change<Machine>| vec![change.name()])
        .start(Machines { dev_machines, machines: machines.clone(), workload: workload.clone() });
    let planes = manager.objects::<KubeadmControlPlane>();
    let all = planes.clone();
    Controller::new(manager, "kubeadmcontrolplane")
        .reconciles(&planes)
        .owns(&machines, KubeadmControlPlane::GROUP, "KubeadmControlPlane")
        .watches(&clusters, move |change| {
            all.by_cluster(&change.name()).iter().map(|plane| NamespacedName::of(plane.as_ref())).collect()
        })
        .start(Planes { planes, clusters, machines, manager: manager.clone(), kubeconfig });
}

struct Infrastructure(Objects<DevCluster>);

impl Reconciler for Infrastructure {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(cluster) = self.0.get(&request) else { return Ok(Action::done()) };
        if owners::find(cluster.as_ref(), Cluster::GROUP, "Cluster").is_some()
            && !is_deleting(cluster.as_ref())
        {
            let endpoint = json!({"spec": {"controlPlaneEndpoint": {"host": HOST, "port": PORT}}});
            self.0.merge(&request, None, endpoint).await?;
            self.0
                .merge(&request, Some("status"), json!({"status": {"initialization": {"provisioned": true}}}))
                .await?;
        }
        Ok(Action::done())
    }
}

struct Bootstrap {
    configs: Objects<KubeadmConfig>,
    clusters: Objects<Cluster>,
    machines: Objects<Machine>,
}

impl Reconciler for Bootstrap {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let (Some(config), Some(machine)) = (self.configs.get(&request), self.machines.get(&request)) else {
            return Ok(Action::done());
        };
        let name = NamespacedName::new(request.namespace.as_str(), machine.spec.cluster_name.as_str());
        let ready = self.clusters.get(&name).is_some_and(|cluster| {
            cluster.condition_is_true("ControlPlaneInitialized")
                || label(machine.as_ref(), CONTROL_PLANE).is_some()
        });
        if ready && owners::is_controlled_by(config.as_ref(), uid(machine.as_ref())) {
            let status =
                json!({"initialization": {"dataSecretCreated": true}, "dataSecretName": request.name});
            self.configs.merge(&request, Some("status"), json!({"status": status})).await?;
        }
        Ok(Action::done())
    }
}

struct Machines {
    dev_machines: Objects<DevMachine>,
    machines: Objects<Machine>,
    workload: Client,
}

impl Reconciler for Machines {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(infrastructure) = self.dev_machines.get(&request) else { return Ok(Action::done()) };
        let nodes = kube::Api::<Node>::all(self.workload.clone());
        if is_deleting(infrastructure.as_ref()) {
            let _ = nodes.delete(&request.name, &DeleteParams::default()).await;
            let mut wanted = infrastructure.as_ref().clone();
            finalizer::remove(&mut wanted, FINALIZER);
            self.dev_machines.patch(&infrastructure, &wanted, &[]).await?;
            return Ok(Action::done());
        }
        let infrastructure = finalizer::ensure(&self.dev_machines, &infrastructure, FINALIZER).await?;
        let machine = self.machines.get(&request);
        let machine = machine.filter(|machine| machine.spec.bootstrap.data_secret_name.is_some());
        let Some(machine) = machine.filter(|_| infrastructure.spec.provider_id.is_none()) else {
            return Ok(Action::done());
        };
        let id = format!("in-memory://{}", request.name);
        let condition = |type_: &str, status: &str| json!({"type": type_, "status": status});
        let node = json!({
            "metadata": {"name": request.name}, "spec": {"providerID": id},
            "status": {
                "conditions": [condition("Ready", "True"), condition("MemoryPressure", "False"),
                    condition("DiskPressure", "False"), condition("PIDPressure", "False")],
                "nodeInfo": {"kubeletVersion": machine.spec.version, "architecture": "", "bootID": "",
                    "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "", "machineID": "",
                    "operatingSystem": "", "osImage": "", "systemUUID": ""},
            },
        });
        let node = serde_json::from_value(node).unwrap();
        nodes.create(&PostParams::default(), &node).await.unwrap();
        self.dev_machines.merge(&request, None, json!({"spec": {"providerID": id}})).await?;
        self.dev_machines
            .merge(&request, Some("status"), json!({"status": {"initialization": {"provisioned": true}}}))
            .await?;
        Ok(Action::done())
    }
}

struct Planes {
    planes: Objects<KubeadmControlPlane>,
    clusters: Objects<Cluster>,
    machines: Objects<Machine>,
    manager: Manager,
    kubeconfig: String,
}

impl Reconciler for Planes {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(plane) = self.planes.get(&request) else { return Ok(Action::done()) };
        let owned = self.machines.by_owner(uid(plane.as_ref()));
        if is_deleting(plane.as_ref()) {
            for machine in &owned {
                self.machines.delete(machine.as_ref()).await?;
            }
            if owned.is_empty() {
                let mut wanted = plane.as_ref().clone();
                finalizer::remove(&mut wanted, FINALIZER);
                self.planes.patch(&plane, &wanted, &[]).await?;
            }
            return Ok(Action::done());
        }
        let plane = finalizer::ensure(&self.planes, &plane, FINALIZER).await?;
        let Some(owner) = owners::find(plane.as_ref(), Cluster::GROUP, "Cluster") else {
            return Ok(Action::done());
        };
        let cluster =
            self.clusters.get(&NamespacedName::new(request.namespace.as_str(), owner.name.as_str()));
        let Some(cluster) = cluster.filter(|cluster| cluster.spec.control_plane_endpoint.is_some()) else {
            return Ok(Action::done());
        };
        match owned.first() {
            None => self.create(&plane, &cluster).await?,
            Some(machine) => self.report(&request, &plane, machine).await?,
        }
        Ok(Action::done())
    }
}

impl Planes {
    async fn create(&self, plane: &Arc<KubeadmControlPlane>, cluster: &Cluster) -> Result<()> {
        let cluster = cluster.metadata.name.clone().unwrap();
        let name = format!("{}-aaaaa", plane.metadata.name.clone().unwrap());
        let labels = json!({"cluster.x-k8s.io/cluster-name": cluster, CONTROL_PLANE: ""});
        let secret: Secret = serde_json::from_value(json!({
            "metadata": {"name": format!("{cluster}-kubeconfig"), "namespace": "default"},
            "stringData": {"value": self.kubeconfig},
        }))
        .unwrap();
        self.manager.objects::<Secret>().create_if_absent(&secret).await?;
        let metadata = json!({"name": name, "namespace": "default", "labels": labels});
        let config: KubeadmConfig = serde_json::from_value(json!({"metadata": metadata,
            "spec": {"joinConfiguration": {"nodeRegistration": {"criSocket": "s"}}}}))
        .unwrap();
        self.manager.objects::<KubeadmConfig>().create(&config).await?;
        let backend = json!({"backend": {"inMemory": {}}});
        let machine: DevMachine =
            serde_json::from_value(json!({"metadata": metadata, "spec": backend})).unwrap();
        self.manager.objects::<DevMachine>().create(&machine).await?;
        let reference = |group: &str, kind: &str| json!({"apiGroup": group, "kind": kind, "name": name});
        let mut machine: Machine = serde_json::from_value(json!({"metadata": metadata, "spec": {
            "clusterName": cluster, "version": plane.spec.version,
            "bootstrap": {"configRef": reference("bootstrap.cluster.x-k8s.io", "KubeadmConfig")},
            "infrastructureRef": reference("infrastructure.cluster.x-k8s.io", "DevMachine"),
        }}))
        .unwrap();
        owners::ensure(&mut machine, owners::controller_reference(plane.as_ref(), &()));
        self.machines.create(&machine).await.map(|_| ())
    }

    async fn report(&self, request: &Request, plane: &KubeadmControlPlane, machine: &Machine) -> Result<()> {
        let initialized = machine.spec.provider_id.is_some();
        let mut status = json!({"replicas": 1, "version": plane.spec.version, "readyReplicas": 0,
            "availableReplicas": i32::from(initialized), "upToDateReplicas": 1});
        if initialized {
            status["initialization"] = json!({"controlPlaneInitialized": true});
            status["conditions"] = json!([{"type": "Available", "status": "True", "reason": "Available", "message": "",
                "lastTransitionTime": "2026-11-21T00:00:00Z"}]);
        }
        self.planes.merge(request, Some("status"), json!({"status": status})).await.map(|_| ())
    }
}
