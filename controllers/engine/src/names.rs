//! Generated names, and the well-known labels, annotations and finalizers of Cluster API.

use machinery::random::Random;

/// On everything that belongs to a cluster: its name.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// On control plane Machines and their infrastructure and bootstrap objects: empty.
pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
/// Beside [`CONTROL_PLANE`]: the control plane's name, see [`schemas::naming::label_value`].
pub const CONTROL_PLANE_NAME: &str = "cluster.x-k8s.io/control-plane-name";
/// On MachineSets and Machines of a MachineDeployment: its name.
pub const DEPLOYMENT_NAME: &str = "cluster.x-k8s.io/deployment-name";
/// On Machines of a MachineSet: its name, see [`schemas::naming::label_value`].
pub const SET_NAME: &str = "cluster.x-k8s.io/set-name";
/// On Machines of a MachinePool.
pub const POOL_NAME: &str = "cluster.x-k8s.io/pool-name";
/// On everything managed by a topology: empty.
pub const TOPOLOGY_OWNED: &str = "topology.cluster.x-k8s.io/owned";
/// Annotation whose presence pauses the object.
pub const PAUSED: &str = "cluster.x-k8s.io/paused";
/// Annotation on cloned objects: the template's name.
pub const CLONED_FROM_NAME: &str = "cluster.x-k8s.io/cloned-from-name";
/// Annotation on cloned objects: the template's `Kind.group`.
pub const CLONED_FROM_GROUP_KIND: &str = "cluster.x-k8s.io/cloned-from-groupkind";
/// Type of the Secrets that Cluster API makes.
pub const SECRET_TYPE: &str = "cluster.x-k8s.io/secret";

const MAX_NAME: usize = 63;
const SUFFIX: usize = 5;

/// `<base>-<five random characters>`, the base trimmed so that the whole has at most 63 characters.
pub fn generate(random: &Random, base: &str) -> String {
    format!("{}-{}", trim(base, MAX_NAME - SUFFIX - 1), random.name_suffix())
}

/// The first `length` bytes of `text`, never splitting a character.
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
