//! Keeps `Agent` objects as agents report.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use agent_protocol::{Challenge, ConfigDrive, Endorsement, Instruction, Report};
use dhcp::MacAddress;
use engine::events::Recorder;
use engine::{Manager, NamespacedName, Objects};
use machinery::clock::Clock;
use machinery::random::Random;
use metal::host::host_of;
use metal_boot::dhcp4::server::Addresses;
use parking_lot::Mutex;
use schemas::netboot::Agent;
use tokio::sync::Notify;

use super::drive::Drive;
use super::endorsement::Endorsements;
use super::instruction::{instruction, is_same};
use super::refusal::Refusal;
use super::reports::Reported;
use super::waiting::{Alerts, Waiting};
use crate::directory::{Kube, token};
use crate::fingerprint::fingerprint;
use crate::limits;
use crate::metadata::Metadata;
use crate::metadata::channel::{Channel, begun};

const BY_CERTIFICATE: &str = "netboot-certificate";

/// The agents that run, as the API knows them.
pub struct Agents {
    pub(super) agents: Objects<Agent>,
    pub(super) addresses: Arc<Addresses>,
    metadata: Arc<Metadata>,
    pub(super) machines: Kube,
    recorder: Recorder,
    pub(super) endorsements: Endorsements,
    pub(super) clock: Clock,
    random: Random,
    pub(super) reported: Mutex<HashMap<String, Reported>>,
    pub(super) changed: Arc<Mutex<HashMap<String, Arc<Notify>>>>,
    pub(super) waiting: Mutex<Waiting>,
    alerts: Mutex<Alerts>,
    /// Two that ask to be let in as one machine, or with one token, are looked at one after the other.
    pub(super) entering: tokio::sync::Mutex<()>,
}

impl Agents {
    /// Starts to follow the objects; all of them are known when it returns.
    pub async fn start(
        manager: &Manager,
        machines: Kube,
        addresses: Arc<Addresses>,
        metadata: Arc<Metadata>,
    ) -> Arc<Self> {
        let agents: Objects<Agent> = manager.objects();
        agents.index(BY_CERTIFICATE, |agent: &Agent| {
            agent.status.iter().filter_map(|status| status.certificate_sha256.clone()).collect()
        });
        agents.wait_until_synced().await;
        let changed: Arc<Mutex<HashMap<String, Arc<Notify>>>> = Arc::default();
        let waiting = changed.clone();
        agents.subscribe(move |change| {
            if let Some(notify) = waiting.lock().get(&change.name().name) {
                notify.notify_waiters();
            }
        });
        let (clock, random) = (manager.clock().clone(), manager.random().clone());
        let recorder = manager.recorder("netboot");
        let (endorsements, reported) = (Endorsements::new(&random), Mutex::default());
        let service = Arc::new(Self {
            agents,
            addresses,
            metadata,
            machines,
            recorder,
            endorsements,
            clock,
            random,
            reported,
            changed,
            waiting: Mutex::default(),
            alerts: Mutex::default(),
            entering: tokio::sync::Mutex::default(),
        });
        manager.spawn(Self::forget_the_silent(Arc::downgrade(&service), manager.clock().clone()));
        service
    }

    /// What the TPM of a machine is to open before the machine enrols.
    ///
    /// # Errors
    /// [`Refusal::Malformed`].
    pub fn challenge(&self, certificate: &str, endorsement: &Endorsement) -> Result<Challenge, Refusal> {
        self.endorsements.challenge(certificate, endorsement)
    }

    /// A token for what starts the agent of a machine; only the machine itself is told one. For a while, and until it is
    /// used, it is the same: an image may be loaded in parts.
    pub async fn token(&self, mac: MacAddress, client: IpAddr) -> Option<String> {
        if self.machine_at(client) != Some(mac) {
            return None;
        }
        self.addresses.wait_until_object(mac).await;
        self.machines.new_token(mac, &self.random, self.clock.now()).await
    }

    /// Takes back the token of a machine that starts from a file without one.
    pub async fn withdraw_token(&self, mac: MacAddress) {
        self.machines.withdraw_token(mac).await;
    }

    /// The machine that speaks from an address, where that is known.
    pub fn machine_at(&self, client: IpAddr) -> Option<MacAddress> {
        self.addresses.holder_of(client).or_else(|| self.addresses.lease_of(client))
    }

    /// Whether the machine with this address is one that somebody described.
    pub fn is_known(&self, client: IpAddr) -> bool {
        self.addresses.is_known(client)
    }

    /// An event of the host that the machine `name` is, else of its agent.
    pub(super) fn alert(&self, name: &str, reason: &str, message: &str) {
        if !self.alerts.lock().note(name, reason, self.clock.now()) {
            return;
        }
        let mac = name.parse::<MacAddress>().ok();
        if let Some(host) = mac.and_then(|mac| self.machines.host(mac)) {
            self.recorder.warning(host.as_ref(), &(), reason, message);
        } else if let Some(agent) = mac.and_then(|mac| self.machines.agent(mac)) {
            self.recorder.warning(agent.as_ref(), &(), reason, message);
        }
    }

    /// Whose certificate it is.
    fn known(&self, certificate: &str) -> Result<Arc<Agent>, Refusal> {
        self.agents.by_index(BY_CERTIFICATE, certificate).into_iter().next().ok_or(Refusal::Unknown)
    }

    /// The next instruction after `after`; waits for one. `None` when there is none for [`limits::INSTRUCTION`].
    ///
    /// # Errors
    /// [`Refusal::Unknown`].
    pub async fn instruction(&self, certificate: &str, after: &str) -> Result<Option<Instruction>, Refusal> {
        let name = self.known(certificate)?.metadata.name.clone().unwrap_or_default();
        let notify = self.changed.lock().entry(name).or_default().clone();
        let next = async {
            loop {
                let mut changed = std::pin::pin!(notify.notified());
                // What changes from here on is heard.
                changed.as_mut().enable();
                let next = instruction(&*self.known(certificate)?);
                match next.filter(|instruction| !is_same(&instruction.id, after)) {
                    Some(instruction) => return Ok(instruction),
                    None => changed.await,
                }
            }
        };
        match tokio::time::timeout(limits::INSTRUCTION, next).await {
            Ok(found) => found.map(Some),
            Err(_) => Ok(None),
        }
    }

    /// How large a report of the agent may be.
    ///
    /// # Errors
    /// [`Refusal::Unknown`].
    pub fn largest_report(&self, certificate: &str) -> Result<usize, Refusal> {
        let is_host = self.known(certificate)?.spec.host_ref.is_some();
        Ok(if is_host { limits::REPORT } else { limits::UNKNOWN_REPORT })
    }

    /// Takes in a report.
    ///
    /// # Errors
    /// [`Refusal::Unknown`], [`Refusal::Malformed`], [`Refusal::Failed`].
    pub async fn report(&self, certificate: &str, report: Report) -> Result<(), Refusal> {
        let agent = self.known(certificate)?;
        let key = NamespacedName::of(agent.as_ref());
        let patch = {
            let mut reported = self.reported.lock();
            let known = reported
                .entry(key.name.clone())
                .or_insert_with(|| agent.status.as_ref().map(Reported::from_status).unwrap_or_default());
            known.take(report, agent.spec.host_ref.is_some(), self.clock.now())?
        };
        let Some(patch) = patch else { return Ok(()) };
        match self.agents.merge(&key, Some("status"), patch).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Err(Refusal::Unknown),
            Err(error) => {
                if let Some(reported) = self.reported.lock().get_mut(&key.name) {
                    reported.not_written();
                }
                Err(failed(error))
            }
        }
    }

    /// The configuration drive of the host that the machine is; `None` when it is no host's. It is given for an instruction that asks for
    /// it, once. `http` is `http://ADDRESS:PORT` of this server as the machine reaches it.
    ///
    /// # Errors
    /// [`Refusal::Unknown`], [`Refusal::Forbidden`], [`Refusal::Failed`].
    pub async fn config_drive(&self, certificate: &str, http: &str) -> Result<Option<ConfigDrive>, Refusal> {
        let agent = self.known(certificate)?;
        let instruction = agent.spec.instruction.as_ref().filter(|known| known.config_drive == Some(true));
        let Some(instruction) = instruction else {
            return Err(Refusal::Forbidden("no instruction asks for a configuration drive".into()));
        };
        let key = NamespacedName::of(agent.as_ref());
        // Not by its MAC address: what the machine is was shown when it was let in.
        let host = host_of(&agent).and_then(|host| self.machines.host_named(&host));
        let Some(host) = host else { return Ok(None) };
        let mut data = self.metadata.data_of(&host).map_err(Refusal::Failed)?;
        let channel = Channel::of(&host);
        let token = (channel == Channel::Url).then(|| token(&self.random));
        let drive = Drive {
            instruction: &instruction.id,
            begun: &begun(&host),
            has_user_data: channel == Channel::Drive && data.user_data.is_some(),
            token: token.as_deref().map(|token| fingerprint(token.as_bytes())),
        };
        let status = agent.status.clone().unwrap_or_default();
        match drive.hand_over(&status, self.clock.now()) {
            Ok(None) => {}
            Ok(Some(patch)) => drop(self.agents.merge(&key, Some("status"), patch).await.map_err(failed)?),
            Err(why) => {
                let message =
                    format!("the machine's agent asked for the configuration drive, {why}: it got none");
                self.alert(&key.name, "ConfigDriveAskedAgain", &message);
                return Err(Refusal::Forbidden(format!("the configuration drive is not given, {why}")));
            }
        }
        let path = format!("{http}/metadata/{}/nocloud/user-data", token.unwrap_or_default());
        data.user_data = data.user_data.and_then(|text| channel.on_drive(text, &path));
        Ok(Some(ConfigDrive { files: data.config_drive() }))
    }
}

pub(super) fn failed(error: engine::Error) -> Refusal {
    tracing::warn!(%error, "an agent cannot be served");
    Refusal::Failed("the server cannot write this down now; its log says why".into())
}
