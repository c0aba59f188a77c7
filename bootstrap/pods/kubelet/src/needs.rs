//! The objects that the volumes and variables of a Pod name.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapProjection, Container, KeyToPath, ObjectFieldSelector, Pod, ProjectedVolumeSource,
    ServiceAccountTokenProjection, Volume, VolumeMount, VolumeProjection,
};
use k8s_openapi::api::core::v1::{DownwardAPIProjection, DownwardAPIVolumeFile};

/// Where in-cluster clients look for the token, the namespace and the authority of the API server.
pub(crate) const API_ACCESS_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const API_ACCESS: &str = "kube-api-access";
/// The lifetime of a token in seconds; that of Kubernetes, whose clients read the file again each minute.
const TOKEN_SECONDS: i64 = 3607;
/// The ConfigMap with the authority of the API server, which each namespace has in Kubernetes.
pub(crate) const ROOT_CERTIFICATE: &str = "kube-root-ca.crt";

/// A token for a file of a volume.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token {
    /// The name of the volume.
    pub volume: String,
    /// The path in the volume.
    pub path: String,
    /// The audience; `None` for the API server itself.
    pub audience: Option<String>,
    /// The lifetime in seconds.
    pub seconds: i64,
}

/// The names of the objects that a Pod needs from its namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// ConfigMaps.
    pub config_maps: BTreeSet<String>,
    /// Secrets.
    pub secrets: BTreeSet<String>,
    /// Tokens of the Pod's service account.
    pub tokens: Vec<Token>,
}

/// Returns the containers of a Pod, the init containers first.
pub fn containers(pod: &Pod) -> impl Iterator<Item = (&Container, bool)> {
    let spec = pod.spec.iter();
    let init = spec
        .clone()
        .flat_map(|spec| spec.init_containers.iter().flatten())
        .map(|container| (container, true));
    init.chain(spec.flat_map(|spec| &spec.containers).map(|container| (container, false)))
}

/// Returns everything that a Pod needs.
pub fn needs(pod: &Pod) -> Needs {
    let mut needs = Needs::default();
    for (container, _) in containers(pod) {
        for source in container.env_from.iter().flatten() {
            needs.config_maps.extend(source.config_map_ref.iter().map(|one| one.name.clone()));
            needs.secrets.extend(source.secret_ref.iter().map(|one| one.name.clone()));
        }
        for source in container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref()) {
            needs.config_maps.extend(source.config_map_key_ref.iter().map(|one| one.name.clone()));
            needs.secrets.extend(source.secret_key_ref.iter().map(|one| one.name.clone()));
        }
    }
    for volume in pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()) {
        needs.config_maps.extend(volume.config_map.iter().map(|one| one.name.clone()));
        needs.secrets.extend(volume.secret.iter().filter_map(|one| one.secret_name.clone()));
        for source in volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten()) {
            needs.config_maps.extend(source.config_map.iter().map(|one| one.name.clone()));
            needs.secrets.extend(source.secret.iter().map(|one| one.name.clone()));
            needs.tokens.extend(source.service_account_token.iter().map(|token| Token {
                volume: volume.name.clone(),
                path: token.path.clone(),
                audience: token.audience.clone().filter(|audience| !audience.is_empty()),
                seconds: token.expiration_seconds.unwrap_or(TOKEN_SECONDS),
            }));
        }
    }
    needs
}

/// Returns the ConfigMap with the authority of the API server, for a namespace that has none.
pub(crate) fn root_certificate(authority: &str) -> ConfigMap {
    ConfigMap { data: Some([("ca.crt".to_owned(), authority.to_owned())].into()), ..ConfigMap::default() }
}

/// Adds the volume through which in-cluster clients reach the API server, as the admission of Kubernetes does. Containers that mount
/// something at its path, as in Pods that were admitted so, keep that.
pub fn with_api_access(mut pod: Pod) -> Pod {
    let mounts_it = |container: &Container| {
        let mut mounts = container.volume_mounts.iter().flatten();
        mounts.any(|mount| mount.mount_path.trim_end_matches('/') == API_ACCESS_PATH)
    };
    if containers(&pod).all(|(container, _)| mounts_it(container)) {
        return pod;
    }
    let Some(spec) = pod.spec.as_mut() else { return pod };
    let file = |path: &str, field: &str| DownwardAPIVolumeFile {
        path: path.to_owned(),
        field_ref: Some(ObjectFieldSelector {
            field_path: field.to_owned(),
            ..ObjectFieldSelector::default()
        }),
        ..DownwardAPIVolumeFile::default()
    };
    let token = ServiceAccountTokenProjection {
        path: "token".to_owned(),
        expiration_seconds: Some(TOKEN_SECONDS),
        ..ServiceAccountTokenProjection::default()
    };
    let authority = ConfigMapProjection {
        name: ROOT_CERTIFICATE.to_owned(),
        items: Some(vec![KeyToPath {
            key: "ca.crt".to_owned(),
            path: "ca.crt".to_owned(),
            ..KeyToPath::default()
        }]),
        ..ConfigMapProjection::default()
    };
    let namespace = DownwardAPIProjection { items: Some(vec![file("namespace", "metadata.namespace")]) };
    let sources = vec![
        VolumeProjection { service_account_token: Some(token), ..VolumeProjection::default() },
        VolumeProjection { config_map: Some(authority), ..VolumeProjection::default() },
        VolumeProjection { downward_api: Some(namespace), ..VolumeProjection::default() },
    ];
    let projected = ProjectedVolumeSource { sources: Some(sources), ..ProjectedVolumeSource::default() };
    let volume = Volume { name: API_ACCESS.to_owned(), projected: Some(projected), ..Volume::default() };
    spec.volumes.get_or_insert_default().push(volume);
    for container in spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()) {
        let mounts = container.volume_mounts.get_or_insert_default();
        if mounts.iter().all(|mount| mount.mount_path.trim_end_matches('/') != API_ACCESS_PATH) {
            mounts.push(VolumeMount {
                name: API_ACCESS.to_owned(),
                mount_path: API_ACCESS_PATH.to_owned(),
                read_only: Some(true),
                ..VolumeMount::default()
            });
        }
    }
    pod
}
