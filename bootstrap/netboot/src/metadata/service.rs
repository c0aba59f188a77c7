//! Tells machines what their hosts' objects and Secrets say of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use chrono::{DateTime, Duration, Utc};
use engine::events::Recorder;
use engine::{Manager, NamespacedName, Objects};
use http::{Response, StatusCode};
use k8s_openapi::api::core::v1::Secret;
use machinery::clock::{Clock, parse_rfc3339};
use metal::names::state;
use parking_lot::Mutex;
use schemas::metal3::{BareMetalHost, SecretReference};

use super::data::{Data, Secrets};
use super::tree::{Item, find};
use crate::dhcp4::server::Addresses;
use crate::directory::Kube;
use crate::http::file::{self, Body};
use crate::mac::MacAddress;

/// How long after the end of its provisioning a machine may ask for its user data.
const WINDOW: Duration = Duration::minutes(15);
/// How long a machine may ask for it again in one start: clients try several times.
const SAME_START: Duration = Duration::minutes(2);

/// Whether user data is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Permit {
    /// It is.
    Given,
    /// It was before, in another start of the machine or by another program.
    Again,
    /// Too long ago the machine was provisioned.
    Late,
    /// The host has no image of its own.
    NotProvisioned,
}

/// User data holds keys and tokens: it is given once, soon after the machine was provisioned.
fn permit(host: &BareMetalHost, first: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Permit {
    let Some(status) = &host.status else { return Permit::NotProvisioned };
    if ![state::PROVISIONING, state::PROVISIONED].contains(&status.provisioning.state.as_str()) {
        return Permit::NotProvisioned;
    }
    let provision = status.operation_history.as_ref().and_then(|history| history.provision.as_ref());
    let end = provision.and_then(|provision| parse_rfc3339(provision.end.as_deref()?));
    match (first, end) {
        (Some(first), _) if now - first > SAME_START => Permit::Again,
        (Some(_), _) => Permit::Given,
        (None, Some(end)) if now - end > WINDOW => Permit::Late,
        (None, _) => Permit::Given,
    }
}

/// The metadata service.
pub struct Metadata {
    machines: Kube,
    secrets: Objects<Secret>,
    addresses: Arc<Addresses>,
    recorder: Recorder,
    clock: Clock,
    /// When user data was given first, for the provisioning that began at a time.
    given: Mutex<HashMap<MacAddress, (String, DateTime<Utc>)>>,
}

impl Metadata {
    /// Starts to follow Secrets; all of them are known when it returns.
    pub async fn start(manager: &Manager, machines: Kube, addresses: Arc<Addresses>) -> Arc<Self> {
        let secrets: Objects<Secret> = manager.objects();
        secrets.wait_until_synced().await;
        let recorder = manager.recorder("netboot");
        let clock = manager.clock().clone();
        Arc::new(Self { machines, secrets, addresses, recorder, clock, given: Mutex::default() })
    }

    /// What the host of a machine is told; `None` when the machine is no host's.
    ///
    /// # Errors
    /// What is wrong with a Secret.
    pub fn data(&self, mac: MacAddress) -> Result<Option<Data>, String> {
        let Some(host) = self.machines.host(mac) else { return Ok(None) };
        self.data_of(&host).map(Some)
    }

    fn data_of(&self, host: &BareMetalHost) -> Result<Data, String> {
        let namespace = host.metadata.namespace.clone().unwrap_or_default();
        let get = |name: &String| self.secrets.get(&NamespacedName::new(namespace.clone(), name.clone()));
        // A host refers to Secrets of its own namespace only.
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

    /// Answers a request for `path`; `None` for paths that are others'.
    pub fn answer(&self, path: &str, client: IpAddr) -> Option<Response<Body>> {
        let item = find(path)?;
        let mac = self.addresses.holder_of(client).or_else(|| self.machines.agent_at(client));
        let Some((mac, host)) = mac.and_then(|mac| Some((mac, self.machines.host(mac)?))) else {
            tracing::info!(%client, path, "metadata: no host is known at this address");
            return Some(file::text(StatusCode::NOT_FOUND, "no host is known at your address\n"));
        };
        Some(match self.data_of(&host) {
            Ok(data) => self.tell(&item, data, mac, &host, client),
            Err(problem) => {
                tracing::warn!(host = host.metadata.name, problem, "metadata");
                file::text(StatusCode::INTERNAL_SERVER_ERROR, format!("{problem}\n"))
            }
        })
    }

    fn tell(
        &self,
        item: &Item,
        mut data: Data,
        mac: MacAddress,
        host: &BareMetalHost,
        client: IpAddr,
    ) -> Response<Body> {
        if item.is_secret() && data.user_data.is_some() {
            let permit = self.permit(mac, host);
            self.report(permit, host, client);
            if permit != Permit::Given {
                // An installed system asks in each of its starts, and takes a refusal for the loss of its identity. To Ignition, which
                // asks in the first start only, nothing is told.
                data.user_data = (*item == Item::UserData).then(|| "#cloud-config\n".to_owned());
            }
        }
        match item.content(&data, client) {
            Some((media_type, text)) => file::typed(StatusCode::OK, media_type, text),
            None => file::not_found(),
        }
    }

    fn permit(&self, mac: MacAddress, host: &BareMetalHost) -> Permit {
        let begun =
            (|| host.status.as_ref()?.operation_history.as_ref()?.provision.as_ref()?.start.clone())();
        let begun = begun.unwrap_or_default();
        let now = self.clock.now();
        let mut given = self.given.lock();
        let first = given.get(&mac).filter(|(of, _)| *of == begun).map(|(_, first)| *first);
        let permit = permit(host, first, now);
        if permit == Permit::Given && first.is_none() {
            given.insert(mac, (begun, now));
        }
        permit
    }

    fn report(&self, permit: Permit, host: &BareMetalHost, client: IpAddr) {
        let minutes = WINDOW.num_minutes();
        let (reason, message) = match permit {
            Permit::Given => return,
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
            Permit::NotProvisioned => (
                "UserDataRefused",
                format!("{client} asked for the user data of a host that is not provisioned: it got none"),
            ),
        };
        self.recorder.warning(host, &(), reason, message);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn user_data_is_given_once_and_soon() {
        let host = |state: &str| -> BareMetalHost {
            serde_json::from_value(json!({
                "metadata": { "name": "a" }, "spec": { "online": true },
                "status": {
                    "provisioning": { "state": state },
                    "operationHistory": { "provision": { "end": "2026-11-22T09:00:00Z" } },
                },
            }))
            .unwrap()
        };
        let at = |minutes| parse_rfc3339("2026-11-22T09:00:00Z").unwrap() + Duration::minutes(minutes);
        let cases = [
            ("provisioned", None, 1, Permit::Given),
            ("provisioned", None, 15, Permit::Given),
            ("provisioned", None, 16, Permit::Late),
            ("provisioned", Some(1), 2, Permit::Given),
            ("provisioned", Some(1), 4, Permit::Again),
            ("provisioning", None, 1, Permit::Given),
            ("available", None, 1, Permit::NotProvisioned),
        ];
        for (state, first, minutes, expected) in cases {
            assert_eq!(
                permit(&host(state), first.map(at), at(minutes)),
                expected,
                "{state} {first:?} {minutes}"
            );
        }
    }
}
