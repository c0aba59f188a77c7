//! From a container of a Pod to the instruction that starts its process. Everything here is pure.

mod command;
mod environment;
mod expand;
mod quantity;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use container_images::{Config, User};
use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, Secret};
use pod_processes::{Device, Instruction, Isolation, Mount, Namespaces};

pub use command::command;
pub use environment::{environment, pod_field};

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
    /// The folders of the Pod's volumes by their names.
    pub volumes: &'a BTreeMap<String, PathBuf>,
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
}

/// Returns the instruction that starts a container.
///
/// # Errors
/// A ConfigMap, a Secret or a key that is not optional does not exist; a volume or a command is missing.
pub fn instruction(pod: &Pod, container: &Container, facts: &Facts<'_>) -> Result<Instruction> {
    let mut environment = environment(pod, container, facts)?;
    let variables: BTreeMap<String, String> = environment.iter().cloned().collect();
    let mut command = command(container, facts.image, &variables)?;
    let mut mounts = facts.files.to_vec();
    mounts.extend(mounted(container, facts, &variables)?);
    let mut working_directory = container.working_dir.clone().unwrap_or_default();
    if working_directory.is_empty() {
        working_directory.clone_from(&facts.image.working_directory);
    }
    if working_directory.is_empty() {
        "/".clone_into(&mut working_directory);
    }
    if !facts.isolation.has_own_root() {
        let paths = Paths { root: facts.root, mounts: &mounts };
        command = paths.of_command(command);
        environment = paths.of_environment(environment);
        working_directory = paths.on_this_machine(&working_directory);
        mounts.clear();
    }
    let group = container_group(pod, container).unwrap_or(facts.user.group);
    Ok(Instruction {
        isolation: facts.isolation,
        namespaces: facts.namespaces.clone(),
        root: facts.root.to_owned(),
        mounts,
        devices: Device::usual(),
        command,
        environment,
        working_directory,
        user: facts.user.user,
        group,
        groups: groups(pod),
    })
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
        mounts.push(Mount {
            source: volume.join(&below),
            target: mount.mount_path.clone(),
            read_only: mount.read_only.unwrap_or_default(),
        });
    }
    Ok(mounts)
}

/// The paths of a container that has no root folder of its own: those of its image and its volumes lie elsewhere.
struct Paths<'a> {
    root: &'a Path,
    mounts: &'a [Mount],
}

impl Paths<'_> {
    /// Returns where a path of the container is on this machine; a path of neither a volume nor the image stays as it is.
    fn on_this_machine(&self, path: &str) -> String {
        let below = |mount: &&Mount| {
            let target = mount.target.trim_end_matches('/');
            path == target || path.strip_prefix(target).is_some_and(|rest| rest.starts_with('/'))
        };
        if let Some(mount) = self.mounts.iter().filter(below).max_by_key(|mount| mount.target.len()) {
            let rest = &path[mount.target.trim_end_matches('/').len()..];
            return format!("{}{rest}", mount.source.display());
        }
        let in_image = self.root.join(path.trim_start_matches('/'));
        if path.starts_with('/') && in_image.exists() {
            in_image.display().to_string()
        } else {
            path.to_owned()
        }
    }

    /// The program, and the arguments that are paths or `--flag=path`.
    fn of_command(&self, command: Vec<String>) -> Vec<String> {
        let mut all = command.into_iter();
        let program = all.next().map(|program| self.on_this_machine(&program));
        program.into_iter().chain(all.map(|argument| self.of_value(&argument))).collect()
    }

    fn of_environment(&self, environment: Vec<(String, String)>) -> Vec<(String, String)> {
        let moved = |(name, value): (String, String)| {
            let value = if name == "PATH" { self.search_path(&value) } else { self.of_value(&value) };
            (name, value)
        };
        environment.into_iter().map(moved).collect()
    }

    fn search_path(&self, path: &str) -> String {
        path.split(':').map(|folder| self.on_this_machine(folder)).collect::<Vec<_>>().join(":")
    }

    /// Moves a value that begins with the path of a volume. Paths of the image are not moved, because a value may mean this machine's.
    fn of_value(&self, value: &str) -> String {
        let (flag, path) = match value.split_once('=') {
            Some((flag, path)) if value.starts_with('-') => (format!("{flag}="), path),
            _ => (String::new(), value),
        };
        let is_mounted = self.mounts.iter().any(|mount| path.starts_with(&mount.target));
        if is_mounted { format!("{flag}{}", self.on_this_machine(path)) } else { value.to_owned() }
    }
}
