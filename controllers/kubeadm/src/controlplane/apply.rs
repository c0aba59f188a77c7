//! Carries out the plan of a KubeadmControlPlane.

use std::time::Duration;

use engine::{Action, Error as EngineError, NamespacedName, Outcome, conditions, owners, unless_gone};
use schemas::controlplane::KubeadmControlPlane;

use super::controller::ControlPlaneController;
use super::observed::Observed;
use super::plan::{Plan, Step};
use super::{addons, adoption, in_place, machines, remediation};
use crate::error::Result;
use crate::names::condition;

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
        self.events.record(&observed.control_plane, plan.event.as_ref());
        let mut errors: Vec<EngineError> = plan.errors.iter().cloned().map(EngineError::Terminal).collect();
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
            unless_gone(self.parts.machines.patch(&member.machine, wanted, OWNED_ON_MACHINES).await)?;
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
        let member = observed.member(name);
        let Some(latest) = member.and_then(|member| self.parts.latest(member)) else { return Ok(()) };
        let mut wanted = latest.as_ref().clone();
        conditions::set(&mut wanted, self.manager.clock().now(), remediation::failed(error));
        unless_gone(self.parts.machines.patch(&latest, &wanted, OWNED_ON_MACHINES).await)
    }

    async fn take_step(&self, step: &Step, observed: &Observed) -> Result<()> {
        let (parts, secrets) = (&self.parts, &self.secrets);
        let cluster = NamespacedName::of(observed.cluster.as_ref());
        let connected = || self.manager.clusters().get(&cluster);
        let owner = owners::controller_reference(observed.control_plane.as_ref(), &());
        match step {
            Step::AdoptMachines(names) => {
                adoption::adopt(&self.control_planes, parts, secrets, observed, names).await
            }
            Step::OwnTemplate => machines::own_template(parts, observed).await,
            Step::MakeCertificates(missing) => {
                secrets.make(&cluster, missing, &observed.cluster_configuration(), &owner).await
            }
            Step::OwnSecrets(purposes) => secrets.own_all(&cluster, purposes, &owner).await,
            Step::MakeKubeconfig => self.kubeconfigs.make(observed).await,
            Step::OwnKubeconfig => self.kubeconfigs.own(observed).await,
            Step::SyncMachines => machines::sync(parts, observed).await,
            Step::DeleteLeftovers(names) => machines::delete_leftovers(parts, observed, names).await,
            Step::CreateMachine(entry, domain) => {
                machines::create(parts, observed, *entry, domain.as_deref()).await
            }
            Step::AskForUpdate(name) => self.updates.ask(parts, observed, name).await,
            Step::StartUpdate(name) => in_place::start(parts, observed, name).await,
            Step::DeleteMachine(name) => machines::delete(parts, observed, name).await,
            Step::MoveLeader { from, to } => self.etcd.move_leader(connected()?.as_ref(), from, *to).await,
            Step::RemoveMember(id) => self.etcd.remove(observed, connected()?.as_ref(), *id).await,
            Step::RemoveHook(name) => machines::remove_hook(parts, observed, name).await,
            Step::ChangeAddon(change) => addons::apply::change(connected()?.as_ref(), change).await,
            Step::ReadCertificateExpiry(machines) => self.expiry.read(observed, machines).await,
        }
    }
}
