//! Moves a workload cluster to another management cluster: its state is saved in Secrets that its DevCluster
//! owns, so that they are moved with it.
//!
//! The program that moves a Cluster pauses it and sets [`MOVING`](schemas::hand_over::MOVING). The cluster then refuses writes, its state
//! is saved, and the DevCluster is marked [`READY`](schemas::hand_over::READY). On the other management cluster, the first start of the
//! cluster reads the state.

use engine::object::{annotation, uid};
use engine::{Error, NamespacedName, Objects, Result};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;
use schemas::cluster::Cluster;
use schemas::hand_over::{MOVED_TO, MOVING};
use schemas::infrastructure::DevCluster;

/// Bytes of state per Secret. The API server accepts 1 MiB of data, and etcd at most 1.5 MiB of JSON.
const PART: usize = 512 * 1024;
const STATE: &str = "state";
const PARTS: &str = "parts";
/// The type of the Secrets with state.
const TYPE: &str = "firstlight.dev/simulated-cluster-state";

/// Returns whether a Cluster is about to move to another server, or was moved there.
pub(crate) fn is_moving(cluster: &Cluster) -> bool {
    [MOVING, MOVED_TO].iter().any(|name| annotation(cluster, name).is_some())
}

/// The Secrets with the state of clusters that are being moved.
#[derive(Clone)]
pub struct HandOver {
    secrets: Objects<Secret>,
}

impl HandOver {
    /// Creates a handle on these Secrets.
    pub fn new(secrets: Objects<Secret>) -> Self {
        Self { secrets }
    }

    /// Saves the state of `cluster`.
    ///
    /// # Errors
    /// Returns the API server's refusal.
    pub async fn write(&self, cluster: &NamespacedName, owner: &DevCluster, state: &[u8]) -> Result<()> {
        // Parts of an earlier state must not be mixed with parts of this one.
        self.discard(cluster).await?;
        let parts: Vec<&[u8]> = state.chunks(PART).collect();
        for (number, part) in parts.iter().enumerate() {
            let secret = secret(&name(cluster, number), cluster, owner, part, parts.len());
            self.secrets.create(&secret).await?;
        }
        Ok(())
    }

    /// Returns the saved state of `cluster`, or `None`. It is read from the API server, since the cache might
    /// not have it yet.
    ///
    /// # Errors
    /// Fails if the API server refuses, or a part is missing.
    pub async fn read(&self, cluster: &NamespacedName) -> Result<Option<Vec<u8>>> {
        let Some(first) = self.secrets.get_live(&name(cluster, 0)).await? else { return Ok(None) };
        let damaged = |secret: &NamespacedName| {
            Error::failed(format!(
                "Secret {secret} with the state of the simulated cluster is missing or damaged; restore it, or delete all of type {TYPE} of \
                 this cluster: the cluster is then rebuilt from its machines"
            ))
        };
        let count = field(&first, PARTS).and_then(|text| String::from_utf8(text).ok()?.parse::<usize>().ok());
        let count = count.ok_or_else(|| damaged(&name(cluster, 0)))?;
        let mut state = Vec::new();
        for number in 0..count {
            let key = name(cluster, number);
            let secret = self.secrets.get_live(&key).await?;
            let part = secret.and_then(|secret| field(&secret, STATE)).ok_or_else(|| damaged(&key))?;
            state.extend(part);
        }
        Ok(Some(state))
    }

    /// Deletes the saved state of `cluster` once the cluster runs with it.
    ///
    /// # Errors
    /// Returns the API server's refusal.
    pub async fn discard(&self, cluster: &NamespacedName) -> Result<()> {
        let is_part = |name: &str| {
            let number = name.strip_prefix(&prefix(cluster)).map(str::parse::<usize>);
            number.is_some_and(|number| number.is_ok())
        };
        for secret in self.secrets.by_cluster(cluster) {
            let found = secret.metadata.name.as_deref().is_some_and(is_part);
            if found && secret.type_.as_deref() == Some(TYPE) {
                self.secrets.delete(secret.as_ref()).await?;
            }
        }
        Ok(())
    }
}

fn prefix(cluster: &NamespacedName) -> String {
    format!("{}-simulated-state-", cluster.name)
}

fn name(cluster: &NamespacedName, number: usize) -> NamespacedName {
    NamespacedName::new(cluster.namespace.clone(), format!("{}{number}", prefix(cluster)))
}

fn field(secret: &Secret, name: &str) -> Option<Vec<u8>> {
    secret.data.as_ref()?.get(name).map(|bytes| bytes.0.clone())
}

fn secret(
    key: &NamespacedName,
    cluster: &NamespacedName,
    owner: &DevCluster,
    part: &[u8],
    parts: usize,
) -> Secret {
    let labels = [(engine::names::CLUSTER_NAME.to_owned(), cluster.name.clone())];
    let reference = OwnerReference {
        api_version: <DevCluster as kube::Resource>::api_version(&()).into_owned(),
        kind: <DevCluster as kube::Resource>::kind(&()).into_owned(),
        name: owner.metadata.name.clone().unwrap_or_default(),
        uid: uid(owner).to_owned(),
        ..OwnerReference::default()
    };
    let data = [
        (STATE.to_owned(), ByteString(part.to_vec())),
        (PARTS.to_owned(), ByteString(parts.to_string().into_bytes())),
    ];
    Secret {
        metadata: ObjectMeta {
            namespace: Some(key.namespace.clone()),
            name: Some(key.name.clone()),
            labels: Some(labels.into()),
            owner_references: Some(vec![reference]),
            ..ObjectMeta::default()
        },
        type_: Some(TYPE.to_owned()),
        data: Some(data.into()),
        ..Secret::default()
    }
}
