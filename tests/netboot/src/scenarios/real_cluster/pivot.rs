//! The pivot into the cluster, and what firstlight does there.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::run::{has_condition, object};
use super::workload::Workload;
use super::{Run, STEP};
use crate::lab::run as execute;
use crate::server::binary;
use crate::wait::until;

/// The worker that is removed.
const REMOVED: &str = "host-1";
/// The worker that is added.
const ADDED: &str = "host-2";

/// Moves everything into the cluster, and ends the first server. `third` is a host that only the cluster gets to know.
pub(super) async fn pivot(run: &Run, workload: &Workload<'_>, third: &Value) -> Result<()> {
    let (data, kubeconfig) = (run.scenario.lab.file("data"), run.scenario.lab.file("target"));
    std::fs::write(&kubeconfig, &workload.kubeconfig)?;
    let text = |path: &std::path::Path| path.to_str().map(str::to_owned).context("a path that is text");
    let (data, kubeconfig) = (text(&data)?, text(&kubeconfig)?);
    let before = hosts(run).await?;
    let secret = run.scenario.server.get(&credentials(third)).await?;
    let done =
        execute(&binary()?, &["pivot", "--install", "--data-dir", &data, "--to-kubeconfig", &kubeconfig])
            .await;
    if let Err(error) = done {
        return Err(run.explained(error.context(pods(workload).await)).await);
    }
    run.say("the pivot is done")?;
    execute(&binary()?, &["stop", "--data-dir", &data]).await?;
    workload
        .wait("Cluster Available, seen by itself", &object("Cluster", "first"), |found| {
            has_condition(found, "Available")
        })
        .await?;
    for machine in workload.objects.list(&object("Machine", "")).await? {
        ensure!(machine["status"]["phase"] == "Running", "{machine:#}");
    }
    adds_a_worker(workload, third, secret).await?;
    removes_a_worker(workload).await?;
    // The hosts that were there have neither been switched nor written since.
    let after = hosts_of(workload.objects.list(&object("BareMetalHost", "")).await?);
    ensure!(after.get("host-0") == before.get("host-0"), "host-0 was touched: {before:#?}\n{after:#?}");
    Ok(())
}

/// Returns what a pivot must not change of the hosts: how and when they were provisioned.
async fn hosts(run: &Run) -> Result<BTreeMap<String, Value>> {
    Ok(hosts_of(run.list("BareMetalHost").await?))
}

fn hosts_of(hosts: Vec<Value>) -> BTreeMap<String, Value> {
    let told = |host: Value| {
        let name = host["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let status = &host["status"];
        let kept = json!({
            "consumer": host["spec"]["consumerRef"]["name"], "image": host["spec"]["image"],
            "provisioning": status["provisioning"], "history": status["operationHistory"],
            "poweredOn": status["poweredOn"],
        });
        (name, kept)
    };
    hosts.into_iter().map(told).collect()
}

/// Names the Secret with the BMC's credentials of a host.
fn credentials(host: &Value) -> Value {
    object("Secret", host["spec"]["bmc"]["credentialsName"].as_str().unwrap_or_default())
}

/// The cluster gets a third host, and makes a worker of it.
async fn adds_a_worker(workload: &Workload<'_>, host: &Value, secret: Value) -> Result<()> {
    let mut new = credentials(host);
    new["data"] = secret["data"].clone();
    workload.objects.apply(&new).await?;
    let mut host = host.clone();
    host["metadata"]["labels"] = json!({"role": "worker"});
    host["spec"]["bootMode"] = "legacy".into();
    host["spec"]["online"] = false.into();
    workload.objects.apply(&host).await?;
    scale(workload, 2).await?;
    let provisioned = |found: &Value| found["status"]["provisioning"]["state"] == "provisioned";
    workload.wait("host-2 provisioned", &object("BareMetalHost", ADDED), provisioned).await?;
    workload.node_is_ready(ADDED).await
}

/// The cluster removes the worker that the first server made, and cleans its host.
async fn removes_a_worker(workload: &Workload<'_>) -> Result<()> {
    let host = workload.objects.get(&object("BareMetalHost", REMOVED)).await?;
    let name = host["spec"]["consumerRef"]["name"].as_str().context("a consumer")?.to_owned();
    let machines = workload.objects.list(&object("Machine", "")).await?;
    let is_of = |machine: &&Value| machine["spec"]["infrastructureRef"]["name"] == name.as_str();
    let machine = machines.iter().find(is_of).context("the Machine of the host")?;
    let machine = object("Machine", machine["metadata"]["name"].as_str().unwrap_or_default());
    let deleted_first = json!({"metadata": {"annotations": {"cluster.x-k8s.io/delete-machine": ""}}});
    workload.objects.merge(&machine, deleted_first).await?;
    scale(workload, 1).await?;
    let is_free = |found: &Value| {
        found["status"]["provisioning"]["state"] == "available" && found["spec"]["consumerRef"].is_null()
    };
    workload.wait("host-1 cleaned", &object("BareMetalHost", REMOVED), is_free).await?;
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": REMOVED}});
    until("the Node of host-1 is gone", STEP, || async {
        workload.objects.get(&node).await.ok().filter(Value::is_null).map(drop)
    })
    .await
}

async fn scale(workload: &Workload<'_>, replicas: u8) -> Result<()> {
    let deployments = workload.objects.list(&object("MachineDeployment", "")).await?;
    let name = deployments.first().context("a MachineDeployment")?["metadata"]["name"].clone();
    let deployment = object("MachineDeployment", name.as_str().unwrap_or_default());
    workload.objects.merge(&deployment, json!({"spec": {"replicas": replicas}})).await
}

/// Returns the state of firstlight's Pods, for an error.
async fn pods(workload: &Workload<'_>) -> String {
    let all = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "", "namespace": "firstlight-system"}});
    let pods = workload.objects.list(&all).await.unwrap_or_default();
    pods.iter().map(|pod| format!("{:#}\n", pod["status"])).collect()
}
