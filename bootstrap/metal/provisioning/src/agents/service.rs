//! Keeps the `Agent` objects up to date with the agents' reports.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use agent_protocol::dhcp::MacAddress;
use agent_protocol::{Challenge, ConfigDrive, Endorsement, Instruction, Report};
use engine::events::Recorder;
use engine::object::annotation;
use engine::{Manager, NamespacedName, Objects};
use machinery::clock::Clock;
use machinery::random::Random;
use metal::bootstrap::begun;
use metal::host::host_of;
use metal::names::BOOTSTRAP;
use metal_boot::dhcp4::server::Addresses;
use parking_lot::Mutex;
use schemas::metal3::BareMetalHost;
use schemas::netboot::Agent;
use serde_json::json;
use tokio::sync::Notify;

use super::drive::Drive;
use super::endorsement::Endorsements;
use super::instruction::{instruction, is_same};
use super::refusal::Refusal;
use super::reports::Reported;
use super::waiting::{Alerts, Waiting};
use crate::bootstrap::{NodeRegistry, vendor_data};
use crate::directory::{Kube, report_token, token};
use crate::fingerprint::fingerprint;
use crate::limits;
use crate::metadata::Metadata;
use crate::metadata::channel::Channel;
use crate::metrics::Metrics;

const BY_CERTIFICATE: &str = "netboot-certificate";

/// The agents that have enrolled, as the API knows them.
pub struct Agents {
    pub(super) agents: Objects<Agent>,
    hosts: Objects<BareMetalHost>,
    pub(super) addresses: Arc<Addresses>,
    metadata: Arc<Metadata>,
    registry: Option<NodeRegistry>,
    pub(super) machines: Kube,
    recorder: Recorder,
    pub(crate) metrics: Metrics,
    pub(super) endorsements: Endorsements,
    pub(crate) clock: Clock,
    random: Random,
    pub(super) reported: Mutex<HashMap<String, Reported>>,
    pub(super) changed: Arc<Mutex<HashMap<String, Arc<Notify>>>>,
    pub(super) waiting: Mutex<Waiting>,
    alerts: Mutex<Alerts>,
    /// Serialises enrolments, so that two clients cannot enrol as one machine, or with one token, at the same time.
    pub(super) entering: tokio::sync::Mutex<()>,
}

impl Agents {
    /// Starts to watch the objects; the informer is synced when this returns. Nodes are told about `registry`.
    pub async fn start(
        manager: &Manager,
        machines: Kube,
        addresses: Arc<Addresses>,
        metadata: Arc<Metadata>,
        registry: Option<NodeRegistry>,
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
        let (recorder, metrics) = (manager.recorder("netboot"), Metrics::of(manager.all_metrics()));
        let (endorsements, reported) = (Endorsements::new(&random), Mutex::default());
        let service = Arc::new(Self {
            agents,
            hosts: manager.objects(),
            addresses,
            metadata,
            registry,
            machines,
            recorder,
            metrics,
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

    /// Returns the challenge that the TPM of a machine must open before the machine enrols.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] if the endorsement key is invalid.
    pub fn challenge(&self, certificate: &str, endorsement: &Endorsement) -> Result<Challenge, Refusal> {
        self.endorsements.challenge(certificate, endorsement)
    }

    /// Returns a token for the boot image of a machine's agent; `None` if the client is not that machine. The token stays the same for
    /// a while, until it is used, because an image may be loaded in parts.
    pub async fn token(&self, mac: MacAddress, client: IpAddr) -> Option<String> {
        if self.machine_at(client) != Some(mac) {
            return None;
        }
        self.addresses.wait_until_object(mac).await;
        self.machines.new_token(mac, &self.random, self.clock.now()).await
    }

    /// Withdraws the token of a machine that starts from a file without a token.
    pub async fn withdraw_token(&self, mac: MacAddress) {
        self.machines.withdraw_token(mac).await;
    }

    /// Returns the machine that uses an address, if it is known.
    pub fn machine_at(&self, client: IpAddr) -> Option<MacAddress> {
        self.addresses.holder_of(client).or_else(|| self.addresses.lease_of(client))
    }

    /// Returns whether a BareMetalHost describes the machine with this address.
    pub fn is_known(&self, client: IpAddr) -> bool {
        self.addresses.is_known(client)
    }

    /// Records an event for the host of the machine `name`, or for its Agent if it has no host.
    pub(super) fn alert(&self, name: &str, reason: &str, message: &str) {
        if let Err(limit) = self.alerts.lock().note(name, reason, self.clock.now()) {
            return self.metrics.limit(limit);
        }
        let mac = name.parse::<MacAddress>().ok();
        if let Some(host) = mac.and_then(|mac| self.machines.host(mac)) {
            self.recorder.warning(host.as_ref(), &(), reason, message);
        } else if let Some(agent) = mac.and_then(|mac| self.machines.agent(mac)) {
            self.recorder.warning(agent.as_ref(), &(), reason, message);
        }
    }

    /// Returns the agent that enrolled with this certificate.
    fn known(&self, certificate: &str) -> Result<Arc<Agent>, Refusal> {
        self.agents.by_index(BY_CERTIFICATE, certificate).into_iter().next().ok_or(Refusal::Unknown)
    }

    /// Waits for an instruction that differs from `after`, and returns it; `None` if there is no such instruction for
    /// [`limits::INSTRUCTION`].
    ///
    /// # Errors
    /// [`Refusal::Unknown`] if no agent has enrolled with this certificate.
    pub async fn instruction(&self, certificate: &str, after: &str) -> Result<Option<Instruction>, Refusal> {
        let name = self.known(certificate)?.metadata.name.clone().unwrap_or_default();
        let notify = self.changed.lock().entry(name).or_default().clone();
        let next = async {
            loop {
                let mut changed = std::pin::pin!(notify.notified());
                // Enabled before the instruction is read, so that a change in between is not missed.
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

    /// Returns the largest size of a report of the agent, in bytes, and the name of this limit in the metrics.
    ///
    /// # Errors
    /// [`Refusal::Unknown`] if no agent has enrolled with this certificate.
    pub fn largest_report(&self, certificate: &str) -> Result<(usize, &'static str), Refusal> {
        let is_host = self.known(certificate)?.spec.host_ref.is_some();
        Ok(match is_host {
            true => (limits::REPORT, "netboot_report"),
            false => (limits::UNKNOWN_REPORT, "netboot_unknown_report"),
        })
    }

    /// Stores a report, if it is due to be written.
    ///
    /// # Errors
    /// [`Refusal::Unknown`], [`Refusal::Malformed`], [`Refusal::Limit`], [`Refusal::Failed`].
    pub async fn report(&self, certificate: &str, report: Report) -> Result<(), Refusal> {
        let agent = self.known(certificate)?;
        let key = NamespacedName::of(agent.as_ref());
        let patch = {
            let mut reported = self.reported.lock();
            let known = reported
                .entry(key.name.clone())
                .or_insert_with(|| agent.status.as_ref().map(Reported::from_status).unwrap_or_default());
            let patch = known.take(report, agent.spec.host_ref.is_some(), self.clock.now())?;
            if known.is_held_back() {
                self.metrics.limit("netboot_urgent_writes");
            }
            patch
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

    /// Returns the configuration drive of the agent's host, or `None` if the agent belongs to no host. It is given once for an
    /// instruction that asks for it. `http` is `http://ADDRESS:PORT` of this server as the machine reaches it.
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
        // The host is found by `hostRef`, not by MAC address: the machine was identified when it enrolled.
        let host = host_of(&agent).and_then(|host| self.machines.host_named(&host));
        let Some(host) = host else { return Ok(None) };
        let mut data = self.metadata.data_of(&host).map_err(Refusal::Failed)?;
        let channel = Channel::of(&host);
        let token = token(&self.random);
        let report_token = report_token(&token);
        let drive = Drive {
            instruction: &instruction.id,
            begun: begun(&host),
            has_user_data: channel == Channel::Drive && data.user_data.is_some(),
            token: fingerprint(report_token.as_bytes()),
        };
        let status = agent.status.clone().unwrap_or_default();
        match drive.hand_over(&status, self.clock.now()) {
            Ok(patch) => drop(self.agents.merge(&key, Some("status"), patch).await.map_err(failed)?),
            Err(why) => {
                let message =
                    format!("the machine's agent asked for the configuration drive, {why}: it got none");
                self.alert(&key.name, "ConfigDriveAskedAgain", &message);
                return Err(Refusal::Forbidden(format!("the configuration drive is not given, {why}")));
            }
        }
        self.forget_bootstrap(&host).await?;
        let path = format!("{http}/metadata/{token}/nocloud/user-data");
        data.user_data = data.user_data.and_then(|text| channel.on_drive(text, &path));
        vendor_data::add_url(&mut data.meta_data, &vendor_data::url(http, &report_token));
        let mut files = data.config_drive();
        let registry = self.registry.as_ref().map(|registry| registry.files(host_of_url(http)));
        let vendor_data = vendor_data::vendor_data(&data.meta_data, registry.unwrap_or_default());
        files.insert("openstack/latest/vendor_data.json".into(), vendor_data);
        Ok(Some(ConfigDrive { files }))
    }

    /// Removes the report of an earlier provisioning from the host.
    async fn forget_bootstrap(&self, host: &BareMetalHost) -> Result<(), Refusal> {
        if annotation(host, BOOTSTRAP).is_none() {
            return Ok(());
        }
        let none = json!({ "metadata": { "annotations": { BOOTSTRAP: null } } });
        self.hosts.merge(&NamespacedName::of(host), None, none).await.map(drop).map_err(failed)
    }
}

/// Returns the host of `http://HOST:PORT`.
fn host_of_url(http: &str) -> &str {
    let host = http.strip_prefix("http://").unwrap_or(http);
    host.rsplit_once(':').map_or(host, |(host, _)| host)
}

pub(super) fn failed(error: engine::Error) -> Refusal {
    tracing::warn!(%error, "an agent cannot be served");
    Refusal::Failed("the server cannot write this down now; its log says why".into())
}
