//! DevMachine: a simulated machine, its node, and for a control plane its static pods.

pub mod plan;

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::conditions::{self, Reasons, Summary, summarize};
use engine::object::{annotation, is_deleting, label, uid};
use engine::{
    Action, Controller, Descriptor, Error, GroupKind, Manager, NamespacedName, Objects, Reconciler, Request, Result, finalizer,
    paused,
};
use k8s_openapi::api::core::v1::Secret;
use pki::CertificateAuthority;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::DevMachine;
use serde_json::json;

use self::plan::{Observed, Part, Plan, parts, plan};
use crate::backend::Backend;
use crate::names::{BOOTSTRAPPED, CONTROL_PLANE, MACHINE_FINALIZER};
use crate::owner::owner_name;
use crate::workload::objects::{Host, provider_id};
use crate::workload::{Authorities, Workload};
use machinery::hash::fnv1a_64;

/// The conditions that this controller writes.
const OWNED: &[&str] =
    &["Ready", "Paused", "VMProvisioned", "NodeProvisioned", "EtcdProvisioned", "APIServerProvisioned"];

/// The controller's row of the table.
pub const CONTROLLER: Descriptor<Backend> = Descriptor {
    name: "devmachine",
    reconciles: &[GroupKind::new(DevMachine::GROUP, DevMachine::KIND)],
    start,
};

/// Starts the controller.
fn start(manager: &Manager, backend: &Backend) {
    let objects = manager.objects::<DevMachine>();
    let machines = manager.objects::<Machine>();
    let clusters = manager.objects::<Cluster>();
    let secrets = manager.objects::<Secret>();
    let reconciler = DevMachineReconciler {
        objects: objects.clone(),
        machines: machines.clone(),
        clusters: clusters.clone(),
        secrets: secrets.clone(),
        backend: backend.clone(),
        manager: manager.clone(),
    };
    let by_cluster = objects.clone();
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&objects)
        .watches(&machines, |change| {
            let reference = |machine: &Machine| {
                let reference = &machine.spec.infrastructure_ref;
                (reference.kind == "DevMachine").then(|| reference.name.clone())
            };
            let namespace = change.name().namespace;
            let names: BTreeSet<String> = change.objects().filter_map(|machine| reference(machine)).collect();
            names.into_iter().map(|name| NamespacedName::new(namespace.clone(), name)).collect()
        })
        .watches(&clusters, move |change| {
            let cluster = change.name();
            let label_name = |machine: &Arc<DevMachine>| {
                label(machine.as_ref(), engine::names::CLUSTER_NAME) == Some(&cluster.name)
            };
            let all = by_cluster.in_namespace(&cluster.namespace);
            all.iter()
                .filter(|machine| label_name(machine))
                .map(|machine| NamespacedName::of(machine.as_ref()))
                .collect()
        })
        .reads(&secrets)
        .start(reconciler);
}

struct DevMachineReconciler {
    objects: Objects<DevMachine>,
    machines: Objects<Machine>,
    clusters: Objects<Cluster>,
    secrets: Objects<Secret>,
    backend: Backend,
    manager: Manager,
}

/// What a reconcile has read.
struct Gathered {
    read: Arc<DevMachine>,
    machine: Arc<Machine>,
    cluster: Arc<Cluster>,
    key: NamespacedName,
    workload: Option<Arc<Workload>>,
    control_plane: bool,
}

impl Reconciler for DevMachineReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(gathered) = self.gather(&request).await? else { return Ok(Action::done()) };
        let now = self.manager.clock().now();
        let mut wanted = gathered.read.as_ref().clone();
        if paused::set(&mut wanted, Some(&gathered.cluster), now) {
            self.objects.patch(&gathered.read, &wanted, OWNED).await?;
            return Ok(Action::done());
        }
        if is_deleting(gathered.read.as_ref()) {
            if let Some(workload) = &gathered.workload {
                workload.stop(&request.name).await.map_err(|error| Error::failed(error.to_string()))?;
            }
            finalizer::remove(&mut wanted, MACHINE_FINALIZER);
            self.objects.patch(&gathered.read, &wanted, OWNED).await?;
            return Ok(Action::done());
        }
        let plan = plan(&observed(&gathered), now);
        self.run(&gathered, &plan).await?;
        write_down(&mut wanted, &plan, gathered.control_plane, now);
        self.objects.patch(&gathered.read, &wanted, OWNED).await?;
        self.remember_start(&gathered, &plan).await?;
        self.open(&gathered);
        Ok(plan.due_after.map_or_else(Action::done, Action::requeue_after))
    }
}

fn observed(gathered: &Gathered) -> Observed<'_> {
    let cluster = gathered.cluster.as_ref();
    let initialization = cluster.status.as_ref().and_then(|status| status.initialization.as_ref());
    Observed {
        uid: uid(gathered.read.as_ref()),
        backend: gathered.read.spec.backend.in_memory.as_ref(),
        conditions: gathered.read.conditions(),
        control_plane: gathered.control_plane,
        has_bootstrap_data: gathered.machine.spec.bootstrap.data_secret_name.is_some(),
        infrastructure_provisioned: initialization
            .is_some_and(|it| it.infrastructure_provisioned == Some(true)),
        control_plane_initialized: cluster.condition_is_true("ControlPlaneInitialized"),
        bootstrapped: annotation(gathered.machine.as_ref(), BOOTSTRAPPED).is_some(),
    }
}

/// Puts the plan into the object.
fn write_down(wanted: &mut DevMachine, plan: &Plan, control_plane: bool, now: DateTime<Utc>) {
    for condition in &plan.conditions {
        let mut condition = condition.clone();
        if plan::restart_time(wanted.condition(&condition.type_), &condition) {
            wanted.conditions_mut().retain(|present| present.type_ != condition.type_);
        }
        condition.last_transition_time.clear();
        conditions::set(wanted, now, condition);
    }
    let summary = Summary {
        types: parts(control_plane).iter().map(|part| part.condition()).collect(),
        negative: Vec::new(),
        ignore_if_missing: Vec::new(),
        reasons: Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" },
    };
    let ready = summarize("Ready", wanted.conditions(), &summary, |_| None);
    conditions::set(wanted, now, ready);
    if plan.running.contains(&Part::Node) {
        wanted.spec.provider_id = Some(provider_id(wanted.metadata.name.as_deref().unwrap_or_default()));
        wanted.status.get_or_insert_default().initialization.get_or_insert_default().provisioned = Some(true);
    }
}

impl DevMachineReconciler {
    /// `None` where there is nothing to do: the object is gone, or has no Machine or Cluster yet.
    async fn gather(&self, request: &Request) -> Result<Option<Gathered>> {
        let Some(read) = self.objects.get(request) else { return Ok(None) };
        let Some(machine_name) = owner_name(read.as_ref(), "Machine") else { return Ok(None) };
        let Some(machine) = self.machines.get(&NamespacedName::new(request.namespace.clone(), machine_name))
        else {
            return Ok(None);
        };
        let key = NamespacedName::new(request.namespace.clone(), machine.spec.cluster_name.clone());
        let Some(cluster) = self.clusters.get(&key) else { return Ok(None) };
        let read = finalizer::ensure(&self.objects, &read, MACHINE_FINALIZER).await?;
        let control_plane = label(machine.as_ref(), CONTROL_PLANE).is_some();
        let workload = self.backend.get(&key).await;
        Ok(Some(Gathered { read, machine, cluster, key, workload, control_plane }))
    }

    /// Starts what the plan says.
    async fn run(&self, gathered: &Gathered, plan: &Plan) -> Result<()> {
        if plan.running.is_empty() {
            return Ok(());
        }
        let port = gathered.cluster.spec.control_plane_endpoint.as_ref().and_then(|endpoint| endpoint.port);
        let port = port.and_then(|port| u16::try_from(port).ok());
        let workload = match &gathered.workload {
            Some(workload) => workload.clone(),
            None => self.backend.start(&gathered.key, port, &BTreeSet::new()).await?.0,
        };
        let authorities = self.authorities(&gathered.key)?;
        let host = Host {
            name: gathered.read.metadata.name.clone().unwrap_or_default(),
            version: gathered.machine.spec.version.clone().unwrap_or_default(),
            control_plane: gathered.control_plane,
            member_id: fnv1a_64(uid(gathered.read.as_ref()).as_bytes()),
            cluster_id: fnv1a_64(uid(gathered.cluster.as_ref()).as_bytes()),
        };
        for part in &plan.running {
            let outcome = workload.start(&host, *part, &authorities).await;
            outcome.map_err(|error| Error::failed(format!("{}: {error}", part.condition())))?;
        }
        Ok(())
    }

    fn authorities(&self, cluster: &NamespacedName) -> Result<Authorities> {
        Ok(Authorities { cluster: self.authority(cluster, "ca")?, etcd: self.authority(cluster, "etcd")? })
    }

    fn authority(&self, cluster: &NamespacedName, purpose: &str) -> Result<CertificateAuthority> {
        let key = NamespacedName::new(cluster.namespace.clone(), format!("{}-{purpose}", cluster.name));
        let secret =
            self.secrets.get(&key).ok_or_else(|| Error::failed(format!("there is no Secret {key}")))?;
        let text = |name: &str| {
            let found = secret.data.as_ref().and_then(|data| data.get(name));
            found.map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned()).unwrap_or_default()
        };
        CertificateAuthority::from_pem(&text("tls.crt"), &text("tls.key"))
            .map_err(|error| Error::failed(format!("Secret {key} holds no certificate authority: {error}")))
    }

    /// Marks the Machine as started once, so that it starts at once wherever this cluster is simulated next.
    async fn remember_start(&self, gathered: &Gathered, plan: &Plan) -> Result<()> {
        let last = if gathered.control_plane { Part::ApiServer } else { Part::Node };
        if !plan.running.contains(&last) || annotation(gathered.machine.as_ref(), BOOTSTRAPPED).is_some() {
            return Ok(());
        }
        let key = NamespacedName::of(gathered.machine.as_ref());
        let patch = json!({"metadata": {"annotations": {BOOTSTRAPPED: ""}}});
        self.machines.merge(&key, None, patch).await.map(drop)
    }

    /// Opens the cluster to clients when all machines that run are there.
    fn open(&self, gathered: &Gathered) {
        let Some(workload) = gathered.workload.as_ref() else { return };
        let provisioned = |machine: &&Arc<DevMachine>| {
            label(machine.as_ref(), engine::names::CLUSTER_NAME) == Some(&gathered.key.name)
                && !is_deleting(machine.as_ref())
                && machine.condition_is_true(Part::Node.condition())
        };
        let all = self.objects.in_namespace(&gathered.key.namespace);
        let expected =
            all.iter().filter(provisioned).filter_map(|machine| machine.metadata.name.clone()).collect();
        workload.open_when_complete(&expected);
    }
}
