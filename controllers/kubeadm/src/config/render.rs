//! Renders bootstrap data from a KubeadmConfig and the objects around it. Pure functions.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemas::bootstrap::{
    BootstrapTokenDiscovery, ClusterConfiguration, File as FileSpec, JoinConfiguration, JoinControlPlane,
    KubeadmConfigSpec, Taint, User,
};
use schemas::cluster::Cluster;

use crate::certificates::{self, Certificates, Purpose};
use crate::cloudinit::{CloudConfig, File, Verb};
use crate::documents::{self, ApiVersion, ClusterDocument};
use crate::error::{Error, Result};
use crate::names::{self, file};
use schemas::version::Version;

/// The largest file, in bytes, that a template may render to.
const MAX_FILE: usize = 1 << 20;

/// The role of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The first control plane node.
    Init,
    /// A further control plane node.
    JoinControlPlane,
    /// A worker.
    JoinWorker,
}

/// The inputs of the bootstrap data.
#[derive(Debug, Clone)]
pub struct Inputs<'a> {
    /// The spec of the KubeadmConfig.
    pub spec: &'a KubeadmConfigSpec,
    /// The Cluster of the Machine.
    pub cluster: &'a Cluster,
    /// The Kubernetes version of the Machine.
    pub version: &'a Version,
    /// The version of the control plane, for files that are templates.
    pub control_plane_version: Option<&'a str>,
    /// Authorities and keys. A worker needs only the cluster's certificate.
    pub certificates: &'a Certificates,
    /// Values of the Secrets that files and users reference, by `(name, key)`.
    pub secrets: &'a BTreeMap<(String, String), Vec<u8>>,
}

/// Renders the bootstrap data for `role` as cloud-config. `spec` must be complete: see [`complete_init`] and
/// [`complete_join`].
///
/// # Errors
/// Names the missing or invalid input.
pub fn render(inputs: &Inputs<'_>, role: Role) -> Result<String> {
    let spec = inputs.spec;
    if spec.format.as_deref().is_some_and(|format| format != "cloud-config") {
        let format = spec.format.as_deref().unwrap_or_default();
        return Err(Error::Bootstrap(format!("spec.format {format} is not supported yet: use cloud-config")));
    }
    let api = ApiVersion::of(inputs.version)?;
    let cluster_config = spec.cluster_configuration.clone().unwrap_or_default();
    let mut files = match role {
        Role::Init | Role::JoinControlPlane => certificates::files(inputs.certificates, &cluster_config),
        Role::JoinWorker => Vec::new(),
    };
    files.extend(spec.files.iter().map(|entry| user_file(entry, inputs)).collect::<Result<Vec<_>>>()?);
    match role {
        Role::Init => files.push(init_file(inputs, &cluster_config, api)?),
        Role::JoinControlPlane | Role::JoinWorker => join_files(inputs, role, api, &mut files)?,
    }
    let users = spec.users.iter().map(|user| resolved_user(user, inputs)).collect::<Result<Vec<_>>>()?;
    let config = CloudConfig {
        files,
        boot_commands: &spec.boot_commands,
        before: &spec.pre_kubeadm_commands,
        after: &spec.post_kubeadm_commands,
        verb: if role == Role::Init { Verb::Init } else { Verb::Join },
        verbosity: spec.verbosity,
        ntp: spec.ntp.as_ref(),
        users: &users,
        disk_setup: spec.disk_setup.as_ref(),
        mounts: &spec.mounts,
    };
    Ok(config.render())
}

fn init_file(inputs: &Inputs<'_>, config: &ClusterConfiguration, api: ApiVersion) -> Result<File> {
    let init = inputs.spec.init_configuration.clone().unwrap_or_default();
    let mut document = ClusterDocument::of(inputs.cluster, inputs.version);
    document.health_check_seconds =
        init.timeouts.as_ref().and_then(|timeouts| timeouts.control_plane_component_health_check_seconds);
    let cluster = documents::to_yaml(&documents::cluster_configuration(config, &document, api))?;
    let init = documents::to_yaml(&documents::init_configuration(&init, api))?;
    Ok(File::root(file::INIT, "0640", format!("---\n{}\n---\n{}", cluster.trim_end(), init)))
}

fn join_files(inputs: &Inputs<'_>, role: Role, api: ApiVersion, files: &mut Vec<File>) -> Result<()> {
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
    let document = documents::to_yaml(&documents::join_configuration(&join, api))?;
    files.push(File::root(file::JOIN, "0640", format!("---\n{document}")));
    Ok(())
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

/// Sets the fields by which a joining node discovers the cluster. `new_token` is used if the spec has no
/// token.
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
    if found.token.as_deref().is_none_or(str::is_empty) {
        found.token = new_token.map(str::to_owned);
    }
    if found.ca_cert_hashes.is_empty() && found.unsafe_skip_ca_verification != Some(true) {
        let hash = pki::discovery_hash(authority(certificates)?);
        found.ca_cert_hashes = vec![hash.map_err(Error::certificate("the cluster's certificate authority"))?];
    }
    Ok(())
}

fn secret<'a>(inputs: &'a Inputs<'_>, name: &str, key: &str) -> Result<&'a [u8]> {
    let value = inputs.secrets.get(&(name.to_owned(), key.to_owned()));
    value
        .map(Vec::as_slice)
        .ok_or_else(|| Error::Bootstrap(format!("Secret {name} does not exist or has no key {key}")))
}

fn user_file(spec: &FileSpec, inputs: &Inputs<'_>) -> Result<File> {
    let mut encoding = spec.encoding.clone().unwrap_or_default();
    let mut content = spec.content.clone().unwrap_or_default();
    if let Some(source) = &spec.content_from {
        let bytes = secret(inputs, &source.secret.name, &source.secret.key)?;
        content = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) if encoding.is_empty() => {
                encoding = "base64".to_owned();
                STANDARD.encode(bytes)
            }
            Err(_) => {
                return Err(Error::Bootstrap(format!(
                    "file {}: the content is not text, although its encoding is {encoding}",
                    spec.path
                )));
            }
        };
    }
    if spec.content_format.as_deref() == Some("Template") {
        content = rendered(&content, inputs).map_err(|why| {
            Error::Bootstrap(format!("file {}: the template can't be rendered: {why}", spec.path))
        })?;
    }
    Ok(File {
        path: spec.path.clone(),
        owner: spec.owner.clone().unwrap_or_default(),
        permissions: spec.permissions.clone().unwrap_or_default(),
        encoding,
        append: spec.append == Some(true),
        content,
    })
}

fn rendered(content: &str, inputs: &Inputs<'_>) -> Result<String, String> {
    let version = inputs.control_plane_version.map(|version| ("controlPlane.version", version));
    let text = schemas::naming::render(content, version.as_slice())?;
    if text.len() > MAX_FILE {
        return Err(format!("it becomes longer than {MAX_FILE} bytes"));
    }
    Ok(text)
}

fn resolved_user(user: &User, inputs: &Inputs<'_>) -> Result<User> {
    let mut user = user.clone();
    if let Some(source) = user.passwd_from.take() {
        let bytes = secret(inputs, &source.secret.name, &source.secret.key)?;
        let text = std::str::from_utf8(bytes).map_err(|_| {
            Error::Bootstrap(format!(
                "user {}: the password in Secret {} is not text",
                user.name, source.secret.name
            ))
        })?;
        user.passwd = Some(text.trim_end_matches('\n').to_owned());
    }
    Ok(user)
}
