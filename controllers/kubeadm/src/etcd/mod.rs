//! The members of etcd, reached through the workload cluster's API server.

mod client;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::Duration;
pub use client::{ANSWER_BYTES, EtcdClient, collected, outcome};
use engine::etcd::{AlarmMember, Member};
use engine::{Manager, NamespacedName, Workload};
use futures::future::join_all;
use futures::try_join;
use parking_lot::Mutex;
use pki::{CertificateAuthority, Identity, Leaf};

use crate::error::{Error, Result};

/// Common name of this program's client certificate for etcd.
const CLIENT_NAME: &str = "cluster-api.x-k8s.io";
/// A member that does not return its status within this time counts as dead.
const MEMBER_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// The state of a cluster's etcd, as one of its members reports it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Etcd {
    /// All members.
    pub members: Vec<Member>,
    /// The raised alarms.
    pub alarms: Vec<AlarmMember>,
    /// ID of the leader; 0 if there is none.
    pub leader: u64,
    /// IDs of members that were asked and did not answer, or see no leader. Members are asked before one of
    /// them is removed, since a member that has just died is still in the list, and its Pod still reports
    /// that it is ready.
    pub silent: BTreeSet<u64>,
}

impl Etcd {
    /// Returns the member with this name, or `None`.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// Returns the alarms of a member.
    pub fn alarms_of(&self, id: u64) -> impl Iterator<Item = &AlarmMember> {
        self.alarms.iter().filter(move |alarm| alarm.member_id == id)
    }
}

/// What a client of etcd needs.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    /// etcd's authority, which issues the client's certificate if `client` is absent.
    pub authority: Identity,
    /// The client's certificate, for an authority whose key is kept elsewhere.
    pub client: Option<Identity>,
}

/// The open connections to etcd, at most one per cluster.
pub(crate) struct EtcdClients {
    manager: Manager,
    open: Mutex<BTreeMap<NamespacedName, Open>>,
}

#[derive(Clone)]
struct Open {
    /// The Pod that the connection goes to.
    pod: String,
    /// The authority's certificate; the connection is not used with another one.
    authority: String,
    client: Arc<EtcdClient>,
}

impl EtcdClients {
    /// Certificates are issued at the time of `manager`.
    pub fn new(manager: &Manager) -> Self {
        Self { manager: manager.clone(), open: Mutex::default() }
    }

    /// Returns the open connection, or else connects to the first reachable Pod of `pods` (names of etcd's
    /// Pods).
    async fn any(&self, workload: &Workload, credentials: &Credentials, pods: &[String]) -> Result<Open> {
        let open = self.open.lock().get(workload.cluster()).cloned();
        let usable = |open: &Open| {
            !open.client.is_closed()
                && open.authority == credentials.authority.certificate
                && pods.contains(&open.pod)
        };
        if let Some(open) = open.filter(usable) {
            return Ok(open);
        }
        let tls = Arc::new(client_tls(&self.manager, credentials)?);
        let mut last = Error::Etcd("no member is running".to_owned());
        for pod in pods {
            match EtcdClient::connect(workload.dedicated_client(), pod, tls.clone()).await {
                Ok(client) => {
                    let open = Open {
                        pod: pod.clone(),
                        authority: credentials.authority.certificate.clone(),
                        client: Arc::new(client),
                    };
                    self.open.lock().insert(workload.cluster().clone(), open.clone());
                    return Ok(open);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Reads members, alarms and leader from any member that answers.
    pub async fn read(
        &self,
        workload: &Workload,
        credentials: &Credentials,
        pods: &[String],
    ) -> Result<Etcd> {
        // A member that was removed in the meantime refuses calls, so the next one is asked.
        let mut left: Vec<String> = pods.to_vec();
        loop {
            let open = self.any(workload, credentials, &left).await?;
            match read(&open.client).await {
                Ok(etcd) => return Ok(etcd),
                Err(error) => {
                    self.forget(workload.cluster());
                    left.retain(|pod| *pod != open.pod);
                    if left.is_empty() {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// Asks each member for its status; returns the IDs of those that do not answer or see no leader.
    pub async fn silent(
        &self,
        workload: &Workload,
        credentials: &Credentials,
        members: &[Member],
    ) -> Result<BTreeSet<u64>> {
        let tls = Arc::new(client_tls(&self.manager, credentials)?);
        let asked = members.iter().map(|member| {
            let (tls, pod) = (tls.clone(), pod_name(&member.name));
            async move {
                let leader = async {
                    EtcdClient::connect(workload.dedicated_client(), &pod, tls).await?.leader().await
                };
                let answer = tokio::time::timeout(MEMBER_TIMEOUT, leader).await;
                (!matches!(answer, Ok(Ok(leader)) if leader != 0)).then_some(member.id)
            }
        });
        Ok(join_all(asked).await.into_iter().flatten().collect())
    }

    /// Removes a member by a call to any of `pods`.
    pub async fn remove(
        &self,
        workload: &Workload,
        credentials: &Credentials,
        pods: &[String],
        id: u64,
    ) -> Result<()> {
        let open = self.any(workload, credentials, pods).await?;
        let result = open.client.remove(id).await;
        if result.is_err() {
            self.forget(workload.cluster());
        }
        result
    }

    /// Asks the leader, in Pod `pod`, to move leadership to `target`.
    pub async fn move_leader(
        &self,
        workload: &Workload,
        credentials: &Credentials,
        pod: &str,
        target: u64,
    ) -> Result<()> {
        let tls = Arc::new(client_tls(&self.manager, credentials)?);
        let client = EtcdClient::connect(workload.dedicated_client(), pod, tls).await?;
        client.move_leader(target).await
    }

    /// Closes the connections to all other clusters than these.
    pub fn retain(&self, clusters: &BTreeSet<NamespacedName>) {
        self.open.lock().retain(|cluster, _| clusters.contains(cluster));
    }

    /// Closes the connection to a cluster.
    pub fn forget(&self, cluster: &NamespacedName) {
        self.open.lock().remove(cluster);
    }
}

/// Returns the name of a member's static Pod; kubeadm names a member after its Node.
pub fn pod_name(member: &str) -> String {
    format!("etcd-{member}")
}

async fn read(client: &EtcdClient) -> Result<Etcd> {
    let (members, alarms, leader) = try_join!(client.members(), client.alarms(), client.leader())?;
    Ok(Etcd { members, alarms, leader, silent: BTreeSet::new() })
}

fn client_tls(manager: &Manager, credentials: &Credentials) -> Result<rustls::ClientConfig> {
    let named = || Error::certificate("etcd's certificate authority");
    let Credentials { authority, client } = credentials;
    let identity = match client {
        Some(client) => client.clone(),
        None => {
            let issuer =
                CertificateAuthority::from_pem(&authority.certificate, &authority.key).map_err(named())?;
            let leaf = Leaf::client(CLIENT_NAME, &[]).valid_for(Duration::days(365));
            issuer.issue(&leaf, manager.clock().now(), manager.random()).map_err(named())?
        }
    };
    // kubeadm's etcd certificates contain the Node's name and addresses, never the Pod's name.
    let alpn = pki::tls::ALPN_HTTP2;
    pki::tls::client_config_for_any_name(&authority.certificate, Some(&identity), alpn, manager.clock())
        .map_err(named())
}
