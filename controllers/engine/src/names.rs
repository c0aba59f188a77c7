//! Generated names, the label-value rule, and the well-known labels, annotations and finalizers of Cluster API.

use base64::Engine as _;
use machinery::random::Random;

/// On everything that belongs to a cluster: its name.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// On control plane Machines and their infrastructure and bootstrap objects: empty.
pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
/// Beside [`CONTROL_PLANE`]: the control plane's name, see [`label_value`].
pub const CONTROL_PLANE_NAME: &str = "cluster.x-k8s.io/control-plane-name";
/// On MachineSets and Machines of a MachineDeployment: its name.
pub const DEPLOYMENT_NAME: &str = "cluster.x-k8s.io/deployment-name";
/// On Machines of a MachineSet: its name, see [`label_value`].
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

/// `name` if it can be the value of a label, else the stable stand-in that Cluster API uses for long names.
pub fn label_value(name: &str) -> String {
    if is_label_value(name) {
        return name.to_owned();
    }
    let hash = fnv1a(name.as_bytes());
    format!("hash_{}_z", base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(hash.to_be_bytes()))
}

/// Whether `text` is a valid label value: at most 63 of `[A-Za-z0-9._-]`, beginning and ending with an alphanumeric one.
pub fn is_label_value(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let bytes = text.as_bytes();
    bytes.len() <= MAX_NAME
        && bytes.iter().all(|byte| inner(*byte))
        && bytes.first().is_none_or(u8::is_ascii_alphanumeric)
        && bytes.last().is_none_or(u8::is_ascii_alphanumeric)
}

/// 32-bit FNV-1a.
pub fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
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

    #[test]
    fn long_names_become_hashes() {
        assert_eq!(label_value("short"), "short");
        let long = label_value(&"a".repeat(64));
        assert!(long.starts_with("hash_") && long.ends_with("_z") && is_label_value(&long), "{long}");
    }
}
