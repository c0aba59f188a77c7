//! Determines how a host's machine is reached, from the host and the Secret with its credentials.

use std::sync::Arc;

use bmc::{BmcAddress, BootMode};
use engine::object::annotation;
use engine::{NamespacedName, Objects};
use k8s_openapi::api::core::v1::Secret;
use schemas::bmc_address::Capability;
use schemas::metal3::BareMetalHost;

use crate::control::{Connection, Control};
use crate::host::observed::Means;
use crate::names::{DETACHED, PAUSED, POWER};
use crate::state::HostState;

/// Returns the Secret with the credentials of the host's BMC, if it exists.
pub(crate) fn credentials(host: &BareMetalHost, secrets: &Objects<Secret>) -> Option<Arc<Secret>> {
    let name = host.spec.bmc.as_ref().map(|bmc| bmc.credentials_name.clone())?;
    secrets.get(&NamespacedName::new(host.metadata.namespace.clone().unwrap_or_default(), name))
}

/// Returns how the host's machine is switched on and off, and the connection to its BMC, if it has a usable one.
pub(crate) fn means(host: &BareMetalHost, secret: Option<&Secret>) -> (Means, Option<Connection>) {
    let details = host.spec.bmc.as_ref();
    let Some(bmc) = details.filter(|bmc| !bmc.address.is_empty() || !bmc.credentials_name.is_empty()) else {
        let means = match annotation(host, POWER) {
            Some("manual") => Means::Manual,
            Some("wake-on-lan") => Means::WakeOnLan,
            _ => Means::None,
        };
        return (means, None);
    };
    let unusable = |message: String, is_missing| (Means::Unusable { message, is_missing }, None);
    let name = &bmc.credentials_name;
    if name.is_empty() {
        return unusable(
            "spec.bmc.credentialsName is empty: name a Secret with username and password".to_owned(),
            false,
        );
    }
    let address = match BmcAddress::parse(&bmc.address) {
        Ok(address) => address,
        Err(error) => return unusable(format!("spec.bmc.address {:?}: {error}", bmc.address), false),
    };
    let Some(secret) = secret else {
        let namespace = host.metadata.namespace.as_deref().unwrap_or_default();
        let message = format!(
            "the Secret {namespace}/{name} with the BMC's credentials is not there: create it with the keys username and password"
        );
        return unusable(message, true);
    };
    let (Some(username), Some(password)) = (text(secret, "username"), text(secret, "password")) else {
        return unusable(format!("the Secret {name} must hold username and password, both not empty"), false);
    };
    let means = Means::Bmc {
        credentials: name.clone(),
        version: secret.metadata.resource_version.clone().unwrap_or_default(),
        has_media: address.scheme.can(Capability::AttachMedia),
        boots_media: address.scheme.can(Capability::BootMedia),
    };
    let is_legacy = host.spec.boot_mode.as_deref() == Some("legacy");
    let connection = Connection {
        address,
        username,
        password,
        is_unverified: bmc.disable_certificate_verification == Some(true),
        boot_mode: if is_legacy { BootMode::Legacy } else { BootMode::Uefi },
        boot_mac_address: host.spec.boot_mac_address.clone(),
    };
    (means, Some(connection))
}

/// Returns a trimmed value of a Secret; `None` if it is missing or empty.
pub(crate) fn text(secret: &Secret, key: &str) -> Option<String> {
    let value = secret.data.as_ref()?.get(key)?;
    let text = String::from_utf8_lossy(&value.0).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Returns whether the host is paused or detached, so that its machine must not be touched.
pub(crate) fn is_held(host: &BareMetalHost) -> bool {
    annotation(host, PAUSED).is_some() || annotation(host, DETACHED).is_some()
}

/// The host with the same name as another object, and the access that the controller of that object has to its machine.
pub(crate) enum Beside {
    /// The host does not exist.
    Nobody,
    /// The host is new, unmanaged, paused or detached: its machine must not be touched.
    Untouched(Arc<BareMetalHost>),
    /// The host has no usable BMC; the message says why and how to fix it.
    Unusable(Arc<BareMetalHost>, String),
    /// The host's BMC can be used.
    Machine(Arc<BareMetalHost>, Connection),
}

/// The access to hosts for the controllers of objects that belong to hosts.
pub(crate) struct Hosts {
    pub(crate) hosts: Objects<BareMetalHost>,
    pub(crate) secrets: Objects<Secret>,
    pub(crate) control: Arc<dyn Control>,
}

impl Hosts {
    /// Returns the host of this name, and whether its BMC can be used.
    pub(crate) fn beside(&self, key: &NamespacedName) -> Beside {
        let Some(host) = self.hosts.get(key) else { return Beside::Nobody };
        let (means, connection) = means(&host, credentials(&host, &self.secrets).as_deref());
        match (means, connection) {
            _ if is_held(&host) => Beside::Untouched(host),
            (_, Some(_)) if !HostState::of(&host).is_managed() => Beside::Untouched(host),
            (_, Some(connection)) => Beside::Machine(host, connection),
            (Means::Unusable { message, .. }, None) => Beside::Unusable(host, message),
            (_, None) => {
                let message = "the host has no BMC: set spec.bmc of the BareMetalHost".to_owned();
                Beside::Unusable(host, message)
            }
        }
    }
}
