//! Upstream's kubeadm control plane manager looks after a cluster of simulated machines, in place of our controller of KubeadmControlPlanes.
//! It reaches etcd through port-forwards over SPDY.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use netboot_tests::server::Objects;
use netboot_tests::wait::until;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::certificate;
use crate::output::{say, server};
use crate::program::{Program, START};

/// All controllers but the one that upstream's manager replaces.
const CONTROLLERS: &str = "core,kubeadm-bootstrap,addons,simulated";
/// The cluster of examples/first-cluster.yaml: three control plane machines, three workers.
const CLUSTER: &str = "first";
const CONTROL_PLANE: &str = "first-control-plane";
const WORKERS: &str = "first-workers";
/// The versions before and after the upgrade.
const VERSIONS: [&str; 2] = ["v1.35.0", "v1.36.0"];
/// The time for each step. Upstream's manager asks again after 10 or 20 seconds where it waits.
const STEP: Duration = Duration::from_secs(240);
/// What the manager logs for each port-forward over SPDY in a WebSocket.
const FORWARDED: &str = "negotiated protocol: portforward.k8s.io";

/// Brings a cluster up, scales and upgrades its control plane, and deletes it.
///
/// # Errors
/// A step that does not end as it must, or an error that the manager logs about etcd.
pub async fn run(binary: &Path, tools: &Path, folder: &Path) -> Result<()> {
    let server = server(binary, folder, "server", &["--controllers", CONTROLLERS]).await?;
    let objects = Objects(server.client().await?);
    let mut manager = start(tools, folder, &server.kubeconfig()).await?;
    for object in example()? {
        objects.apply(&object).await?;
    }
    let mut steps = Steps { objects, manager: &mut manager };
    steps.wait("three machines, one after the other", 3, VERSIONS[0]).await?;
    steps.scale(1).await?;
    steps.wait("scaled down to one, whose etcd lost two members", 1, VERSIONS[0]).await?;
    steps.scale(3).await?;
    steps.wait("scaled up to three", 3, VERSIONS[0]).await?;
    steps.upgrade().await?;
    steps.wait("upgraded, with three other machines", 3, VERSIONS[1]).await?;
    // While a cluster is being deleted, its etcd goes before the last question.
    let log = steps.manager.log();
    steps.delete().await?;
    let forwards = log.matches(FORWARDED).count();
    ensure!(forwards > 0, "the manager forwarded no port over SPDY:\n{log}");
    let wrong = errors(&log);
    ensure!(wrong.is_empty(), "the manager logged errors about etcd:\n{}", wrong.join("\n"));
    say(&format!("{forwards} port-forwards over SPDY, and no error about etcd"))
}

/// Starts the manager, and waits until it is ready.
async fn start(tools: &Path, folder: &Path, kubeconfig: &Path) -> Result<Program> {
    let free = || Ok::<_, anyhow::Error>(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port());
    let (webhook, health) = (free()?, free()?);
    let certificates = folder.join("certificates");
    certificate::write(&certificates)?;
    let mut command = Command::new(tools.join("cluster-api/kubeadm-control-plane-manager"));
    // With this level, client-go says how it forwards ports.
    command.args(["-v=4", "--diagnostics-address=127.0.0.1:0", "--insecure-diagnostics"]);
    command.arg("--kubeconfig").arg(kubeconfig).arg("--webhook-cert-dir").arg(&certificates);
    command.arg(format!("--webhook-port={webhook}")).arg(format!("--health-addr=127.0.0.1:{health}"));
    let mut manager = Program::start("kubeadm-control-plane-manager", &mut command, folder)?;
    let address = format!("http://127.0.0.1:{health}/readyz");
    until("the manager is ready", START, || {
        let runs = manager.must_run();
        let asked = Command::new("curl").args(["-sS", "-f", "-m", "5", &address]).output();
        async move {
            if let Err(error) = runs {
                return Some(Err(error));
            }
            asked.await.is_ok_and(|answer| answer.status.success()).then_some(Ok(()))
        }
    })
    .await??;
    Ok(manager)
}

/// Returns the objects of the example.
///
/// # Errors
/// The example cannot be read.
pub fn example() -> Result<Vec<Value>> {
    let path = clients::session::root().join("examples/first-cluster.yaml");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    text.split("\n---\n").map(|document| Ok(serde_saphyr::from_str(document)?)).collect()
}

fn named(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"namespace": "default", "name": name}})
}

fn control_plane() -> Value {
    named("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", CONTROL_PLANE)
}

fn cluster() -> Value {
    named("cluster.x-k8s.io/v1beta2", "Cluster", CLUSTER)
}

struct Steps<'a> {
    objects: Objects,
    manager: &'a mut Program,
}

impl Steps<'_> {
    async fn scale(&self, replicas: usize) -> Result<()> {
        self.objects.merge(&control_plane(), json!({"spec": {"replicas": replicas}})).await
    }

    async fn upgrade(&self) -> Result<()> {
        let workers = named("cluster.x-k8s.io/v1beta2", "MachineDeployment", WORKERS);
        self.objects.merge(&control_plane(), json!({"spec": {"version": VERSIONS[1]}})).await?;
        self.objects.merge(&workers, json!({"spec": {"template": {"spec": {"version": VERSIONS[1]}}}})).await
    }

    /// Waits until the Cluster is available with so many control plane machines of this version, all with a healthy etcd member.
    async fn wait(&mut self, step: &str, replicas: usize, version: &str) -> Result<()> {
        let Self { objects, manager } = self;
        let mut last = String::new();
        let waited = async {
            loop {
                manager.must_run()?;
                let Some(missing) = missing(objects, replicas, version).await? else { return anyhow::Ok(()) };
                last = missing;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        };
        match tokio::time::timeout(STEP, waited).await {
            Ok(waited) => waited?,
            Err(_) => anyhow::bail!("{step}: not within {STEP:?}: {last}\n{}", self.manager.log()),
        }
        say(step)
    }

    async fn delete(&mut self) -> Result<()> {
        self.objects.delete(&cluster()).await?;
        let Self { objects, manager } = self;
        until("the Cluster is deleted", STEP, || {
            let runs = manager.must_run();
            let objects = &objects;
            async move {
                match (runs, objects.get(&cluster()).await) {
                    (Err(error), _) | (_, Err(error)) => Some(Err(error)),
                    (_, Ok(found)) => found.is_null().then_some(Ok(())),
                }
            }
        })
        .await??;
        say("deleted")
    }
}

/// Says what is not yet as it must be.
async fn missing(objects: &Objects, replicas: usize, version: &str) -> Result<Option<String>> {
    let found = objects.get(&control_plane()).await?;
    let status = &found["status"];
    for field in ["replicas", "readyReplicas", "availableReplicas", "upToDateReplicas"] {
        if status[field] != replicas {
            return Ok(Some(format!("status.{field} is {}", status[field])));
        }
    }
    if status["observedGeneration"] != found["metadata"]["generation"] || status["version"] != version {
        return Ok(Some(format!("status.version is {}", status["version"])));
    }
    for (object, conditions) in [
        (&found, &["EtcdClusterHealthy", "ControlPlaneComponentsHealthy", "Available"][..]),
        (&objects.get(&cluster()).await?, &["Available"]),
    ] {
        if let Some(wrong) = not_true(object, conditions) {
            return Ok(Some(wrong));
        }
    }
    let machines = objects.list(&named("cluster.x-k8s.io/v1beta2", "Machine", "")).await?;
    let is_member = |machine: &&Value| {
        machine["metadata"]["labels"]["cluster.x-k8s.io/control-plane-name"] == CONTROL_PLANE
    };
    let members: Vec<&Value> = machines.iter().filter(is_member).collect();
    if members.len() != replicas {
        return Ok(Some(format!("there are {} control plane Machines", members.len())));
    }
    let conditions = ["EtcdMemberHealthy", "EtcdPodHealthy", "APIServerPodHealthy", "Ready"];
    Ok(members.into_iter().find_map(|machine| not_true(machine, &conditions)))
}

/// Returns the first of these conditions that is not true.
pub fn not_true(object: &Value, wanted: &[&str]) -> Option<String> {
    let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_true = |kind: &&&str| {
        conditions.iter().any(|condition| condition["type"] == **kind && condition["status"] == "True")
    };
    let kind = wanted.iter().find(|kind| !is_true(kind))?;
    let condition = conditions.iter().find(|condition| condition["type"] == *kind).unwrap_or(&Value::Null);
    Some(format!("{} {}: {kind} is {condition}", object["kind"], object["metadata"]["name"]))
}

/// The errors about etcd in a log of klog, in which such a line begins with `E`.
pub fn errors(log: &str) -> Vec<&str> {
    let is_error = |line: &&str| line.starts_with('E') || line.contains("panic");
    log.lines().filter(is_error).filter(|line| line.to_lowercase().contains("etcd")).collect()
}
