//! Kubeconfigs with inline credentials: those that this program writes, and those that it reads out of objects.
//!
//! Whoever may write a Secret must not be able to run a command, to read a file or to choose a proxy here. So a kubeconfig is read into
//! [`Kubeconfig`], which cannot express these, and what would express them is refused by its name.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinery::decode;
use serde_json::{Map, Value, json};

use crate::authority::Identity;
use crate::error::Error;

/// Fields of a user that name a command, a file or another user; a kubeconfig out of an object may not have them.
const REFUSED_OF_USER: [&str; 11] = [
    "exec",
    "auth-provider",
    "tokenFile",
    "client-certificate",
    "client-key",
    "username",
    "password",
    "as",
    "as-uid",
    "as-groups",
    "as-user-extra",
];
/// Fields of a cluster that name a file or a proxy, or leave the server unproved; a kubeconfig out of an object may not have them.
const REFUSED_OF_CLUSTER: [&str; 3] = ["certificate-authority", "proxy-url", "insecure-skip-tls-verify"];

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
    /// The name in the server's certificate; `None` for the host of the URL.
    pub server_name: Option<String>,
    /// The server's certificate authority in PEM.
    pub authority: String,
    /// What proves who the client is.
    pub credentials: Credentials,
}

/// The credentials of a client: a certificate, a token, or both.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Credentials {
    /// The client's certificate and key.
    pub identity: Option<Identity>,
    /// The bearer token; secret.
    pub token: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "…");
        f.debug_struct("Credentials").field("identity", &self.identity).field("token", &token).finish()
    }
}

impl From<Identity> for Credentials {
    fn from(identity: Identity) -> Self {
        Self { identity: Some(identity), token: None }
    }
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
            server_name: None,
            authority: authority.to_owned(),
            credentials: identity.into(),
        }
    }

    /// Returns the kubeconfig as a JSON object; secret.
    pub fn to_value(&self) -> Value {
        let mut cluster = json!({
            "server": self.server,
            "certificate-authority-data": STANDARD.encode(&self.authority),
        });
        if let Some(name) = &self.server_name {
            cluster["tls-server-name"] = json!(name);
        }
        let mut user = Map::new();
        if let Some(identity) = &self.credentials.identity {
            user.insert("client-certificate-data".to_owned(), STANDARD.encode(&identity.certificate).into());
            user.insert("client-key-data".to_owned(), STANDARD.encode(&identity.key).into());
        }
        if let Some(token) = &self.credentials.token {
            user.insert("token".to_owned(), token.as_str().into());
        }
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "preferences": {},
            "current-context": self.context,
            "clusters": [{"name": self.cluster, "cluster": cluster}],
            "contexts": [{
                "name": self.context,
                "context": {"cluster": self.cluster, "user": self.user},
            }],
            "users": [{"name": self.user, "user": user}],
        })
    }

    /// Returns the kubeconfig as YAML in the layout of kubectl, in which each value stands on one line; secret.
    ///
    /// # Errors
    /// [`Error::Kubeconfig`] if a name cannot be represented.
    pub fn to_yaml(&self) -> Result<String, Error> {
        machinery::yaml::write(&self.to_value()).map_err(|error| Error::Kubeconfig(error.to_string()))
    }

    /// Parses the current context of a kubeconfig (YAML or JSON) that comes out of an object. It may hold certificates, keys and tokens
    /// only inline. Other contexts, and what only they use, are ignored.
    ///
    /// # Errors
    /// [`Error::Kubeconfig`] names the entry that is missing or refused; it never quotes a secret.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let config = read(text)?;
        let context = string(&config, "current-context", "current-context")?;
        let chosen = entry(&config, "contexts", "context", &context)?;
        let cluster = string(chosen, "cluster", "the context's cluster")?;
        let user = string(chosen, "user", "the context's user")?;
        let cluster_entry = entry(&config, "clusters", "cluster", &cluster)?;
        let user_entry = entry(&config, "users", "user", &user)?;
        refuse(cluster_entry, &format!("cluster {cluster:?}"), &REFUSED_OF_CLUSTER)?;
        refuse(user_entry, &format!("user {user:?}"), &REFUSED_OF_USER)?;
        let server = string(cluster_entry, "server", "the cluster's server")?;
        if !server.starts_with("https://") {
            return Err(Error::Kubeconfig(format!("server {server:?} is not an https URL")));
        }
        Ok(Self {
            server,
            server_name: optional(cluster_entry, "tls-server-name")?,
            authority: data(cluster_entry, "certificate-authority-data")?,
            credentials: credentials(user_entry)?,
            cluster,
            user,
            context,
        })
    }
}

/// Reads the text under the limits of request bodies.
fn read(text: &str) -> Result<Value, Error> {
    let invalid = || Error::Kubeconfig("it is not valid YAML or JSON".to_owned());
    let decoded = decode::yaml(text.as_bytes()).map_err(|_| invalid())?;
    if !decoded.problems.is_empty() {
        // Which of the two values counts would depend on who reads it.
        return Err(Error::Kubeconfig("a key stands twice in one of its objects".to_owned()));
    }
    Ok(decoded.value)
}

/// Fails if one of the fields has a value.
fn refuse(entry: &Value, what: &str, refused: &[&str]) -> Result<(), Error> {
    let says_something = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    match refused.iter().find(|field| entry.get(**field).is_some_and(says_something)) {
        None => Ok(()),
        Some(field) => Err(Error::Kubeconfig(format!(
            "{field} of its {what} is refused: a kubeconfig in an object may only have inline certificates, keys and tokens"
        ))),
    }
}

fn credentials(user: &Value) -> Result<Credentials, Error> {
    let token = optional(user, "token")?;
    if token.as_ref().is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
        return Err(Error::Kubeconfig("token has characters that no token has".to_owned()));
    }
    let has = |key: &str| user.get(key).is_some_and(|value| !value.is_null());
    let has_identity = has("client-certificate-data") || has("client-key-data");
    let identity = match token.is_some() && !has_identity {
        true => None,
        false => Some(Identity {
            certificate: data(user, "client-certificate-data")?,
            key: data(user, "client-key-data")?,
        }),
    };
    Ok(Credentials { identity, token })
}

fn string(value: &Value, key: &str, what: &str) -> Result<String, Error> {
    optional(value, key)?.ok_or_else(|| Error::Kubeconfig(format!("{what} is missing")))
}

/// Returns a text; `None` if it is missing or empty.
fn optional(value: &Value, key: &str) -> Result<Option<String>, Error> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(_) => Err(Error::Kubeconfig(format!("{key} is not a text"))),
    }
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
