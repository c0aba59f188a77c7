//! Serves the metadata of hosts to their machines.

use std::net::IpAddr;
use std::sync::Arc;

use agent_protocol::dhcp::MacAddress;
use chrono::{DateTime, Duration, Utc};
use engine::events::Recorder;
use engine::{Manager, NamespacedName, Objects};
use http::{Response, StatusCode};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinery::clock::{Clock, parse_rfc3339};
use metal::bootstrap::begun;
use metal::state::HostState;
use metal_boot::dhcp4::server::Addresses;
use schemas::metal3::{BareMetalHost, SecretReference};
use schemas::netboot::Agent;
use tokio::sync::Mutex;

use super::channel::{Channel, USER_DATA};
use super::data::{Data, Secrets};
use super::tree::{Item, find, without_token};
use crate::directory::{Kube, drive_token, report_token};
use crate::fingerprint::fingerprint;
use crate::handover::{Handover, given, handover};
use crate::http::file::{self, Body};

/// How long after the end of its provisioning a machine may ask for its user data for the first time.
const WINDOW: Duration = Duration::minutes(15);

/// Whether a machine may have its user data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// The user data are given.
    Given,
    /// The user data were given earlier, outside the time for retries.
    Again,
    /// The machine was provisioned too long ago.
    Late,
    /// The host is not being provisioned and is not provisioned.
    NotProvisioned,
    /// The user data are on the configuration drive.
    OnDrive,
    /// The request lacks the one-time token on the drive, or has a wrong one.
    WithoutToken,
    /// The handover cannot be recorded, so the user data are not given.
    NotWritten,
}

/// The checksums of two tokens: the one on the machine's drive, and the one in the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The one on the drive.
    pub told: Option<String>,
    /// The one in the request.
    pub shown: Option<String>,
}

/// User data contain keys and tokens, so they are given once, and only soon after the machine was provisioned.
pub fn permit(host: &BareMetalHost, tokens: &Tokens, handover: Handover, now: DateTime<Utc>) -> Permit {
    let Some(status) = &host.status else { return Permit::NotProvisioned };
    if !HostState::of(host).has_user_data() {
        return Permit::NotProvisioned;
    }
    match Channel::of(host) {
        Channel::Drive => return Permit::OnDrive,
        Channel::Url if tokens.told.is_none() || tokens.told != tokens.shown => return Permit::WithoutToken,
        Channel::Url => {}
        Channel::Http if tokens.shown.is_some() => return Permit::WithoutToken,
        Channel::Http => {}
    }
    let provision = status.operation_history.as_ref().and_then(|history| history.provision.as_ref());
    let end = provision.and_then(|provision| parse_rfc3339(provision.end.as_deref()?));
    match (handover, end) {
        (Handover::Again, _) => Permit::Again,
        (Handover::First, Some(end)) if now - end > WINDOW => Permit::Late,
        (Handover::First | Handover::Same, _) => Permit::Given,
    }
}

/// A request of a machine.
struct Asking<'a> {
    mac: MacAddress,
    host: &'a BareMetalHost,
    client: IpAddr,
    /// The checksum of the token in the request.
    shown: Option<String>,
}

/// The metadata service.
pub struct Metadata {
    machines: Kube,
    secrets: Objects<Secret>,
    addresses: Arc<Addresses>,
    recorder: Recorder,
    clock: Clock,
    agents: Objects<Agent>,
    /// Serialises handovers, so that two requests at the same time are not both the first.
    giving: Mutex<()>,
}

impl Metadata {
    /// Starts to watch Secrets; the informer is synced when this returns.
    pub async fn start(manager: &Manager, machines: Kube, addresses: Arc<Addresses>) -> Arc<Self> {
        let secrets: Objects<Secret> = manager.objects();
        secrets.wait_until_synced().await;
        let agents = manager.objects();
        let recorder = manager.recorder("netboot");
        let clock = manager.clock().clone();
        Arc::new(Self { machines, secrets, addresses, recorder, clock, agents, giving: Mutex::default() })
    }

    /// Returns the metadata of a host.
    ///
    /// # Errors
    /// A message about an invalid Secret.
    pub(crate) fn data_of(&self, host: &BareMetalHost) -> Result<Data, String> {
        let namespace = host.metadata.namespace.clone().unwrap_or_default();
        let get = |name: &String| self.secrets.get(&NamespacedName::new(namespace.clone(), name.clone()));
        // A host refers only to Secrets of its own namespace.
        let named = |reference: &Option<SecretReference>| reference.as_ref()?.name.as_ref().and_then(get);
        let spec = &host.spec;
        let (user, meta) = (named(&spec.user_data), named(&spec.meta_data));
        let network = named(&spec.network_data)
            .or_else(|| spec.preprovisioning_network_data_name.as_ref().and_then(get));
        let secrets = Secrets {
            user_data: user.as_deref(),
            meta_data: meta.as_deref(),
            network_data: network.as_deref(),
        };
        Data::of(host, &secrets)
    }

    /// Answers a request for `path`; `None` if the path does not belong to the metadata service.
    pub async fn answer(&self, path: &str, client: IpAddr) -> Option<Response<Body>> {
        let (token, path) = without_token(path);
        let item = find(path)?;
        let mac = self.addresses.holder_of(client).or_else(|| self.machines.agent_at(client));
        let Some((mac, host)) = mac.and_then(|mac| Some((mac, self.machines.host(mac)?))) else {
            tracing::info!(%client, path, "metadata: no host is known at this address");
            return Some(file::text(StatusCode::NOT_FOUND, "no host is known at your address\n"));
        };
        Some(match self.data_of(&host) {
            Ok(data) => {
                let shown = token.map(|token| fingerprint(report_token(token).as_bytes()));
                self.tell(&item, data, &Asking { mac, host: &host, client, shown }).await
            }
            Err(problem) => {
                tracing::warn!(host = host.metadata.name, problem, "metadata");
                file::text(StatusCode::INTERNAL_SERVER_ERROR, format!("{problem}\n"))
            }
        })
    }

    async fn tell(&self, item: &Item, mut data: Data, asking: &Asking<'_>) -> Response<Body> {
        if item.is_secret() && data.user_data.is_some() {
            let permit = self.permit(asking).await;
            if permit == Permit::NotWritten {
                return file::text(StatusCode::SERVICE_UNAVAILABLE, "try again\n");
            }
            self.report(permit, asking);
            if permit != Permit::Given {
                // An installed system asks at each start, and would take an error for a new instance, so it gets empty user data.
                // Ignition asks only at the first start, so it gets 404.
                data.user_data = (*item == Item::UserData).then(|| "#cloud-config\n".to_owned());
            }
        }
        match item.content(&data, asking.client) {
            Some((media_type, text)) => file::typed(StatusCode::OK, media_type, text),
            None => file::not_found(),
        }
    }

    async fn permit(&self, asking: &Asking<'_>) -> Permit {
        let (mac, host, begun) = (asking.mac, asking.host, begun(asking.host));
        let _one = self.giving.lock().await;
        let (now, agent) = (self.clock.now(), self.machines.agent(mac));
        let known = agent.as_ref().and_then(|agent| agent.status.as_ref()?.user_data.as_ref());
        let handover = handover(known, begun, now);
        let told = agent.as_ref().and_then(|agent| drive_token(agent, begun));
        let permit = permit(host, &Tokens { told, shown: asking.shown.clone() }, handover, now);
        if permit != Permit::Given || handover != Handover::First {
            return permit;
        }
        // Recorded before it is given, so that a restarted server knows of the handover.
        match self.note(mac, begun, now).await {
            Ok(()) => Permit::Given,
            Err(error) => {
                tracing::warn!(machine = %mac, %error, "that user data is given cannot be written down: it is not given");
                Permit::NotWritten
            }
        }
    }

    async fn note(&self, mac: MacAddress, begun: &str, now: DateTime<Utc>) -> engine::Result<()> {
        let key = NamespacedName::new("", mac.dashed());
        if self.machines.agent(mac).is_none() {
            let metadata = ObjectMeta { name: Some(key.name.clone()), ..ObjectMeta::default() };
            self.agents.create_if_absent(&Agent { metadata, ..Agent::default() }).await?;
        }
        self.agents.merge(&key, Some("status"), given("userData", begun, now)).await.map(|_| ())
    }

    fn report(&self, permit: Permit, asking: &Asking<'_>) {
        let client = asking.client;
        let minutes = WINDOW.num_minutes();
        let (reason, message) = match permit {
            Permit::Given | Permit::NotWritten => return,
            Permit::Again => (
                "UserDataAskedAgain",
                format!(
                    "{client} asked for the user data, which was given before: it got none. If the machine was not restarted, somebody else has asked"
                ),
            ),
            Permit::Late => (
                "UserDataAskedLate",
                format!(
                    "{client} asked for the user data more than {minutes} minutes after the host was provisioned: it got none"
                ),
            ),
            Permit::OnDrive => (
                "UserDataRefused",
                format!(
                    "{client} asked over HTTP for the user data, which the configuration drive holds: it got none. For an image that does not \
                     read the drive, annotate the host with {USER_DATA}=http before it is provisioned"
                ),
            ),
            Permit::WithoutToken => (
                "UserDataTokenRefused",
                format!(
                    "{client} asked for the user data without the one-time token that stands on the host's configuration drive: it got none. \
                     Somebody else may have asked"
                ),
            ),
            Permit::NotProvisioned => (
                "UserDataRefused",
                format!("{client} asked for the user data of a host that is not provisioned: it got none"),
            ),
        };
        self.recorder.warning(asking.host, &(), reason, message);
    }
}
