//! Machines whose bootstrap waits for a signal in a ConfigMap.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use firstlight::manifests::apply::apply_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use schemas::cluster::Machine;
use serde_json::json;
use simulation::manifests::{Shape, cluster};
use simulation::simulation::{Life, Simulation};

const LONG: Duration = Duration::from_secs(300);

/// Returns how many Machines there are, and how many of them have a Node.
async fn machines(life: &Life) -> Result<(usize, usize)> {
    life.clock.sleep(LONG).await;
    let all = Api::<Machine>::namespaced(life.plane.client("user"), "default");
    let found = all.list(&ListParams::default()).await?.items;
    let has_node =
        |machine: &&Machine| machine.status.as_ref().is_some_and(|status| status.node_ref.is_some());
    Ok((found.len(), found.iter().filter(has_node).count()))
}

async fn live(life: &Life) -> Result<()> {
    let client = life.plane.client("user");
    let maps = Api::<ConfigMap>::namespaced(client.clone(), "default");
    let map = json!({"metadata": {"name": "gate"}, "data": {"signal": "hold"}});
    maps.create(&PostParams::default(), &serde_json::from_value(map)?).await?;
    let mut documents = cluster(Shape { control_plane: 3, workers: 0, version: "v1.36.0" })?;
    for document in &mut documents {
        if document.object["kind"] == "DevMachineTemplate" {
            let waits = json!({"simulated.firstlight.dev/bootstrap-waits-for": "gate"});
            document.object["spec"]["template"]["metadata"]["annotations"] = waits;
        }
    }
    apply_all(&life.plane.registry, &client, &documents).await?;
    ensure!(machines(life).await? == (1, 0), "the first machine waits");
    for (there, joined) in [(2, 1), (3, 2), (3, 3)] {
        let pass = Patch::Merge(json!({"data": {"signal": "pass"}}));
        maps.patch("gate", &PatchParams::default(), &pass).await?;
        ensure!(machines(life).await? == (there, joined), "one signal is for one machine");
        let data = maps.get("gate").await?.data.context("a signal")?;
        ensure!(data.get("signal").is_some_and(|signal| signal == "ack-pass"), "{data:?}");
    }
    Ok(())
}

#[test]
fn a_machine_waits_for_its_signal_and_acknowledges_it() {
    Simulation::new(7).live(async |life, _| live(life).await).expect("seed 7");
}
