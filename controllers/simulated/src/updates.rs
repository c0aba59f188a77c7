//! Updates of simulated machines in place, without an extension, for Clusters whose user asks for it.
//!
//! An update changes the version of the Node and the images of the static Pods, and takes as long as these parts of the machine take to start. All fields
//! of a DevMachine and of its bootstrap configuration can be changed, and the version of its Machine; not the failure domain.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use engine::in_place::{self, Decision, Objects, Progress, SPEC, Subject, TEMPLATE_SPEC};
use engine::names::CONTROL_PLANE;
use engine::object::annotation;
use engine::{Error, NamespacedName, Result};
use futures::FutureExt;
use futures::future::BoxFuture;
use machinery::clock::Clock;
use parking_lot::Mutex;
use schemas::cluster::Cluster;
use schemas::infrastructure::{DevMachine, DevMachineTemplate, InMemoryMachineBackend};
use serde_json::Value;

use crate::backend::Backend;
use crate::names::IN_PLACE_UPDATES;
use crate::workload::Workload;
use crate::workload::part::Part;

/// How long an update is remembered that nobody asks about any more.
const FORGOTTEN_AFTER: TimeDelta = TimeDelta::hours(1);

/// An update that has begun.
#[derive(Debug, Clone)]
struct Begun {
    version: String,
    at: DateTime<Utc>,
    asked: DateTime<Utc>,
}

/// Updates the simulated machines of this process.
pub struct Updater {
    backend: Backend,
    clock: Clock,
    begun: Mutex<BTreeMap<NamespacedName, Begun>>,
}

/// Returns whether the user of a Cluster asks for updates in place of its simulated machines.
pub fn is_asked(cluster: &Cluster) -> bool {
    annotation(cluster, IN_PLACE_UPDATES).is_some()
}

/// Returns the parts that an update changes, in order, each with the time that it takes. The kubelet comes last, as with kubeadm.
pub fn parts(backend: Option<&InMemoryMachineBackend>, control_plane: bool) -> Vec<(Part, TimeDelta)> {
    let parts: &[Part] =
        if control_plane { &[Part::Etcd, Part::ApiServer, Part::Node] } else { &[Part::Node] };
    let time = |part: &Part| {
        let component = backend.and_then(|backend| part.component(backend));
        let text = component.and_then(|component| component.provisioning.as_ref());
        let time = text.and_then(|text| machinery::duration::parse(&text.startup_duration));
        TimeDelta::from_std(time.unwrap_or_default()).unwrap_or_default()
    };
    parts.iter().map(|part| (*part, time(part))).collect()
}

/// How far an update is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The parts that are updated by now.
    pub updated: Vec<Part>,
    /// The part that is being updated, and how long it takes; `None` if there is none.
    pub next: Option<(Part, Duration)>,
}

/// Returns how far an update is after `elapsed`.
pub fn stage(parts: &[(Part, TimeDelta)], elapsed: TimeDelta) -> Stage {
    let (mut updated, mut end) = (Vec::new(), TimeDelta::zero());
    for (part, time) in parts {
        end += *time;
        if end > elapsed {
            let left = (end - elapsed).to_std().unwrap_or_default();
            return Stage { updated, next: Some((*part, left)) };
        }
        updated.push(*part);
    }
    Stage { updated, next: None }
}

/// Decides by what is not a simulated machine's to change: its infrastructure must be of this `kind`, and what is compared is below `path`.
pub fn decide(current: &Objects, desired: &Objects, kind: &str, path: &[&str]) -> Decision {
    let is_ours = |object: &Option<Value>| {
        object.as_ref().is_some_and(|object| {
            let group = object["apiVersion"].as_str().and_then(|text| text.split('/').next());
            object["kind"] == kind && group == Some(DevMachine::GROUP)
        })
    };
    if !is_ours(&current.infrastructure) || !is_ours(&desired.infrastructure) {
        return Decision::Rollout(vec![format!("only objects of the kind {kind} are updated here")]);
    }
    let mut reachable = desired.clone();
    reachable.machine = current.machine.clone();
    let spec = |object: &Value| path.iter().fold(object.clone(), |value, name| value[*name].clone());
    let version = spec(&desired.machine)["version"].clone();
    let place = path.iter().try_fold(&mut reachable.machine, |value, name| value.get_mut(*name));
    if let Some(Value::Object(fields)) = place {
        fields.insert("version".to_owned(), version);
    }
    in_place::decide(&reachable, desired, path)
}

impl Updater {
    /// Creates the updater of the machines in `backend`.
    pub fn new(backend: Backend, clock: Clock) -> Self {
        Self { backend, clock, begun: Mutex::default() }
    }

    async fn update(&self, cluster: &Cluster, desired: &Objects) -> Result<Progress> {
        let infrastructure = desired.infrastructure.clone().unwrap_or_default();
        let machine: DevMachine = serde_json::from_value(infrastructure)
            .map_err(|error| Error::failed(format!("the DevMachine can't be read: {error}")))?;
        let (name, owner) = (NamespacedName::of(&machine), NamespacedName::of(cluster));
        let version = desired.machine["spec"]["version"].as_str().unwrap_or_default();
        let control_plane = !desired.machine["metadata"]["labels"][CONTROL_PLANE].is_null();
        let workload = self.backend.get(&owner).await;
        let workload = workload.ok_or_else(|| Error::failed(format!("Cluster {owner} does not run")))?;
        let elapsed = self.elapsed(&name, version);
        let stage = stage(&parts(machine.spec.backend.in_memory.as_ref(), control_plane), elapsed);
        apply(&workload, &name.name, version, &stage.updated).await?;
        let Some((part, left)) = stage.next else {
            self.begun.lock().remove(&name);
            return Ok(Progress::Done);
        };
        // Like the answers of extensions, in whole seconds.
        let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
        let message = format!("updating {} to {version}", part.noun());
        Ok(Progress::Waits { message, retry_after: Duration::from_secs(seconds) })
    }

    /// Returns for how long the update of a machine to this version goes on. It begins with the first call.
    fn elapsed(&self, machine: &NamespacedName, version: &str) -> TimeDelta {
        let now = self.clock.now();
        let mut all = self.begun.lock();
        all.retain(|_, begun| now - begun.asked < FORGOTTEN_AFTER);
        let begin = || Begun { version: version.to_owned(), at: now, asked: now };
        let begun = all.entry(machine.clone()).or_insert_with(begin);
        if begun.version != version {
            *begun = begin();
        }
        begun.asked = now;
        now - begun.at
    }
}

async fn apply(workload: &Workload, name: &str, version: &str, parts: &[Part]) -> Result<()> {
    for part in parts {
        let outcome = workload.update(name, *part, version).await;
        outcome.map_err(|error| Error::failed(format!("{} of {name}: {error}", part.noun())))?;
    }
    Ok(())
}

impl in_place::Updater for Updater {
    fn is_present<'a>(&'a self, cluster: &'a Cluster) -> BoxFuture<'a, Result<bool>> {
        async move { Ok(is_asked(cluster)) }.boxed()
    }

    fn can_update<'a>(
        &'a self,
        subject: Subject,
        _: &'a Cluster,
        current: &'a Objects,
        desired: &'a Objects,
    ) -> BoxFuture<'a, Result<Decision>> {
        let (kind, path) = match subject {
            Subject::Machine => (DevMachine::KIND, SPEC),
            Subject::MachineSet => (DevMachineTemplate::KIND, TEMPLATE_SPEC),
        };
        async move { Ok(decide(current, desired, kind, path)) }.boxed()
    }

    fn update_machine<'a>(
        &'a self,
        cluster: &'a Cluster,
        desired: &'a Objects,
    ) -> BoxFuture<'a, Result<Progress>> {
        self.update(cluster, desired).boxed()
    }
}
