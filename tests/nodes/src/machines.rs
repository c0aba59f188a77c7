//! The machines of the cluster and their Nodes.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::kubectl::Kubectl;
use crate::run::until;

/// The label of workers in the example.
const WORKERS: &str = "pool=local-workers";

/// Waits until the cluster has this number of machines, all with this version and Available, and as many Nodes that are Ready.
///
/// # Errors
/// It does not within `limit`.
pub async fn wait(
    management: &Kubectl,
    cluster: &Kubectl,
    count: usize,
    version: &str,
    limit: Duration,
) -> Result<()> {
    let what = format!("{count} machines with {version}");
    until(&what, limit, async || {
        let machines = list(management, "machines").await?;
        ensure!(machines.len() == count, "{} machines", machines.len());
        for machine in &machines {
            let name = &machine["metadata"]["name"];
            ensure!(machine["metadata"]["deletionTimestamp"].is_null(), "{name} is being deleted");
            ensure!(machine["spec"]["version"] == version, "{name} has {}", machine["spec"]["version"]);
            ensure!(is(machine, "Available"), "{name} is not Available");
        }
        for node in &nodes(cluster, count).await? {
            let (name, found) = (&node["metadata"]["name"], &node["status"]["nodeInfo"]["kubeletVersion"]);
            ensure!(is(node, "Ready"), "the Node {name} is not Ready");
            ensure!(found == version, "the Node {name} has {found}");
        }
        Ok(())
    })
    .await
}

/// Returns the Nodes of a cluster.
///
/// # Errors
/// Their number is another one.
pub async fn nodes(cluster: &Kubectl, count: usize) -> Result<Vec<Value>> {
    let nodes = list(cluster, "nodes").await?;
    ensure!(nodes.len() == count, "{} Nodes", nodes.len());
    Ok(nodes)
}

/// Returns the names of all machines, which are also those of their Nodes.
///
/// # Errors
/// The server does not answer.
pub async fn names(management: &Kubectl) -> Result<Vec<String>> {
    names_of(management, "machines").await
}

/// Returns the name of a worker.
///
/// # Errors
/// There is none.
pub async fn worker(management: &Kubectl) -> Result<String> {
    let workers = names_of(management, &format!("machines -l {WORKERS}")).await?;
    workers.into_iter().next().context("there is no worker")
}

/// Kills the init of a worker behind the server's back, and returns the name of the machine.
///
/// # Errors
/// No worker runs.
pub async fn kill_worker(management: &Kubectl) -> Result<String> {
    let name = worker(management).await?;
    kill(&name)?;
    Ok(name)
}

/// Kills the init of a node behind the server's back.
///
/// # Errors
/// It does not run.
pub fn kill(name: &str) -> Result<()> {
    let inits = inits();
    let init = inits.get(name).with_context(|| format!("no init of {name} among {inits:?}"))?;
    Ok(kill_process(Pid::from_raw(init.pid).context("a process")?, Signal::KILL)?)
}

/// Waits until a machine is gone.
///
/// # Errors
/// It is not within `limit`.
pub async fn is_gone(management: &Kubectl, name: &str, limit: Duration) -> Result<()> {
    until(&format!("the machine {name} is gone"), limit, async || {
        ensure!(!names(management).await?.iter().any(|other| other == name), "it is there");
        Ok(())
    })
    .await
}

/// The init of a node.
#[derive(Debug, PartialEq, Eq)]
pub struct Init {
    pid: i32,
    /// When it was started, in ticks since the start of the machine.
    started: String,
}

/// Returns the inits of all nodes by the names of the nodes: each is process 1 of a namespace of its own.
pub fn inits() -> BTreeMap<String, Init> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| init(entry.path())).collect()
}

fn init(process: PathBuf) -> Option<(String, Init)> {
    let pid = process.file_name()?.to_str()?.parse().ok()?;
    let status = fs::read_to_string(process.join("status")).ok()?;
    let numbers: Vec<&str> =
        status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.split_whitespace().collect();
    // Those of Pods are a namespace deeper.
    if numbers.len() != 2 || numbers[1] != "1" {
        return None;
    }
    let name = fs::read_to_string(process.join("root/etc/hostname")).ok()?;
    let stat = fs::read_to_string(process.join("stat")).ok()?;
    // proc_pid_stat(5): the name of the program, in parentheses, may contain blanks; the start is the 20th field after it.
    let started = stat.rsplit_once(") ")?.1.split(' ').nth(19)?.to_owned();
    Some((name.trim().to_owned(), Init { pid, started }))
}

async fn names_of(kubectl: &Kubectl, what: &str) -> Result<Vec<String>> {
    let found = list(kubectl, what).await?;
    Ok(found.iter().filter_map(|object| object["metadata"]["name"].as_str().map(str::to_owned)).collect())
}

async fn list(kubectl: &Kubectl, what: &str) -> Result<Vec<Value>> {
    let text = kubectl.run(&format!("get {what} -o json")).await?;
    let mut list: Value = serde_json::from_str(&text)?;
    Ok(serde_json::from_value(list["items"].take())?)
}

fn is(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|known| known["type"] == condition && known["status"] == "True")
}
