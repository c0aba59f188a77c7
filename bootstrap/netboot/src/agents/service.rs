//! Keeps `Agent` objects as agents report.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use agent::protocol::{Challenge, ConfigDrive, Endorsement, Enrolled, Enrolment, Instruction, Report};
use engine::events::Recorder;
use engine::{Manager, NamespacedName, Objects};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinery::clock::Clock;
use machinery::random::Random;
use parking_lot::Mutex;
use schemas::netboot::Agent;
use tokio::sync::Notify;

use super::Refusal;
use super::drive::Drive;
use super::endorsement::Endorsements;
use super::record::{self, Newcomer, REPORT_SECONDS, Reported};
use crate::dhcp4::server::Addresses;
use crate::directory::{BootToken, Kube, token};
use crate::http::listener::fingerprint;
use crate::limits;
use crate::mac::MacAddress;
use crate::metadata::Metadata;
use crate::metadata::channel::{Channel, begun};

const BY_CERTIFICATE: &str = "netboot-certificate";

/// The agents that run, as the API knows them.
pub struct Agents {
    agents: Objects<Agent>,
    addresses: Arc<Addresses>,
    metadata: Arc<Metadata>,
    machines: Kube,
    recorder: Recorder,
    endorsements: Endorsements,
    clock: Clock,
    random: Random,
    reported: Mutex<HashMap<String, Reported>>,
    changed: Arc<Mutex<HashMap<String, Arc<Notify>>>>,
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
        Arc::new(Self {
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
        })
    }

    /// What the TPM of a machine is to open before the machine enrols.
    ///
    /// # Errors
    /// [`Refusal::Malformed`].
    pub fn challenge(&self, certificate: &str, endorsement: &Endorsement) -> Result<Challenge, Refusal> {
        self.endorsements.challenge(certificate, endorsement)
    }

    /// Lets a machine in.
    ///
    /// # Errors
    /// As [`record::admit`]; [`Refusal::Failed`].
    pub async fn enrol(
        &self,
        certificate: &str,
        address: IpAddr,
        enrolment: &Enrolment,
    ) -> Result<Enrolled, Refusal> {
        let lease_holder = self.addresses.holder_of(address);
        let boot_mode = lease_holder.and_then(|mac| self.addresses.boot_mode(mac));
        let named = enrolment.boot_mac_address.parse::<MacAddress>();
        let key = NamespacedName::new("", named.map(|mac| mac.dashed()).unwrap_or_default());
        let heard = self.reported.lock().get(&key.name).and_then(Reported::heard);
        let tokens = self.tokens(enrolment);
        let endorsement = enrolment.endorsement.as_ref();
        let endorsement = endorsement.map(|said| self.endorsements.proven(certificate, said)).transpose()?;
        let newcomer = Newcomer {
            enrolment,
            certificate,
            endorsement: endorsement.as_deref(),
            address,
            lease_holder,
            heard,
            boot_mode,
            tokens: &tokens,
        };
        let known = self.agents.get(&key);
        let status = known.as_ref().and_then(|agent| agent.status.as_ref());
        let now = self.clock.now();
        let mac = record::admit(&newcomer, status, now).inspect_err(|refusal| {
            tracing::warn!(%address, %refusal, "a machine is not let in");
            let reason = match refusal {
                Refusal::Token(_) => "BootTokenRefused",
                Refusal::Endorsement(_) => "EndorsementKeyRefused",
                _ => return,
            };
            self.alert(&key.name, reason, &format!("{address} asks to be let in: {refusal}"));
        })?;
        if known.is_none() {
            let metadata = ObjectMeta { name: Some(key.name.clone()), ..ObjectMeta::default() };
            let object = Agent { metadata, ..Agent::default() };
            self.agents.create_if_absent(&object).await.map_err(failed)?;
        }
        let patch = record::enrolled(&newcomer, mac, status, now);
        self.agents.merge(&key, Some("status"), patch).await.map_err(failed)?;
        self.reported.lock().remove(&key.name);
        tracing::info!(machine = %mac, %address, "an agent has enrolled");
        Ok(Enrolled { name: key.name, report_seconds: REPORT_SECONDS })
    }

    /// The tokens that the interfaces of a machine were told.
    fn tokens(&self, enrolment: &Enrolment) -> Vec<(BootToken, bool)> {
        let named = std::iter::once(&enrolment.boot_mac_address).chain(&enrolment.mac_addresses);
        let macs: BTreeSet<MacAddress> = named.filter_map(|text| text.parse().ok()).collect();
        let on_media = self.machines.media_tokens(&macs, self.clock.now());
        let told = macs.into_iter().filter_map(|mac| self.machines.token(mac));
        told.chain(on_media)
            .map(|token| {
                let is_spent = self.machines.is_spent(&token);
                (token, is_spent)
            })
            .collect()
    }

    /// A token for the script that starts the agent of a machine; only the machine itself is told one.
    pub async fn token(&self, mac: MacAddress, client: IpAddr) -> Option<String> {
        if self.addresses.holder_of(client) != Some(mac) {
            return None;
        }
        self.addresses.is_object(mac).await;
        match self.machines.new_token(mac, &self.random, self.clock.now()).await {
            Ok(token) => Some(token),
            Err(error) => {
                tracing::warn!(machine = %mac, %error, "the machine starts without a token");
                None
            }
        }
    }

    /// An event of the host that the machine `name` is, else of its agent.
    fn alert(&self, name: &str, reason: &str, message: &str) {
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
                let instruction = record::instruction(&*self.known(certificate)?);
                match instruction.filter(|instruction| !record::is_same(&instruction.id, after)) {
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
            known.take(report, self.clock.now())?
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
        let Ok(mac) = key.name.parse() else { return Ok(None) };
        let Some(host) = self.machines.host(mac) else { return Ok(None) };
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

fn failed(error: engine::Error) -> Refusal {
    tracing::warn!(%error, "an agent cannot be served");
    Refusal::Failed("the server cannot write this down now; its log says why".into())
}
