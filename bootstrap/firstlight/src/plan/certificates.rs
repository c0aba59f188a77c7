//! The Secrets of a cluster of which a plan knows no Secret: authorities, keys and the kubeconfig. They are made anew, and never leave the
//! process.

use anyhow::{Context as _, Result};
use engine::names::{CLUSTER_NAME, SECRET_TYPE};
use kube::Client;
use kubeadm::certificates::{CERTIFICATE_KEY, PRIVATE_KEY, Purpose, Recipe};
use machinery::meta::{name, namespace};
use pki::kubeconfig::Kubeconfig;
use pki::{CertificateAuthority, Leaf};
use serde_json::{Value, json};
use server::plane::Dependencies;

use super::create::create;

const ALL: [Purpose; 5] = [
    Purpose::ClusterAuthority,
    Purpose::ServiceAccount,
    Purpose::FrontProxyAuthority,
    Purpose::EtcdAuthority,
    Purpose::EtcdClient,
];
/// The user of the kubeconfig, and its group, which may do everything.
const USER: (&str, &str) = ("kubernetes-admin", "system:masters");

/// Creates the Secrets of a Cluster, if it has an endpoint. Without one, its control plane was never there, and creates them itself.
///
/// # Errors
/// No key can be made, or the simulated server refuses a Secret.
pub async fn ensure(client: &Client, dependencies: &Dependencies, cluster: &Value) -> Result<()> {
    let Some(endpoint) = endpoint(cluster) else { return Ok(()) };
    let (namespace, cluster_name) = (namespace(cluster), name(cluster));
    let path = format!("/api/v1/namespaces/{namespace}/secrets");
    let recipe = Recipe::default();
    let (now, random) = (dependencies.clock.now(), &dependencies.random);
    let mut authority = None;
    for purpose in ALL {
        let identity = recipe.make(purpose, now, random).context("cannot make a key")?;
        let data = json!({CERTIFICATE_KEY: identity.certificate, PRIVATE_KEY: identity.key});
        create(client, &path, &secret(&purpose.secret_name(cluster_name), cluster_name, data)).await?;
        if purpose == Purpose::ClusterAuthority {
            authority = Some(CertificateAuthority::from_pem(&identity.certificate, &identity.key)?);
        }
    }
    let Some(authority) = authority else { return Ok(()) };
    let identity = authority.issue(&Leaf::client(USER.0, &[USER.1]), now, random)?;
    let server = format!("https://{}:{}", bracketed(&endpoint.0), endpoint.1);
    let kubeconfig = Kubeconfig::for_cluster(cluster_name, &server, authority.certificate(), identity);
    let data = json!({"value": kubeconfig.to_yaml()?});
    create(client, &path, &secret(&format!("{cluster_name}-kubeconfig"), cluster_name, data)).await
}

/// Returns host and port of a Cluster's API server; `None` if they are not known yet.
pub fn endpoint(cluster: &Value) -> Option<(String, u16)> {
    let endpoint = &cluster["spec"]["controlPlaneEndpoint"];
    let host = endpoint["host"].as_str().filter(|host| !host.is_empty())?;
    let port =
        endpoint["port"].as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0)?;
    Some((host.to_owned(), port))
}

/// Returns a host as it stands in a URL.
fn bracketed(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() }
}

fn secret(name: &str, cluster: &str, data: Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": {CLUSTER_NAME: cluster}},
        "type": SECRET_TYPE,
        "stringData": data,
    })
}
