//! Looks on while the commands run: when each step is reached, what a pivot must not change, and what an error shows.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use machinery::clock::Clock;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::COMMAND;
use super::picture::Picture;
use super::site::Site;
use crate::scenario::{NAMESPACE, last_lines};
use crate::server::Objects;
use crate::wait::until;

/// The host that stays as it is, and runs the control plane.
const KEPT: &str = "host-0";
/// The kubeconfig of the first server, in the home directory.
const FIRST: &str = ".local/share/firstlight/kubeconfig";
/// The kubeconfig of the cluster, as the page names it.
const CLUSTER: &str = "work/first.kubeconfig";
/// Kinds whose state an error shows.
const KINDS: [&str; 6] =
    ["Cluster", "KubeadmControlPlane", "MachineDeployment", "Machine", "Metal3Machine", "BareMetalHost"];

/// The cluster, as the first server had it.
pub(super) struct Cluster {
    /// Its API.
    pub objects: Objects,
    /// The time from power-off until both Nodes were Ready.
    pub ready: Duration,
    /// The user data of the control plane, and of the worker.
    pub control_plane: String,
    pub worker: String,
    /// What a pivot must not change of the control plane's host.
    kept: Value,
}

pub(super) struct Observer<'a> {
    site: &'a Site,
    home: &'a Path,
    picture: &'a Picture,
    start: Instant,
}

impl<'a> Observer<'a> {
    pub(super) fn new(site: &'a Site, home: &'a Path, picture: &'a Picture) -> Self {
        Self { site, home, picture, start: Clock::system().monotonic() }
    }

    pub(super) fn say(&self, what: &str) -> Result<()> {
        let seconds = self.start.elapsed().as_secs();
        Ok(writeln!(std::io::stdout(), "figure: real cluster: from power-off to {what}: {seconds} s")?)
    }

    /// Watches the first server until the cluster is Available.
    pub(super) async fn first_server(&self) -> Result<Cluster> {
        let path = self.home.join(FIRST);
        let server = until("the first server", COMMAND, || async { connect(&path).await.ok() }).await?;
        let view = self.picture.view();
        let host = object("BareMetalHost", KEPT);
        for state in ["inspecting", "provisioning", "provisioned"] {
            let is_there = |found: &Value| {
                let now = found["status"]["provisioning"]["state"].as_str().unwrap_or_default();
                now == state || now == "provisioned"
            };
            self.wait(&format!("{KEPT} {state}"), &server, &host, is_there).await?;
            self.picture.keep(&view);
        }
        let plane = object("KubeadmControlPlane", "first-control-plane");
        self.wait("the control plane Initialized", &server, &plane, |found| {
            has_condition(found, "Initialized")
        })
        .await?;
        self.picture.keep(&view);
        let objects = workload(&server).await?;
        for name in [KEPT, "host-1"] {
            let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}});
            self.wait(&format!("Node {name} Ready"), &objects, &node, is_ready).await?;
            let id = objects.get(&node).await?["spec"]["providerID"].clone();
            let start = format!("metal3://{NAMESPACE}/{name}/");
            ensure!(id.as_str().is_some_and(|id| id.starts_with(&start)), "{name} has the provider ID {id}");
            self.picture.keep(&view);
        }
        let ready = self.start.elapsed();
        self.wait("Cluster Available", &server, &object("Cluster", "first"), |found| {
            has_condition(found, "Available")
        })
        .await?;
        let [control_plane, worker] = user_data(&server).await?;
        Ok(Cluster { objects, ready, control_plane, worker, kept: kept(&server.get(&host).await?) })
    }

    /// Fails if the control plane's host was switched, written or reserved anew since the pivot.
    pub(super) async fn is_untouched(&self, cluster: &Cluster) -> Result<()> {
        let after = kept(&cluster.objects.get(&object("BareMetalHost", KEPT)).await?);
        ensure!(after == cluster.kept, "{KEPT} was touched: {:#}\n{after:#}", cluster.kept);
        self.picture.finish(&self.home.join(CLUSTER))
    }

    async fn wait(
        &self,
        what: &str,
        objects: &Objects,
        object: &Value,
        condition: impl Fn(&Value) -> bool,
    ) -> Result<()> {
        until(what, COMMAND, || async { condition(&objects.get(object).await.ok()?).then_some(()) }).await?;
        self.say(what)
    }

    /// Returns the state of all objects, the machines' consoles, and the log of the first server.
    pub(super) async fn explained(&self) -> String {
        let mut text = String::new();
        for path in [FIRST, CLUSTER] {
            text += &format!("\n=== {path}");
            let answer = tokio::time::timeout(ANSWER, state(self.home.join(path))).await;
            text += &answer.unwrap_or_else(|_| "\nno answer".to_owned());
        }
        for machine in &self.site.machines {
            text += &format!("\n--- console of {}\n{}", machine.design().name, machine.console().tail());
        }
        let log = std::fs::read_to_string(self.home.join("work/up.log")).unwrap_or_default();
        format!("{text}\n--- up.log\n{}", last_lines(&log, 100))
    }
}

/// Limit for the state of a server, which may be gone.
const ANSWER: Duration = Duration::from_secs(60);

async fn state(path: PathBuf) -> String {
    let objects = match connect(&path).await {
        Ok(objects) => objects,
        Err(error) => return format!("\n{error:#}"),
    };
    let mut text = String::new();
    for kind in KINDS {
        for mut found in objects.list(&object(kind, "")).await.unwrap_or_default() {
            found["status"]["hardware"] = Value::Null;
            text += &format!("\n--- {kind} {}\n{:#}", found["metadata"]["name"], found["status"]);
        }
    }
    let pods = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "", "namespace": "firstlight-system"}});
    for pod in objects.list(&pods).await.unwrap_or_default() {
        text += &format!("\n--- Pod {}\n{:#}", pod["metadata"]["name"], pod["status"]);
    }
    text
}

/// Returns how and when a host was provisioned, for whom, and whether it is on.
fn kept(host: &Value) -> Value {
    let status = &host["status"];
    json!({
        "consumer": host["spec"]["consumerRef"]["name"], "image": host["spec"]["image"],
        "provisioning": status["provisioning"], "history": status["operationHistory"],
        "poweredOn": status["poweredOn"],
    })
}

async fn connect(path: &Path) -> Result<Objects> {
    client(&std::fs::read_to_string(path)?).await
}

async fn client(kubeconfig: &str) -> Result<Objects> {
    let config = Kubeconfig::from_yaml(kubeconfig)?;
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    Ok(Objects(Client::try_from(config)?))
}

/// Connects to the new cluster with the kubeconfig that the control plane's controller has written.
async fn workload(server: &Objects) -> Result<Objects> {
    client(&value_of(server, "first-kubeconfig").await?).await
}

/// Returns the user data of the control plane and of the worker.
async fn user_data(server: &Objects) -> Result<[String; 2]> {
    let (mut control_plane, mut worker) = (String::new(), String::new());
    for machine in server.list(&object("Machine", "")).await? {
        let name = machine["spec"]["bootstrap"]["dataSecretName"].as_str().unwrap_or_default();
        let is_worker = machine["metadata"]["labels"]["cluster.x-k8s.io/control-plane"].is_null();
        *(if is_worker { &mut worker } else { &mut control_plane }) = value_of(server, name).await?;
    }
    Ok([control_plane, worker])
}

/// Returns the key `value` of a Secret.
async fn value_of(server: &Objects, secret: &str) -> Result<String> {
    let secret: Secret = serde_json::from_value(server.get(&object("Secret", secret)).await?)?;
    let data = secret.data.unwrap_or_default();
    let value = data.get("value").context("a Secret with the key \"value\"")?;
    Ok(String::from_utf8(value.0.clone())?)
}

/// Returns whether a Node is Ready.
pub(super) fn is_ready(node: &Value) -> bool {
    has_condition(node, "Ready")
}

/// Names an object.
fn object(kind: &str, name: &str) -> Value {
    let version = match kind {
        "BareMetalHost" => "metal3.io/v1alpha1",
        "KubeadmControlPlane" => "controlplane.cluster.x-k8s.io/v1beta2",
        "Secret" => "v1",
        "Metal3Machine" => "infrastructure.cluster.x-k8s.io/v1beta2",
        _ => "cluster.x-k8s.io/v1beta2",
    };
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}})
}

fn has_condition(found: &Value, condition: &str) -> bool {
    let conditions = found["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|known| known["type"] == condition && known["status"] == "True")
}
