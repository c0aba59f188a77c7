//! A cluster on two machines that are switched off at the beginning, with stand-ins for the programs of a node.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::{Value, json};

mod manifests;
mod moved;

use self::manifests::{WRONG_ARGUMENT, cluster, config};
use super::redfish;
use crate::images;
use crate::machine::{Firmware, Machine};
use crate::redfish::Service;
use crate::scenario::{IPXE, NAMESPACE, Scenario, starts_with_partitions};
use crate::wait::{DEADLINE, until};

/// Limit for a machine's way from a free host to a Node.
const JOIN: Duration = Duration::from_secs(600);

/// A machine with its BMC and its host.
struct Site {
    machine: Arc<Machine>,
    bmc: Arc<Service>,
    host: Value,
}

/// Power off -> inspection -> a control plane, and a worker whose kubeadm fails -> its configuration is corrected -> everything
/// moves to another server and back -> the worker's host is given up, cleaned and used again -> the cluster is deleted.
pub async fn two_machines() -> Result<()> {
    let (scenario, _) = Scenario::start_with(&[IPXE], &[]).await?;
    let image = images::stand_in(&scenario.lab.file("images")).await?;
    let control_plane = site(&scenario, 0, "control-plane").await?;
    let worker = site(&scenario, 1, "worker").await?;
    for site in [&control_plane, &worker] {
        scenario.state("available", DEADLINE, (&site.host, &site.machine)).await?;
    }
    let found = scenario.server.get(&control_plane.host).await?;
    let address = found["status"]["hardware"]["nics"][0]["ip"].as_str().context("an address")?.to_owned();
    for object in cluster(&address, &image) {
        scenario.server.apply(&object).await?;
    }
    let sites = [&control_plane, &worker];
    failure_is_told(&scenario, &worker, &sites).await?;
    let deployment = object("MachineDeployment", "first-md", json!({}));
    let corrected = json!({"configRef": config("first-md")});
    scenario
        .server
        .merge(&deployment, json!({"spec": {"template": {"spec": {"bootstrap": corrected}}}}))
        .await?;
    worker_is_available(&scenario, &sites).await?;
    has_condition(&scenario, "Cluster", "first", "Available", &sites).await?;
    for (site, kind) in [(&control_plane, "first-plane"), (&worker, "first-md")] {
        let host = scenario.server.get(&site.host).await?;
        let consumer = host["spec"]["consumerRef"]["name"].as_str().unwrap_or_default();
        ensure!(consumer.starts_with(kind), "{} is used by {consumer}", host["metadata"]["name"]);
        ensure!(host["status"]["provisioning"]["state"] == "provisioned", "{:#}", host["status"]);
        let machine = object("Metal3Machine", consumer, json!({}));
        let machine = scenario.server.get(&machine).await?;
        ensure!(condition(&machine, "BootstrapSucceeded")["status"] == "True", "{:#}", machine["status"]);
        let id = machine["spec"]["providerID"].clone();
        let name = host["metadata"]["name"].as_str().unwrap_or_default();
        ensure!(id == format!("metal3://{NAMESPACE}/{name}/{consumer}"), "the provider ID is {id}");
    }

    moved::there_and_back(&scenario, &sites).await?;
    scenario.server.merge(&deployment, json!({"spec": {"replicas": 0}})).await?;
    let is_kept = |host: &Value| {
        host["spec"]["consumerRef"].is_null()
            && host["status"]["provisioning"]["state"] == "available"
            && host["metadata"]["labels"]["infrastructure.cluster.x-k8s.io/node-reuse"] == "md-first-md"
    };
    let on = (&worker.host, worker.machine.as_ref());
    scenario.wait("the worker's host is released", JOIN, on, is_kept).await?;
    ensure!(!starts_with_partitions(&worker.machine)?, "nothing is left on the disk");
    scenario.server.merge(&deployment, json!({"spec": {"replicas": 1}})).await?;
    let is_used = |host: &Value| !host["spec"]["consumerRef"].is_null();
    scenario.wait("the host is used again", DEADLINE, on, is_used).await?;
    worker_is_available(&scenario, &sites).await?;

    scenario.server.delete(&object("Cluster", "first", json!({}))).await?;
    for site in sites {
        let is_free = |host: &Value| {
            host["spec"]["consumerRef"].is_null() && host["status"]["provisioning"]["state"] == "available"
        };
        scenario.wait("the host is free", JOIN, (&site.host, &site.machine), is_free).await?;
        ensure!(!starts_with_partitions(&site.machine)?, "nothing is left on the disk");
    }
    Ok(())
}

/// Waits until the Machine of the worker says why kubeadm has failed.
async fn failure_is_told(scenario: &Scenario, worker: &Site, sites: &[&Site]) -> Result<()> {
    let is_told = || async {
        let host = scenario.server.get(&worker.host).await.ok()?;
        let consumer = host["spec"]["consumerRef"]["name"].as_str()?;
        let machine = scenario.server.get(&object("Machine", consumer, json!({}))).await.ok()?;
        let message = condition(&machine, "InfrastructureReady")["message"].as_str()?;
        message
            .contains(&format!("the kubelet does not know the argument Some(\"{WRONG_ARGUMENT}\")"))
            .then_some(())
    };
    let Err(error) = until("kubeadm's failure is told", JOIN, is_told).await else { return Ok(()) };
    Err(anyhow!("{error}{}", explained(scenario, sites).await))
}

/// Waits until the MachineDeployment has its worker. Its condition does not say that, because it may have none for a while.
async fn worker_is_available(scenario: &Scenario, sites: &[&Site]) -> Result<()> {
    let deployment = object("MachineDeployment", "first-md", json!({}));
    let is_there = || async {
        let status = scenario.server.get(&deployment).await.ok()?["status"].take();
        (status["availableReplicas"] == 1 && status["upToDateReplicas"] == 1 && status["replicas"] == 1)
            .then_some(())
    };
    let Err(error) = until("the worker is available", JOIN, is_there).await else { return Ok(()) };
    Err(anyhow!("{error}{}", explained(scenario, sites).await))
}

/// Returns the condition of an object, null if it has none.
fn condition<'a>(object: &'a Value, type_: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|known| known["type"] == type_).unwrap_or(&Value::Null)
}

/// Creates a machine with a BMC and its host, which nothing uses.
async fn site(scenario: &Scenario, number: u8, role: &str) -> Result<Site> {
    let (machine, bmc, mut host) =
        redfish::described(scenario, Scenario::design(number, Firmware::Bios)).await?;
    host["metadata"]["labels"] = json!({"role": role});
    host["spec"]["online"] = false.into();
    host["spec"]["bootMode"] = "legacy".into();
    scenario.server.apply(&host).await?;
    Ok(Site { machine, bmc, host })
}

/// Waits until an object has a condition that is true.
async fn has_condition(
    scenario: &Scenario,
    kind: &str,
    name: &str,
    condition: &str,
    sites: &[&Site],
) -> Result<()> {
    let object = object(kind, name, json!({}));
    let is_true = |found: &Value| self::condition(found, condition)["status"] == "True";
    let waited =
        until(condition, JOIN, || async { is_true(&scenario.server.get(&object).await.ok()?).then_some(()) });
    let Err(error) = waited.await else { return Ok(()) };
    let found = scenario.server.get(&object).await.unwrap_or_default();
    Err(anyhow!("{error}\n{:#}{}", found["status"]["conditions"], explained(scenario, sites).await))
}

/// Returns the conditions of the sites' machines, and the ends of their consoles.
async fn explained(scenario: &Scenario, sites: &[&Site]) -> String {
    let mut text = String::new();
    for site in sites {
        let host = scenario.server.get(&site.host).await.unwrap_or_default();
        let name = host["spec"]["consumerRef"]["name"].as_str().unwrap_or_default().to_owned();
        let machine =
            scenario.server.get(&self::object("Metal3Machine", &name, json!({}))).await.unwrap_or_default();
        text += &format!(
            "\n--- {name}\n{:#}\n{}",
            machine["status"]["conditions"],
            site.machine.console().tail()
        );
    }
    text
}

fn object(kind: &str, name: &str, spec: Value) -> Value {
    let version = match kind {
        "KubeadmControlPlane" => "controlplane.cluster.x-k8s.io/v1beta2",
        "KubeadmConfigTemplate" => "bootstrap.cluster.x-k8s.io/v1beta2",
        "Cluster" | "Machine" | "MachineDeployment" => "cluster.x-k8s.io/v1beta2",
        _ => "infrastructure.cluster.x-k8s.io/v1beta2",
    };
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})
}
