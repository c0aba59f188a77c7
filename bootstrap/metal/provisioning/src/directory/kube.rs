//! A [`Directory`] over objects of the API: a BareMetalHost describes a machine, an Agent records a machine that has started before,
//! and a DHCPLease its address.

use std::net::Ipv4Addr;

use agent_protocol::dhcp::MacAddress;
use engine::{Manager, NamespacedName, Objects};
use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinery::clock::{parse_rfc3339, rfc3339};
use metal_boot::Error;
use metal_boot::machine::{Boot, Directory, Lease, Machine};
use metrics::Limits;
use parking_lot::Mutex;
use schemas::metal3::{BareMetalHost, PreprovisioningImage};
use schemas::netboot::{Agent, DHCPLease, DhcpLeaseSpec};
use serde_json::json;
use std::sync::Arc;

use super::token::{BY_TOKEN, ClearTokens};
use metal::bootstrap::begun;
use metal::state::{NetworkBoot, network_boot};

const BY_MAC: &str = "netboot-mac";
const BY_ADDRESS: &str = "netboot-address";
/// The index of agents by the token on their configuration drives.
const BY_DRIVE: &str = "netboot-drive";
/// Annotation on a BareMetalHost: the address that is reserved for its machine.
pub const ADDRESS: &str = "netboot.firstlight.dev/address";

/// The machines in the API. Cheap to clone.
#[derive(Clone)]
pub struct Kube {
    pub(super) hosts: Objects<BareMetalHost>,
    pub(super) agents: Objects<Agent>,
    pub(super) leases: Objects<DHCPLease>,
    pub(super) images: Objects<PreprovisioningImage>,
    pub(super) told: Arc<Mutex<ClearTokens>>,
    pub(super) limits: Limits,
    discovers: bool,
}

impl Kube {
    /// Starts to watch the objects; the informers are synced when this returns. With `discovers`, machines without a BareMetalHost
    /// start the agent, so that they can be inspected and approved; otherwise they start from their disks.
    pub async fn start(manager: &Manager, discovers: bool) -> Self {
        let kube = Self {
            hosts: manager.objects(),
            agents: manager.objects(),
            leases: manager.objects(),
            images: manager.objects(),
            told: Arc::default(),
            limits: Limits::of(manager.all_metrics()),
            discovers,
        };
        kube.hosts.index(BY_MAC, |host: &BareMetalHost| {
            host.spec.boot_mac_address.iter().filter_map(|text| canonical(text)).collect()
        });
        kube.hosts.index(BY_ADDRESS, |host: &BareMetalHost| {
            engine::object::annotation(host, ADDRESS).map(str::to_owned).into_iter().collect()
        });
        metal::host::index_agents(&kube.agents);
        kube.agents.index(BY_ADDRESS, |agent: &Agent| {
            agent.status.iter().filter_map(|status| status.address.clone()).collect()
        });
        kube.agents.index(BY_TOKEN, |agent: &Agent| {
            agent.status.iter().filter_map(|status| status.boot_token_sha256.clone()).collect()
        });
        kube.agents.index(BY_DRIVE, |agent: &Agent| {
            let drive = agent.status.iter().filter_map(|status| status.config_drive.as_ref());
            drive.filter_map(|drive| drive.token_sha256.clone()).collect()
        });
        kube.leases.index(BY_ADDRESS, |lease: &DHCPLease| vec![lease.spec.ip_address.clone()]);
        kube.hosts.wait_until_synced().await;
        kube.agents.wait_until_synced().await;
        kube.leases.wait_until_synced().await;
        kube.images.wait_until_synced().await;
        kube
    }

    /// Returns the Agent of the machine.
    pub(crate) fn agent(&self, mac: MacAddress) -> Option<Arc<Agent>> {
        self.agents.get(&NamespacedName::new("", mac.dashed()))
    }

    /// Returns the host of the machine: by its `bootMACAddress`, otherwise by the `hostRef` of its Agent.
    pub(crate) fn host(&self, mac: MacAddress) -> Option<Arc<BareMetalHost>> {
        let described = self.hosts.by_index(BY_MAC, &mac.to_string()).into_iter().next();
        described.or_else(|| self.hosts.get(&metal::host::host_of(self.agent(mac)?.as_ref())?))
    }

    /// Returns the host whose configuration drive has a token with this checksum.
    pub(crate) fn host_of_drive(&self, sha256: &str) -> Option<Arc<BareMetalHost>> {
        let agents = self.agents.by_index(BY_DRIVE, sha256);
        let agent = agents.first()?;
        let host = self.hosts.get(&metal::host::host_of(agent.as_ref())?)?;
        drive_token(agent, begun(&host))?;
        Some(host)
    }

    /// Returns the host's `bootMACAddress`, if it has one.
    pub(crate) fn boots_from(&self, host: &NamespacedName) -> Option<MacAddress> {
        self.hosts.get(host)?.spec.boot_mac_address.as_deref()?.parse().ok()
    }

    /// Returns the host with this name.
    pub(crate) fn host_named(&self, key: &NamespacedName) -> Option<Arc<BareMetalHost>> {
        self.hosts.get(key)
    }

    /// Returns the machine whose agent uses `address` and belongs to a host, for networks in which another server gives addresses.
    pub(crate) fn agent_at(&self, address: std::net::IpAddr) -> Option<MacAddress> {
        let agents = self.agents.by_index(BY_ADDRESS, &address.to_canonical().to_string());
        match agents.as_slice() {
            [agent] if agent.spec.host_ref.is_some() => agent.metadata.name.as_deref()?.parse().ok(),
            // With several agents, the address belonged to another machine before, and is no evidence.
            _ => None,
        }
    }

    fn reserved(&self, mac: MacAddress, host: Option<&BareMetalHost>) -> Option<Ipv4Addr> {
        let named = host.and_then(|host| engine::object::annotation(host, ADDRESS)?.parse().ok());
        named.or_else(|| {
            let lease = self.leases.get(&NamespacedName::new("", mac.dashed()))?;
            let is_for_good = lease.spec.expiration_time.is_none();
            is_for_good.then(|| lease.spec.ip_address.parse().ok()).flatten()
        })
    }
}

/// Returns the checksum of the token on the configuration drive of the provisioning that began at `begun`.
pub(crate) fn drive_token(agent: &Agent, begun: &str) -> Option<String> {
    let drive = agent.status.as_ref()?.config_drive.as_ref()?;
    let is_of_now = parse_rfc3339(&drive.time)? >= parse_rfc3339(begun)?;
    is_of_now.then(|| drive.token_sha256.clone()).flatten()
}

/// Returns a MAC address in the form that the indexes use.
fn canonical(text: &str) -> Option<String> {
    text.parse::<MacAddress>().ok().map(|mac| mac.to_string())
}

impl Directory for Kube {
    fn machine(&self, mac: MacAddress) -> Machine {
        let (host, agent) = (self.host(mac), self.agent(mac));
        let reserved = self.reserved(mac, host.as_deref());
        let boot = match &host {
            Some(host) => match network_boot(host, agent.as_deref()) {
                NetworkBoot::Agent => Boot::Agent,
                NetworkBoot::Disk => Boot::Disk,
            },
            None if self.discovers => Boot::Agent,
            None => Boot::Disk,
        };
        Machine {
            known: host.is_some() || reserved.is_some(),
            reserved,
            host_name: host.and_then(|host| host.metadata.name.clone()),
            boot,
        }
    }

    fn reserved_for(&self, address: Ipv4Addr) -> Option<MacAddress> {
        let text = address.to_string();
        let of_host = |host: &Arc<BareMetalHost>| {
            if let Some(mac) = &host.spec.boot_mac_address {
                return mac.parse().ok();
            }
            let name = NamespacedName::of(host.as_ref());
            let agents =
                self.agents.by_index(metal::host::BY_HOST, &format!("{}/{}", name.namespace, name.name));
            agents.first()?.metadata.name.as_deref()?.parse().ok()
        };
        let hosts = self.hosts.by_index(BY_ADDRESS, &text);
        hosts.iter().find_map(of_host).or_else(|| {
            let leases = self.leases.by_index(BY_ADDRESS, &text);
            let for_good = leases.iter().find(|lease| lease.spec.expiration_time.is_none());
            for_good?.spec.mac_address.parse().ok()
        })
    }

    fn leases(&self) -> Vec<Lease> {
        self.leases.all().iter().filter_map(|lease| read(&lease.spec)).collect()
    }

    fn write_lease(&self, lease: Lease) -> BoxFuture<'_, Result<(), Error>> {
        async move {
            let what = format!("write the lease of machine {}", lease.mac);
            let failed = |source: engine::Error| Error::Directory { what, source: Box::new(source) };
            let key = NamespacedName::new("", lease.mac.dashed());
            let object = DHCPLease {
                metadata: ObjectMeta { name: Some(key.name.clone()), ..ObjectMeta::default() },
                spec: written(&lease),
            };
            let (existing, is_new) = match self.leases.create_if_absent(&object).await {
                Ok(created) => created,
                Err(error) => return Err(failed(error)),
            };
            if is_new {
                return Ok(());
            }
            let patch = patch(&existing.spec, &lease);
            match self.leases.merge(&key, None, json!({ "spec": patch })).await {
                Ok(_) => Ok(()),
                // The object was deleted in between.
                Err(error) if error.is_not_found() => {
                    self.leases.create(&object).await.map(|_| ()).map_err(failed)
                }
                Err(error) => Err(failed(error)),
            }
        }
        .boxed()
    }

    fn remove_lease(&self, mac: MacAddress) -> BoxFuture<'_, Result<(), Error>> {
        async move {
            let lease = self.leases.get(&NamespacedName::new("", mac.dashed()));
            let Some(lease) = lease.filter(|lease| lease.spec.expiration_time.is_some()) else {
                return Ok(());
            };
            let what = format!("remove the lease of machine {mac}");
            let removed = self.leases.delete(lease.as_ref()).await;
            removed.map_err(|source| Error::Directory { what, source: Box::new(source) })
        }
        .boxed()
    }
}

/// Returns the lease as the spec of an object.
pub fn written(lease: &Lease) -> DhcpLeaseSpec {
    DhcpLeaseSpec {
        architecture: lease.architecture.clone(),
        boot_token_sha256: None,
        boot_token_time: None,
        expiration_time: Some(rfc3339(lease.expires)),
        hostname: lease.host_name.clone(),
        interface: Some(lease.interface.clone()),
        ip_address: lease.address.to_string(),
        mac_address: lease.mac.to_string(),
        relay_address: lease.relay.map(|relay| relay.to_string()),
        vendor_class: lease.vendor_class.clone(),
    }
}

/// Returns the merge patch for an existing object. A lease without `expirationTime` is a reservation and stays one; an architecture
/// that the installed system does not send stays as stored.
pub fn patch(existing: &DhcpLeaseSpec, lease: &Lease) -> serde_json::Value {
    let mut patch = json!({
        "ipAddress": lease.address.to_string(),
        "hostname": lease.host_name,
        "interface": lease.interface,
        "relayAddress": lease.relay.map(|relay| relay.to_string()),
    });
    if existing.expiration_time.is_some() {
        patch["expirationTime"] = rfc3339(lease.expires).into();
    }
    if let Some(architecture) = &lease.architecture {
        patch["architecture"] = architecture.as_str().into();
        patch["vendorClass"] = lease.vendor_class.as_deref().into();
    }
    patch
}

/// Returns the lease of an object; `None` for a reservation and for an invalid object.
pub fn read(spec: &DhcpLeaseSpec) -> Option<Lease> {
    Some(Lease {
        mac: spec.mac_address.parse().ok()?,
        address: spec.ip_address.parse().ok()?,
        expires: parse_rfc3339(spec.expiration_time.as_deref()?)?,
        host_name: spec.hostname.clone(),
        interface: spec.interface.clone().unwrap_or_default(),
        relay: spec.relay_address.as_deref().and_then(|relay| relay.parse().ok()),
        architecture: spec.architecture.clone(),
        vendor_class: spec.vendor_class.clone(),
    })
}
