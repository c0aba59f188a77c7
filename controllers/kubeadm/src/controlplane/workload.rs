//! Objects in the workload cluster that follow the control plane's version: kubeadm's configuration, RBAC,
//! kube-proxy, CoreDNS.

use engine::Workload;
use engine::object;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{ConfigMap, PodSpec};
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use schemas::bootstrap::ClusterConfiguration;
use schemas::controlplane::KubeadmControlPlane;
use serde_json::{Map, Value, json};

use crate::documents::{self, ApiVersion, ClusterDocument};
use crate::error::{Error, Result};
use crate::names;
use schemas::version::Version;

const NAMESPACE: &str = "kube-system";
/// The ConfigMap with kubeadm's configuration; [`KEY`] is its key.
pub const KUBEADM_CONFIG: &str = "kubeadm-config";
const KEY: &str = "ClusterConfiguration";
/// The number of times that a write is retried after a conflict.
const RETRIES: usize = 5;
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

fn failed(what: &str) -> impl Fn(kube::Error) -> Error + '_ {
    move |error| Error::Workload(format!("{what}: {error}"))
}

/// Returns whether kubeadm's configuration exists, which `kubeadm init` writes near its end.
pub async fn is_initialized(workload: &Workload) -> Result<bool> {
    let api = Api::<ConfigMap>::namespaced(workload.client().clone(), NAMESPACE);
    let found = api.get_metadata_opt(KUBEADM_CONFIG).await;
    Ok(found.map_err(failed("read ConfigMap kubeadm-config"))?.is_some())
}

/// Prepares the workload cluster for Nodes of the control plane's version.
pub async fn prepare_upgrade(workload: &Workload, control_plane: &KubeadmControlPlane) -> Result<()> {
    let version = Version::parse(&control_plane.spec.version).ok_or_else(|| {
        Error::Version(format!("spec.version {} is no version", control_plane.spec.version))
    })?;
    if !version.at_least(1, 38) {
        ensure_bindings(workload).await?;
    }
    update_kubeadm_config(workload, control_plane, &version).await
}

/// Creates the ClusterRoleBindings that kubeadm creates for its own users since 1.29.
async fn ensure_bindings(workload: &Workload) -> Result<()> {
    let api = Api::<ClusterRoleBinding>::all(workload.client().clone());
    let group = ("kubeadm:cluster-admins", "cluster-admin", "Group", "kubeadm:cluster-admins");
    let user = (
        "kubeadm:apiserver-kubelet-client",
        "system:kubelet-api-admin",
        "User",
        "kube-apiserver-kubelet-client",
    );
    for (name, role, kind, subject) in [group, user] {
        let binding = ClusterRoleBinding {
            metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
            role_ref: RoleRef {
                api_group: Some(RBAC_GROUP.to_owned()),
                kind: "ClusterRole".to_owned(),
                name: role.to_owned(),
            },
            subjects: Some(vec![Subject {
                api_group: Some(RBAC_GROUP.to_owned()),
                kind: kind.to_owned(),
                name: subject.to_owned(),
                namespace: None,
            }]),
        };
        match api.create(&PostParams::default(), &binding).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            result => drop(result.map_err(failed("create a ClusterRoleBinding"))?),
        }
    }
    Ok(())
}

async fn update_kubeadm_config(
    workload: &Workload,
    control_plane: &KubeadmControlPlane,
    version: &Version,
) -> Result<()> {
    let api = Api::<ConfigMap>::namespaced(workload.client().clone(), NAMESPACE);
    let spec = control_plane.spec.kubeadm_config_spec.as_ref();
    let config = spec.and_then(|spec| spec.cluster_configuration.clone()).unwrap_or_default();
    for attempt in 0.. {
        let map = api.get(KUBEADM_CONFIG).await.map_err(failed("read ConfigMap kubeadm-config"))?;
        let text = map.data.as_ref().and_then(|data| data.get(KEY)).ok_or_else(|| {
            Error::Workload(format!(
                "ConfigMap kubeadm-config has no key {KEY}: kubeadm can't join nodes without it"
            ))
        })?;
        let Some(updated) = updated_configuration(text, &config, version)? else { return Ok(()) };
        let patch = json!({
            "metadata": {"resourceVersion": map.metadata.resource_version},
            "data": {KEY: documents::to_yaml(&updated)?},
        });
        match api.patch(KUBEADM_CONFIG, &PatchParams::default(), &Patch::Merge(patch)).await {
            Err(kube::Error::Api(status)) if status.code == 409 && attempt < RETRIES => {}
            result => return result.map(|_| ()).map_err(failed("update ConfigMap kubeadm-config")),
        }
    }
    Ok(())
}

/// Returns kubeadm's configuration updated by the spec for `version`; `None` if nothing changes. An empty
/// text counts as an empty configuration.
///
/// # Errors
/// [`Error::Yaml`] if the text is not a configuration.
pub fn updated_configuration(
    text: &str,
    config: &ClusterConfiguration,
    version: &Version,
) -> Result<Option<Value>> {
    let parsed = if text.trim().is_empty() { Ok(json!({})) } else { serde_saphyr::from_str::<Value>(text) };
    let current = match parsed {
        Ok(Value::Object(map)) => map,
        Ok(Value::Null) => Map::new(),
        _ => return Err(Error::Yaml(format!("ConfigMap kubeadm-config: {KEY} can't be read"))),
    };
    let api = ApiVersion::of(version)?;
    let document = ClusterDocument { kubernetes_version: version.to_string(), ..ClusterDocument::default() };
    let rendered = documents::cluster_configuration(config, &document, api);
    let mut updated = current.clone();
    for key in ["apiVersion", "kind", "kubernetesVersion"] {
        updated.insert(key.to_owned(), rendered[key].clone());
    }
    for key in ["apiServer", "controllerManager", "scheduler", "featureGates"] {
        match rendered.get(key) {
            Some(value) => drop(updated.insert(key.to_owned(), value.clone())),
            None => drop(updated.remove(key)),
        }
    }
    for key in ["imageRepository", "certificateValidityPeriod", "encryptionAlgorithm"] {
        if let Some(value) = rendered.get(key) {
            updated.insert(key.to_owned(), value.clone());
        }
    }
    if let Some(Value::Object(etcd)) = rendered.get("etcd") {
        let present = updated.entry("etcd").or_insert_with(|| json!({}));
        for (key, value) in etcd {
            merge(&mut present[key.as_str()], value);
        }
    }
    let mut updated = Value::Object(updated);
    convert_arguments(&mut updated, api);
    Ok((updated != Value::Object(current)).then_some(updated))
}

/// Sets the entries of `wanted` and keeps all others, for example the data directory that kubeadm writes.
fn merge(present: &mut Value, wanted: &Value) {
    match (present, wanted) {
        (Value::Object(present), Value::Object(wanted)) => {
            for (key, value) in wanted {
                present.insert(key.clone(), value.clone());
            }
        }
        (present, wanted) => *present = wanted.clone(),
    }
}

/// Converts each `extraArgs` to the form of the version: a map in v1beta3, a list in v1beta4.
fn convert_arguments(value: &mut Value, api: ApiVersion) {
    let Value::Object(map) = value else { return };
    for (key, value) in map.iter_mut() {
        match (key.as_str(), &*value, api) {
            ("extraArgs", Value::Object(arguments), ApiVersion::V1Beta4) => {
                *value =
                    arguments.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
            }
            ("extraArgs", Value::Array(arguments), ApiVersion::V1Beta3) => {
                let entry = |argument: &Value| {
                    Some((argument["name"].as_str()?.to_owned(), argument["value"].clone()))
                };
                *value = Value::Object(arguments.iter().filter_map(entry).collect());
            }
            _ => convert_arguments(value, api),
        }
    }
}

/// Updates kube-proxy and CoreDNS to the images that the control plane asks for.
pub async fn update_addons(workload: &Workload, control_plane: &KubeadmControlPlane) -> Result<()> {
    if object::annotation(control_plane, names::SKIP_KUBE_PROXY).is_none() {
        update_kube_proxy(workload, control_plane).await?;
    }
    let spec = control_plane.spec.kubeadm_config_spec.as_ref();
    let config = spec.and_then(|spec| spec.cluster_configuration.as_ref());
    match config {
        Some(config) if object::annotation(control_plane, names::SKIP_COREDNS).is_none() => {
            update_coredns(workload, config).await
        }
        _ => Ok(()),
    }
}

fn container_image<'a>(spec: Option<&'a PodSpec>, container: &str) -> Option<&'a str> {
    spec?.containers.iter().find(|found| found.name == container)?.image.as_deref()
}

fn image_patch(container: &str, image: &str) -> Patch<Value> {
    Patch::Strategic(
        json!({"spec": {"template": {"spec": {"containers": [{"name": container, "image": image}]}}}}),
    )
}

async fn update_kube_proxy(workload: &Workload, control_plane: &KubeadmControlPlane) -> Result<()> {
    let api = Api::<DaemonSet>::namespaced(workload.client().clone(), NAMESPACE);
    let Some(found) = api.get_opt("kube-proxy").await.map_err(failed("read DaemonSet kube-proxy"))? else {
        return Ok(());
    };
    let spec = found.spec.template.spec.as_ref();
    let Some(image) = container_image(spec, "kube-proxy") else { return Ok(()) };
    let config = control_plane.spec.kubeadm_config_spec.as_ref();
    let config = config.and_then(|spec| spec.cluster_configuration.as_ref());
    let repository = config.and_then(|config| config.image_repository.as_deref());
    let wanted = image_with(image, repository, Some(&names::image_tag(&control_plane.spec.version)));
    if wanted != image {
        let patch = image_patch("kube-proxy", &wanted);
        let patched = api.patch("kube-proxy", &PatchParams::default(), &patch).await;
        patched.map_err(failed("update DaemonSet kube-proxy"))?;
    }
    Ok(())
}

/// Returns the image with another repository or tag.
fn image_with(image: &str, repository: Option<&str>, tag: Option<&str>) -> String {
    let (path, name, old) = split_image(image);
    let path = repository.filter(|text| !text.is_empty()).unwrap_or(path);
    let path = if path.is_empty() { String::new() } else { format!("{path}/") };
    match tag.or(old) {
        Some(tag) => format!("{path}{name}:{tag}"),
        None => format!("{path}{name}"),
    }
}

/// Splits an image into repository, name and tag.
fn split_image(image: &str) -> (&str, &str, Option<&str>) {
    let image = image.split('@').next().unwrap_or(image);
    let (path, last) = image.rsplit_once('/').unwrap_or(("", image));
    match last.split_once(':') {
        Some((name, tag)) => (path, name, Some(tag)),
        None => (path, last, None),
    }
}

/// Since this version, CoreDNS reads the configuration of any earlier version from this one on.
const COREDNS_SAME_CONFIGURATION: Version = Version::new(1, 7, 0);

async fn update_coredns(workload: &Workload, config: &ClusterConfiguration) -> Result<()> {
    let dns = config.dns.clone().unwrap_or_default();
    if dns.image_tag.is_none() && dns.image_repository.is_none() && config.image_repository.is_none() {
        return Ok(());
    }
    let api = Api::<Deployment>::namespaced(workload.client().clone(), NAMESPACE);
    let Some(found) = api.get_opt("coredns").await.map_err(failed("read Deployment coredns"))? else {
        return Ok(());
    };
    let spec = found.spec.template.spec.as_ref();
    let Some(image) = container_image(spec, "coredns") else { return Ok(()) };
    let wanted = coredns_image(image, &dns, config.image_repository.as_deref())?;
    if wanted != image {
        let patched = api.patch("coredns", &PatchParams::default(), &image_patch("coredns", &wanted)).await;
        patched.map_err(failed("update Deployment coredns"))?;
    }
    Ok(())
}

/// Returns the CoreDNS image that the spec asks for.
///
/// # Errors
/// Fails for a downgrade, or if the configuration of the current version would have to be rewritten.
fn coredns_image(image: &str, dns: &schemas::bootstrap::Dns, repository: Option<&str>) -> Result<String> {
    let (path, _, tag) = split_image(image);
    let current = tag.unwrap_or_default();
    let tag = dns.image_tag.as_deref().filter(|tag| !tag.is_empty()).unwrap_or(current);
    let given = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
    let repository = given(dns.image_repository.as_deref()).or_else(|| given(repository));
    let (from, to) = (Version::parse(current), Version::parse(tag));
    if tag != current {
        let (Some(from), Some(to)) = (from, to.clone()) else {
            return Err(Error::Workload(format!("CoreDNS: {current} or {tag} is no version")));
        };
        if to < from {
            return Err(Error::Workload(format!("CoreDNS can't be downgraded from {current} to {tag}")));
        }
        if from < COREDNS_SAME_CONFIGURATION {
            return Err(Error::Workload(format!(
                "the configuration of CoreDNS {current} can't be rewritten for {tag}: update CoreDNS by hand, or annotate \
                 the KubeadmControlPlane with {}",
                names::SKIP_COREDNS
            )));
        }
    }
    let Some(repository) = repository else { return Ok(image_with(image, Some(path), Some(tag))) };
    let nested = matches!(repository.as_str(), "registry.k8s.io" | "k8s.gcr.io")
        && to.is_some_and(|to| to.at_least(1, 8));
    let repository = if nested { format!("{repository}/coredns") } else { repository };
    Ok(format!("{repository}/coredns:{tag}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images() {
        assert_eq!(
            image_with("registry.k8s.io/kube-proxy:v1.35.0", None, Some("v1.36.0")),
            "registry.k8s.io/kube-proxy:v1.36.0"
        );
        assert_eq!(image_with("r:5000/a/kube-proxy", Some("mirror"), Some("v1")), "mirror/kube-proxy:v1");
        let dns = |tag: &str| schemas::bootstrap::Dns { image_tag: Some(tag.into()), image_repository: None };
        let image = "registry.k8s.io/coredns/coredns:v1.10.1";
        assert_eq!(
            coredns_image(image, &dns("v1.12.0"), None).unwrap(),
            "registry.k8s.io/coredns/coredns:v1.12.0"
        );
        assert_eq!(
            coredns_image(image, &dns("v1.12.0"), Some("k8s.gcr.io")).unwrap(),
            "k8s.gcr.io/coredns/coredns:v1.12.0"
        );
        assert_eq!(coredns_image(image, &dns(""), Some("mirror")).unwrap(), "mirror/coredns:v1.10.1");
        assert!(coredns_image(image, &dns("v1.9.0"), None).is_err());
        assert!(coredns_image("coredns:1.6.7", &dns("v1.9.0"), None).is_err());
    }

    #[test]
    fn the_configuration_follows_the_spec_and_the_version() {
        let config = ClusterConfiguration { image_repository: Some("mirror".into()), ..Default::default() };
        let text = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\nclusterName: blue\nkubernetesVersion: v1.30.0\n\
                    apiServer: {extraArgs: {a: b}}\netcd: {local: {dataDir: /d, extraArgs: {x: z}}}\n";
        let version = Version::new(1, 31, 0);
        let updated = updated_configuration(text, &config, &version).unwrap().unwrap();
        let expected = json!({
            "apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration", "clusterName": "blue",
            "kubernetesVersion": "v1.31.0", "imageRepository": "mirror",
            "etcd": {"local": {"dataDir": "/d", "extraArgs": [{"name": "x", "value": "z"}]}},
        });
        assert_eq!(updated, expected);
        let again = documents::to_yaml(&updated).unwrap();
        assert_eq!(updated_configuration(&again, &config, &version).unwrap(), None);
        assert!(updated_configuration("", &config, &version).unwrap().is_some());
        assert!(updated_configuration("- a", &config, &version).is_err());
    }
}
