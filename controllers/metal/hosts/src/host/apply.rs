//! Applies a plan: to the machine, to its agent, and to the objects.

use std::sync::Arc;
use std::time::Duration;

use engine::object::annotation;
use engine::{Action as Next, NamespacedName, Result, finalizer};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::Resource;
use machinery::clock::rfc3339;
use schemas::metal3::{BareMetalHost, HardwareData, HardwareDataSpec, HardwareDetails};
use schemas::names::ENVIRONMENT;

use super::HostReconciler;
use super::draft::Plan;
use super::observe::Gathered;
use super::protection;
use crate::instruction;
use crate::names::{HARDWARE_FINALIZER, PAUSED, PROTECT_DISKS, SECRET_FINALIZER, operational};

/// The conditions that this controller owns and overwrites in a patch.
const CONDITIONS: &[&str] =
    &["Manageable", "AvailableForProvisioning", "Provisioned", "Ready", "Progressing", "WaitingForOperator"];

impl HostReconciler {
    pub(super) async fn apply(
        &self,
        host: &Arc<BareMetalHost>,
        gathered: Gathered,
        mut plan: Plan,
    ) -> Result<Next> {
        self.keep_secret(&gathered, &plan).await?;
        self.execute(host, &gathered, &mut plan).await;
        if let Some(image) = &plan.data_image {
            self.companions.store_drive(&gathered.key, image).await?;
        }
        if let Some(update) = plan.installed.take() {
            self.companions.note_installed(&gathered.key, update).await?;
        }
        if plan.asks_boot_image {
            self.boot_images.ask(&plan.host, &gathered.key).await?;
        }
        if plan.creates_firmware {
            self.companions.create_firmware(&plan.host, &gathered.key).await?;
        }
        if let Some(hardware) = plan.hardware.take() {
            self.store_hardware(&plan.host, &gathered.key, hardware).await?;
        }
        if plan.releases_hardware {
            self.release_hardware(&gathered.key).await?;
        }
        self.instruct(&gathered, &plan).await?;
        self.publish_events(&plan);
        self.remember(&gathered, &plan);
        let now = self.manager.clock().now();
        if plan.host.status != host.status
            && let Some(status) = &mut plan.host.status
        {
            status.last_updated = Some(rfc3339(now));
        }
        self.hosts.patch(host, &plan.host, CONDITIONS).await?;
        Ok(plan.after.map_or_else(Next::done, Next::requeue_after))
    }

    async fn instruct(&self, gathered: &Gathered, plan: &Plan) -> Result<()> {
        let (Some(instruction), Some(agent)) = (&plan.instruction, &gathered.agent) else { return Ok(()) };
        let boot = agent.status.as_ref().and_then(|status| status.boot_id.clone());
        let wanted = instruction::store(instruction, boot);
        if agent.spec.instruction.as_ref() == Some(&wanted) {
            return Ok(());
        }
        // The protection may be newer than the cached host. Its event causes the next reconcile.
        if protection::writes(&instruction.action)
            && let Some(host) = self.hosts.get_live(&gathered.key).await?
            && annotation(host.as_ref(), PROTECT_DISKS).is_some()
        {
            return Ok(());
        }
        let key = NamespacedName::of(agent.as_ref());
        self.agents.merge(&key, None, instruction::replacement(&wanted)).await?;
        Ok(())
    }

    fn publish_events(&self, plan: &Plan) {
        for (is_warning, reason, message) in &plan.events {
            if *is_warning {
                self.recorder.warning(&plan.host, &(), reason, message.clone());
            } else {
                self.recorder.normal(&plan.host, &(), reason, message.clone());
            }
        }
    }

    /// Records a failure, so that it is not retried before its time, or a success.
    fn remember(&self, gathered: &Gathered, plan: &Plan) {
        let now = self.manager.clock().now();
        let has_failed =
            plan.host.status.as_ref().is_some_and(|status| status.operational_status == operational::ERROR);
        if has_failed && plan.events.iter().any(|(is_warning, ..)| *is_warning) {
            let at = now + within(plan.after.unwrap_or_default());
            self.memory.note_failure(&gathered.key, gathered.fingerprint, at);
        } else if !has_failed {
            self.memory.note_success(&gathered.key);
        }
    }

    /// Creates or updates `HardwareData`, which has the name of its host and is deleted with it.
    async fn store_hardware(
        &self,
        host: &BareMetalHost,
        key: &NamespacedName,
        hardware: HardwareDetails,
    ) -> Result<()> {
        let Some(existing) = self.hardware.get(key) else {
            let data = HardwareData {
                metadata: ObjectMeta {
                    name: Some(key.name.clone()),
                    namespace: Some(key.namespace.clone()),
                    owner_references: host.controller_owner_ref(&()).map(|owner| vec![owner]),
                    finalizers: Some(vec![HARDWARE_FINALIZER.to_owned()]),
                    ..ObjectMeta::default()
                },
                spec: HardwareDataSpec { hardware: Some(hardware) },
            };
            self.hardware.create(&data).await?;
            return Ok(());
        };
        let mut wanted = existing.as_ref().clone();
        wanted.spec.hardware = Some(hardware);
        self.hardware.patch(&existing, &wanted, &[]).await?;
        Ok(())
    }

    async fn release_hardware(&self, key: &NamespacedName) -> Result<()> {
        let Some(existing) = self.hardware.get(key) else { return Ok(()) };
        let mut wanted = existing.as_ref().clone();
        if finalizer::remove(&mut wanted, HARDWARE_FINALIZER) {
            self.hardware.patch(&existing, &wanted, &[]).await?;
        }
        Ok(())
    }

    /// Adds the finalizer, the label and the owner reference to the BMC's Secret, so that it moves and is deleted with the host, and
    /// exists as long as the host needs it. The finalizer is removed when the host is deleted.
    async fn keep_secret(&self, gathered: &Gathered, plan: &Plan) -> Result<()> {
        let is_paused = annotation(&plan.host, PAUSED).is_some();
        let Some(secret) = gathered.credentials.as_ref().filter(|_| !is_paused) else { return Ok(()) };
        let mut wanted = secret.as_ref().clone();
        if plan.releases_hardware {
            finalizer::remove(&mut wanted, SECRET_FINALIZER);
        } else {
            finalizer::add(&mut wanted, SECRET_FINALIZER);
            wanted.metadata.labels.get_or_insert_default().insert(ENVIRONMENT.0.into(), ENVIRONMENT.1.into());
            let owners = wanted.metadata.owner_references.get_or_insert_default();
            let owner = OwnerReference {
                controller: None,
                block_owner_deletion: None,
                ..plan.host.owner_ref(&()).unwrap_or_default()
            };
            if !owners.iter().any(|known| known.uid == owner.uid) {
                owners.push(owner);
            }
        }
        if **secret != wanted {
            self.secrets.patch(secret, &wanted, &[]).await?;
        }
        Ok(())
    }
}

fn within(delay: Duration) -> chrono::Duration {
    chrono::Duration::from_std(delay).unwrap_or_default()
}
