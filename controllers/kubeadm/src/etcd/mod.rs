//! etcd's members, reached through the workload cluster's API server.

mod client;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::Duration;
pub use client::EtcdClient;
use engine::etcd::{AlarmMember, Member};
use engine::{Manager, NamespacedName, Workload};
use futures::future::join_all;
use parking_lot::Mutex;
use pki::{CertificateAuthority, Identity, Leaf};

use crate::error::{Error, Result};

/// Who we are to etcd.
const CLIENT_NAME: &str = "cluster-api.x-k8s.io";
/// A member that does not tell how it is within this time counts as dead.
const MEMBER_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// The members of a cluster's etcd, as one of them reports.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Etcd {
    /// All members.
    pub members: Vec<Member>,
    /// Their alarms.
    pub alarms: Vec<AlarmMember>,
    /// The leader's identity; 0 when there is none.
    pub leader: u64,
    /// Identities of members that were asked and did not answer, or see no leader. Members are asked before one of them is removed: a
    /// member that has just died is still in the list, and its pod still says that it is ready.
    pub silent: BTreeSet<u64>,
}

impl Etcd {
    /// The member with this name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The alarms of a member.
    pub fn alarms_of(&self, id: u64) -> impl Iterator<Item = &AlarmMember> {
        self.alarms.iter().filter(move |alarm| alarm.member_id == id)
    }
}

/// One open connection a cluster.
#[derive(Default)]
pub(crate) struct EtcdClients {
    open: Mutex<BTreeMap<NamespacedName, Open>>,
}

#[derive(Clone)]
struct Open {
    /// The pod with which it was made.
    pod: String,
    /// The authority with which it was made: another one ends it.
    authority: String,
    client: Arc<EtcdClient>,
}

impl EtcdClients {
    /// The connection that is open, or one to the first of `pods` (names of etcd's pods) that can be connected.
    async fn any(
        &self,
        manager: &Manager,
        workload: &Workload,
        authority: &Identity,
        pods: &[String],
    ) -> Result<Open> {
        let open = self.open.lock().get(workload.cluster()).cloned();
        let usable = |open: &Open| {
            !open.client.is_closed() && open.authority == authority.certificate && pods.contains(&open.pod)
        };
        if let Some(open) = open.filter(usable) {
            return Ok(open);
        }
        let tls = Arc::new(client_tls(manager, authority)?);
        let mut last = Error::Etcd("no member is running".to_owned());
        for pod in pods {
            match EtcdClient::connect(workload.client(), pod, tls.clone()).await {
                Ok(client) => {
                    let open = Open {
                        pod: pod.clone(),
                        authority: authority.certificate.clone(),
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

    /// Members, alarms and leader, from any member that answers.
    pub async fn read(
        &self,
        manager: &Manager,
        workload: &Workload,
        authority: &Identity,
        pods: &[String],
    ) -> Result<Etcd> {
        // A member that was removed meanwhile refuses calls: then another one has to be asked.
        let mut left: Vec<String> = pods.to_vec();
        loop {
            let open = self.any(manager, workload, authority, &left).await?;
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

    /// Asks each member itself: identities of those that do not answer, or see no leader.
    pub async fn silent(
        &self,
        manager: &Manager,
        workload: &Workload,
        authority: &Identity,
        members: &[Member],
    ) -> Result<BTreeSet<u64>> {
        let tls = Arc::new(client_tls(manager, authority)?);
        let asked = members.iter().map(|member| {
            let (tls, pod) = (tls.clone(), pod_name(&member.name));
            async move {
                let leader =
                    async { EtcdClient::connect(workload.client(), &pod, tls).await?.leader().await };
                let answer = tokio::time::timeout(MEMBER_TIMEOUT, leader).await;
                (!matches!(answer, Ok(Ok(leader)) if leader != 0)).then_some(member.id)
            }
        });
        Ok(join_all(asked).await.into_iter().flatten().collect())
    }

    /// Removes a member through any of `pods`.
    pub async fn remove(
        &self,
        manager: &Manager,
        workload: &Workload,
        authority: &Identity,
        pods: &[String],
        id: u64,
    ) -> Result<()> {
        let open = self.any(manager, workload, authority, pods).await?;
        let result = open.client.remove(id).await;
        if result.is_err() {
            self.forget(workload.cluster());
        }
        result
    }

    /// Asks the leader, in `pod`, to hand leadership over to `target`.
    pub async fn move_leader(
        &self,
        manager: &Manager,
        workload: &Workload,
        authority: &Identity,
        pod: &str,
        target: u64,
    ) -> Result<()> {
        let tls = Arc::new(client_tls(manager, authority)?);
        let client = EtcdClient::connect(workload.client(), pod, tls).await?;
        client.move_leader(target).await
    }

    /// Ends the connection to a cluster.
    pub fn forget(&self, cluster: &NamespacedName) {
        self.open.lock().remove(cluster);
    }
}

/// The static pod of the member with this name, which kubeadm makes the node's.
pub fn pod_name(member: &str) -> String {
    format!("etcd-{member}")
}

async fn read(client: &EtcdClient) -> Result<Etcd> {
    Ok(Etcd {
        members: client.members().await?,
        alarms: client.alarms().await?,
        leader: client.leader().await?,
        silent: BTreeSet::new(),
    })
}

fn client_tls(manager: &Manager, authority: &Identity) -> Result<rustls::ClientConfig> {
    let named = || Error::certificate("etcd's certificate authority");
    let issuer = CertificateAuthority::from_pem(&authority.certificate, &authority.key).map_err(named())?;
    let leaf = Leaf::client(CLIENT_NAME, &[]).valid_for(Duration::days(365));
    let identity = issuer.issue(&leaf, manager.clock().now(), manager.random()).map_err(named())?;
    // kubeadm's certificates of etcd carry the node's name and addresses, never the pod's name.
    let alpn = pki::tls::ALPN_HTTP2;
    pki::tls::client_config_for_any_name(&authority.certificate, Some(&identity), alpn, manager.clock())
        .map_err(named())
}
