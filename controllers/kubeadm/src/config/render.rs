//! Renders bootstrap data from a KubeadmConfig and the objects around it. Pure functions.

use schemas::bootstrap::{
    BootstrapTokenDiscovery, ClusterConfiguration, JoinConfiguration, JoinControlPlane, KubeadmConfigSpec,
    Taint,
};
use schemas::cluster::Cluster;

pub use super::inputs::{Inputs, Role};
use super::sources::{resolved_user, user_file};
use crate::certificates::{self, Certificates, Purpose};
use crate::documents::{self, ApiVersion, ClusterDocument};
use crate::error::{Error, Result};
use crate::host::{File, Host, Verb};
use crate::names::{self, file};
use crate::{cloudinit, ignition};

/// Renders the bootstrap data for `role` in the format of the spec. `spec` must be complete: see
/// [`complete_init`] and [`complete_join`].
///
/// # Errors
/// Names the missing or invalid input.
pub fn render(inputs: &Inputs<'_>, role: Role) -> Result<String> {
    let spec = inputs.spec;
    let api = ApiVersion::of(inputs.version)?;
    let cluster_config = spec.cluster_configuration.clone().unwrap_or_default();
    let mut files = match role {
        Role::Init | Role::JoinControlPlane => certificates::files(inputs.certificates, &cluster_config),
        Role::JoinWorker => Vec::new(),
    };
    files.extend(spec.files.iter().map(|entry| user_file(entry, inputs)).collect::<Result<Vec<_>>>()?);
    let kubeadm = match role {
        Role::Init => init_documents(inputs, &cluster_config, api)?,
        Role::JoinControlPlane | Role::JoinWorker => join_document(inputs, role, api, &mut files)?,
    };
    let users = spec.users.iter().map(|user| resolved_user(user, inputs)).collect::<Result<Vec<_>>>()?;
    let mut host = Host {
        files,
        before: &spec.pre_kubeadm_commands,
        after: &spec.post_kubeadm_commands,
        verb: if role == Role::Init { Verb::Init } else { Verb::Join },
        verbosity: spec.verbosity,
        ntp: spec.ntp.as_ref(),
        users: &users,
        disk_setup: spec.disk_setup.as_ref(),
        mounts: &spec.mounts,
    };
    match spec.format.as_deref().filter(|format| !format.is_empty()) {
        None | Some("cloud-config") => {
            let path = if role == Role::Init { file::INIT } else { file::JOIN };
            host.files.push(File::root(path, "0640", format!("---\n{kubeadm}")));
            Ok(cloudinit::render(&host, &spec.boot_commands))
        }
        Some("ignition") => {
            let ignition = spec.ignition.as_ref();
            let additional = ignition.and_then(|ignition| ignition.container_linux_config.as_ref());
            ignition::render(&host, &kubeadm, additional)
        }
        Some(format) => Err(Error::Bootstrap(format!(
            "spec.format {format} is not known: it must be cloud-config or ignition"
        ))),
    }
}

fn init_documents(inputs: &Inputs<'_>, config: &ClusterConfiguration, api: ApiVersion) -> Result<String> {
    let init = inputs.spec.init_configuration.clone().unwrap_or_default();
    let mut document = ClusterDocument::of(inputs.cluster, inputs.version);
    document.health_check_seconds =
        init.timeouts.as_ref().and_then(|timeouts| timeouts.control_plane_component_health_check_seconds);
    let cluster = documents::to_yaml(&documents::cluster_configuration(config, &document, api))?;
    let init = documents::to_yaml(&documents::init_configuration(&init, api))?;
    Ok(format!("{}\n---\n{init}", cluster.trim_end()))
}

/// Returns kubeadm's configuration for joining, and adds the file by which the node discovers the cluster.
fn join_document(inputs: &Inputs<'_>, role: Role, api: ApiVersion, files: &mut Vec<File>) -> Result<String> {
    let mut join = inputs.spec.join_configuration.clone().unwrap_or_default();
    if role == Role::JoinWorker {
        add_uninitialized_taint(&mut join);
    }
    let discovery = join.discovery.as_ref().and_then(|discovery| discovery.file.as_ref());
    if let Some(config) = discovery.and_then(|file| file.kube_config.as_ref().map(|config| (file, config))) {
        let (file, config) = config;
        let authority = authority(inputs.certificates)?;
        let kubeconfig = documents::discovery_kubeconfig(config, &server(inputs.cluster)?, authority);
        files.push(File::root(file.kube_config_path.clone(), "0640", documents::to_yaml(&kubeconfig)?));
    }
    documents::to_yaml(&documents::join_configuration(&join, api))
}

/// Adds the taint that keeps Pods off a worker until the Machine controller has labelled its Node. Taints in
/// the spec are kept; kubeadm has no default taints for workers.
fn add_uninitialized_taint(join: &mut JoinConfiguration) {
    let taints = join.node_registration.get_or_insert_default().taints.get_or_insert_default();
    if !taints.iter().any(|taint| taint.key == names::UNINITIALIZED_TAINT) {
        let key = names::UNINITIALIZED_TAINT.to_owned();
        taints.push(Taint { key, effect: "NoSchedule".to_owned(), ..Taint::default() });
    }
}

fn authority(certificates: &Certificates) -> Result<&str> {
    let identity = certificates.get(&Purpose::ClusterAuthority);
    let identity = identity
        .ok_or_else(|| Error::Bootstrap("the cluster has no certificate authority yet".to_owned()))?;
    Ok(&identity.certificate)
}

/// Returns the control plane's `host:port`.
pub fn endpoint(cluster: &Cluster) -> Result<String> {
    let endpoint = cluster.spec.control_plane_endpoint.as_ref();
    let found = endpoint.and_then(|endpoint| Some((endpoint.host.as_deref()?, endpoint.port?)));
    let found = found.filter(|(host, port)| !host.is_empty() && *port > 0);
    let (host, port) = found
        .ok_or_else(|| Error::Bootstrap("the Cluster has no spec.controlPlaneEndpoint yet".to_owned()))?;
    Ok(names::host_port(host, port))
}

fn server(cluster: &Cluster) -> Result<String> {
    Ok(format!("https://{}", endpoint(cluster)?))
}

/// Sets the fields that `kubeadm init` needs and the spec leaves open. The caller writes the result back to
/// the KubeadmConfig.
///
/// # Errors
/// Fails if the Cluster has no endpoint.
pub fn complete_init(spec: &mut KubeadmConfigSpec, cluster: &Cluster) -> Result<()> {
    let config = spec.cluster_configuration.get_or_insert_with(ClusterConfiguration::default);
    if config.control_plane_endpoint.as_deref().is_none_or(str::is_empty) {
        config.control_plane_endpoint = Some(endpoint(cluster)?);
    }
    Ok(())
}

/// Returns whether a joining node discovers the cluster by a bootstrap token rather than by a file.
pub fn uses_token(spec: &KubeadmConfigSpec) -> bool {
    let join = spec.join_configuration.as_ref();
    join.and_then(|join| join.discovery.as_ref()).is_none_or(|discovery| discovery.file.is_none())
}

/// Returns the spec's bootstrap token, or `None`.
pub fn token(spec: &KubeadmConfigSpec) -> Option<&str> {
    let discovery = spec.join_configuration.as_ref()?.discovery.as_ref()?;
    discovery.bootstrap_token.as_ref()?.token.as_deref().filter(|token| !token.is_empty())
}

/// Sets the fields by which a joining node discovers the cluster. `new_token` replaces the token of the spec.
///
/// # Errors
/// Fails if the Cluster has no endpoint or authority, or if the spec contradicts the role.
pub fn complete_join(
    spec: &mut KubeadmConfigSpec,
    role: Role,
    cluster: &Cluster,
    certificates: &Certificates,
    new_token: Option<&str>,
) -> Result<()> {
    let join = spec.join_configuration.get_or_insert_default();
    match role {
        Role::JoinWorker if join.control_plane.is_some() => {
            let text = "spec.joinConfiguration.controlPlane is set, but the Machine is a worker: remove it";
            return Err(Error::Bootstrap(text.to_owned()));
        }
        Role::JoinControlPlane => drop(join.control_plane.get_or_insert_with(JoinControlPlane::default)),
        _ => {}
    }
    let discovery = join.discovery.get_or_insert_default();
    if discovery.file.is_some() {
        return Ok(());
    }
    let found = discovery.bootstrap_token.get_or_insert_with(BootstrapTokenDiscovery::default);
    if found.api_server_endpoint.as_deref().is_none_or(str::is_empty) {
        found.api_server_endpoint = Some(endpoint(cluster)?);
    }
    if let Some(token) = new_token {
        found.token = Some(token.to_owned());
    }
    if found.ca_cert_hashes.is_empty() && found.unsafe_skip_ca_verification != Some(true) {
        let hash = pki::discovery_hash(authority(certificates)?);
        found.ca_cert_hashes = vec![hash.map_err(Error::certificate("the cluster's certificate authority"))?];
    }
    Ok(())
}
