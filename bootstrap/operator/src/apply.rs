//! Performs a plan, and reports what became of it.

use std::sync::Arc;

use clusterctl::built_in;
use clusterctl::install::{Objects, Tools, install_one};
use clusterctl::inventory::Installed;
use clusterctl::upgrade::{check_skew, replace_one};
use clusterctl::{Error as Problem, delete};
use engine::conditions::{is_false, is_true};
use engine::{Error, Result};
use kube::api::DynamicObject;
use schemas::meta::Condition;

use crate::conditions::{
    DELETION_FAILED, INSTALL_FAILED, INSTALLED, INSTALLING, READY, UPGRADE_FAILED, UPGRADED, UPGRADING,
};
use crate::failure::Failure;
use crate::health;
use crate::limits::UPGRADE_WAIT;
use crate::names::{APPLIED, BEGUN, DEPLOYMENTS, FAILED};
use crate::observe::{Observed, deployments};
use crate::plan::{Plan, Step};
use crate::prepare::{Prepared, prepare};
use crate::redaction::Redaction;
use crate::writer::{Change, Writer};

/// The object of a reconcile: as it was last written, and what was observed.
pub(crate) struct Work<'a> {
    pub writer: &'a Writer,
    pub read: Arc<DynamicObject>,
    pub seen: &'a Observed,
}

impl Work<'_> {
    /// Performs the plan.
    ///
    /// # Errors
    /// A step failed that may succeed later, or the object could not be written.
    pub async fn apply(&mut self, plan: Plan, tools: &Tools<'_>) -> Result<()> {
        let mut change = Change {
            conditions: plan.conditions,
            installed_version: plan.installed_version,
            contract: plan.contract,
            is_settled: plan.is_settled,
            ..Change::default()
        };
        if plan.forgets_failure {
            forget_failure(&mut change);
        }
        match plan.step {
            Step::Rest => self.write(change).await,
            Step::Record(built_in) => {
                let objects = Objects::new(tools);
                let recorded = built_in::record(&built_in, &self.seen.inventory, &objects).await;
                recorded.map_err(|error| Error::failed(error.to_string()))?;
                self.write(change).await
            }
            Step::Adopt(_) => {
                change.conditions.push(is_true(INSTALLED, "ProviderInstalled"));
                self.write(change).await
            }
            Step::Install { is_first } => {
                let outcome = self.install(is_first, &change, tools).await;
                self.report(change, outcome).await
            }
            Step::Upgrade(old) => {
                let outcome = self.upgrade(&old, &change, tools).await;
                self.report(change, outcome).await
            }
            Step::Remove(installed) => self.remove(installed).await,
        }
    }

    async fn install(
        &mut self,
        is_first: bool,
        before: &Change,
        tools: &Tools<'_>,
    ) -> Result<Outcome, Failure> {
        let prepared = prepare(self.seen, None, tools).await?;
        if is_first {
            // From now on the components are the object's: whatever ends this process, they are deleted with it.
            let mut change = before.clone();
            let what = format!("installing {}", prepared.components.version);
            change.conditions.push(is_false(INSTALLED, INSTALLING, what.clone()));
            change.conditions.push(is_false(READY, INSTALLING, what));
            change.annotations.push((BEGUN, Some(String::new())));
            let written = self.write(change).await;
            written.map_err(|error| Failure {
                may_pass: true,
                ..Failure::new(INSTALL_FAILED, error.to_string())
            })?;
        }
        let installed = install_one(&prepared.components, &prepared.repository, tools).await;
        installed
            .map_err(|error| Failure { may_pass: true, ..Failure::new(INSTALL_FAILED, error.to_string()) })?;
        Ok(Outcome { prepared, conditions: vec![is_true(INSTALLED, "ProviderInstalled")] })
    }

    async fn upgrade(
        &mut self,
        old: &Installed,
        before: &Change,
        tools: &Tools<'_>,
    ) -> Result<Outcome, Failure> {
        let prepared = prepare(self.seen, None, tools).await?;
        if self.seen.object.was_interrupted() {
            self.complete(old, tools).await;
        }
        let failed = |message: String, may_pass: bool| Failure {
            condition: UPGRADED,
            may_pass,
            ..Failure::new(UPGRADE_FAILED, message)
        };
        check_skew(old, &prepared.components.version).map_err(|error| failed(error.to_string(), false))?;
        let mut change = before.clone();
        let what = format!("replacing {} by {}", old.version, prepared.components.version);
        change.conditions.push(is_false(UPGRADED, UPGRADING, what));
        self.write(change).await.map_err(|error| failed(error.to_string(), true))?;
        let replaced = replace_one(old, &prepared.components, Some(UPGRADE_WAIT), tools).await;
        replaced.map_err(|error| failed(error.to_string(), !matches!(error, Problem::Undone(_))))?;
        let conditions = vec![is_true(INSTALLED, "ProviderInstalled"), is_true(UPGRADED, "ProviderUpgraded")];
        Ok(Outcome { prepared, conditions })
    }

    /// Installs what an upgrade that was interrupted has deleted of the old version, so that the next attempt can be undone. If the old files
    /// are gone, it is tried without.
    async fn complete(&self, old: &Installed, tools: &Tools<'_>) {
        let Ok(before) = prepare(self.seen, Some(&old.version), tools).await else { return };
        if let Err(error) = install_one(&before.components, &before.repository, tools).await {
            (tools.say)(&format!("The old version is not complete: {error}"));
        }
    }

    /// Reports the outcome of an installation or an upgrade.
    async fn report(&mut self, mut change: Change, outcome: Result<Outcome, Failure>) -> Result<()> {
        match outcome {
            Ok(Outcome { prepared, conditions }) => {
                let deployments = deployments(self.writer.client(), &self.seen.object).await?;
                change.conditions.retain(|condition| condition.type_ != READY);
                change.conditions.extend(conditions);
                change.conditions.push(health::ready(&deployments));
                change.installed_version = Some(prepared.components.version);
                change.contract = Some(prepared.contract);
                change.is_settled = true;
                change.annotations = vec![
                    (APPLIED, Some(self.seen.digest.clone())),
                    (DEPLOYMENTS, Some(health::generations(&deployments))),
                ];
                if self.seen.object.failed.is_some() {
                    forget_failure(&mut change);
                }
                self.write(change).await
            }
            Err(mut failure) => {
                failure.message = Redaction::of(self.seen).text(&failure.message);
                let is_undone = failure.condition == UPGRADED && !failure.may_pass;
                if is_undone {
                    change.annotations = vec![(FAILED, Some(self.seen.digest.clone()))];
                }
                if self.seen.entry().is_none() {
                    change.conditions.push(is_false(READY, failure.reason, failure.message.clone()));
                }
                change.conditions.push(failure.condition());
                self.write(change).await?;
                if failure.may_pass { Err(Error::failed(failure.message)) } else { Ok(()) }
            }
        }
    }

    async fn remove(&mut self, installed: Option<Installed>) -> Result<()> {
        if let Some(installed) = installed {
            let deleted = delete::delete_one(&installed, self.writer.client()).await;
            if let Err(error) = deleted {
                let message = error.to_string();
                let condition: Condition = is_false(INSTALLED, DELETION_FAILED, message.clone());
                self.write(Change { conditions: vec![condition], ..Change::default() }).await?;
                return Err(Error::failed(message));
            }
        }
        self.write(Change { is_over: true, ..Change::default() }).await
    }

    async fn write(&mut self, change: Change) -> Result<()> {
        self.read = self.writer.write(&self.read, change).await?;
        Ok(())
    }
}

/// Removes both records of an upgrade that failed: the annotation with its digest, and the condition.
fn forget_failure(change: &mut Change) {
    change.annotations.push((FAILED, None));
    change.outdated.push(UPGRADED);
}

/// What an installation or an upgrade has done.
struct Outcome {
    prepared: Prepared,
    conditions: Vec<Condition>,
}
