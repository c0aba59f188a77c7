//! A host of system containers in memory: what runs them, what they are made of, and their load balancers. It counts what is changed on it,
//! and lets a process end at any change.
#![allow(clippy::unwrap_used, missing_docs, reason = "helpers of tests")]

mod runtime;
mod supplies;

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Result, bail};
use chrono::{DateTime, TimeDelta};
use container_machines::{Nodes, Parts};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use parking_lot::Mutex;
use serde_json::json;
use system_containers::balancer::Configuration;
use system_containers::{Container, State};
use test_plane::requests::Moment;
use tokio::sync::Notify;

/// How bootstraps end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ends {
    #[default]
    Completed,
    /// Its second step exits with status 3.
    Failed,
    /// Its second step lasts too long.
    TimedOut,
    /// Its first step lasts for ever, and the node does not notice the end of its time.
    Never,
    /// The same, and no command in the node ends any more.
    Silent,
}

/// A container, and what was done in it.
#[derive(Debug, Clone)]
pub struct Machine {
    pub container: Container,
    /// The script of its bootstrap, once it was delivered.
    pub script: Option<String>,
    /// How often its bootstrap was begun.
    pub begun: usize,
    /// How many images were imported.
    pub imported: usize,
    /// Whether its bootstrap was killed.
    pub killed: bool,
}

#[derive(Debug, Clone)]
pub struct LoadBalancer {
    pub address: Ipv4Addr,
    pub labels: BTreeMap<String, String>,
    pub configuration: Configuration,
    /// Whether its container was stopped, until it is ensured again.
    pub is_stopped: bool,
}

#[derive(Default)]
pub struct Contents {
    pub machines: BTreeMap<String, Machine>,
    pub balancers: BTreeMap<String, LoadBalancer>,
    /// The names of all containers that were ever created, in order.
    pub created: Vec<String>,
    /// The images that no source has, and the paths that are not on the machine.
    pub missing: BTreeSet<String>,
    pub ends: Ends,
    /// How the bootstraps of containers end whose names begin like this.
    pub ends_of: BTreeMap<String, Ends>,
    /// The versions of Kubernetes that images say they are made for.
    pub versions: BTreeMap<String, String>,
    /// The images whose containers end at once.
    pub broken: BTreeSet<String>,
    /// Whether what runs the containers does not answer.
    pub is_away: bool,
    /// Why load balancers of these names cannot be made.
    pub unbalanced: BTreeMap<String, String>,
    /// How often each name was looked for.
    pub looks: BTreeMap<String, usize>,
    /// Each change, as `create NAME`.
    pub changes: Vec<String>,
    addresses: u8,
    kill: Option<(usize, Moment)>,
}

/// The host. Cheap to clone.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    contents: Mutex<Contents>,
    killed: Notify,
    /// A client of the cluster whose Nodes the containers are.
    workload: Option<kube::Client>,
}

impl Host {
    /// Creates an empty host. The Nodes of its containers are in `workload`.
    pub fn new(workload: kube::Client) -> Self {
        Self::with_workload(Some(workload))
    }

    /// Creates an empty host whose containers become no Nodes.
    pub fn alone() -> Self {
        Self::with_workload(None)
    }

    fn with_workload(workload: Option<kube::Client>) -> Self {
        Self(Arc::new(Inner { contents: Mutex::default(), killed: Notify::new(), workload }))
    }

    /// Returns the host as the controllers of one life know it.
    pub fn nodes(&self) -> Nodes {
        let host = self.clone();
        Nodes::new(move || {
            let host = host.clone();
            async move {
                host.with(|contents| contents.answers())?;
                Ok(Parts {
                    runtime: Arc::new(host.clone()),
                    images: Arc::new(host.clone()),
                    balancers: Arc::new(host),
                    has_cgroups_v1: true,
                    preload: Vec::new(),
                })
            }
        })
    }

    /// Looks at the host, or changes it behind the back of the controllers.
    pub fn with<T>(&self, look: impl FnOnce(&mut Contents) -> T) -> T {
        look(&mut self.0.contents.lock())
    }

    /// Returns the names of the containers.
    pub fn names(&self) -> Vec<String> {
        self.with(|contents| contents.machines.keys().cloned().collect())
    }

    /// Returns a container.
    pub fn machine(&self, name: &str) -> Option<Machine> {
        self.with(|contents| contents.machines.get(name).cloned())
    }

    /// Plans that a process ends at a change, counted from 1 over all lives.
    pub fn plan(&self, change: usize, moment: Moment) {
        self.with(|contents| contents.kill = Some((change, moment)));
    }

    /// Returns when the process is to be ended.
    pub async fn killed(&self) {
        self.0.killed.notified().await;
    }

    /// Changes something, unless the process ends before.
    async fn change<T>(&self, what: String, act: impl FnOnce(&mut Contents) -> Result<T>) -> Result<T> {
        let kill = self.with(|contents| {
            contents.changes.push(what);
            contents.kill.filter(|(change, _)| *change == contents.changes.len()).map(|(_, moment)| moment)
        });
        if kill == Some(Moment::Before) {
            self.end().await;
        }
        let done = self.with(act);
        if kill == Some(Moment::After) {
            self.end().await;
        }
        done
    }

    /// Nobody gets an answer any more.
    async fn end(&self) {
        self.0.killed.notify_one();
        pending::<()>().await;
    }

    /// Returns a client of the cluster whose Nodes the containers are.
    pub fn workload(&self) -> kube::Client {
        self.0.workload.clone().unwrap()
    }

    /// Says of a Node that its kubelet has not been heard of, as the controllers of its cluster would.
    pub async fn lose(&self, name: &str) {
        let nodes = Api::<Node>::all(self.0.workload.clone().unwrap());
        let condition = json!({"type": "Ready", "status": "Unknown"});
        let patch = kube::api::Patch::Merge(json!({"status": {"conditions": [condition]}}));
        nodes.patch(name, &kube::api::PatchParams::default(), &patch).await.unwrap();
    }

    /// Creates the Node of a container, as its kubelet would.
    async fn join(&self, machine: &Machine) -> Result<()> {
        let Some(workload) = &self.0.workload else { return Ok(()) };
        let name = &machine.container.name;
        let version = machine.container.image.rsplit(':').next().unwrap_or_default();
        let condition = |type_: &str, status: &str| json!({"type": type_, "status": status});
        let node: Node = serde_json::from_value(json!({
            "metadata": {"name": name},
            "status": {
                "addresses": [{"type": "InternalIP", "address": machine.container.address}],
                "conditions": [condition("Ready", "True"), condition("MemoryPressure", "False"),
                    condition("DiskPressure", "False"), condition("PIDPressure", "False")],
                "nodeInfo": {"kubeletVersion": version, "architecture": "", "bootID": "",
                    "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "", "machineID": "",
                    "operatingSystem": "", "osImage": "", "systemUUID": ""},
            },
        }))?;
        let nodes = Api::<Node>::all(workload.clone());
        if nodes.get_opt(name).await?.is_none() {
            nodes.create(&Default::default(), &node).await?;
        }
        Ok(())
    }
}

impl Contents {
    fn address(&mut self) -> Ipv4Addr {
        self.addresses += 1;
        Ipv4Addr::new(10, 89, 0, self.addresses)
    }

    fn running(&self, name: &str) -> Result<&Machine> {
        self.answers()?;
        match self.machines.get(name) {
            Some(machine) if machine.container.state == State::Running => Ok(machine),
            _ => bail!("container {name} does not run"),
        }
    }

    /// Has a container that another provider has made, and whose bootstrap it has run.
    pub fn adopt(&mut self, name: &str) {
        let address = self.address();
        let container = Container {
            name: name.to_owned(),
            labels: BTreeMap::new(),
            image: String::new(),
            address,
            state: State::Running,
            pid: Some(1),
            created: DateTime::default(),
            started: Some(DateTime::default()),
        };
        self.machines.insert(
            name.to_owned(),
            Machine { container, script: None, begun: 1, imported: 0, killed: false },
        );
    }

    /// Freezes a container, as somebody else would.
    pub fn pause(&mut self, name: &str) {
        self.machines.get_mut(name).unwrap().container.state = State::Paused;
    }

    /// Starts a container again or lets it go on, as somebody else would.
    pub fn start_again(&mut self, name: &str) {
        let container = &mut self.machines.get_mut(name).unwrap().container;
        (container.state, container.pid) = (State::Running, Some(1));
        container.started = container.started.map(|started| started + TimeDelta::hours(1));
    }

    /// Returns how the bootstrap of a container ends.
    fn ends(&self, name: &str) -> Ends {
        let own = self.ends_of.iter().find(|(start, _)| name.starts_with(start.as_str()));
        own.map_or(self.ends, |(_, ends)| *ends)
    }

    /// Fails while what runs the containers does not answer.
    fn answers(&self) -> Result<()> {
        if self.is_away {
            bail!("Docker does not answer at /var/run/docker.sock");
        }
        Ok(())
    }

    /// Kills a container, as somebody else would.
    pub fn kill(&mut self, name: &str) {
        let machine = self.machines.get_mut(name).unwrap();
        machine.container.state = State::Stopped { code: Some(137), error: None };
        machine.container.pid = None;
    }
}
