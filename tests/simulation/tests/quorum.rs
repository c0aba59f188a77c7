//! A control plane with a dead etcd member.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::NamespacedName;
use firstlight::manifests::apply::apply_all;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use schemas::cluster::Machine;
use schemas::controlplane::KubeadmControlPlane;
use serde_json::json;
use simulation::manifests::{Shape, cluster};
use simulation::simulation::{Life, Simulation};

const LIMIT: Duration = Duration::from_secs(3600);

/// Names of the control plane Machines, and whether each is being deleted.
fn machines(life: &Life) -> Vec<(String, bool)> {
    let name = NamespacedName::new("default", "first");
    let all = life.manager.objects::<Machine>().by_cluster(&name);
    all.iter()
        .filter(|machine| engine::object::label(machine.as_ref(), engine::names::CONTROL_PLANE).is_some())
        .map(|machine| {
            (machine.metadata.name.clone().unwrap_or_default(), engine::object::is_deleting(machine.as_ref()))
        })
        .collect()
}

/// Waits until three control plane Machines are up to date and available and the Machine `gone` does not
/// exist.
async fn three_are_there(life: &Life, gone: &str) -> Result<()> {
    let there = async {
        loop {
            let found = machines(life);
            let planes = life.manager.objects::<KubeadmControlPlane>().all();
            let available =
                planes.iter().filter_map(|plane| plane.status.as_ref()?.available_replicas).sum::<i32>();
            if found.len() == 3 && available == 3 && !found.iter().any(|(name, going)| *going || name == gone)
            {
                return;
            }
            life.clock.sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(LIMIT, there).await.with_context(|| format!("three Machines: {:?}", machines(life)))
}

async fn set_ready(pods: &Api<Pod>, name: &str, ready: bool) -> Result<()> {
    let status = if ready { "True" } else { "False" };
    let patch = json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
    pods.patch_status(name, &PatchParams::default(), &Patch::Merge(patch)).await?;
    Ok(())
}

async fn live(life: &Life) -> Result<()> {
    let client = life.plane.client("user");
    let shape = Shape { control_plane: 3, workers: 1, version: "v1.36.0" };
    apply_all(&life.plane.registry, &client, &cluster(shape)?).await?;
    three_are_there(life, "").await?;
    let names: Vec<String> = machines(life).into_iter().map(|(name, _)| name).collect();
    let (first, dead) = (names[0].clone(), format!("etcd-{}", names[1]));
    let workload = life.manager.clusters().get(&NamespacedName::new("default", "first"))?;
    let pods = Api::<Pod>::namespaced(workload.client().clone(), "kube-system");
    set_ready(&pods, &dead, false).await?;
    let machines_api = Api::<Machine>::namespaced(client, "default");
    machines_api.delete(&first, &DeleteParams::default()).await?;
    life.clock.sleep(Duration::from_secs(1200)).await;
    ensure!(machines(life).contains(&(first.clone(), true)), "{:?}", machines(life));
    let member = pods.get(&format!("etcd-{first}")).await.context("the member has gone with its Machine")?;
    let removed =
        member.metadata.annotations.iter().flatten().any(|(key, _)| key.ends_with("member-removed"));
    ensure!(!removed, "without it, etcd has no quorum");

    set_ready(&pods, &dead, true).await?;
    three_are_there(life, &first).await
}

#[test]
fn a_machine_stays_while_its_member_makes_the_quorum() {
    Simulation::new(3).live(async |life, _| live(life).await).expect("seed 3");
}
