//! Labels and annotations of topologies, and the names of their objects.

pub use schemas::names::CLUSTER_NAME;
use schemas::naming;

/// Label on every object of a topology; its value is empty.
pub const OWNED: &str = "topology.cluster.x-k8s.io/owned";
/// Label on a MachineDeployment of a topology and all that belongs to it: the name in the topology.
pub const DEPLOYMENT_NAME: &str = "topology.cluster.x-k8s.io/deployment-name";
/// Label on a MachinePool of a topology and all that belongs to it: the name in the topology.
pub const POOL_NAME: &str = "topology.cluster.x-k8s.io/pool-name";
/// Label on control plane machines; its value is empty.
pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
/// Annotation on objects made from a template: its name.
pub const CLONED_FROM_NAME: &str = "cluster.x-k8s.io/cloned-from-name";
/// Annotation on objects made from a template: its `Kind.group`.
pub const CLONED_FROM_GROUP_KIND: &str = "cluster.x-k8s.io/cloned-from-groupkind";
/// Annotation in the metadata of workers in a topology: these and all later ones are not upgraded for now.
pub const HOLD_UPGRADE_SEQUENCE: &str = "topology.cluster.x-k8s.io/hold-upgrade-sequence";
/// Annotation in the metadata of workers in a topology: these are not upgraded for now.
pub const DEFER_UPGRADE: &str = "topology.cluster.x-k8s.io/defer-upgrade";
/// Annotation on a Cluster: how many MachineDeployments, and how many MachinePools, are upgraded at once.
pub const UPGRADE_CONCURRENCY: &str = "topology.cluster.x-k8s.io/upgrade-concurrency";
/// Annotation on a Cluster: the version of the step that an upgrade is at.
pub const UPGRADE_STEP: &str = "topology.internal.cluster.x-k8s.io/upgrade-step";
/// Beginning of the annotations on a Cluster that hold back an upgrade.
pub const BEFORE_UPGRADE_HOOK: &str = "before-upgrade.hook.cluster.cluster.x-k8s.io";
/// Annotation on a Cluster: hooks that are still to be called, separated by commas.
pub const PENDING_HOOKS: &str = "runtime.cluster.x-k8s.io/pending-hooks";
/// Annotation of kubectl that is never copied.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Annotation of conversions between API versions that is never copied.
pub const CONVERSION_DATA: &str = "cluster.x-k8s.io/conversion-data";

const NAME_MAX: usize = 63;

/// Where names get their five random characters from.
pub type Random<'a> = &'a mut dyn FnMut() -> String;

/// Returns the random characters of a new name. For an object that exists and keeps its name (`current`), none are drawn: what a reconcile
/// draws depends only on what it creates, so that a seed reproduces its simulation.
fn draw(current: Option<&str>, random: Random<'_>) -> String {
    if current.is_some_and(|name| !name.is_empty()) { "xxxxx".to_owned() } else { random() }
}

/// Returns the prefix with random characters at its end; it is cut so that they fit. `current` is the name of the object if it exists.
pub(crate) fn with_prefix(prefix: &str, current: Option<&str>, random: Random<'_>) -> String {
    let random = draw(current, random);
    format!("{}{random}", cut(prefix, NAME_MAX.saturating_sub(random.len())))
}

/// Renders the template of a name. A name that is too long is cut and gets other random characters. `current` is the name of the object if
/// it exists.
///
/// # Errors
/// A sentence with what is wrong in the template.
pub(crate) fn from_template(
    template: &str,
    values: &naming::Values<'_>,
    current: Option<&str>,
    random: Random<'_>,
) -> Result<String, String> {
    let drawn = draw(current, random);
    let mut all = values.to_vec();
    all.push(("random", &drawn));
    let name = naming::render(template, &all)?;
    if name.len() <= NAME_MAX {
        return Ok(name);
    }
    Ok(with_prefix(&name, current, random))
}

/// Returns at most the first `length` bytes of a text, without splitting a character.
fn cut(text: &str, length: usize) -> &str {
    let mut end = length.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
