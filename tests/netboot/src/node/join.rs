//! A stand-in for `kubeadm join` of a worker: finds the cluster's authority with the token, and registers the Node.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::ApiResource;
use kube::{Client, Config};
use machinery::clock::Clock;
use serde_json::Value;
use simulated::workload::objects::{Host, node};

use super::configuration;

/// Time within which the control plane must answer.
const DISCOVERY: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_secs(1);

/// Joins the cluster.
///
/// # Errors
/// Says what is wrong with the configuration, or with the cluster's answers.
pub async fn run(file: &Path) -> Result<()> {
    let documents = configuration::documents(file)?;
    let join = documents.get("JoinConfiguration").context("there is no JoinConfiguration")?;
    ensure!(join["controlPlane"].is_null(), "the stand-in joins workers only");
    let kubelet = configuration::kubelet(join)?;
    let token = &join["discovery"]["bootstrapToken"];
    let client = discover(token).await?;
    let host = Host {
        name: kubelet.name,
        version: "v1.36.0".to_owned(),
        control_plane: false,
        member_id: 0,
        cluster_id: 0,
        provider_id: kubelet.provider_id,
        endpoint: None,
        labels: kubelet.labels,
        addresses: Vec::new(),
    };
    let object: DynamicObject = serde_json::from_value(node(&host, Clock::system().now()))?;
    Api::<DynamicObject>::all_with(client, &resource("Node", "nodes"))
        .create(&PostParams::default(), &object)
        .await?;
    super::cloud_init::say("This node has joined the cluster")
}

fn resource(kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: String::new(),
        version: "v1".into(),
        api_version: "v1".into(),
        kind: kind.into(),
        plural: plural.into(),
    }
}

/// Returns a client that has the token and trusts the authority of the cluster, whose hash the configuration has.
async fn discover(token: &Value) -> Result<Client> {
    let endpoint =
        token["apiServerEndpoint"].as_str().context("bootstrapToken.apiServerEndpoint is missing")?;
    let hashes: Vec<&str> =
        token["caCertHashes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    ensure!(!hashes.is_empty(), "bootstrapToken.caCertHashes is missing");
    let url: http::Uri = format!("https://{endpoint}").parse()?;
    let mut config = Config::new(url.clone());
    config.accept_invalid_certs = true;
    // Otherwise it would look for the authorities of the system, and this one has none.
    config.root_cert = Some(Vec::new());
    let insecure = Client::try_from(config)?;
    let maps =
        Api::<DynamicObject>::namespaced_with(insecure, "kube-public", &resource("ConfigMap", "configmaps"));
    let end = Clock::system().monotonic() + DISCOVERY;
    let found = loop {
        match maps.get("cluster-info").await {
            Ok(found) => break found,
            Err(error) if Clock::system().monotonic() > end => bail!("no answer from {endpoint}: {error}"),
            Err(_) => Clock::system().sleep(LOOK).await,
        }
    };
    let text = found.data["data"]["kubeconfig"].as_str().context("cluster-info has no kubeconfig")?;
    let kubeconfig = machinery::decode::yaml(text.as_bytes()).map_err(anyhow::Error::msg)?.value;
    let cluster = &kubeconfig["clusters"][0]["cluster"];
    let encoded = cluster["certificate-authority-data"].as_str().context("cluster-info has no authority")?;
    let authority = String::from_utf8(BASE64_STANDARD.decode(encoded)?)?;
    let hash = pki::discovery_hash(&authority)?;
    ensure!(hashes.contains(&hash.as_str()), "the cluster's authority has the hash {hash}");
    let roots = pki::certificates(&authority)?.iter().map(|certificate| certificate.to_vec()).collect();
    let mut config = Config::new(url);
    config.root_cert = Some(roots);
    let text = token["token"].as_str().context("bootstrapToken.token is missing")?;
    config.auth_info.token = Some(text.to_owned().into());
    Ok(Client::try_from(config)?)
}
