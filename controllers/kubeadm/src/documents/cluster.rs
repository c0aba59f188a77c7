//! kubeadm's `ClusterConfiguration` document.

use engine::time::go_duration;
use schemas::bootstrap::{
    ApiServer, Arg, ClusterConfiguration, ControlPlaneComponent, Dns, EnvVar, Etcd, HostPathMount,
};
use schemas::cluster::{Cluster, NetworkRanges};
use serde_json::{Value, json};

use super::{ApiVersion, Fields};
use schemas::version::Version;

/// The fields of kubeadm's `ClusterConfiguration` that come from other objects than the KubeadmConfig.
#[derive(Debug, Clone, Default)]
pub struct ClusterDocument {
    /// The cluster's name.
    pub cluster_name: String,
    /// `host:port` of the control plane, used if the KubeadmConfig has none.
    pub endpoint: Option<String>,
    /// DNS domain of services.
    pub dns_domain: Option<String>,
    /// IP ranges of Services, comma-separated.
    pub service_subnet: Option<String>,
    /// IP ranges of Pods, comma-separated.
    pub pod_subnet: Option<String>,
    /// Kubernetes version, for example `v1.36.0`.
    pub kubernetes_version: String,
    /// The time in seconds for which kubeadm waits for the control plane; only written for v1beta3.
    pub health_check_seconds: Option<i32>,
}

impl ClusterDocument {
    /// Reads the fields from the Cluster and the Machine's version.
    pub fn of(cluster: &Cluster, version: &Version) -> Self {
        let network = cluster.spec.cluster_network.as_ref();
        let ranges = |ranges: Option<&NetworkRanges>| {
            ranges.map(|ranges| ranges.cidr_blocks.join(",")).filter(|text| !text.is_empty())
        };
        let endpoint =
            cluster.spec.control_plane_endpoint.as_ref().and_then(|endpoint| {
                Some(crate::names::host_port(endpoint.host.as_deref()?, endpoint.port?))
            });
        Self {
            cluster_name: cluster.metadata.name.clone().unwrap_or_default(),
            endpoint,
            dns_domain: network
                .and_then(|network| network.service_domain.clone())
                .filter(|text| !text.is_empty()),
            service_subnet: ranges(network.and_then(|network| network.services.as_ref())),
            pod_subnet: ranges(network.and_then(|network| network.pods.as_ref())),
            kubernetes_version: version.to_string(),
            health_check_seconds: None,
        }
    }
}

/// Builds kubeadm's `ClusterConfiguration`.
pub fn cluster_configuration(
    config: &ClusterConfiguration,
    document: &ClusterDocument,
    api: ApiVersion,
) -> Value {
    let mut out = Fields::document(api, "ClusterConfiguration");
    out.put("clusterName", document.cluster_name.as_str());
    out.put("kubernetesVersion", document.kubernetes_version.as_str());
    let own = config.control_plane_endpoint.as_deref().filter(|text| !text.is_empty());
    out.option("controlPlaneEndpoint", own.or(document.endpoint.as_deref()));
    let mut networking = Fields::default();
    networking.text("dnsDomain", &document.dns_domain);
    networking.text("serviceSubnet", &document.service_subnet);
    networking.text("podSubnet", &document.pod_subnet);
    out.object("networking", networking);
    out.object("apiServer", api_server(config.api_server.as_ref(), document, api));
    out.object("controllerManager", component(config.controller_manager.as_ref(), api));
    out.object("scheduler", component(config.scheduler.as_ref(), api));
    out.object("dns", dns(config.dns.as_ref()));
    out.object("etcd", etcd(config.etcd.as_ref(), api));
    out.text("certificatesDir", &config.certificates_dir);
    out.text("imageRepository", &config.image_repository);
    if !config.feature_gates.is_empty() {
        out.put("featureGates", json!(config.feature_gates));
    }
    if api == ApiVersion::V1Beta4 {
        let hours = |days: Option<i32>| days.map(|days| go_duration(i64::from(days) * 86_400));
        out.text("encryptionAlgorithm", &config.encryption_algorithm);
        out.option("certificateValidityPeriod", hours(config.certificate_validity_period_days));
        out.option("caCertificateValidityPeriod", hours(config.ca_certificate_validity_period_days));
    }
    out.value()
}

fn api_server(config: Option<&ApiServer>, document: &ClusterDocument, api: ApiVersion) -> Fields {
    let mut out = Fields::default();
    if let Some(config) = config {
        out.list("certSANs", &config.cert_sans);
        common(&mut out, &config.extra_args, &config.extra_envs, &config.extra_volumes, api);
    }
    if api == ApiVersion::V1Beta3 {
        out.seconds("timeoutForControlPlane", document.health_check_seconds);
    }
    out
}

/// Builds the fields of `controllerManager` and `scheduler`.
pub(crate) fn component(config: Option<&ControlPlaneComponent>, api: ApiVersion) -> Fields {
    let mut out = Fields::default();
    if let Some(config) = config {
        common(&mut out, &config.extra_args, &config.extra_envs, &config.extra_volumes, api);
    }
    out
}

fn common(out: &mut Fields, args: &[Arg], envs: &[EnvVar], volumes: &[HostPathMount], api: ApiVersion) {
    out.arguments("extraArgs", args, api);
    environment(out, envs, api);
    if !volumes.is_empty() {
        out.put("extraVolumes", json!(volumes));
    }
}

fn environment(out: &mut Fields, variables: &[EnvVar], api: ApiVersion) {
    if api == ApiVersion::V1Beta4 && !variables.is_empty() {
        out.put("extraEnvs", json!(variables));
    }
}

fn dns(config: Option<&Dns>) -> Fields {
    let mut out = Fields::default();
    if let Some(config) = config {
        out.text("imageRepository", &config.image_repository);
        out.text("imageTag", &config.image_tag);
    }
    out
}

fn etcd(config: Option<&Etcd>, api: ApiVersion) -> Fields {
    let mut out = Fields::default();
    let Some(config) = config else { return out };
    if let Some(local) = &config.local {
        let mut fields = Fields::default();
        fields.text("dataDir", &local.data_dir);
        fields.text("imageRepository", &local.image_repository);
        fields.text("imageTag", &local.image_tag);
        fields.arguments("extraArgs", &local.extra_args, api);
        environment(&mut fields, &local.extra_envs, api);
        fields.list("serverCertSANs", &local.server_cert_sans);
        fields.list("peerCertSANs", &local.peer_cert_sans);
        out.object("local", fields);
    }
    if let Some(external) = &config.external {
        out.put("external", json!(external));
    }
    out
}
