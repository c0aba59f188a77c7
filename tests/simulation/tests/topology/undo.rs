//! The deletion of a Cluster with a grace period, undone at any moment, with a process that is killed at any write: either the Cluster is as it
//! was, with the same UIDs, or nothing is left of it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use anyhow::{Context, Result, bail, ensure};
use engine::deletion_grace::{REASON, end};
use firstlight::commands::undo::undo_cluster;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use machinery::clock::rfc3339;
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine};
use schemas::deletion_grace::ANNOTATION;
use serde_json::{Value, json};
use simulation::simulation::{Life, Simulation};
use store::{Page, Prefix};
use test_plane::requests::{Delivery, Kill, Moment};

use super::life::{create, left, missing, name, objects, open, until};

/// The grace period in seconds.
const PERIOD: i64 = 60;

fn clusters(life: &Life) -> Api<Cluster> {
    Api::namespaced(life.plane.client("user"), "default")
}

/// A simulation with a Cluster at rest, which tests copy.
static AT_REST: LazyLock<Result<Simulation, String>> = LazyLock::new(|| {
    let mut simulation = Simulation::new(19);
    let created = simulation.live(async |life, _| {
        create(life).await?;
        until(life, |life| missing(life, 2, "v1.34.0")).await?;
        let period = json!({"metadata": {"annotations": {ANNOTATION: format!("{PERIOD}s")}}});
        clusters(life).patch("demo", &PatchParams::default(), &Patch::Merge(period)).await?;
        Ok(())
    });
    created.map(|()| simulation).map_err(|error| format!("{error:#}"))
});

fn at_rest() -> Simulation {
    AT_REST.as_ref().expect("the Cluster is created").copy().expect("the disk is read")
}

/// Returns the UIDs of all objects of the namespace, but for events, by their keys. An object in deletion is an error.
fn uids(life: &Life) -> Result<BTreeMap<String, String>> {
    let mut uids = BTreeMap::new();
    for stored in life.store.list(&Prefix::all(), &Page::default()).items {
        let key = &stored.key;
        if key.namespace() != Some("default") || key.resource() == "events" {
            continue;
        }
        let object: Value = serde_json::from_slice(&stored.value)?;
        let metadata = &object["metadata"];
        ensure!(metadata["deletionTimestamp"].is_null(), "{key} is being deleted");
        uids.insert(key.to_string(), metadata["uid"].as_str().unwrap_or_default().to_owned());
    }
    Ok(uids)
}

async fn delete(life: &Life) -> Result<()> {
    clusters(life).delete("demo", &DeleteParams::background()).await?;
    Ok(())
}

/// Waits until `after` has passed since the end of the grace period; it may be negative.
async fn wait_until(life: &Life, after: chrono::Duration) -> Result<()> {
    let cluster = clusters(life).get("demo").await?;
    let end = end(&cluster).context("a deletion that waits")?.map_err(anyhow::Error::msg)?;
    let left = (end + after - life.clock.now()).to_std().unwrap_or_default();
    life.clock.sleep(left).await;
    Ok(())
}

/// Undoes the deletion. Afterwards the Cluster is as it was, or, if that was refused, gone. Returns whether it was undone.
async fn undo(life: &Life, before: &BTreeMap<String, String>) -> Result<bool> {
    if clusters(life).get_opt("demo").await?.is_none() {
        until(life, left).await?;
        return Ok(false);
    }
    let undone = undo_cluster(&life.plane.client("user"), "default", "demo").await;
    match undone {
        Ok(_) => {
            ensure!(uids(life)? == *before, "the same objects");
            let cluster = clusters(life).get("demo").await?;
            ensure!(cluster.metadata.generation > Some(1), "the generation has risen");
            // Whatever a controller still meant to do, it would have done it by then.
            life.clock.sleep(std::time::Duration::from_secs(2 * PERIOD.unsigned_abs())).await;
            until(life, |life| missing(life, 2, "v1.34.0")).await.context("as before")?;
            ensure!(uids(life)? == *before, "still the same objects");
            ensure!(!objects::<Cluster>(life).get(&name("demo")).is_some_and(|cluster| {
                cluster.condition("Deleting").is_none_or(|condition| condition.status == "True")
            }));
            Ok(true)
        }
        Err(error) => {
            let text = error.to_string();
            ensure!(text.contains("cannot undo") || text.contains("there is no Cluster"), "{text}");
            until(life, left).await.with_context(|| format!("the deletion ends after: {text}"))?;
            Ok(false)
        }
    }
}

/// Deletes the Cluster and undoes that so many milliseconds after the end of the period. Returns whether it was undone.
fn undone_at(milliseconds: i64) -> Result<bool> {
    at_rest().live(async |life, _| {
        open(life).await;
        until(life, |life| missing(life, 2, "v1.34.0")).await?;
        let before = uids(life)?;
        delete(life).await?;
        wait_until(life, chrono::Duration::milliseconds(milliseconds)).await?;
        undo(life, &before).await
    })
}

#[test]
fn before_the_end_it_is_undone_and_afterwards_it_ends() {
    let seconds = |seconds: i64| seconds * 1000;
    for at in [-seconds(PERIOD), -seconds(30), -1000, -1, 0, 1, 20, 300, 1000, 3000, seconds(20)] {
        let undone = undone_at(at).unwrap_or_else(|error| panic!("undone after {at} ms: {error:#}"));
        assert_eq!(undone, at < 0, "{at} ms after the end");
    }
}

/// Kills the process at a write after the Cluster was deleted, and undoes the deletion in the next life. Returns the number of writes until
/// everything is deleted, and whether the deletion was undone.
fn killed_at(write: u64, moment: Moment) -> Result<(u64, Option<bool>)> {
    let mut simulation = at_rest();
    let mut before = BTreeMap::new();
    let killed = simulation.live(async |life, requests| {
        open(life).await;
        until(life, |life| missing(life, 2, "v1.34.0")).await?;
        before = uids(life)?;
        let first = requests.writes();
        requests.plan(Kill { write: first + write, moment });
        delete(life).await?;
        tokio::select! {
            biased;
            () = requests.killed() => Ok(None),
            done = until(life, left) => done.map(|()| Some(requests.writes() - first)),
        }
    })?;
    if let Some(writes) = killed {
        return Ok((writes, None));
    }
    let undone = simulation.live(async |life, _| {
        open(life).await;
        undo(life, &before).await
    })?;
    Ok((u64::MAX, Some(undone)))
}

#[test]
fn killed_at_a_write_it_is_undone_or_it_ends() {
    let (mut write, mut outcomes) = (1, Vec::new());
    loop {
        // The first writes are those of the grace period and of its end.
        let moments = [Moment::Before, Moment::After];
        let moments = if write <= 8 { &moments[..] } else { &moments[..1] };
        for moment in moments {
            let outcome = killed_at(write, *moment);
            let (_, undone) =
                outcome.unwrap_or_else(|error| panic!("killed at write {write} ({moment:?}): {error:#}"));
            let Some(undone) = undone else {
                assert!(outcomes.contains(&true) && outcomes.contains(&false), "{outcomes:?}");
                return;
            };
            outcomes.push(undone);
        }
        write += if write < 8 { 1 } else { 23 };
    }
}

/// The controllers do not learn that the deletion was undone. When the period ends for them, they still delete nothing.
#[test]
fn controllers_that_have_not_heard_of_it_delete_nothing() {
    let mut simulation = at_rest();
    // Only watches that begin after a plan are counted.
    simulation.requests.plan_delivery(u64::MAX, Delivery::Dropped);
    let unheard = simulation.live(async |life, requests| {
        open(life).await;
        until(life, |life| missing(life, 2, "v1.34.0")).await?;
        let before = uids(life)?;
        delete(life).await?;
        wait_until(life, chrono::Duration::milliseconds(-1)).await?;
        requests.plan_delivery(requests.events() + 1, Delivery::Dropped);
        undo_cluster(&life.plane.client("user"), "default", "demo").await?;
        let cached = objects::<Cluster>(life).get(&name("demo")).context("the Cluster")?;
        if cached.metadata.deletion_timestamp.is_none() {
            bail!("the controllers know of it");
        }
        life.clock.sleep(std::time::Duration::from_secs(10)).await;
        ensure!(uids(life)? == before, "at {}", rfc3339(life.clock.now()));
        Ok(())
    });
    unheard.expect("seed 19");
}

/// An infrastructure that somebody else deletes ends the period: there is nothing to wait for.
#[test]
fn a_cluster_without_its_infrastructure_goes_at_once() {
    let mut simulation = at_rest();
    let ended = simulation.live(async |life, _| {
        open(life).await;
        delete(life).await?;
        let waits = |life: &Life| {
            let cluster = objects::<Cluster>(life).get(&name("demo"));
            let reason = cluster.and_then(|cluster| Some(cluster.condition("Deleting")?.reason.clone()));
            if reason.as_deref() == Some(REASON) { Vec::new() } else { vec![format!("{reason:?}")] }
        };
        until(life, waits).await?;
        let namespaces = Api::<k8s_openapi::api::core::v1::Namespace>::all(life.plane.client("user"));
        ensure!(namespaces.get("default").await.is_ok());
        let deleted = life.clock.now();
        let infrastructure =
            Api::<schemas::infrastructure::DevCluster>::namespaced(life.plane.client("user"), "default");
        let all = infrastructure.list(&Default::default()).await?;
        let one = all.items[0].metadata.name.clone().unwrap_or_default();
        infrastructure.delete(&one, &DeleteParams::background()).await?;
        until(life, left).await?;
        ensure!(objects::<Machine>(life).all().is_empty());
        ensure!((life.clock.now() - deleted).num_seconds() < PERIOD / 2, "it has waited");
        Ok(())
    });
    ended.expect("seed 19");
}

/// Kubernetes has no request that takes a deletion back, so this says what the user can do instead.
#[tokio::test(start_paused = true)]
async fn another_api_server_cannot_undo() {
    let simulation = test_plane::Fixture::new(&["cluster.x-k8s.io"], |_| ()).await;
    let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "demo", "annotations": {ANNOTATION: "10m"}, "finalizers": ["example.com/hold"]},
        "spec": {"infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevCluster", "name": "demo"}}});
    simulation.create(cluster).await;
    simulation.delete::<Cluster>("demo").await;
    let refused = undo_cluster(&simulation.user(), "default", "demo").await.expect_err("a server without it");
    let expected = "cannot undo the deletion of default/demo: this cluster's API server is not firstlight's, and Kubernetes has no request that takes a deletion back. firstlight's controllers delete nothing of the Cluster before 2026-11-21T00:10:00Z; with spec.paused: true, ";
    assert!(refused.to_string().starts_with(expected), "{refused}");
}
