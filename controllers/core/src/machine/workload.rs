//! Reads of a workload cluster that are only needed while a Machine is being deleted. They are lists in pages
//! instead of caches, since few Machines are deleted at a time and a cluster may have many Pods and volumes. The client
//! limits the time of each request.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use engine::{Error, NamespacedName, Result, Workload};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolume, Pod};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::Api;
use kube::api::ListParams;
use kube::core::ObjectList;
use serde::de::DeserializeOwned;

use super::deletion;
use super::drain;
use super::observed::NodeVolumes;

/// Number of objects in a page.
const PAGE: u32 = 100;

type Labels = BTreeMap<String, String>;

/// Returns the Pods on a Node, and the version of the list.
pub async fn pods(workload: &Workload, node: &str) -> Result<(Vec<Arc<Pod>>, String)> {
    let api = Api::<Pod>::all(workload.client().clone());
    let parameters = ListParams::default().fields(&format!("spec.nodeName={node}"));
    let mut pods = Vec::new();
    let what = format!("list the Pods of Node {node}");
    let version = pages(&api, &what, parameters, |pod| pods.push(Arc::new(pod))).await?;
    Ok((pods, version))
}

/// Returns the DaemonSets that control one of the Pods and do not exist.
pub async fn missing_daemon_sets(workload: &Workload, pods: &[Arc<Pod>]) -> Result<BTreeSet<NamespacedName>> {
    let mut missing = BTreeSet::new();
    for set in drain::daemon_sets(pods.iter().map(AsRef::as_ref)) {
        let api = Api::<DaemonSet>::namespaced(workload.client().clone(), &set.namespace);
        let found = api.get_metadata_opt(&set.name).await;
        if found.map_err(|error| Error::api(format!("get DaemonSet {set}"), error))?.is_none() {
            missing.insert(set);
        }
    }
    Ok(missing)
}

/// Returns the labels of all namespaces.
pub async fn namespaces(workload: &Workload) -> Result<BTreeMap<String, Labels>> {
    let api = Api::<Namespace>::all(workload.client().clone());
    let mut namespaces = BTreeMap::new();
    let what = "list Namespaces";
    let each = |namespace: Namespace| {
        let metadata = namespace.metadata;
        namespaces.insert(metadata.name.unwrap_or_default(), metadata.labels.unwrap_or_default());
    };
    pages(&api, what, ListParams::default(), each).await?;
    Ok(namespaces)
}

/// Returns the volumes that are attached to a Node, by its status and, if `reads_attachments`, by VolumeAttachments.
pub async fn volumes(workload: &Workload, node: &Node, reads_attachments: bool) -> Result<NodeVolumes> {
    let name = node.metadata.name.as_deref().unwrap_or_default();
    let api = Api::<VolumeAttachment>::all(workload.client().clone());
    let mut volumes = NodeVolumes::default();
    let what = "list VolumeAttachments";
    let each = |attachment: VolumeAttachment| {
        let is_attached = attachment.status.is_some_and(|status| status.attached);
        if is_attached && attachment.spec.node_name == name {
            volumes.attached.extend(attachment.spec.source.persistent_volume_name);
        }
    };
    if reads_attachments {
        pages(&api, what, ListParams::default(), each).await?;
    }
    if !deletion::has_any(node, &volumes) {
        return Ok(volumes);
    }
    let api = Api::<PersistentVolume>::all(workload.client().clone());
    let mut found = Vec::new();
    let what = "list PersistentVolumes";
    let each = |volume: PersistentVolume| {
        if deletion::is_attached(&volume, node, &volumes) {
            found.push(volume);
        }
    };
    pages(&api, what, ListParams::default(), each).await?;
    volumes.persistent_volumes = found;
    Ok(volumes)
}

/// Calls `each` with the objects of a list that is read in pages; returns the version of the list. A kind
/// that the cluster does not serve has no objects.
async fn pages<K: Clone + Debug + DeserializeOwned>(
    api: &Api<K>,
    what: &str,
    mut parameters: ListParams,
    mut each: impl FnMut(K),
) -> Result<String> {
    parameters.limit = Some(PAGE);
    loop {
        let page: ObjectList<K> = match api.list(&parameters).await {
            Ok(page) => page,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(String::new()),
            Err(error) => return Err(Error::api(what, error)),
        };
        page.items.into_iter().for_each(&mut each);
        parameters.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if parameters.continue_token.is_none() {
            return Ok(page.metadata.resource_version.unwrap_or_default());
        }
    }
}
