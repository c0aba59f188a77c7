//! The Services that Pods reach by their names. The kinds have no addresses for them, because no other machine could use these; so each gets one
//! here, when it is first asked for.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;

use engine::{Manager, NamespacedName, Objects};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use kube::ResourceExt;
use parking_lot::Mutex;
use pod_network::FIRST_SERVICE;
use workloads::address_on_host;

/// The label of an EndpointSlice with the name of its Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// Services with an address. Beyond it, those that do not exist any more lose theirs, and their addresses are used again.
pub const SERVICES: usize = 32_000;

/// Returns where the Pod with such a UID listens for this port, if it uses the network of this machine.
pub(crate) type OnHost = Box<dyn Fn(&dyn Fn(&str) -> bool, u16) -> Option<SocketAddr> + Send + Sync>;

/// The Services of the API server.
pub(crate) struct Services {
    services: Objects<Service>,
    slices: Objects<EndpointSlice>,
    on_host: OnHost,
    addresses: Mutex<Addresses>,
}

/// The addresses of Services.
#[derive(Default)]
pub struct Addresses {
    names: BTreeMap<Ipv4Addr, NamespacedName>,
    of: BTreeMap<NamespacedName, Ipv4Addr>,
}

impl Services {
    pub(crate) fn new(manager: &Manager, on_host: OnHost) -> Self {
        let (services, slices) = (manager.objects(), manager.objects());
        Self { services, slices, on_host, addresses: Mutex::default() }
    }

    /// Returns the slices of the Service with this address, and the name of its port.
    fn port(&self, address: SocketAddrV4) -> Option<(Vec<Arc<EndpointSlice>>, String)> {
        let key = self.addresses.lock().names.get(address.ip())?.clone();
        let service = self.services.get(&key)?;
        let mut ports = service.spec.as_ref()?.ports.iter().flatten();
        let port = ports.find(|port| u16::try_from(port.port) == Ok(address.port()))?;
        Some((self.slices(&key), port.name.clone().unwrap_or_default()))
    }

    fn slices(&self, service: &NamespacedName) -> Vec<Arc<EndpointSlice>> {
        let mut slices = self.slices.cache().in_namespace(&service.namespace);
        slices.retain(|slice| slice.labels().get(SERVICE_NAME) == Some(&service.name));
        slices
    }
}

impl pod_network::Services for Services {
    fn addresses(&self, namespace: &str, name: &str) -> Option<Vec<Ipv4Addr>> {
        let key = NamespacedName::new(namespace, name);
        let service = self.services.get(&key)?;
        let address = service.spec.as_ref().and_then(|spec| spec.cluster_ip.as_deref());
        if address == Some("None") {
            return Some(self.slices(&key).iter().flat_map(|slice| ready(slice)).collect());
        }
        let is_there = |name: &NamespacedName| self.services.get(name).is_some();
        Some(self.addresses.lock().of(&key, is_there).into_iter().collect())
    }

    fn endpoint(&self, address: SocketAddrV4) -> Option<SocketAddr> {
        let (slices, name) = self.port(address)?;
        slices.iter().find_map(|slice| endpoint(slice, &name))
    }

    fn endpoint_on_host(&self, address: SocketAddrV4) -> Option<SocketAddr> {
        // The kubelet's word counts, and not addresses that others may write.
        let is_at = |uid: &str| address_on_host(uid) == *address.ip();
        if let Some(found) = (self.on_host)(&is_at, address.port()) {
            return Some(found);
        }
        let (slices, name) = self.port(address)?;
        slices.iter().find_map(|slice| {
            let port = number(slice, &name)?;
            let mut pods =
                ready_endpoints(slice).filter_map(|endpoint| endpoint.target_ref.as_ref()?.uid.as_deref());
            pods.find_map(|uid| (self.on_host)(&|known| known == uid, port))
        })
    }
}

impl Addresses {
    /// Returns the address of a Service; `None` if all are taken.
    pub fn of(
        &mut self,
        key: &NamespacedName,
        is_there: impl Fn(&NamespacedName) -> bool,
    ) -> Option<Ipv4Addr> {
        if let Some(address) = self.of.get(key) {
            return Some(*address);
        }
        if self.of.len() >= SERVICES {
            self.of.retain(|name, _| is_there(name));
            self.names.retain(|_, name| is_there(name));
        }
        let all = (u32::from(FIRST_SERVICE)..).take(SERVICES).map(Ipv4Addr::from);
        let address = match self.names.last_key_value().map(|(last, _)| u32::from(*last) + 1) {
            // The next one is free, and most likely within the range.
            Some(next) if next < u32::from(FIRST_SERVICE) + u32::try_from(SERVICES).unwrap_or_default() => {
                Some(Ipv4Addr::from(next))
            }
            _ => all.into_iter().find(|address| !self.names.contains_key(address)),
        }?;
        self.names.insert(address, key.clone());
        self.of.insert(key.clone(), address);
        Some(address)
    }
}

fn ready_endpoints(slice: &EndpointSlice) -> impl Iterator<Item = &Endpoint> {
    slice.endpoints.iter().flatten().filter(|endpoint| {
        endpoint.conditions.as_ref().and_then(|conditions| conditions.ready) != Some(false)
    })
}

/// Returns the addresses of the ready Pods.
pub fn ready(slice: &EndpointSlice) -> impl Iterator<Item = Ipv4Addr> {
    ready_endpoints(slice).filter_map(|endpoint| endpoint.addresses.first()?.parse().ok())
}

/// Returns the number of the port of this name.
fn number(slice: &EndpointSlice, name: &str) -> Option<u16> {
    let mut ports = slice.ports.iter().flatten();
    let port = ports.find(|port| port.name.as_deref().unwrap_or_default() == name)?;
    u16::try_from(port.port?).ok()
}

/// Returns the first ready address with the port of this name.
pub fn endpoint(slice: &EndpointSlice, name: &str) -> Option<SocketAddr> {
    let port = number(slice, name)?;
    Some(SocketAddr::new(IpAddr::V4(ready(slice).next()?), port))
}
