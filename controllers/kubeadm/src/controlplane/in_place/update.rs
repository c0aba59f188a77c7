//! Asks whether a control plane Machine can be updated in place, and starts the update.

use std::sync::Arc;

use engine::in_place::{
    self, Decision, Decisions, Objects, PENDING_HOOKS, STARTED, STARTED_MESSAGE, SharedUpdater, Subject,
    UPDATE_IN_PROGRESS,
};
use engine::{Manager, NamespacedName, object};
use kube::api::DynamicObject;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::Machine;
use serde_json::{Value, json};

use crate::controlplane::desired::{self, Entry};
use crate::controlplane::machine_parts::MachineParts;
use crate::controlplane::observed::{ControlPlaneMachine, Observed};
use crate::controlplane::outdated;
use crate::error::{Error, Result};
use crate::names::MANAGER;

/// Updates of Machines in place, with the decisions about them.
pub struct Updates {
    manager: Manager,
    updater: SharedUpdater,
    /// By UID of the Machine, and generation of the control plane.
    decisions: Decisions<(String, Option<i64>)>,
}

impl Updates {
    /// Asks `updater`.
    pub fn new(manager: &Manager, updater: &SharedUpdater) -> Self {
        Self { manager: manager.clone(), updater: updater.clone(), decisions: Decisions::default() }
    }

    /// Reads the decisions about the Machines.
    pub fn read_decisions(&self, observed: &mut Observed) {
        let generation = observed.control_plane.metadata.generation;
        let now = self.manager.clock().monotonic();
        for member in &observed.machines {
            let about = (object::uid(member.machine.as_ref()).to_owned(), generation);
            let decision = self.decisions.get(&about, now);
            observed.decisions.extend(decision.map(|decision| (member.name().to_owned(), decision)));
        }
    }

    /// Asks whether the Machine of this name can be updated in place, and keeps the answer for the next plan.
    pub async fn ask(&self, parts: &MachineParts, observed: &Observed, name: &str) -> Result<()> {
        let Some(member) = observed.member(name) else { return Ok(()) };
        let decision = self.decide(parts, observed, member).await?;
        tracing::info!(machine = name, ?decision, "update in place");
        let generation = observed.control_plane.metadata.generation;
        let now = self.manager.clock().monotonic();
        let about = (object::uid(member.machine.as_ref()).to_owned(), generation);
        self.decisions.keep(about, decision, now);
        Ok(())
    }

    async fn decide(
        &self,
        parts: &MachineParts,
        observed: &Observed,
        member: &ControlPlaneMachine,
    ) -> Result<Decision> {
        if !self.updater.is_present(&observed.cluster).await? {
            return Ok(in_place::nobody());
        }
        let Some((current, desired)) = objects_of(parts, observed, member).await? else {
            return Ok(Decision::Rollout(vec!["an object of the Machine does not exist".to_owned()]));
        };
        Ok(self.updater.can_update(Subject::Machine, &observed.cluster, &current, &desired).await?)
    }
}

/// Returns the Machine with its objects as they are, and as they should be; `None` if one of them does not exist.
async fn objects_of(
    parts: &MachineParts,
    observed: &Observed,
    member: &ControlPlaneMachine,
) -> Result<Option<(Objects, Objects)>> {
    let (Some(config), Some(infrastructure)) =
        (&member.config, parts.infrastructure_of(observed, member).await?)
    else {
        return Ok(None);
    };
    let (objects, current) = infrastructure;
    let Some(wanted) = wanted_infrastructure(parts, observed, &current).await? else { return Ok(None) };
    // Only the API server knows which defaults the wanted object gets, and which fields others have set.
    let key = NamespacedName::of(current.as_ref());
    let configuration = in_place::dynamic_value(&wanted, objects.dynamic_type());
    let desired = objects.apply_dry_run(MANAGER, &key, configuration).await?;
    let (machine, new_machine) = machines_of(parts, observed, member);
    let (present, new) = outdated::compared(&observed.control_plane, &config.spec);
    Ok(Some((
        Objects {
            machine: in_place::value(machine.as_ref()),
            infrastructure: Some(in_place::dynamic_value(&current, objects.dynamic_type())),
            bootstrap: Some(with_spec(config, present)),
        },
        Objects {
            machine: in_place::value(&new_machine),
            infrastructure: Some(desired),
            bootstrap: Some(with_spec(config, new)),
        },
    )))
}

/// Returns the latest state of a Machine, and the Machine with the version of the control plane.
fn machines_of(
    parts: &MachineParts,
    observed: &Observed,
    member: &ControlPlaneMachine,
) -> (Arc<Machine>, Machine) {
    // Its conditions, labels and annotations have just been written.
    let latest = parts.latest(member).unwrap_or_else(|| member.machine.clone());
    let mut wanted = latest.as_ref().clone();
    wanted.spec.version = Some(observed.control_plane.spec.version.clone());
    (latest, wanted)
}

/// Returns the infrastructure object of a Machine as the template wants it; `None` without a template.
async fn wanted_infrastructure(
    parts: &MachineParts,
    observed: &Observed,
    current: &DynamicObject,
) -> Result<Option<DynamicObject>> {
    let name = current.metadata.name.as_deref().unwrap_or_default();
    let Some((mut wanted, _)) = parts.clone_infrastructure(observed, name, None).await? else {
        return Ok(None);
    };
    // With the UID, the apply fails instead of recreating an object that was deleted in the meantime.
    wanted.metadata.uid.clone_from(&current.metadata.uid);
    Ok(Some(wanted))
}

/// Marks the Machine, writes its objects, the one that is refused most likely first, then its version, and then the hook that makes the Machine
/// controller go on. Repeated as a whole after a failure: a start is never taken back.
pub async fn start(parts: &MachineParts, observed: &Observed, name: &str) -> Result<()> {
    let Some(member) = observed.member(name) else { return Ok(()) };
    let key = NamespacedName::of(member.machine.as_ref());
    let (latest, _) = machines_of(parts, observed, member);
    if !in_place::is_marked(latest.as_ref()) {
        annotate(parts, &key, json!({UPDATE_IN_PROGRESS: ""})).await?;
    }
    write_objects(parts, observed, member).await?;
    let (latest, wanted) = machines_of(parts, observed, member);
    let (cluster, managed) = (observed.cluster_name(), observed.is_etcd_managed());
    let wanted = desired::existing_machine(&observed.control_plane, cluster, managed, &wanted);
    parts.applied.apply(&parts.machines, MANAGER, Some(&latest), &wanted).await?;
    annotate(parts, &key, json!({PENDING_HOOKS: in_place::with_hook(latest.as_ref())})).await?;
    parts.recorder.normal(latest.as_ref(), &(), STARTED, STARTED_MESSAGE);
    Ok(())
}

async fn annotate(parts: &MachineParts, machine: &NamespacedName, annotations: Value) -> Result<()> {
    let patch = json!({"metadata": {"annotations": annotations}});
    parts.machines.merge(machine, None, patch).await?;
    Ok(())
}

/// Writes the infrastructure object and the KubeadmConfig of a Machine as they should be.
async fn write_objects(
    parts: &MachineParts,
    observed: &Observed,
    member: &ControlPlaneMachine,
) -> Result<()> {
    let missing = |kind: &str| {
        let name = member.name();
        Error::Bootstrap(format!(
            "the update of Machine {name} can't be started: its {kind} or the template for it does not exist"
        ))
    };
    let kind = &member.machine.spec.infrastructure_ref.kind;
    let (objects, current) = parts.infrastructure_of(observed, member).await?.ok_or_else(|| missing(kind))?;
    let mut wanted = wanted_infrastructure(parts, observed, &current).await?.ok_or_else(|| missing(kind))?;
    let annotations = wanted.metadata.annotations.get_or_insert_default();
    annotations.insert(UPDATE_IN_PROGRESS.to_owned(), String::new());
    parts.applied.apply(&objects, MANAGER, Some(&current), &wanted).await?;
    let config = member.config.as_ref().ok_or_else(|| missing(KubeadmConfig::KIND))?;
    let wanted = wanted_config(observed, config);
    let stored = parts.applied.apply(&parts.configs, MANAGER, Some(config), &wanted).await?;
    if stored.spec.init_configuration.is_some() {
        // Another manager owns it, too. The machine is one of many from now on.
        let patch = json!({"spec": {"initConfiguration": null}});
        parts.configs.merge(&NamespacedName::of(config.as_ref()), None, patch).await?;
    }
    Ok(())
}

/// Returns a KubeadmConfig as that of a Machine that joins, and marked.
fn wanted_config(observed: &Observed, config: &KubeadmConfig) -> KubeadmConfig {
    let control_plane = observed.control_plane.as_ref();
    let spec = desired::kubeadm_config(control_plane, Entry::Join);
    let mut wanted = KubeadmConfig { spec, ..KubeadmConfig::default() };
    wanted.metadata.name.clone_from(&config.metadata.name);
    wanted.metadata.namespace.clone_from(&config.metadata.namespace);
    wanted.metadata.uid.clone_from(&config.metadata.uid);
    wanted.metadata.labels = Some(desired::all_labels(control_plane, observed.cluster_name()));
    let mut annotations = desired::template_metadata(control_plane).annotations;
    annotations.insert(UPDATE_IN_PROGRESS.to_owned(), String::new());
    wanted.metadata.annotations = Some(annotations);
    wanted
}

fn with_spec(config: &KubeadmConfig, spec: Value) -> Value {
    let mut value = in_place::value(config);
    value["spec"] = spec;
    value
}
