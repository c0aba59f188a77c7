//! The operating systems on the disks of the fleet: a machine that starts from its disk becomes a Node of its cluster, as its user
//! data say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use engine::names::CONTROL_PLANE;
use engine::object::{label, uid};
use engine::{Manager, NamespacedName, Objects, owners};
use k8s_openapi::api::core::v1::Secret;
use machinery::hash::fnv1a_64;
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::Metal3Machine;
use schemas::metal3::BareMetalHost;
use simulated::Backend;
use simulated::workload::Authorities;
use simulated::workload::objects::Host;
use simulated::workload::part::Part;

use super::machines::Machines;

/// The label with which a kubelet says on which host it runs.
const HOST_UUID: &str = "metal3.io/uuid";
/// How often the operating systems run.
const TICK: Duration = Duration::from_secs(1);

/// The operating systems of all machines. Their clusters end with a life of the server and start again in the next one, because they
/// run in its runtime.
pub struct Guests {
    backend: Backend,
    hosts: Objects<BareMetalHost>,
    metal3_machines: Objects<Metal3Machine>,
    machines: Objects<Machine>,
    clusters: Objects<Cluster>,
    secrets: Objects<Secret>,
    manager: Manager,
    running: BTreeMap<String, NamespacedName>,
}

/// A machine that runs its system.
struct Guest {
    host: Host,
    cluster: Arc<Cluster>,
}

impl Guests {
    /// Creates the operating systems. The API servers of their clusters listen on `address`.
    pub fn new(manager: &Manager, address: &str) -> Self {
        Self {
            backend: Backend::new(manager, address),
            hosts: manager.objects(),
            metal3_machines: manager.objects(),
            machines: manager.objects(),
            clusters: manager.objects(),
            secrets: manager.objects(),
            manager: manager.clone(),
            running: BTreeMap::new(),
        }
    }

    /// Runs the operating systems until the future is dropped.
    ///
    /// # Errors
    /// A machine runs with the data of another one.
    pub async fn serve(mut self, machines: &Machines) -> Result<()> {
        loop {
            self.step(machines).await?;
            self.manager.clock().sleep(TICK).await;
        }
    }

    async fn step(&mut self, machines: &Machines) -> Result<()> {
        let mut expected: BTreeMap<NamespacedName, BTreeSet<String>> = BTreeMap::new();
        let mut guests = Vec::new();
        for host in self.hosts.all() {
            if let Some(guest) = self.guest(&host, machines)? {
                let names = expected.entry(NamespacedName::of(guest.cluster.as_ref())).or_default();
                names.insert(guest.host.name.clone());
                guests.push(guest);
            }
        }
        for (name, cluster) in std::mem::take(&mut self.running) {
            if expected.get(&cluster).is_some_and(|names| names.contains(&name)) {
                self.running.insert(name, cluster);
            } else if let Some(workload) = self.backend.get(&cluster).await {
                workload.stop(&name).await?;
            }
        }
        // A control plane is there before the others join it.
        guests.sort_by_key(|guest| !guest.host.control_plane);
        for guest in &guests {
            let cluster = NamespacedName::of(guest.cluster.as_ref());
            self.run(guest, &cluster, &expected).await?;
            self.running.insert(guest.host.name.clone(), cluster);
        }
        Ok(())
    }

    /// Returns the system on the disk of a host, if it runs.
    fn guest(&self, host: &BareMetalHost, machines: &Machines) -> Result<Option<Guest>> {
        let mac = host.spec.boot_mac_address.clone().unwrap_or_default();
        let state = machines.with(&mac, |machine| machine.clone());
        let is_agent = state.boot.is_some() || state.calls_at.is_some();
        let (Some(user_data), true, false) = (state.user_data, state.is_on, is_agent) else {
            return Ok(None);
        };
        let Some(consumer) = host.spec.consumer_ref.as_ref().and_then(|consumer| consumer.name.as_deref())
        else {
            return Ok(None);
        };
        let namespace = host.metadata.namespace.clone().unwrap_or_default();
        let name = |name: &str| NamespacedName::new(namespace.as_str(), name);
        let Some(metal3_machine) = self.metal3_machines.get(&name(consumer)) else { return Ok(None) };
        let machine = owners::find(metal3_machine.as_ref(), "cluster.x-k8s.io", Machine::KIND)
            .and_then(|owner| self.machines.get(&name(&owner.name)));
        let Some(machine) = machine else { return Ok(None) };
        let Some(cluster) = self.clusters.get(&name(&machine.spec.cluster_name)) else { return Ok(None) };
        let control_plane = label(machine.as_ref(), CONTROL_PLANE).is_some();
        let endpoint = cluster.spec.control_plane_endpoint.clone().unwrap_or_default();
        let port = endpoint.port.unwrap_or_default().to_string();
        ensure!(
            user_data.contains(&port),
            "{mac} runs with the data of another cluster than {}",
            machine.spec.cluster_name
        );
        let host = Host {
            name: host.metadata.name.clone().unwrap_or_default(),
            version: machine.spec.version.clone().unwrap_or_default(),
            control_plane,
            member_id: fnv1a_64(uid(machine.as_ref()).as_bytes()),
            cluster_id: fnv1a_64(uid(cluster.as_ref()).as_bytes()),
            provider_id: None,
            endpoint: None,
            labels: BTreeMap::from([(HOST_UUID.to_owned(), uid(host).to_owned())]),
            addresses: Vec::new(),
        };
        Ok(Some(Guest { host, cluster }))
    }

    async fn run(
        &self,
        guest: &Guest,
        cluster: &NamespacedName,
        expected: &BTreeMap<NamespacedName, BTreeSet<String>>,
    ) -> Result<()> {
        let endpoint = guest.cluster.spec.control_plane_endpoint.clone().unwrap_or_default();
        let port = endpoint.port.and_then(|port| u16::try_from(port).ok());
        // The Secrets may not exist for a moment, when the Cluster is deleted.
        let Ok(authorities) = Authorities::of_secrets(&self.secrets, cluster) else { return Ok(()) };
        let (workload, _) = self.backend.start(cluster, port, &BTreeSet::new()).await?;
        for part in simulated::machine::plan::parts(guest.host.control_plane) {
            if *part != Part::Vm {
                workload.start(&guest.host, *part, &authorities).await?;
            }
        }
        workload.open_when_complete(expected.get(cluster).unwrap_or(&BTreeSet::new()));
        Ok(())
    }
}
