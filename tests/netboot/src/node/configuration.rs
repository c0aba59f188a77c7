//! kubeadm's configuration, read as strictly as kubeadm reads it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

/// The version of the configuration that kubeadm 1.31 and later write.
const VERSION: &str = "kubeadm.k8s.io/v1beta4";
/// The socket of containerd.
const SOCKET: &str = "unix:///var/run/containerd/containerd.sock";

/// What the kubelet of a node is told.
pub struct Kubelet {
    /// Name of the Node.
    pub name: String,
    /// Labels of the Node.
    pub labels: BTreeMap<String, String>,
    /// Provider ID, if it is an argument.
    pub provider_id: Option<String>,
}

/// Reads the documents of a file by kind.
pub fn documents(file: &Path) -> Result<BTreeMap<String, Value>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
    let mut found = BTreeMap::new();
    for (line, document) in machinery::decode::yaml_documents(&text).map_err(anyhow::Error::msg)? {
        let value = document.value;
        ensure!(
            value["apiVersion"] == VERSION,
            "line {line}: apiVersion is {} instead of {VERSION}",
            value["apiVersion"]
        );
        let kind = value["kind"].as_str().context("a document without a kind")?.to_owned();
        ensure!(found.insert(kind.clone(), value).is_none(), "two documents of kind {kind}");
    }
    Ok(found)
}

/// Reads `nodeRegistration`.
pub fn kubelet(document: &Value) -> Result<Kubelet> {
    let registration = &document["nodeRegistration"];
    let name = registration["name"].as_str().context("nodeRegistration.name is missing")?.to_owned();
    ensure!(!name.is_empty() && !name.contains(['{', ' ']), "nodeRegistration.name {name:?} is no name");
    if let Some(socket) = registration["criSocket"].as_str() {
        ensure!(socket == SOCKET, "nodeRegistration.criSocket {socket} does not exist");
    }
    let (mut labels, mut provider_id) = (BTreeMap::new(), None);
    for argument in registration["kubeletExtraArgs"].as_array().into_iter().flatten() {
        let value = argument["value"].as_str().context("a kubelet argument without a value")?;
        match argument["name"].as_str() {
            Some("node-labels") => {
                for pair in value.split(',') {
                    let (key, value) = pair.split_once('=').with_context(|| format!("the label {pair}"))?;
                    labels.insert(key.to_owned(), value.to_owned());
                }
            }
            Some("provider-id") => provider_id = Some(value.to_owned()),
            other => bail!("the kubelet does not know the argument {other:?}"),
        }
    }
    Ok(Kubelet { name, labels, provider_id })
}
