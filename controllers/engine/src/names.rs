//! Well-known labels, annotations and Secret types of Cluster API, and generated names.

use machinery::random::Random;
pub use schemas::names::{CLUSTER_NAME, PAUSED};

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
/// Type of the Secrets that Cluster API creates.
pub const SECRET_TYPE: &str = "cluster.x-k8s.io/secret";

const MAX_NAME: usize = 63;
const SUFFIX: usize = 5;

/// Returns `<base>-<five random characters>`; `base` is cut so that the name has at most 63 bytes.
pub fn generate(random: &Random, base: &str) -> String {
    format!("{}-{}", trim(base, MAX_NAME - SUFFIX - 1), random.name_suffix())
}

/// Returns at most the first `length` bytes of `text`, without splitting a character.
fn trim(text: &str, length: usize) -> &str {
    let mut end = length.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_fit() {
        let random = Random::seeded(1);
        assert_eq!(generate(&random, "md").len(), 8);
        assert_eq!(generate(&random, &"a".repeat(80)).len(), 63);
    }
}
