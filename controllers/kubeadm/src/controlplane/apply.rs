//! Carries out the plan of a KubeadmControlPlane.

use std::sync::Arc;
use std::time::Duration;

use engine::{
    Action, Error as EngineError, NamespacedName, Outcome, Workload, conditions, object, owners, unless_gone,
};
use schemas::cluster::Cluster;
use schemas::controlplane::KubeadmControlPlane;
use serde_json::json;

use super::addons;
use super::observe::{self, ControlPlaneController};
use super::observed::Observed;
use super::plan::{Event, Plan, Step};
use super::remediation;
use crate::error::Result;
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
    condition::OWNER_REMEDIATED,
];

impl ControlPlaneController {
    /// Writes the conditions of the Machines, then carries out the steps in order until one of them fails.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<KubeadmControlPlane> {
        self.record(&observed.control_plane, plan.event.as_ref());
        let mut errors: Vec<EngineError> = plan.errors.iter().cloned().map(EngineError::Terminal).collect();
        errors.extend(observed.error.clone().map(EngineError::Failed));
        if let Err(error) = self.take_steps(observed, &plan).await {
            let error = error.into_engine();
            if let Some(name) = &plan.remediates {
                errors.extend(self.write_failure(observed, name, &error).await.err());
            }
            errors.push(error);
        }
        let mut action = plan.requeue.map(Action::requeue_after).unwrap_or_default();
        if plan.steps.iter().any(|step| matches!(step, Step::AskForUpdate(_))) {
            // The next plan has the answer.
            action = Action::requeue_after(Duration::ZERO);
        }
        // The Machines that were adopted are missing in this plan. The next one, which their change triggers, counts them.
        let has_adopted =
            errors.is_empty() && plan.steps.iter().any(|step| matches!(step, Step::AdoptMachines(_)));
        Outcome { wanted: (!has_adopted).then_some(plan.control_plane), errors, action }
    }

    async fn take_steps(&self, observed: &Observed, plan: &Plan) -> Result<()> {
        for (member, wanted) in observed.machines.iter().zip(&plan.machines) {
            unless_gone(self.machines.patch(&member.machine, wanted, OWNED_ON_MACHINES).await)?;
        }
        for step in &plan.steps {
            self.take_step(step, observed).await?;
        }
        Ok(())
    }

    /// Writes into the condition of a Machine that its remediation failed.
    async fn write_failure(
        &self,
        observed: &Observed,
        name: &str,
        error: &EngineError,
    ) -> engine::Result<()> {
        let key = observed.member(name).map(|member| NamespacedName::of(member.machine.as_ref()));
        let Some(latest) = key.and_then(|key| self.machines.get(&key)) else { return Ok(()) };
        let mut wanted = latest.as_ref().clone();
        conditions::set(&mut wanted, self.manager.clock().now(), remediation::failed(error));
        unless_gone(self.machines.patch(&latest, &wanted, OWNED_ON_MACHINES).await)
    }

    /// Records an event, once for each new message.
    fn record(&self, control_plane: &KubeadmControlPlane, event: Option<&Event>) {
        let uid = object::uid(control_plane).to_owned();
        let mut recorded = self.recorded_events.lock();
        match event {
            None => drop(recorded.remove(&uid)),
            Some(event) if recorded.get(&uid) == Some(&event.message) => {}
            Some(event) => {
                self.recorder.warning(control_plane, &(), event.reason, event.message.as_str());
                recorded.insert(uid, event.message.clone());
            }
        }
    }

    async fn take_step(&self, step: &Step, observed: &Observed) -> Result<()> {
        let control_plane = observed.control_plane.as_ref();
        match step {
            Step::AdoptMachines(names) => self.adopt_machines(observed, names).await,
            Step::OwnTemplate => self.own_template(control_plane, &observed.cluster).await,
            Step::MakeCertificates(missing) => self.make_certificates(observed, missing).await,
            Step::OwnSecrets(purposes) => self.own_secrets(observed, purposes).await,
            Step::MakeKubeconfig => self.make_kubeconfig(observed).await,
            Step::OwnKubeconfig => {
                let name =
                    engine::clusters::kubeconfig_secret(&NamespacedName::of(observed.cluster.as_ref()));
                self.own_secret(&name, control_plane).await
            }
            Step::SyncMachines => self.sync_machines(observed).await,
            Step::DeleteLeftovers(names) => self.delete_leftovers(observed, names).await,
            Step::CreateMachine(entry, domain) => {
                self.create_machine(observed, *entry, domain.as_deref()).await
            }
            Step::AskForUpdate(name) => self.ask_for_update(observed, name).await,
            Step::StartUpdate(name) => self.start_update(observed, name).await,
            Step::DeleteMachine(name) => self.delete_machine(observed, name).await,
            Step::MoveLeader { from, to } => self.move_leader(observed, from, *to).await,
            Step::RemoveMember(id) => self.remove_member(observed, *id).await,
            Step::RemoveHook(name) => self.remove_hook(observed, name).await,
            Step::ChangeAddon(change) => {
                addons::apply::change(self.connected(observed)?.as_ref(), change).await
            }
            Step::ReadCertificateExpiry(machines) => self.read_certificate_expiry(observed, machines).await,
        }
    }

    pub(super) fn connected(&self, observed: &Observed) -> Result<Arc<Workload>> {
        Ok(self.manager.clusters().get(&NamespacedName::of(observed.cluster.as_ref()))?)
    }

    async fn own_template(&self, control_plane: &KubeadmControlPlane, cluster: &Cluster) -> Result<()> {
        let reference = &control_plane.spec.machine_template.spec.infrastructure_ref;
        let namespace = control_plane.metadata.namespace.as_deref().unwrap_or_default();
        let Some(template) = self.external.get(namespace, reference).await? else { return Ok(()) };
        let mut wanted = template.object.as_ref().clone();
        owners::ensure(&mut wanted, owners::reference(cluster, &()));
        self.external.handle(&template).patch(&template.object, &wanted, &[]).await?;
        Ok(())
    }

    async fn delete_machine(&self, observed: &Observed, name: &str) -> Result<()> {
        if let Some(member) = observed.member(name) {
            self.machines.delete(member.machine.as_ref()).await?;
        }
        Ok(())
    }

    async fn remove_hook(&self, observed: &Observed, name: &str) -> Result<()> {
        let Some(member) = observed.member(name) else { return Ok(()) };
        self.forget_applied(observed, member).await;
        let patch = json!({"metadata": {"annotations": {names::CLEANUP_HOOK: null}}});
        let key = NamespacedName::of(member.machine.as_ref());
        Ok(unless_gone(self.machines.merge(&key, None, patch).await)?)
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
}
