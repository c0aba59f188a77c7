//! From a container of a Pod to the instruction that starts its process. Everything here is pure.

mod command;
mod environment;
pub mod expand;
pub mod moved_ports;
mod paths;
mod quantity;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use container_images::{Config, User};
use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, Secret};
use pod_processes::{Device, Instruction, Isolation, Mount, Namespaces};

pub use command::command;
pub use environment::{environment, pod_field};
use moved_ports::Move;
pub use paths::Paths;
pub use quantity::limits;

/// What a container's instruction depends on, besides the Pod itself.
pub struct Facts<'a> {
    /// The config of the image.
    pub image: &'a Config,
    /// The user that the image or the Pod names.
    pub user: User,
    /// The separation from this machine.
    pub isolation: Isolation,
    /// The container's own root folder.
    pub root: &'a Path,
    /// The Pod's volumes by their names.
    pub volumes: &'a BTreeMap<String, Written>,
    /// Files of this machine that every container sees, for example `/etc/hosts`.
    pub files: &'a [Mount],
    /// The ConfigMaps that the container names, as far as they exist.
    pub config_maps: &'a BTreeMap<String, ConfigMap>,
    /// The Secrets that the container names, as far as they exist.
    pub secrets: &'a BTreeMap<String, Secret>,
    /// The variables that every container has, for example `KUBERNETES_SERVICE_HOST`.
    pub variables: &'a [(String, String)],
    /// The address of the Pod.
    pub pod_ip: &'a str,
    /// The network of the Pod, if it is not that of this machine.
    pub namespaces: Option<Namespaces>,
    /// The ports that the container cannot have.
    pub moves: &'a BTreeMap<u16, Move>,
    /// Whether the container's program has a flag of this name.
    pub knows: &'a (dyn Fn(&str) -> bool + Sync),
}

/// A volume on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its path.
    pub path: PathBuf,
    /// The folder in it with the files of the newest generation, if the server alone writes this volume.
    pub generation: Option<String>,
}

/// How a container is started.
pub struct Planned {
    /// The instruction that starts its process.
    pub instruction: Instruction,
    /// Where its paths are on this machine, if it has no root folder of its own.
    pub paths: Option<Paths>,
}

/// Returns the instruction that starts a container.
///
/// # Errors
/// A ConfigMap, a Secret or a key that is not optional does not exist; a volume or a command is missing; a port cannot be moved.
pub fn instruction(pod: &Pod, container: &Container, facts: &Facts<'_>) -> Result<Planned> {
    let mut environment = environment(pod, container, facts)?;
    let variables: BTreeMap<String, String> = environment.iter().cloned().collect();
    let mut command = command(container, facts.image, &variables)?;
    let mut mounts = facts.files.to_vec();
    mounts.extend(mounted(container, facts, &variables)?);
    // As container runtimes do: what lies deeper would be hidden by what is mounted above it later.
    mounts.sort_by_key(|mount| mount.target.split('/').filter(|part| !part.is_empty()).count());
    let mut working_directory = container.working_dir.clone().unwrap_or_default();
    if working_directory.is_empty() {
        working_directory.clone_from(&facts.image.working_directory);
    }
    if working_directory.is_empty() {
        "/".clone_into(&mut working_directory);
    }
    command = moved_ports::moved(command, facts.moves, facts.knows)?;
    let mut paths = None;
    if !facts.isolation.has_own_root() {
        let own = Paths::new(facts.root, std::mem::take(&mut mounts));
        command = own.of_command(command);
        environment = own.of_environment(environment);
        working_directory = own.on_this_machine(&working_directory);
        paths = Some(own);
    }
    let group = container_group(pod, container).unwrap_or(facts.user.group);
    let instruction = Instruction {
        isolation: facts.isolation,
        namespaces: facts.namespaces.clone(),
        is_first: true,
        inside: None,
        root: facts.root.to_owned(),
        mounts,
        devices: Device::usual(),
        command,
        environment,
        working_directory,
        user: facts.user.user,
        group,
        groups: groups(pod),
    };
    Ok(Planned { instruction, paths })
}

/// Returns the user of a container as `USER[:GROUP]`: that of its security context, of the Pod's, or of the image.
///
/// # Errors
/// The container must not run as root, and would.
pub fn user_name(pod: &Pod, container: &Container, image: &Config) -> Result<String> {
    let own = container.security_context.as_ref();
    let of_pod = pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref());
    let number = own.and_then(|own| own.run_as_user).or_else(|| of_pod.and_then(|of_pod| of_pod.run_as_user));
    let name = number.map_or_else(|| image.user.clone(), |number| number.to_string());
    let not_root =
        own.and_then(|own| own.run_as_non_root).or_else(|| of_pod.and_then(|of_pod| of_pod.run_as_non_root));
    let user = name.split(':').next().unwrap_or_default();
    let is_root = user.is_empty() || user == "0" || user == "root";
    ensure!(!(not_root == Some(true) && is_root), "container has runAsNonRoot and image will run as root");
    Ok(name)
}

fn container_group(pod: &Pod, container: &Container) -> Option<u32> {
    let of_pod = pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref());
    let own = container.security_context.as_ref().and_then(|own| own.run_as_group);
    own.or_else(|| of_pod.and_then(|of_pod| of_pod.run_as_group)).and_then(|group| u32::try_from(group).ok())
}

fn groups(pod: &Pod) -> Vec<u32> {
    let context = pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref());
    let further = context.and_then(|context| context.supplemental_groups.clone()).unwrap_or_default();
    let all = further.into_iter().chain(context.and_then(|context| context.fs_group));
    all.filter_map(|group| u32::try_from(group).ok()).collect()
}

/// Returns the mounts of a container's volumes.
fn mounted(
    container: &Container,
    facts: &Facts<'_>,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<Mount>> {
    let mut mounts = Vec::new();
    for mount in container.volume_mounts.iter().flatten() {
        let volume = facts
            .volumes
            .get(&mount.name)
            .with_context(|| format!("the Pod has no volume {:?}", mount.name))?;
        let below = match (&mount.sub_path, &mount.sub_path_expr) {
            (_, Some(expression)) => expand::expand(expression, variables),
            (below, None) => below.clone().unwrap_or_default(),
        };
        let leaves = Path::new(&below).is_absolute() || below.split('/').any(|part| part == "..");
        ensure!(!leaves, "the subPath {below:?} leads out of the volume {:?}", mount.name);
        let below = match &volume.generation {
            // The files of the volume's root are links, which are not followed.
            Some(generation) if !below.is_empty() && facts.isolation.has_own_root() => {
                format!("{generation}/{below}")
            }
            _ => below,
        };
        mounts.push(Mount {
            source: volume.path.clone(),
            below,
            target: mount.mount_path.clone(),
            // As kubelets do, whatever the Pod says: the server alone writes there.
            read_only: volume.generation.is_some() || mount.read_only.unwrap_or_default(),
        });
    }
    Ok(mounts)
}
