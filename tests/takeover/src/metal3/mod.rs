//! Upstream's baremetal-operator, with a real Ironic, takes over the hosts that a pivot brought to another API server. No machine may be
//! touched.

mod bmcs;
pub mod logs;
mod objects;
mod processes;
mod webhook;
mod witness;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use netboot_tests::server::Objects;
use serde_json::{Value, json};
use test_server::Server;
use tokio::process::Command;

use self::bmcs::Bmc;
use self::objects::{HOSTS, NAMESPACE, Takeover, host_like};
use self::processes::Ironic;
use self::webhook::Webhook;
use self::witness::Witness;
use crate::output::{say, server};
use crate::program::Program;

/// Upstream polls the power of each host once a minute: enough for two reconciles after the registration.
pub const MINUTES: u64 = 4;
/// How often each host must have been reconciled.
const RECONCILES: usize = 2;

/// Runs the takeover in `folder` with upstream's programs in `tools`, for a time after the pivot.
///
/// # Errors
/// What is not as it must be.
pub async fn run(binary: &Path, tools: &Path, folder: &Path, minutes: u64) -> Result<()> {
    let time = Duration::from_secs(60 * minutes);
    let mut bmcs = Vec::new();
    for host in HOSTS.iter().filter(|host| host.has_bmc) {
        bmcs.push(Bmc::start(host.name, host.is_on).await?);
    }
    let workload = server(binary, folder, "workload", &["--controllers", "none"]).await?;
    let allowed: Vec<String> =
        bmcs.iter().map(|bmc| format!("--bmc-on-this-machine={}", bmc.address)).collect();
    let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
    let mut source = server(binary, folder, "source", &allowed).await?;
    let target = server(binary, folder, "target", &["--controllers", "none"]).await?;
    // Upstream's programs run already when the hosts arrive.
    let mut ironic = Ironic::start(tools, folder).await?;
    let webhook = Webhook::prepare(folder)?;
    let kubeconfig = target.kubeconfig();
    let mut operator = processes::start_operator(tools, folder, &kubeconfig, &ironic, &webhook).await?;
    webhook.register(target.client().await?).await?;
    let witness = Witness::start(target.client().await?).await?;

    let before = describe(&source, &workload, &bmcs).await?;
    pivot(binary, folder, &source, &target).await?;
    source.kill().await?;
    let objects = Objects(target.client().await?);
    let mut wrong = objects::wrong_for_provider(&objects).await?;
    wrong.extend(resume(&objects).await?);
    let ended = async {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            ironic.program.must_run().and_then(|()| operator.must_run())?;
        }
    };
    if let Ok(ended) = tokio::time::timeout(time, ended).await {
        return ended;
    }

    let nodes = ironic.get("/v1/nodes/detail").await?;
    say(&report(&bmcs, &nodes, &operator, &ironic.program, &mut wrong))?;
    let id_of = |host: &str| node_of(&nodes, host)["uuid"].as_str().map(str::to_owned);
    wrong.extend(witness.wrong(&before, id_of));
    wrong.extend(objects::wrong_for_provider(&objects).await?);
    wrong.sort();
    wrong.dedup();
    ensure!(wrong.is_empty(), "the takeover is not what it must be:\n  {}", wrong.join("\n  "));
    say("no host was touched, and nobody reported an error")
}

/// Creates the objects at the source, and returns the hosts when all is at rest. From then on, the requests to BMCs count.
async fn describe(source: &Server, workload: &Server, bmcs: &[Bmc]) -> Result<BTreeMap<&'static str, Value>> {
    objects::describe_node(&Objects(workload.client().await?)).await?;
    let port = workload.config().await?.cluster_url.port_u16().context("a server with a port")?;
    let kubeconfig = std::fs::read_to_string(workload.kubeconfig())?;
    let objects = Objects(source.client().await?);
    objects::describe(&objects, bmcs, port, &kubeconfig).await?;
    let mut hosts = BTreeMap::new();
    for host in &HOSTS {
        hosts.insert(host.name, objects.get(&host_like(host.name)).await?);
    }
    bmcs.iter().for_each(Bmc::forget);
    Ok(hosts)
}

async fn pivot(binary: &Path, folder: &Path, source: &Server, target: &Server) -> Result<()> {
    let pivot = Command::new(binary)
        .args(["pivot", "--data-dir"])
        .arg(folder.join("source/data"))
        .arg("--to-kubeconfig")
        .arg(target.kubeconfig())
        .output()
        .await?;
    let printed = String::from_utf8_lossy(&pivot.stdout);
    let errors = String::from_utf8_lossy(&pivot.stderr);
    ensure!(pivot.status.success(), "the pivot failed:\n{printed}{errors}\n{}", source.log());
    say(printed.trim_end())
}

/// Removes the pause from the hosts of machines, as Metal3's provider for Cluster API does when their Cluster is not paused any more.
/// Returns the other hosts that are still paused although no user has paused them.
async fn resume(target: &Objects) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for host in &HOSTS {
        let found = target.get(&host_like(host.name)).await?;
        if found["metadata"]["annotations"][objects::PAUSED] != "metal3.io/capm3" {
            continue;
        }
        if found["spec"]["consumerRef"]["kind"] != "Metal3Machine" {
            wrong.push(format!("{} is paused, and nobody at the target would ever resume it", host.name));
        }
        let resumed = json!({"metadata": {"annotations": {objects::PAUSED: Value::Null}}});
        target.merge(&host_like(host.name), resumed).await?;
    }
    Ok(wrong)
}

/// Returns the node of a host in Ironic, or null.
fn node_of<'a>(nodes: &'a Value, host: &str) -> &'a Value {
    let name = format!("{NAMESPACE}~{host}");
    let mut all = nodes["nodes"].as_array().into_iter().flatten();
    all.find(|node| node["name"] == name.as_str()).unwrap_or(&Value::Null)
}

/// Returns what became of the hosts as text, and adds to `wrong` what must not be.
fn report(
    bmcs: &[Bmc],
    nodes: &Value,
    operator: &Program,
    ironic: &Program,
    wrong: &mut Vec<String>,
) -> String {
    let (operator, ironic) = (operator.log(), ironic.log());
    let (reconciles, admitted) = (logs::reconciles(&operator), logs::admitted(&operator));
    let transitions = logs::transitions(&ironic);
    let mut lines = Vec::new();
    for host in &HOSTS {
        let node = node_of(nodes, host.name);
        let state = node["provision_state"].as_str();
        let states = node["uuid"].as_str().and_then(|id| transitions.get(id)).cloned().unwrap_or_default();
        let times = reconciles.get(host.name).copied().unwrap_or(0);
        let bmc = bmcs.iter().find(|bmc| bmc.host == host.name);
        let (requests, writes) = bmc.map(Bmc::requests).unwrap_or_default();
        lines.push(format!(
            "{}: {} reconciles, {requests} requests to its BMC, Ironic's node {}: {}",
            host.name,
            times,
            state.unwrap_or("absent"),
            states.join(", ")
        ));
        wrong.extend(writes.iter().map(|write| format!("{}: {write}", host.name)));
        let (wanted, allowed): (Option<&str>, &[&str]) = match host.takeover {
            Takeover::Adopted => (Some("active"), &["verifying", "manageable", "adopting", "active"]),
            Takeover::Manageable => (Some("manageable"), &["verifying", "manageable"]),
            Takeover::Unknown => (None, &[]),
        };
        if state != wanted || states.iter().any(|state| !allowed.contains(&state.as_str())) {
            wrong.push(format!(
                "{}: Ironic's node must be {wanted:?} and is {state:?} after {states:?}",
                host.name
            ));
        }
        if bmc.is_some_and(|bmc| !bmc.is_untouched(host.is_on)) {
            wrong.push(format!("{}: its machine was switched", host.name));
        }
        if !admitted.contains(host.name) {
            wrong.push(format!("{}: upstream's webhook was not asked about it", host.name));
        }
        // A paused host is looked at once.
        if times < if host.is_paused() { 1 } else { RECONCILES } {
            wrong.push(format!("{}: baremetal-operator reconciled it {times} times only", host.name));
        }
    }
    wrong.extend(logs::errors_of_operator(&operator));
    wrong.extend(logs::errors_of_ironic(&ironic));
    lines.join("\n")
}
