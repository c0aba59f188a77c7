//! Eleven months without any event.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::NamespacedName;
use engine::object::label;
use firstlight::manifests::apply::apply_all;
use k8s_openapi::api::core::v1::Secret;
use machinery::clock::parse_rfc3339;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine};
use schemas::controlplane::KubeadmControlPlane;
use serde_json::json;
use simulation::manifests::{Shape, cluster};
use simulation::simulation::{Life, Simulation};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Certificates are valid for a year, and are to be replaced this many days before they expire.
const BEFORE: u32 = 30;
const LIMIT: Duration = Duration::from_secs(1800);

fn name(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}

/// Lets time pass in one step: what is due in between is done once, as after the sleep of a laptop.
async fn skip(life: &Life, time: Duration) {
    tokio::time::advance(time).await;
    life.clock.sleep(Duration::from_secs(120)).await;
}

/// Returns the name of the control plane Machine, and when its certificates expire.
fn control_plane(life: &Life) -> Option<(String, String)> {
    let all = life.manager.objects::<Machine>().by_cluster(&name("first"));
    let mut planes =
        all.into_iter().filter(|machine| label(machine.as_ref(), engine::names::CONTROL_PLANE).is_some());
    let (machine, others) = (planes.next()?, planes.count());
    let expiry = machine.status.as_ref()?.certificates_expiry_date.clone()?;
    (others == 0).then(|| (machine.metadata.name.clone().unwrap_or_default(), expiry))
}

/// Returns what the control plane says about itself.
fn conditions(life: &Life) -> Vec<String> {
    let planes = life.manager.objects::<KubeadmControlPlane>();
    let plane = planes.get(&name("first-control-plane"));
    let all =
        plane.and_then(|plane| plane.status.clone()).map(|status| status.conditions).unwrap_or_default();
    all.into_iter().map(|found| format!("{}={} {}", found.type_, found.status, found.message)).collect()
}

fn is_available(life: &Life) -> bool {
    let found = life.manager.objects::<Cluster>().get(&name("first"));
    found.is_some_and(|cluster| cluster.condition_is_true("Available"))
}

async fn until(life: &Life, what: &str, done: impl Fn() -> bool) -> Result<()> {
    let waiting = async {
        while !done() {
            life.clock.sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(LIMIT, waiting).await.with_context(|| what.to_owned())
}

fn kubeconfig(life: &Life) -> Option<Vec<u8>> {
    let secret = life.manager.objects::<Secret>().get(&name("first-kubeconfig"))?;
    secret.data.as_ref()?.get("value").map(|value| value.0.clone())
}

async fn live(life: &Life) -> Result<()> {
    let mut documents = cluster(Shape { control_plane: 1, workers: 1, version: "v1.36.0" })?;
    for document in &mut documents {
        if document.object["kind"] == "KubeadmControlPlane" {
            document.object["spec"]["rollout"] = json!({"before": {"certificatesExpiryDays": BEFORE}});
        }
    }
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    until(life, "a cluster", || is_available(life) && control_plane(life).is_some()).await?;
    let (first, expiry) = control_plane(life).context("a control plane")?;
    let expiry = parse_rfc3339(&expiry).context(expiry)?;
    let kubeconfig_of_the_first_day = kubeconfig(life);

    for (step, left) in [(30, 66), (5, 36)] {
        while life.clock.now() + DAY * left < expiry {
            skip(life, DAY * step).await;
            let present = control_plane(life).map(|(name, _)| name);
            ensure!(present.as_ref() == Some(&first), "{}: {present:?}, not {first}", life.clock.now());
        }
    }
    ensure!(is_available(life), "after ten months");
    while control_plane(life).is_none_or(|(name, _)| name == first) {
        ensure!(
            life.clock.now() + DAY * (BEFORE - 2) < expiry,
            "{}: {first} is still there, which expires on {expiry}: {:?}",
            life.clock.now(),
            conditions(life)
        );
        skip(life, DAY).await;
    }
    until(life, "the rolled cluster", || is_available(life)).await?;
    let (_, renewed) = control_plane(life).context("a control plane")?;
    ensure!(
        parse_rfc3339(&renewed).is_some_and(|renewed| renewed > expiry + DAY * 300),
        "{renewed}, was {expiry}"
    );
    ensure!(kubeconfig(life) != kubeconfig_of_the_first_day, "the kubeconfig was not renewed");
    Ok(())
}

#[test]
fn certificates_of_an_idle_cluster_are_replaced_in_time() {
    Simulation::new(17).live(async |life, _| live(life).await).expect("seed 17");
}
