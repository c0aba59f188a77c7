//! Collects the state of a host from caches and from its BMC.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use agent_protocol::{Action, State};
use bmc::{Power, Task, TaskState};
use engine::NamespacedName;
use engine::object::{annotation, version};
use k8s_openapi::api::core::v1::Secret;
use machinery::clock::parse_rfc3339;
use metrics::Limits;
use schemas::metal3::{BareMetalHost, SecretReference};
use schemas::netboot::{Agent as AgentObject, AgentInstruction};

use super::observed::{Agent, Drive, Firmware, Means, Observed};
use super::states::firmware;
use super::{BY_HOST, HostReconciler, protection};
use crate::connection::{self, is_held, text};
use crate::control::{Connection, Fault};
use crate::instruction;
use crate::limits;
use crate::names::{self, POWERED};
use crate::state::HostState;

/// The data from caches.
pub(super) struct Gathered {
    pub(super) key: NamespacedName,
    pub(super) means: Means,
    pub(super) connection: Option<Connection>,
    pub(super) credentials: Option<Arc<Secret>>,
    pub(super) agent: Option<Arc<AgentObject>>,
    /// The hash of everything but time that may have caused a failure; a change permits a retry.
    pub(super) fingerprint: u64,
}

impl HostReconciler {
    pub(super) fn gather(&self, host: &BareMetalHost) -> Gathered {
        let key = NamespacedName::of(host);
        let credentials = connection::credentials(host, &self.secrets);
        let (means, connection) = connection::means(host, credentials.as_deref());
        let agent = self.agent_of(&key);
        let mut hasher = DefaultHasher::new();
        let annotations = host.metadata.annotations.iter().flatten();
        let annotations =
            annotations.filter(|(key, _)| ![names::BOOTING, names::FIRMWARE].contains(&key.as_str()));
        (host.metadata.generation, host.metadata.deletion_timestamp.is_some()).hash(&mut hasher);
        annotations.for_each(|annotation| annotation.hash(&mut hasher));
        credentials.as_deref().map(version).hash(&mut hasher);
        let boot = agent.as_ref().and_then(|agent| agent.status.as_ref()?.boot_id.clone());
        boot.hash(&mut hasher);
        self.companions.wishes(&key).hash(&mut hasher);
        self.data_problem(host).hash(&mut hasher);
        self.boot_images.of(host).hash(&mut hasher);
        Gathered { key, means, connection, credentials, agent, fingerprint: hasher.finish() }
    }

    fn agent_of(&self, key: &NamespacedName) -> Option<Arc<AgentObject>> {
        self.agents.by_index(BY_HOST, &key.to_string()).into_iter().next()
    }

    /// Returns the input of the plan. Asks the BMC unless it was asked a moment ago.
    pub(super) async fn observe(&self, host: &BareMetalHost, gathered: &Gathered) -> Observed {
        let now = self.manager.clock().now();
        let mut agent = gathered.agent.as_deref().map(|agent| view(agent, now));
        if let (Some(agent), Some(cut)) = (&mut agent, self.memory.cut(&gathered.key)) {
            let heard = now - chrono::Duration::from_std(agent.silent).unwrap_or_default();
            agent.is_gone |= heard <= cut;
        }
        let power = self.power(host, gathered, agent.as_ref()).await;
        if let (Some(agent), Ok(Power::Off)) = (&mut agent, &power) {
            agent.is_gone = true;
        }
        let hardware = self.hardware.get(&gathered.key);
        let drive = self.drive(host, gathered, &power).await;
        let task = self.task(host, gathered).await;
        let firmware = Firmware { task, ..self.companions.firmware(&gathered.key) };
        let is_full = is_full(host, &self.hosts.all());
        if is_full && agent.is_none() {
            Limits::of(self.manager.all_metrics()).reached("busy_hosts");
        }
        Observed {
            host: host.clone(),
            now,
            means: gathered.means.clone(),
            power,
            agent,
            hardware_data: hardware.and_then(|data| data.spec.hardware.clone()),
            drive,
            firmware,
            is_full,
            data_problem: self.data_problem(host),
            boot_image: self.boot_images.of(host),
        }
    }

    async fn power(
        &self,
        host: &BareMetalHost,
        gathered: &Gathered,
        agent: Option<&Agent>,
    ) -> Result<Power, Fault> {
        // A machine with an active agent is on, so the BMC need not be asked.
        if agent.is_some_and(|agent| !agent.is_gone) {
            return Ok(Power::On);
        }
        let Some(connection) = gathered.connection.as_ref().filter(|_| !is_held(host)) else {
            return Ok(by_hand(host));
        };
        let now = self.manager.clock().now();
        // After a fault the BMC is asked again: reconciliation happens only because something has changed.
        if let Some(Ok(power)) = self.memory.power(&gathered.key, now) {
            return Ok(power);
        }
        let power = match self.control.bmc(connection) {
            Ok(bmc) => bmc.power().await.map_err(Fault::from),
            Err(fault) => Err(fault),
        };
        self.memory.note_power(&gathered.key, self.manager.clock().now(), power.clone());
        power
    }

    /// Returns the DataImage and the content of the drive. The BMC is asked only if the content may have to change: before a machine in
    /// use is switched on.
    async fn drive(
        &self,
        host: &BareMetalHost,
        gathered: &Gathered,
        power: &Result<Power, Fault>,
    ) -> Option<Drive> {
        let image = self.companions.data_image(&gathered.key)?.as_ref().clone();
        let known = Drive::attached(&image).map(str::to_owned);
        let may_change =
            HostState::of(host).is_in_use() && !is_held(host) && host.spec.online && *power == Ok(Power::Off);
        let held = match gathered.connection.as_ref().filter(|_| may_change) {
            None => Ok(known),
            Some(connection) => match self.control.bmc(connection) {
                Ok(bmc) => bmc.media().await.map_err(Fault::from),
                Err(fault) => Err(fault),
            },
        };
        Some(Drive { image, held })
    }

    /// Returns the state of the firmware update for which the host waits.
    async fn task(&self, host: &BareMetalHost, gathered: &Gathered) -> Option<Result<TaskState, Fault>> {
        let progress = firmware::progress(annotation(host, names::FIRMWARE))?;
        progress.update.as_ref()?;
        let connection = gathered.connection.as_ref().filter(|_| !is_held(host))?;
        Some(match self.control.bmc(connection) {
            Ok(bmc) => bmc.task(&Task { path: progress.task }).await.map_err(Fault::from),
            Err(fault) => Err(fault),
        })
    }

    /// Returns the problem with a Secret that the host refers to for its configuration drive.
    fn data_problem(&self, host: &BareMetalHost) -> Option<String> {
        let namespace = host.metadata.namespace.clone().unwrap_or_default();
        let named = [
            ("userData", &host.spec.user_data, true),
            ("metaData", &host.spec.meta_data, true),
            ("networkData", &host.spec.network_data, false),
        ];
        let mut problem = None;
        for (key, reference, is_required) in named {
            let Some(SecretReference { name: Some(name), .. }) = reference else { continue };
            match self.secrets.get(&NamespacedName::new(namespace.clone(), name.clone())) {
                None => {
                    problem =
                        Some(format!("the Secret {namespace}/{name} of spec.{key} is not there: create it"))
                }
                Some(secret)
                    if is_required && text(&secret, key).or_else(|| text(&secret, "value")).is_none() =>
                {
                    problem = Some(format!(
                        "the Secret {namespace}/{name} of spec.{key} has neither the key {key} nor value"
                    ));
                }
                Some(_) => {}
            }
        }
        problem
    }
}

/// Returns the power state that a person reported for a machine without a BMC, or else the last known one.
fn by_hand(host: &BareMetalHost) -> Power {
    match annotation(host, POWERED) {
        Some("on") => Power::On,
        Some("off") => Power::Off,
        _ if host.status.as_ref().is_some_and(|status| status.powered_on) => Power::On,
        _ => Power::Off,
    }
}

/// Returns what the plan of a host has to know of the agent.
pub fn view(agent: &AgentObject, now: chrono::DateTime<chrono::Utc>) -> Agent {
    let status = agent.status.clone().unwrap_or_default();
    let at = |text: &Option<String>| parse_rfc3339(text.as_deref()?);
    let silent =
        at(&status.last_seen_time).map_or(limits::SILENCE, |seen| (now - seen).to_std().unwrap_or_default());
    let progress = status.instruction.unwrap_or_default();
    let state = State::from_name(&progress.state);
    // An agent that restarts its machine ends with it; after the start it has no instruction.
    let told = agent.spec.instruction.as_ref();
    let has_left = told.is_some_and(|told| instruction::is_restart(told) && told.id == progress.id)
        && state == Some(State::Done);
    let is_over = |told: &AgentInstruction| {
        told.id == progress.id && matches!(state, Some(State::Done | State::Failed))
    };
    let writes = |told: &AgentInstruction| {
        Action::from_name(&told.action).is_some_and(|action| protection::writes(&action))
    };
    Agent {
        is_to_write: told.is_some_and(|told| writes(told) && !is_over(told)),
        name: agent.metadata.name.clone().unwrap_or_default(),
        silent,
        is_gone: silent >= limits::SILENCE || has_left,
        since: at(&progress.start_time),
        id: progress.id,
        state,
        message: progress.message.unwrap_or_default(),
        hardware: status.hardware,
    }
}

/// Returns whether [`limits::BUSY_HOSTS`] of the other hosts are busy and their machines boot. The limit matters only to a busy host.
pub fn is_full(host: &BareMetalHost, all: &[Arc<BareMetalHost>]) -> bool {
    let is_busy = |host: &BareMetalHost| HostState::of(host).is_busy();
    let boots = |other: &&Arc<BareMetalHost>| {
        is_busy(other)
            && annotation(other.as_ref(), names::BOOTING).is_some()
            && other.metadata.uid != host.metadata.uid
    };
    is_busy(host) && all.iter().filter(boots).count() >= limits::BUSY_HOSTS
}
