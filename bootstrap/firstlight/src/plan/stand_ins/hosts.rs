//! The machines of other providers as members of their simulated workload clusters: their Nodes, and for a control plane its static Pods.
//!
//! Invariant: a workload cluster answers only when all machines that are provisioned have their Nodes. So no controller takes a machine that
//! was running before for one that has lost its Node.

use machinery::meta::{is_deleting, name, namespace};
use std::collections::{BTreeMap, BTreeSet};

use engine::{Manager, NamespacedName, Objects};
use k8s_openapi::api::core::v1::Secret;
use machinery::hash::fnv1a_64;
use serde_json::Value;
use simulated::Backend;
use simulated::workload::Authorities;
use simulated::workload::objects::Host;
use simulated::workload::part::Part;

use super::pools::{self, Versions};
use crate::plan::certificates::endpoint;
use crate::plan::object::{Reference, is_foreign, label};
use crate::plan::view::View;
use crate::tree::conditions::is_provisioned;

/// The host of a control plane without Machines. It has no Node.
const CONTROL_PLANE: &str = "control-plane";

/// The running machines.
pub(super) struct Hosts {
    manager: Manager,
    secrets: Objects<Secret>,
    /// By the host of the endpoint.
    backends: BTreeMap<String, Backend>,
    /// The running machines, by the key of their infrastructure object.
    running: BTreeMap<String, Guest>,
    failures: Vec<String>,
}

/// A machine that runs.
#[derive(Clone)]
struct Guest {
    host: Host,
    cluster: NamespacedName,
    /// Host and port of the API server.
    endpoint: (String, u16),
    parts: &'static [Part],
}

impl Hosts {
    pub(super) fn new(manager: &Manager) -> Self {
        Self {
            manager: manager.clone(),
            secrets: manager.objects(),
            backends: BTreeMap::new(),
            running: BTreeMap::new(),
            failures: Vec::new(),
        }
    }

    /// Returns whether no machine runs.
    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Starts the machines that are provisioned, and stops those that are deleted. Returns the clusters whose machines cannot start yet,
    /// because they have no certificate authorities.
    pub(super) async fn run(&mut self, view: &View) -> BTreeSet<NamespacedName> {
        let wanted = guests(view);
        let gone: Vec<String> =
            self.running.keys().filter(|key| !wanted.contains_key(*key)).cloned().collect();
        for key in gone {
            if let Some(guest) = self.running.remove(&key) {
                self.stop(&guest).await;
            }
        }
        let mut new: Vec<(&String, &Guest)> =
            wanted.iter().filter(|(key, _)| !self.running.contains_key(*key)).collect();
        if new.is_empty() {
            return BTreeSet::new();
        }
        // A control plane is there before others join it.
        new.sort_by_key(|(key, guest)| (!guest.host.control_plane, *key));
        self.secrets.wait_until_synced().await;
        let mut secretless = BTreeSet::new();
        for (key, guest) in new {
            match self.start(guest).await {
                Ok(true) => {}
                Ok(false) => {
                    secretless.insert(guest.cluster.clone());
                    continue;
                }
                // It would fail again.
                Err(error) => self.failures.push(format!("the stand-in for {key} cannot start: {error}")),
            }
            self.running.insert(key.clone(), guest.clone());
        }
        self.open(&wanted).await;
        secretless
    }

    /// Returns the versions of the running machines, by provider ID.
    pub(super) fn versions(&self) -> Versions<'_> {
        let hosts = self.running.values().map(|guest| &guest.host);
        hosts.filter_map(|host| Some((host.provider_id.as_deref()?, host.version.as_str()))).collect()
    }

    /// Returns what went wrong, each a sentence.
    pub(super) fn failures(&self) -> &[String] {
        &self.failures
    }

    /// Starts a machine. Returns whether it runs: the authorities of its cluster may not be there yet.
    async fn start(&mut self, guest: &Guest) -> Result<bool, String> {
        let Ok(authorities) = Authorities::of_secrets(&self.secrets, &guest.cluster) else {
            return Ok(false);
        };
        let backend = self.backend(&guest.endpoint.0).clone();
        let port = Some(guest.endpoint.1);
        let started = backend.start(&guest.cluster, port, &BTreeSet::new()).await;
        let (workload, _) = started.map_err(|error| error.to_string())?;
        for part in guest.parts {
            workload.start(&guest.host, *part, &authorities).await.map_err(|error| error.to_string())?;
        }
        Ok(true)
    }

    async fn stop(&mut self, guest: &Guest) {
        let backend = self.backend(&guest.endpoint.0).clone();
        let Some(workload) = backend.get(&guest.cluster).await else { return };
        if let Err(error) = workload.stop(&guest.host.name).await {
            self.failures.push(format!("the stand-in for Node {} cannot stop: {error}", guest.host.name));
        }
    }

    /// Opens the clusters whose machines run.
    async fn open(&mut self, wanted: &BTreeMap<String, Guest>) {
        let mut nodes: BTreeMap<NamespacedName, (String, BTreeSet<String>)> = BTreeMap::new();
        for (key, guest) in wanted {
            // A machine that runs keeps the name of its Node.
            let guest = self.running.get(key).unwrap_or(guest);
            let (_, names) = nodes
                .entry(guest.cluster.clone())
                .or_insert_with(|| (guest.endpoint.0.clone(), BTreeSet::new()));
            if guest.parts.contains(&Part::Node) {
                names.insert(guest.host.name.clone());
            }
        }
        for (cluster, (host, names)) in nodes {
            if let Some(workload) = self.backend(&host).clone().get(&cluster).await {
                workload.open_when_complete(&names);
            }
        }
    }

    fn backend(&mut self, host: &str) -> &Backend {
        let manager = &self.manager;
        self.backends.entry(host.to_owned()).or_insert_with(|| Backend::new(manager, host))
    }
}

/// Returns the machines that run, by the key of their infrastructure object, or of their control plane.
fn guests(view: &View) -> BTreeMap<String, Guest> {
    let machines = view.of_kind("Machine").filter_map(|machine| guest(view, machine));
    let clusters = view.of_kind("Cluster").filter_map(|cluster| control_plane(view, cluster));
    let known = pools::ids_of_machines(view);
    let pools = view.of_kind("MachinePool").filter_map(|pool| of_pool(view, pool, &known));
    machines.chain(clusters).chain(pools.flatten()).collect()
}

/// Returns the machines of a pool, but for those that `known` Machines have.
fn of_pool(view: &View, pool: &Value, known: &BTreeSet<&str>) -> Option<Vec<(String, Guest)>> {
    let found = view.referenced(&pool["spec"]["template"]["spec"]["infrastructureRef"], namespace(pool))?;
    if !is_foreign(found) || !is_provisioned(found) || is_deleting(found) {
        return None;
    }
    let (cluster_name, cluster) = cluster_of(view, pool)?;
    let guest = |id: &str| {
        let key = format!("{} {id}", Reference::of(found).key());
        // A provider ID can have more characters, and others, than the name of a Node may have.
        let node = format!("node-{:016x}", fnv1a_64(key.as_bytes()));
        let host = Host {
            version: pools::version(pool).to_owned(),
            provider_id: Some(id.to_owned()),
            ..host(&node, false, found, cluster)?
        };
        let endpoint = endpoint(cluster)?;
        let guest = Guest { host, cluster: cluster_name.clone(), endpoint, parts: &[Part::Node] };
        Some((key, guest))
    };
    Some(pools::provider_ids(found).filter(|id| !known.contains(id)).filter_map(guest).collect())
}

/// Returns the Cluster of a Machine or MachinePool, and its name.
fn cluster_of<'a>(view: &'a View, object: &Value) -> Option<(NamespacedName, &'a Value)> {
    let (space, name) = (namespace(object), object["spec"]["clusterName"].as_str()?);
    Some((NamespacedName::new(space, name), view.cluster(space, name)?))
}

fn guest(view: &View, machine: &Value) -> Option<(String, Guest)> {
    let space = namespace(machine);
    let found = view.referenced(&machine["spec"]["infrastructureRef"], space)?;
    if !is_foreign(found) || !is_provisioned(found) || is_deleting(found) {
        return None;
    }
    let (cluster_name, cluster) = cluster_of(view, machine)?;
    let is_control_plane = label(machine, engine::names::CONTROL_PLANE).is_some();
    let id = machine["spec"]["providerID"].as_str().or_else(|| found["spec"]["providerID"].as_str());
    let node = machine["status"]["nodeRef"]["name"].as_str().unwrap_or_else(|| name(machine));
    let host = Host {
        version: machine["spec"]["version"].as_str().unwrap_or_default().to_owned(),
        provider_id: id.map(str::to_owned),
        ..host(node, is_control_plane, found, cluster)?
    };
    let parts: &[Part] =
        if is_control_plane { &[Part::Node, Part::Etcd, Part::ApiServer] } else { &[Part::Node] };
    Some((
        Reference::of(found).key(),
        Guest { host, cluster: cluster_name, endpoint: endpoint(cluster)?, parts },
    ))
}

/// Returns the API server of a cluster whose control plane has no Machines.
fn control_plane(view: &View, cluster: &Value) -> Option<(String, Guest)> {
    let found = view.referenced(&cluster["spec"]["controlPlaneRef"], namespace(cluster))?;
    let status = &found["status"];
    let is_initialized =
        status["initialization"]["controlPlaneInitialized"] == true || status["initialized"] == true;
    if !is_foreign(found) || !is_initialized || is_deleting(found) {
        return None;
    }
    let version = found["spec"]["version"].as_str().unwrap_or_default().to_owned();
    let host = Host { version, ..host(CONTROL_PLANE, true, found, cluster)? };
    let name = NamespacedName::new(namespace(cluster), name(cluster));
    let parts = &[Part::ApiServer];
    Some((Reference::of(found).key(), Guest { host, cluster: name, endpoint: endpoint(cluster)?, parts }))
}

fn host(node: &str, control_plane: bool, object: &Value, cluster: &Value) -> Option<Host> {
    let id = |object: &Value| {
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        fnv1a_64(uid.as_bytes())
    };
    Some(Host {
        name: node.to_owned(),
        version: String::new(),
        control_plane,
        member_id: id(object),
        cluster_id: id(cluster),
        provider_id: None,
        labels: BTreeMap::new(),
        addresses: vec![endpoint(cluster)?.0],
        endpoint: None,
    })
}
