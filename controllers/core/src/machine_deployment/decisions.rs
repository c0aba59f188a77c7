//! Asks whether the Machines of old MachineSets can be updated in place.

use std::collections::BTreeMap;

use engine::in_place::{self, Decision, Objects, Subject};
use engine::{NamespacedName, Result};
use schemas::cluster::MachineSet;

use super::facts::{Split, limits, split};
use super::in_place::undecided;
use super::observe::MachineDeploymentController;
use super::observed::{Observed, Updates};
use super::sets;
use crate::change::Reference;

impl MachineDeploymentController {
    /// Returns the decisions that the plan depends on.
    pub(super) async fn decide(&self, observed: &Observed) -> Updates {
        let split = split(observed);
        let undecided = undecided(observed, &split);
        if undecided.is_empty() {
            return Updates::None;
        }
        match self.updater.is_present(&observed.cluster).await {
            Ok(true) => {}
            Ok(false) => return Updates::None,
            Err(error) => return Updates::Failed(error.to_string()),
        }
        let mut decisions = BTreeMap::new();
        for old in undecided {
            match self.decide_about(observed, &split, old).await {
                Ok(decision) => decisions.insert(engine::object::uid(old.as_ref()).to_owned(), decision),
                Err(error) => return Updates::Failed(error.to_string()),
            };
        }
        Updates::Decided(decisions)
    }

    async fn decide_about(&self, observed: &Observed, split: &Split, old: &MachineSet) -> Result<Decision> {
        let limits = limits(&observed.deployment);
        let wanted = |current: Option<&MachineSet>, replicas: Option<i32>| {
            sets::wanted(observed, current, replicas.unwrap_or(0), None, &limits)
        };
        let current = wanted(Some(old), old.spec.replicas);
        let new = split.new.as_deref();
        let desired = wanted(new, new.and_then(|new| new.spec.replicas));
        let names = [&current, &desired].map(NamespacedName::of);
        let pair = (names[0].namespace.clone(), names[0].name.clone(), names[1].name.clone());
        let clock = self.manager.clock();
        if let Some(decision) = self.decisions.get(&pair, clock.monotonic()) {
            return Ok(decision);
        }
        let (current, desired) = (self.objects(&current).await?, self.objects(&desired).await?);
        let decision = match cannot_move(&current, &desired) {
            Some(why) => Decision::Rollout(vec![why]),
            None => {
                self.updater.can_update(Subject::MachineSet, &observed.cluster, &current, &desired).await?
            }
        };
        tracing::debug!(machineset = %names[0], to = %names[1], ?decision, "update in place");
        self.decisions.keep(pair, decision.clone(), clock.monotonic());
        Ok(decision)
    }

    /// Returns a MachineSet with its templates.
    async fn objects(&self, set: &MachineSet) -> Result<Objects> {
        let namespace = set.metadata.namespace.clone().unwrap_or_default();
        let spec = &set.spec.template.spec;
        let read = async |reference| match Reference::read(&self.external, &namespace, reference).await {
            Reference::Failed(error) => Err(engine::Error::failed(error)),
            found => Ok(found.found().map(in_place::external_value)),
        };
        Ok(Objects {
            machine: in_place::value(set),
            infrastructure: read(Some(&spec.infrastructure_ref)).await?,
            bootstrap: read(spec.bootstrap.config_ref.as_ref()).await?,
        })
    }
}

/// Returns why nobody need be asked: templates of different kinds make different objects.
fn cannot_move(current: &Objects, desired: &Objects) -> Option<String> {
    let kind =
        |template: &Option<serde_json::Value>| template.as_ref().map(|template| template["kind"].clone());
    let kinds = |objects: &Objects| (kind(&objects.infrastructure), kind(&objects.bootstrap));
    (kinds(current) != kinds(desired))
        .then(|| "the kinds of the templates differ, or one does not exist".to_owned())
}
