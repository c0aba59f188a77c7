//! A server to attack: its namespaces and accounts, and planted objects that most accounts must never see.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use http::Method;
use machinery::clock::Clock;
use machinery::random::Random;
use pki::Identity;
use serde_json::{Value, json};
use tempfile::TempDir;
use test_server::Server;

use crate::caller::{Ask, Caller, Endpoint};

/// The tenant's namespace.
pub const MINE: &str = "mine";
/// A namespace of another user.
pub const OTHER: &str = "other";
/// The namespace of the service accounts, which the tenant cannot access.
pub const STAFF: &str = "staff";
/// The name of all objects planted in other namespaces.
pub const PLANTED: &str = "planted";

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// Options of a run.
#[derive(Clone)]
pub struct Options {
    /// Path of the server's binary.
    pub binary: PathBuf,
    /// Seed of the random choices.
    pub seed: u64,
    /// Number of generated requests.
    pub requests: u64,
    /// All limits of time are multiplied by it.
    pub slack: u32,
    /// Whether to measure the figures of the documentation, which takes minutes.
    pub full: bool,
}

/// A running server and its administrator's identity.
pub struct Lab {
    /// The server process.
    pub server: Server,
    /// The address of the server.
    pub endpoint: Endpoint,
    /// The administrator's certificate.
    pub identity: Identity,
    /// A text that only accounts with access to other namespaces may see.
    pub canary: String,
    directory: TempDir,
}

impl Lab {
    /// Starts a server without controllers, so that only requests change objects.
    pub async fn start(options: &Options) -> Result<Self> {
        Self::start_with(&options.binary, &["--controllers", "none"]).await
    }

    /// Starts a server with these options.
    pub async fn start_with(binary: &Path, options: &[&str]) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("firstlight-attack-").tempdir()?;
        let server = Server::start(binary, directory.path(), options).await?;
        let (endpoint, identity) = Endpoint::of(&std::fs::read_to_string(server.kubeconfig())?)?;
        let canary = format!("canary{}", Random::system().uid().replace('-', ""));
        Ok(Self { server, endpoint, identity, canary, directory })
    }

    /// Returns the data directory.
    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// Returns a client with the administrator's identity.
    pub fn admin(&self) -> Result<Caller> {
        self.endpoint.certified(&self.identity)
    }

    /// Creates the namespaces and accounts: `plain` without any role, `tenant` with all permissions in
    /// [`MINE`], `reader` of all ConfigMaps, and `patcher`, which may change but not create ConfigMaps in
    /// [`MINE`].
    pub async fn furnish(&self) -> Result<()> {
        let mut admin = self.admin()?;
        for name in [MINE, OTHER, STAFF] {
            let annotations = if name == OTHER { json!({"note": self.canary}) } else { json!({}) };
            let metadata = json!({"name": name, "annotations": annotations});
            admin
                .post(
                    "/api/v1/namespaces",
                    &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}),
                )
                .await?;
        }
        for name in ["plain", "tenant", "reader", "patcher"] {
            let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
            admin.post(&format!("/api/v1/namespaces/{STAFF}/serviceaccounts"), &account).await?;
        }
        let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
        let reads =
            json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]);
        let changes =
            json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "update", "patch"]}]);
        grant(&mut admin, Some(MINE), "tenant", everything).await?;
        grant(&mut admin, None, "reader", reads).await?;
        grant(&mut admin, Some(MINE), "patcher", changes).await
    }

    /// Returns a token of an account.
    pub async fn token(&self, account: &str) -> Result<String> {
        let path = format!("/api/v1/namespaces/{STAFF}/serviceaccounts/{account}/token");
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}});
        let answer = self.admin()?.post(&path, &request).await?;
        Ok(answer["status"]["token"].as_str().context("a token")?.to_owned())
    }

    /// Returns a client with the token of an account.
    pub async fn account(&self, account: &str) -> Result<Caller> {
        self.endpoint.caller(Some(&self.token(account).await?))
    }

    /// Returns the process's present and peak memory in bytes.
    pub fn memory(&self) -> Option<(u64, u64)> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.id()?)).ok()?;
        let kilobytes = |key: &str| -> Option<u64> {
            let line = status.lines().find(|line| line.starts_with(key))?;
            line.split_whitespace().nth(1)?.parse().ok()
        };
        Some((kilobytes("VmRSS:")? << 10, kilobytes("VmHWM:")? << 10))
    }

    /// Returns the exit status and the end of the log if the process has ended.
    pub fn ended(&mut self) -> Result<Option<String>> {
        let Some(status) = self.server.ended()? else { return Ok(None) };
        let log = self.server.log();
        let lines: Vec<&str> = log.lines().collect();
        Ok(Some(format!("{status}: {}", lines[lines.len().saturating_sub(3)..].join(" | "))))
    }
}

/// Grants rules to an account of [`STAFF`] in a namespace, or everywhere. Existing objects are replaced.
pub async fn grant(admin: &mut Caller, namespace: Option<&str>, account: &str, rules: Value) -> Result<()> {
    let (folder, prefix) = match namespace {
        Some(namespace) => (format!("{RBAC}/namespaces/{namespace}"), ""),
        None => (RBAC.to_owned(), "Cluster"),
    };
    let group = "rbac.authorization.k8s.io";
    let role = json!({
        "apiVersion": format!("{group}/v1"), "kind": format!("{prefix}Role"), "metadata": {"name": account}, "rules": rules,
    });
    let binding = json!({
        "apiVersion": format!("{group}/v1"), "kind": format!("{prefix}RoleBinding"), "metadata": {"name": account},
        "roleRef": {"apiGroup": group, "kind": format!("{prefix}Role"), "name": account},
        "subjects": [{"kind": "ServiceAccount", "namespace": STAFF, "name": account}],
    });
    let prefix = prefix.to_lowercase();
    for (collection, object) in [("roles", role), ("rolebindings", binding)] {
        let path = format!("{folder}/{prefix}{collection}/{account}?fieldManager=lab&force=true");
        let ask = Ask::new(Method::PATCH, path).body("application/apply-patch+yaml", object.to_string());
        let answer = admin.send(&ask).await?;
        anyhow::ensure!(answer.is_done(), "{}", answer.text());
    }
    Ok(())
}

/// Waits until `condition` returns a value.
pub async fn until<T>(
    what: &str,
    limit: Duration,
    mut condition: impl AsyncFnMut() -> Option<T>,
) -> Result<T> {
    let clock = Clock::system();
    let waited = tokio::time::timeout(limit, async {
        loop {
            if let Some(found) = condition().await {
                return found;
            }
            clock.sleep(Duration::from_millis(50)).await;
        }
    });
    waited.await.with_context(|| format!("waited {limit:?} for {what}"))
}
