//! Carries out the plan of a KubeadmControlPlane.

use std::sync::Arc;

use engine::{Action, NamespacedName, Workload, finalizer, object, owners};
use schemas::cluster::{Cluster, Machine};
use schemas::controlplane::KubeadmControlPlane;
use serde_json::json;

use super::addons;
use super::observe::{self, ControlPlaneController};
use super::observed::Observed;
use super::plan::{Plan, Step};
use crate::certificates::{self, Purpose, Recipe};
use crate::error::{Error, Result};
use crate::names::{self, condition};

/// The conditions of a KubeadmControlPlane that this controller owns.
pub(super) const OWNED: &[&str] = &[
    condition::AVAILABLE,
    condition::CERTIFICATES_AVAILABLE,
    condition::INITIALIZED,
    condition::ETCD_CLUSTER_HEALTHY,
    condition::COMPONENTS_HEALTHY,
    condition::ROLLING_OUT,
    condition::REMEDIATING,
    condition::SCALING_DOWN,
    condition::SCALING_UP,
    condition::MACHINES_READY,
    condition::MACHINES_UP_TO_DATE,
    condition::PAUSED,
    condition::DELETING,
];

/// The conditions of a Machine that its control plane owns.
const OWNED_ON_MACHINES: &[&str] = &[
    condition::UP_TO_DATE,
    condition::NODE_LABELS_AND_TAINTS_SET,
    condition::API_SERVER_POD,
    condition::CONTROLLER_MANAGER_POD,
    condition::SCHEDULER_POD,
    condition::ETCD_POD,
    condition::ETCD_MEMBER,
];

/// Refuses to operate if other control plane Machines of the cluster do not belong to this
/// KubeadmControlPlane. Its deletion is not affected.
fn refuse_mixed(observed: &Observed) -> Result<()> {
    if object::is_deleting(observed.control_plane.as_ref()) || !observed.is_mixed() {
        return Ok(());
    }
    let text = if observed.foreign.is_empty() {
        let names = observed.orphans.join(", ");
        format!("control plane Machines without a controller can't be adopted yet: {names}")
    } else {
        format!(
            "not all control plane Machines are owned by this KubeadmControlPlane, refusing to operate in mixed management mode: {}",
            observed.foreign.join(", ")
        )
    };
    Err(Error::Bootstrap(text))
}

impl ControlPlaneController {
    /// Writes the conditions, then carries out the steps in order until one of them fails.
    pub(super) async fn execute(&self, observed: &Observed, plan: &Plan) -> Result<Action> {
        self.write(observed, plan).await?;
        self.record_wait(&observed.control_plane, plan.event.as_deref());
        for step in &plan.steps {
            self.take_step(step, observed, plan).await?;
        }
        refuse_mixed(observed)?;
        Ok(plan.requeue.map(Action::requeue_after).unwrap_or_default())
    }

    /// Writes the conditions of the Machines and the status of the control plane.
    async fn write(&self, observed: &Observed, plan: &Plan) -> Result<()> {
        for (member, wanted) in observed.machines.iter().zip(&plan.machines) {
            match self.machines.patch(&member.machine, wanted, OWNED_ON_MACHINES).await {
                Err(error) if error.is_not_found() => {}
                result => drop(result?),
            }
        }
        self.control_planes.patch(&observed.control_plane, &plan.control_plane, OWNED).await?;
        Ok(())
    }

    /// Records an event with the reason why scaling waits, once for each new reason.
    fn record_wait(&self, control_plane: &KubeadmControlPlane, event: Option<&str>) {
        let uid = object::uid(control_plane).to_owned();
        let mut recorded = self.recorded_events.lock();
        match event {
            None => drop(recorded.remove(&uid)),
            Some(text) if recorded.get(&uid).map(String::as_str) == Some(text) => {}
            Some(text) => {
                self.recorder.warning(control_plane, &(), "ControlPlaneUnhealthy", text);
                recorded.insert(uid, text.to_owned());
            }
        }
    }

    async fn take_step(&self, step: &Step, observed: &Observed, plan: &Plan) -> Result<()> {
        let control_plane = observed.control_plane.as_ref();
        match step {
            Step::OwnTemplate => self.own_template(control_plane, &observed.cluster).await,
            Step::MakeCertificates(missing) => self.make_certificates(observed, missing).await,
            Step::OwnSecrets(purposes) => self.own_secrets(observed, purposes).await,
            Step::MakeKubeconfig => self.make_kubeconfig(observed).await,
            Step::OwnKubeconfig => {
                let name =
                    engine::clusters::kubeconfig_secret(&NamespacedName::of(observed.cluster.as_ref()));
                self.own_secret(&name, control_plane).await
            }
            Step::SyncMachines => self.sync_machines(observed, plan).await,
            Step::PrepareUpgrade => {
                addons::apply::prepare_upgrade(self.connected(observed)?.as_ref(), control_plane).await
            }
            Step::DeleteLeftovers(names) => self.delete_leftovers(observed, names).await,
            Step::CreateMachine(entry, domain) => {
                self.create_machine(observed, *entry, domain.as_deref()).await
            }
            Step::DeleteMachine(name) => self.delete_machine(observed, name).await,
            Step::MoveLeader { from, to } => self.move_leader(observed, from, *to).await,
            Step::RemoveMember(id) => self.remove_member(observed, *id).await,
            Step::RemoveHook(name) => self.remove_hook(observed, name).await,
            Step::ChangeAddon(change) => {
                addons::apply::change(self.connected(observed)?.as_ref(), change).await
            }
            Step::ReadCertificateExpiry(machines) => {
                self.read_certificate_expiry(observed, machines).await;
                Ok(())
            }
            Step::RemoveFinalizer => self.remove_finalizer(control_plane).await,
        }
    }

    pub(super) fn connected(&self, observed: &Observed) -> Result<Arc<Workload>> {
        Ok(self.manager.clusters().get(&NamespacedName::of(observed.cluster.as_ref()))?)
    }

    async fn own_template(&self, control_plane: &KubeadmControlPlane, cluster: &Cluster) -> Result<()> {
        let reference = &control_plane.spec.machine_template.spec.infrastructure_ref;
        let templates = self.dynamic(&reference.api_group, &reference.kind).await?;
        let Some(template) = self.template(control_plane).await? else { return Ok(()) };
        let mut wanted = template.as_ref().clone();
        owners::ensure(&mut wanted, owners::reference(cluster, &()));
        templates.patch(&template, &wanted, &[]).await?;
        Ok(())
    }

    async fn make_certificates(&self, observed: &Observed, missing: &[Purpose]) -> Result<()> {
        let cluster = NamespacedName::of(observed.cluster.as_ref());
        let recipe = Recipe::of(&observed.cluster_configuration())?;
        for purpose in missing {
            let identity = crate::blocking::make(recipe, *purpose, &self.manager).await?;
            let owner = owners::controller_reference(observed.control_plane.as_ref(), &());
            let secret = certificates::secret(&cluster.namespace, &cluster.name, *purpose, &identity, owner);
            self.secrets.create_if_absent(&secret).await?;
        }
        Ok(())
    }

    async fn own_secrets(&self, observed: &Observed, purposes: &[Purpose]) -> Result<()> {
        let cluster = NamespacedName::of(observed.cluster.as_ref());
        for purpose in purposes {
            let name = NamespacedName::new(cluster.namespace.as_str(), purpose.secret_name(&cluster.name));
            self.own_secret(&name, &observed.control_plane).await?;
        }
        Ok(())
    }

    async fn own_secret(&self, name: &NamespacedName, control_plane: &KubeadmControlPlane) -> Result<()> {
        let Some(secret) = self.secrets.get(name) else { return Ok(()) };
        let mut wanted = secret.as_ref().clone();
        if let Some(other) = owners::controller(secret.as_ref()).cloned() {
            owners::remove(&mut wanted, &other);
        }
        owners::ensure(&mut wanted, owners::controller_reference(control_plane, &()));
        self.secrets.patch(&secret, &wanted, &[]).await?;
        Ok(())
    }

    fn machine<'a>(&self, observed: &'a Observed, name: &str) -> Option<&'a Arc<Machine>> {
        observed.machines.iter().find(|member| member.name() == name).map(|member| &member.machine)
    }

    async fn delete_machine(&self, observed: &Observed, name: &str) -> Result<()> {
        if let Some(machine) = self.machine(observed, name) {
            self.machines.delete(machine.as_ref()).await?;
        }
        Ok(())
    }

    async fn remove_hook(&self, observed: &Observed, name: &str) -> Result<()> {
        let Some(machine) = self.machine(observed, name) else { return Ok(()) };
        let patch = json!({"metadata": {"annotations": {names::CLEANUP_HOOK: null}}});
        match self.machines.merge(&NamespacedName::of(machine.as_ref()), None, patch).await {
            Err(error) if error.is_not_found() => Ok(()),
            result => Ok(result.map(|_| ())?),
        }
    }

    async fn move_leader(&self, observed: &Observed, from: &str, to: u64) -> Result<()> {
        let connected = self.connected(observed)?;
        let credentials = self.etcd_credentials(connected.cluster())?;
        self.etcd.move_leader(&self.manager, &connected, &credentials, &format!("etcd-{from}"), to).await
    }

    async fn remove_member(&self, observed: &Observed, id: u64) -> Result<()> {
        let connected = self.connected(observed)?;
        let credentials = self.etcd_credentials(connected.cluster())?;
        let own = observed.etcd().and_then(|etcd| etcd.members.iter().find(|member| member.id == id));
        let own = own.map(|member| format!("etcd-{}", member.name)).unwrap_or_default();
        let view = observed.workload.clone().unwrap_or_default();
        let mut pods = observe::etcd_pods(observed, &view);
        pods.retain(|pod| *pod != own);
        self.etcd.remove(&self.manager, &connected, &credentials, &pods, id).await
    }

    async fn remove_finalizer(&self, control_plane: &KubeadmControlPlane) -> Result<()> {
        let name = NamespacedName::of(control_plane);
        let Some(latest) = self.control_planes.get(&name) else { return Ok(()) };
        let mut wanted = latest.as_ref().clone();
        if finalizer::remove(&mut wanted, names::FINALIZER) {
            self.control_planes.patch(&latest, &wanted, OWNED).await?;
        }
        let uid = object::uid(control_plane);
        self.recorded_events.lock().remove(uid);
        if let Some(cluster) = self.cluster_of(control_plane) {
            self.etcd.forget(&NamespacedName::of(cluster.as_ref()));
        }
        Ok(())
    }

    async fn make_kubeconfig(&self, observed: &Observed) -> Result<()> {
        let cluster = NamespacedName::of(observed.cluster.as_ref());
        let authority = self.authority(&cluster, Purpose::ClusterAuthority)?;
        let endpoint = crate::config::render::endpoint(&observed.cluster)?;
        let name = engine::clusters::kubeconfig_secret(&cluster);
        let existing = self.secrets.get(&name);
        let present = existing.as_ref().and_then(|secret| certificates::text(secret, "value"));
        let server = present.and_then(|text| pki::kubeconfig::Kubeconfig::parse(&text).ok());
        let server = server.map_or_else(|| format!("https://{endpoint}"), |config| config.server);
        let recipe = Recipe::of(&observed.cluster_configuration())?;
        let issued =
            super::kubeconfig::make(&cluster.name, &server, &authority, recipe.algorithm, &self.manager)
                .await?;
        let data = json!({"value": k8s_openapi::ByteString(issued.clone().into_bytes())});
        match existing {
            Some(_) => drop(self.secrets.merge(&name, None, json!({"data": data})).await?),
            None => {
                let owner = owners::controller_reference(observed.control_plane.as_ref(), &());
                let data = [("value".to_owned(), k8s_openapi::ByteString(issued.into_bytes()))];
                let secret = certificates::owned_secret(
                    &name.namespace,
                    &name.name,
                    &cluster.name,
                    data.into(),
                    owner,
                );
                self.secrets.create_if_absent(&secret).await?;
            }
        }
        Ok(())
    }
}
