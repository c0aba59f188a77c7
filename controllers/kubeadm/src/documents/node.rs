//! kubeadm's `InitConfiguration` and `JoinConfiguration` documents, and the kubeconfig of file discovery.

use schemas::bootstrap::{
    BootstrapToken, Discovery, FileDiscoveryKubeConfig, InitConfiguration, JoinConfiguration,
    LocalApiEndpoint, NodeRegistrationOptions, Patches, Timeouts,
};
use serde_json::{Value, json};

use super::{ApiVersion, Fields};

/// Builds kubeadm's `InitConfiguration`.
pub fn init_configuration(config: &InitConfiguration, api: ApiVersion) -> Value {
    let mut out = Fields::document(api, "InitConfiguration");
    if !config.bootstrap_tokens.is_empty() {
        let tokens: Vec<Value> = config.bootstrap_tokens.iter().map(bootstrap_token).collect();
        out.put("bootstrapTokens", tokens);
    }
    out.object("nodeRegistration", registration(config.node_registration.as_ref(), api));
    out.object("localAPIEndpoint", endpoint(config.local_api_endpoint.as_ref()));
    common(&mut out, config.patches.as_ref(), &config.skip_phases, config.timeouts.as_ref(), api);
    out.value()
}

/// Builds kubeadm's `JoinConfiguration`.
pub fn join_configuration(config: &JoinConfiguration, api: ApiVersion) -> Value {
    let mut out = Fields::document(api, "JoinConfiguration");
    out.text("caCertPath", &config.ca_cert_path);
    out.object("nodeRegistration", registration(config.node_registration.as_ref(), api));
    if let Some(control_plane) = &config.control_plane {
        let mut fields = Fields::default();
        fields.object("localAPIEndpoint", endpoint(control_plane.local_api_endpoint.as_ref()));
        // The presence of this field, even if empty, makes the node a control plane node.
        out.put("controlPlane", fields.value());
    }
    let mut discovery = discovery(config.discovery.as_ref());
    if api == ApiVersion::V1Beta3 {
        discovery
            .seconds("timeout", config.timeouts.as_ref().and_then(|timeouts| timeouts.tls_bootstrap_seconds));
    }
    out.object("discovery", discovery);
    common(&mut out, config.patches.as_ref(), &config.skip_phases, config.timeouts.as_ref(), api);
    out.value()
}

fn common(
    out: &mut Fields,
    patches: Option<&Patches>,
    skip_phases: &[String],
    timeouts: Option<&Timeouts>,
    api: ApiVersion,
) {
    let mut fields = Fields::default();
    fields.text("directory", &patches.and_then(|patches| patches.directory.clone()));
    out.object("patches", fields);
    out.list("skipPhases", skip_phases);
    if let (ApiVersion::V1Beta4, Some(timeouts)) = (api, timeouts) {
        let mut fields = Fields::default();
        fields.seconds(
            "controlPlaneComponentHealthCheck",
            timeouts.control_plane_component_health_check_seconds,
        );
        fields.seconds("kubeletHealthCheck", timeouts.kubelet_health_check_seconds);
        fields.seconds("kubernetesAPICall", timeouts.kubernetes_api_call_seconds);
        fields.seconds("etcdAPICall", timeouts.etcd_api_call_seconds);
        fields.seconds("tlsBootstrap", timeouts.tls_bootstrap_seconds);
        fields.seconds("discovery", timeouts.discovery_seconds);
        out.object("timeouts", fields);
    }
}

fn bootstrap_token(token: &BootstrapToken) -> Value {
    let mut out = Fields::default();
    out.put("token", token.token.as_str());
    out.text("description", &token.description);
    out.seconds("ttl", token.ttl_seconds);
    out.text("expires", &token.expires);
    out.list("usages", &token.usages);
    out.list("groups", &token.groups);
    out.value()
}

fn registration(config: Option<&NodeRegistrationOptions>, api: ApiVersion) -> Fields {
    let mut out = Fields::default();
    let Some(config) = config else { return out };
    out.text("name", &config.name);
    out.text("criSocket", &config.cri_socket);
    out.arguments("kubeletExtraArgs", &config.kubelet_extra_args, api);
    out.list("ignorePreflightErrors", &config.ignore_preflight_errors);
    out.text("imagePullPolicy", &config.image_pull_policy);
    if api == ApiVersion::V1Beta4 {
        out.option("imagePullSerial", config.image_pull_serial);
    }
    // Absent taints mean kubeadm's defaults, an empty list means no taints.
    out.option("taints", config.taints.as_ref().map(|taints| json!(taints)));
    out
}

fn endpoint(config: Option<&LocalApiEndpoint>) -> Fields {
    let mut out = Fields::default();
    if let Some(config) = config {
        out.text("advertiseAddress", &config.advertise_address);
        out.option("bindPort", config.bind_port);
    }
    out
}

fn discovery(config: Option<&Discovery>) -> Fields {
    let mut out = Fields::default();
    let Some(config) = config else { return out };
    if let Some(token) = &config.bootstrap_token {
        let mut fields = Fields::default();
        fields.text("token", &token.token);
        fields.text("apiServerEndpoint", &token.api_server_endpoint);
        fields.list("caCertHashes", &token.ca_cert_hashes);
        fields.option("unsafeSkipCAVerification", token.unsafe_skip_ca_verification);
        out.object("bootstrapToken", fields);
    }
    if let Some(file) = &config.file {
        out.put("file", json!({"kubeConfigPath": file.kube_config_path}));
    }
    out.text("tlsBootstrapToken", &config.tls_bootstrap_token);
    out
}

/// Builds the kubeconfig that file discovery writes to the node; `server` and `authority` (PEM) are used
/// where the spec sets none.
pub fn discovery_kubeconfig(config: &FileDiscoveryKubeConfig, server: &str, authority: &str) -> Value {
    use base64::Engine;
    let cluster = config.cluster.clone().unwrap_or_default();
    let mut fields = Fields::default();
    fields.put("server", cluster.server.as_deref().filter(|text| !text.is_empty()).unwrap_or(server));
    let given = cluster.certificate_authority_data.filter(|data| !data.is_empty());
    let data = given.unwrap_or_else(|| base64::engine::general_purpose::STANDARD.encode(authority));
    if cluster.insecure_skip_tls_verify != Some(true) {
        fields.put("certificate-authority-data", data);
    }
    fields.option("insecure-skip-tls-verify", cluster.insecure_skip_tls_verify);
    fields.text("proxy-url", &cluster.proxy_url);
    fields.text("tls-server-name", &cluster.tls_server_name);
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "default",
        "clusters": [{"name": "default", "cluster": fields.value()}],
        "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}],
        "users": [{"name": "default", "user": discovery_user(config)}],
    })
}

fn discovery_user(config: &FileDiscoveryKubeConfig) -> Value {
    let mut user = Fields::default();
    if let Some(provider) = &config.user.auth_provider {
        user.put("auth-provider", json!({"name": provider.name, "config": provider.config}));
    }
    if let Some(exec) = &config.user.exec {
        let mut fields = Fields::default();
        let version = exec.api_version.as_deref().filter(|text| !text.is_empty());
        fields.put("apiVersion", version.unwrap_or("client.authentication.k8s.io/v1"));
        fields.put("command", exec.command.as_str());
        fields.list("args", &exec.args);
        if !exec.env.is_empty() {
            fields.put("env", json!(exec.env));
        }
        fields.option("provideClusterInfo", exec.provide_cluster_info);
        fields.put("interactiveMode", "Never");
        user.put("exec", fields.value());
    }
    user.value()
}
