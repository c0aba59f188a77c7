//! Rollouts with a server: after a while, on deletion, and paused.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use schemas::HasConditions;
use schemas::cluster::{Machine, MachineDeployment, MachineSet};
use serde_json::{Value, json};

use crate::core::lifecycle::{is_available, is_control_plane, name, plain, settle};
use crate::core::support::World;

/// Starts the plain cluster with a changed MachineDeployment, and waits until it is available.
async fn start(replicas: i32, change: impl Fn(&mut Value)) -> World {
    let world = World::start(1).await;
    let mut objects = plain(replicas);
    change(objects.last_mut().unwrap());
    world.create(objects).await;
    world.until("available", |_| is_available(&world, replicas)).await;
    world
}

async fn change(world: &World, patch: Value) {
    world.objects::<MachineDeployment>().merge(&name("plain-md"), None, patch).await.unwrap();
}

/// The number of workers without and with the new failure domain, and the number of MachineSets.
fn count(world: &World) -> (usize, usize, usize) {
    let machines = world.objects::<Machine>().all();
    let workers = machines.iter().filter(|machine| !is_control_plane(machine));
    let (new, old): (Vec<_>, Vec<_>) = workers.partition(|machine| machine.spec.failure_domain.is_some());
    (old.len(), new.len(), world.objects::<MachineSet>().all().len())
}

fn new_template() -> Value {
    json!({"template": {"spec": {"failureDomain": "fd"}}})
}

#[tokio::test(start_paused = true)]
async fn machines_count_after_a_while() {
    let world = start(2, |md| md["spec"]["template"]["spec"]["minReadySeconds"] = json!(5)).await;
    let ready = world.objects::<MachineSet>().all().remove(0);
    let since = |type_: &str| {
        let machines = world.objects::<Machine>().all();
        let workers = machines.iter().filter(|machine| !is_control_plane(machine));
        let times = workers.map(|it| it.condition(type_).unwrap().last_transition_time.clone());
        machinery::clock::parse_rfc3339(&times.max().unwrap()).unwrap()
    };
    assert_eq!((since("Available") - since("Ready")).num_seconds(), 5);
    assert_eq!(ready.status.clone().unwrap().available_replicas, Some(2));
    world.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn on_delete_waits_for_somebody() {
    let world = start(2, |md| md["spec"]["rollout"]["strategy"] = json!({"type": "OnDelete"})).await;
    change(&world, json!({"spec": new_template()})).await;
    world.until("a new MachineSet", |_| count(&world) == (2, 0, 2)).await;
    settle(&world, "nobody deleted anything").await;
    assert_eq!(count(&world), (2, 0, 2));
    let machines = world.objects::<Machine>();
    for wanted in [(1, 1, 2), (0, 2, 1)] {
        let all = machines.all();
        let old = all.iter().find(|it| !is_control_plane(it) && it.spec.failure_domain.is_none()).unwrap();
        machines.delete(old.as_ref()).await.unwrap();
        world.until("one is replaced", |_| count(&world) == wanted).await;
    }
    world.until("available", |_| is_available(&world, 2)).await;
    world.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_rollout_scales_and_goes_on() {
    let world = start(2, |_| {}).await;
    let mut spec = new_template();
    spec["paused"] = json!(true);
    spec["replicas"] = json!(3);
    change(&world, json!({"spec": spec})).await;
    world.until("scaled", |_| count(&world) == (3, 0, 1)).await;
    settle(&world, "paused").await;
    assert_eq!(count(&world), (3, 0, 1));
    change(&world, json!({"spec": {"paused": false}})).await;
    world.until("rolled out", |_| count(&world) == (0, 3, 1) && is_available(&world, 3)).await;
    world.manager.stop().await;
}
