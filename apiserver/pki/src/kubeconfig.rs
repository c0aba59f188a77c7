//! Kubeconfigs with a client certificate.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::authority::Identity;
use crate::error::Error;

/// A kubeconfig with one cluster, one user and one context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kubeconfig {
    /// Name of the cluster entry.
    pub cluster: String,
    /// Name of the user entry.
    pub user: String,
    /// Name of the context.
    pub context: String,
    /// URL of the API server, `https://host:port`.
    pub server: String,
    /// The server's certificate authority in PEM.
    pub authority: String,
    /// The client's certificate and key.
    pub identity: Identity,
}

impl Kubeconfig {
    /// Creates the kubeconfig of a workload cluster with Cluster API's names: user `<cluster>-admin`, context
    /// `<cluster>-admin@<cluster>`.
    pub fn for_cluster(cluster: &str, server: &str, authority: &str, identity: Identity) -> Self {
        Self {
            cluster: cluster.to_owned(),
            user: format!("{cluster}-admin"),
            context: format!("{cluster}-admin@{cluster}"),
            server: server.to_owned(),
            authority: authority.to_owned(),
            identity,
        }
    }

    /// Returns the kubeconfig as a JSON object.
    pub fn to_value(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "preferences": {},
            "current-context": self.context,
            "clusters": [{
                "name": self.cluster,
                "cluster": {
                    "server": self.server,
                    "certificate-authority-data": STANDARD.encode(&self.authority),
                },
            }],
            "contexts": [{
                "name": self.context,
                "context": {"cluster": self.cluster, "user": self.user},
            }],
            "users": [{
                "name": self.user,
                "user": {
                    "client-certificate-data": STANDARD.encode(&self.identity.certificate),
                    "client-key-data": STANDARD.encode(&self.identity.key),
                },
            }],
        })
    }

    /// Returns the kubeconfig as YAML; secret.
    ///
    /// # Errors
    /// [`Error::Kubeconfig`] if a name cannot be represented.
    pub fn to_yaml(&self) -> Result<String, Error> {
        serde_saphyr::to_string(&self.to_value()).map_err(|error| Error::Kubeconfig(error.to_string()))
    }

    /// Parses the current context of a kubeconfig (YAML or JSON) with inline certificates.
    ///
    /// # Errors
    /// [`Error::Kubeconfig`] names the missing entry; it never quotes the content.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let config: Value = serde_saphyr::from_str(text)
            .map_err(|_| Error::Kubeconfig("it is not valid YAML or JSON".to_owned()))?;
        let context = string(&config, "current-context", "current-context")?;
        let chosen = entry(&config, "contexts", "context", &context)?;
        let cluster = string(chosen, "cluster", "the context's cluster")?;
        let user = string(chosen, "user", "the context's user")?;
        let cluster_entry = entry(&config, "clusters", "cluster", &cluster)?;
        let user_entry = entry(&config, "users", "user", &user)?;
        Ok(Self {
            server: string(cluster_entry, "server", "the cluster's server")?,
            authority: data(cluster_entry, "certificate-authority-data")?,
            identity: Identity {
                certificate: data(user_entry, "client-certificate-data")?,
                key: data(user_entry, "client-key-data")?,
            },
            cluster,
            user,
            context,
        })
    }
}

fn string(value: &Value, key: &str, what: &str) -> Result<String, Error> {
    value
        .get(key)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
        .ok_or_else(|| Error::Kubeconfig(format!("{what} is missing")))
}

fn entry<'a>(config: &'a Value, list: &str, key: &str, name: &str) -> Result<&'a Value, Error> {
    config
        .get(list)
        .and_then(Value::as_array)
        .and_then(|entries| {
            entries.iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some(name))
        })
        .and_then(|entry| entry.get(key))
        .ok_or_else(|| Error::Kubeconfig(format!("{list} has no entry named {name:?}")))
}

fn data(value: &Value, key: &str) -> Result<String, Error> {
    let text = string(value, key, key)?;
    let bytes =
        STANDARD.decode(text.trim()).map_err(|_| Error::Kubeconfig(format!("{key} is not base64")))?;
    String::from_utf8(bytes).map_err(|_| Error::Kubeconfig(format!("{key} is not PEM")))
}
