//! Well-known labels, annotations and Secret types of Cluster API, and generated names.

use machinery::random::Random;
pub use schemas::names::{CLUSTER_NAME, PAUSED};
use schemas::naming::{self, Values};

use crate::error::{Error, Result};

/// Label on control plane Machines and their infrastructure and bootstrap objects; its value is empty.
pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
/// Label on the same objects as [`CONTROL_PLANE`]: the control plane's name, see
/// [`schemas::naming::label_value`].
pub const CONTROL_PLANE_NAME: &str = "cluster.x-k8s.io/control-plane-name";
/// Label on MachineSets and Machines of a MachineDeployment: the MachineDeployment's name.
pub const DEPLOYMENT_NAME: &str = "cluster.x-k8s.io/deployment-name";
/// Label on Machines of a MachineSet: the MachineSet's name, see [`schemas::naming::label_value`].
pub const SET_NAME: &str = "cluster.x-k8s.io/set-name";
/// Label on Machines of a MachinePool: the MachinePool's name.
pub const POOL_NAME: &str = "cluster.x-k8s.io/pool-name";
/// Annotation on a MachinePool whose number of replicas somebody else decides, unless its value is `false`.
pub const REPLICAS_MANAGED_BY: &str = "cluster.x-k8s.io/replicas-managed-by";
/// Label on every object managed by a topology; its value is empty.
pub const TOPOLOGY_OWNED: &str = "topology.cluster.x-k8s.io/owned";
/// Label on objects that only the managers with this value of `--watch-filter` reconcile.
pub const WATCH_FILTER: &str = "cluster.x-k8s.io/watch-filter";
/// Annotation on cloned objects: the template's name.
pub const CLONED_FROM_NAME: &str = "cluster.x-k8s.io/cloned-from-name";
/// Annotation on cloned objects: the template's `Kind.group`.
pub const CLONED_FROM_GROUP_KIND: &str = "cluster.x-k8s.io/cloned-from-groupkind";
/// Annotation on Machines that are to be remediated, whatever health checks say.
pub const REMEDIATE_MACHINE: &str = "cluster.x-k8s.io/remediate-machine";
/// Label on all objects of a provider, among them its Deployment and its Namespace: the name of the provider.
pub const PROVIDER: &str = "cluster.x-k8s.io/provider";
/// Annotation on Machines that are to be deleted first when there are too many.
pub const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";
/// Type of the Secrets that Cluster API creates.
pub const SECRET_TYPE: &str = "cluster.x-k8s.io/secret";

const MAX_NAME: usize = 63;
const SUFFIX: usize = 5;

/// Returns `<base>-<five random characters>`; `base` is cut so that the name has at most 63 bytes.
pub fn generate(random: &Random, base: &str) -> String {
    format!("{}-{}", trim(base, MAX_NAME - SUFFIX - 1), random.name_suffix())
}

/// Returns the name of a new Machine: the rendered naming template, cut if it is too long so that the random characters at its end stay.
/// `values` are those of the template besides `random`.
///
/// # Errors
/// Says which part of the template is not supported.
pub fn machine_name(template: &str, values: &Values<'_>, random: &str) -> Result<String> {
    let mut all = values.to_vec();
    all.push(("random", random));
    let name = naming::render(template, &all).map_err(Error::failed)?;
    if name.len() <= MAX_NAME {
        return Ok(name);
    }
    Ok(format!("{}{random}", trim(&name, MAX_NAME - random.len())))
}

/// Returns at most the first `length` bytes of `text`, without splitting a character.
fn trim(text: &str, length: usize) -> &str {
    let mut end = length.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
