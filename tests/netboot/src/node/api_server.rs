//! The stand-in for a control plane: the API server of a simulated workload cluster, with the authorities that cloud-init wrote.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use machinery::clock::Clock;
use machinery::random::Random;
use pki::{CertificateAuthority, SigningKey, TokenKeys};
use serde_json::{Value, json};
use simulated::workload::objects::Host;
use simulated::workload::part::Part;
use simulated::workload::state::Rows;
use simulated::workload::{Authorities, Workload};
use tokio::net::TcpListener;

use super::configuration;

/// Port of the API server.
pub const PORT: u16 = 6443;
/// The folder of the certificates.
const FOLDER: &str = "/etc/kubernetes/pki";

/// Reads the authorities of the cluster.
///
/// # Errors
/// A file is missing, or a key does not belong to its certificate.
pub fn authorities() -> Result<Authorities> {
    let authority = |name: &str| -> Result<CertificateAuthority> {
        let read = |suffix: &str| {
            let path = Path::new(FOLDER).join(format!("{name}.{suffix}"));
            std::fs::read_to_string(&path).with_context(|| format!("{}", path.display()))
        };
        CertificateAuthority::from_pem(&read("crt")?, &read("key")?)
            .with_context(|| format!("{FOLDER}/{name}"))
    };
    authority("front-proxy-ca")?;
    Ok(Authorities { cluster: authority("ca")?, etcd: Some(authority("etcd/ca")?) })
}

/// Reads the key that signs the tokens of service accounts.
///
/// # Errors
/// The file is missing, or is no key.
pub fn token_keys() -> Result<TokenKeys> {
    let path = Path::new(FOLDER).join("sa.key");
    let text = std::fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
    Ok(TokenKeys::new(SigningKey::from_pem(&text).with_context(|| format!("{}", path.display()))?, []))
}

/// Serves the cluster until the machine is switched off.
///
/// # Errors
/// It cannot be started.
pub async fn run(file: &Path) -> Result<()> {
    let documents = configuration::documents(file)?;
    let cluster = documents.get("ClusterConfiguration").context("there is no ClusterConfiguration")?;
    let kubelet =
        configuration::kubelet(documents.get("InitConfiguration").context("there is no InitConfiguration")?)?;
    let endpoint = cluster["controlPlaneEndpoint"].as_str().unwrap_or_default();
    let authorities = authorities()?;
    let host = Host {
        name: kubelet.name,
        version: cluster["kubernetesVersion"].as_str().unwrap_or_default().to_owned(),
        control_plane: true,
        member_id: 1,
        cluster_id: 1,
        provider_id: kubelet.provider_id,
        endpoint: None,
        labels: kubelet.labels,
        addresses: endpoint.rsplit_once(':').map(|(host, _)| host.to_owned()).into_iter().collect(),
    };
    let workload =
        Workload::with_keys(&Clock::system(), &Random::system(), Rows::default(), Some(token_keys()?))
            .await?;
    for part in [Part::Node, Part::Etcd, Part::ApiServer] {
        workload.start(&host, part, &authorities).await?;
    }
    let authority = BASE64_STANDARD.encode(authorities.cluster.certificate());
    let cluster = json!({"server": format!("https://{endpoint}"), "certificate-authority-data": authority});
    let kubeconfig =
        json!({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "", "cluster": cluster}]});
    let cluster_info = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "cluster-info", "namespace": "kube-public"},
        "data": {"kubeconfig": kubeconfig.to_string()},
    });
    workload.ensure(cluster_info).await?;
    for object in roles() {
        workload.ensure(object).await?;
    }
    workload.open_when_complete(&BTreeSet::from([host.name]));
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let workload = workload.clone();
        tokio::spawn(async move { workload.serve(Box::new(stream)).await });
    }
}

/// What `kubeadm init` allows those who join: anybody may read the cluster's authority, and who has a token may register a Node.
fn roles() -> Vec<Value> {
    let group = "rbac.authorization.k8s.io";
    let object = |kind: &str, name: &str, namespace: Option<&str>, more: Value| {
        let mut object = more;
        object["apiVersion"] = format!("{group}/v1").into();
        object["kind"] = kind.into();
        object["metadata"] = json!({"name": name, "namespace": namespace});
        object
    };
    let reference = |kind: &str, name: &str| json!({"apiGroup": group, "kind": kind, "name": name});
    let (anybody, joining) = ("kubeadm:bootstrap-signer-clusterinfo", "kubeadm:node-registration");
    let rule = |resource: &str, verbs: &[&str]| json!({"rules": [{"apiGroups": [""], "resources": [resource], "verbs": verbs}]});
    vec![
        object("Role", anybody, Some("kube-public"), rule("configmaps", &["get"])),
        object(
            "RoleBinding",
            anybody,
            Some("kube-public"),
            json!({
                "roleRef": reference("Role", anybody),
                "subjects": [reference("User", "system:anonymous")],
            }),
        ),
        object("ClusterRole", joining, None, rule("nodes", &["create"])),
        object(
            "ClusterRoleBinding",
            joining,
            None,
            json!({
                "roleRef": reference("ClusterRole", joining),
                "subjects": [reference("Group", "system:bootstrappers:kubeadm:default-node-token")],
            }),
        ),
    ]
}
