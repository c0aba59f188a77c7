//! Reads and changes the members of a control plane's etcd.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::etcd::Member;
use engine::{Manager, NamespacedName, Workload};

use super::observed::{ControlPlaneMachine, Observed, View, is_ready};
use super::{etcd_members, removal};
use crate::certificates::Purpose;
use crate::cluster_secrets::ClusterSecrets;
use crate::error::Result;
use crate::etcd::{self, Credentials, Etcd, EtcdClients};

/// The etcd of control planes, with the connections to them.
pub(super) struct EtcdAccess {
    secrets: Arc<ClusterSecrets>,
    clients: EtcdClients,
}

impl EtcdAccess {
    /// Connects with the certificates in `secrets`.
    pub fn new(manager: &Manager, secrets: &Arc<ClusterSecrets>) -> Self {
        Self { secrets: secrets.clone(), clients: EtcdClients::new(manager) }
    }

    /// Closes the connections to all other clusters than these.
    pub fn retain(&self, clusters: &BTreeSet<NamespacedName>) {
        self.clients.retain(clusters);
    }

    /// Reads the state of etcd; `None` if none of its Pods is ready.
    pub async fn read(
        &self,
        observed: &Observed,
        view: &View,
        connected: &Workload,
    ) -> Option<Result<Etcd, String>> {
        let pods = pods(observed, view);
        if pods.is_empty() {
            return None;
        }
        let credentials = match self.credentials(connected.cluster()) {
            Ok(credentials) => credentials,
            Err(error) => return Some(Err(error.to_string())),
        };
        let read = self.read_members(observed, view, connected, &credentials, &pods).await;
        Some(read.map_err(|error| {
            tracing::debug!(cluster = %connected.cluster(), %error, "etcd can't be read");
            error.to_string()
        }))
    }

    async fn read_members(
        &self,
        observed: &Observed,
        view: &View,
        connected: &Workload,
        credentials: &Credentials,
        pods: &[String],
    ) -> Result<Etcd> {
        let mut etcd = self.clients.read(connected, credentials, pods).await?;
        if removal::must_ask_members(observed, &etcd) {
            // A request to a Node that is cut off would only run into its time limit.
            let (lost, asked): (Vec<Member>, Vec<Member>) =
                etcd.members.iter().cloned().partition(|member| etcd_members::is_cut_off(view, &member.name));
            etcd.silent = self.clients.silent(connected, credentials, &asked).await?;
            etcd.silent.extend(lost.iter().map(|member| member.id));
        }
        Ok(etcd)
    }

    /// Moves the leadership from the Node `from` to the member `to`.
    pub async fn move_leader(&self, connected: &Workload, from: &str, to: u64) -> Result<()> {
        let credentials = self.credentials(connected.cluster())?;
        self.clients.move_leader(connected, &credentials, &etcd::pod_name(from), to).await
    }

    /// Removes the member with this ID, which is not the one that is asked to do it.
    pub async fn remove(&self, observed: &Observed, connected: &Workload, id: u64) -> Result<()> {
        let credentials = self.credentials(connected.cluster())?;
        let own = observed.etcd().and_then(|etcd| etcd.members.iter().find(|member| member.id == id));
        let own = own.map(|member| etcd::pod_name(&member.name));
        let view = observed.workload.clone().unwrap_or_default();
        let mut pods = pods(observed, &view);
        pods.retain(|pod| Some(pod) != own.as_ref());
        self.clients.remove(connected, &credentials, &pods, id).await
    }

    /// Returns what a client of the cluster's etcd needs. Without the authority's key, it is the certificate of
    /// the API server, which a user provides.
    fn credentials(&self, cluster: &NamespacedName) -> Result<Credentials> {
        let authority = self.secrets.identity(cluster, Purpose::EtcdAuthority)?;
        let client = match authority.key.is_empty() {
            true => Some(self.secrets.identity(cluster, Purpose::EtcdClient)?),
            false => None,
        };
        Ok(Credentials { authority, client })
    }
}

/// Returns the ready etcd Pods of the control plane's Machines; those of Machines in deletion come last.
fn pods(observed: &Observed, view: &View) -> Vec<String> {
    let mut members: Vec<&ControlPlaneMachine> = observed.machines.iter().collect();
    members.sort_by_key(|member| member.is_deleting());
    members
        .iter()
        .filter_map(|member| member.node())
        .map(etcd::pod_name)
        .filter(|pod| view.pods.get(pod).is_some_and(|pod| is_ready(pod)))
        .collect()
}
