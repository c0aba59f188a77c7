//! Connects to a cluster with a kubeconfig, which is found by kubectl's rules.

use std::path::PathBuf;

use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use machinery::cause::first_cause;
use tower::BoxError;
use tower::util::MapErrLayer;

use crate::{Context, Result};

/// The user's choice of a cluster: a kubeconfig and a context in it.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// The kubeconfig; by default `$KUBECONFIG`, then `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// The context; by default the kubeconfig's current context.
    pub context: Option<String>,
}

/// A connection to a cluster, and its default namespace.
#[derive(Clone)]
pub struct Connection {
    /// Client for the cluster.
    pub client: Client,
    /// The namespace of the context, or `default`.
    pub namespace: String,
}

/// The error of a request that a server did not answer. It has no source, because its text ends with the first cause.
#[derive(Debug, thiserror::Error)]
#[error("{server}: {cause}")]
struct Unanswered {
    server: String,
    cause: String,
}

impl Choice {
    /// Reads the cluster's data from the kubeconfig. Nothing is sent yet.
    ///
    /// # Errors
    /// There is no kubeconfig, it cannot be read, or it does not have the context.
    pub async fn config(&self) -> Result<Config> {
        let named = || {
            let path = self.kubeconfig.as_ref().map(|path| format!(" {}", path.display()));
            format!("cannot use the kubeconfig{}", path.unwrap_or_default())
        };
        let kubeconfig = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        Config::from_custom_kubeconfig(kubeconfig.context(named)?, &options).await.context(named)
    }

    /// Returns the connection, which is opened at the first request. An error of it names the server.
    ///
    /// # Errors
    /// The errors of [`Self::config`], and credentials that cannot be used.
    pub async fn connect(&self) -> Result<Connection> {
        let config = self.config().await?;
        let namespace = config.default_namespace.clone();
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let name_server = MapErrLayer::new(move |error: BoxError| Unanswered {
            server: server.clone(),
            cause: first_cause(error.as_ref()),
        });
        let client = ClientBuilder::try_from(config)?.with_layer(&name_server).build();
        Ok(Connection { client, namespace })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBECONFIG: &str = r"
apiVersion: v1
kind: Config
current-context: one
clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: u, user: {token: t}}]
contexts:
- {name: one, context: {cluster: c, user: u}}
- {name: two, context: {cluster: c, user: u, namespace: second}}
";

    #[tokio::test]
    async fn the_context_names_the_namespace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        std::fs::write(&path, KUBECONFIG).unwrap();
        for (context, expected) in [(None, "default"), (Some("two"), "second")] {
            let choice = Choice { kubeconfig: Some(path.clone()), context: context.map(str::to_owned) };
            assert_eq!(choice.config().await.unwrap().default_namespace, expected);
        }
        let unknown = Choice { kubeconfig: Some(path), context: Some("three".to_owned()) };
        assert!(unknown.config().await.is_err());
    }

    #[tokio::test]
    async fn a_server_that_does_not_answer_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        std::fs::write(&path, KUBECONFIG).unwrap();
        let connection = Choice { kubeconfig: Some(path), context: None }.connect().await.unwrap();
        let error = connection.client.apiserver_version().await.unwrap_err();
        let expected = "the server of the kubeconfig does not answer: https://127.0.0.1:1: Connection refused (os error 111)";
        assert_eq!(crate::error::cluster_message(&error), expected);
    }

    #[tokio::test]
    async fn a_kubeconfig_that_is_not_there_is_named() {
        let choice = Choice { kubeconfig: Some("/nonexistent/kubeconfig".into()), context: None };
        let error = choice.config().await.unwrap_err().to_string();
        assert!(error.starts_with("cannot use the kubeconfig /nonexistent/kubeconfig: "), "{error}");
    }
}
