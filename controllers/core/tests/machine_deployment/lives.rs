//! Rollouts with a server: after a while, on deletion, and paused.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use schemas::HasConditions;
use schemas::cluster::{Machine, MachineDeployment, MachineSet};
use serde_json::{Value, json};

use crate::core::lifecycle::{is_available, is_control_plane, name, plain, settle};
use crate::core::support::Fixture;

/// Starts the plain cluster with a changed MachineDeployment, and waits until it is available.
async fn start(replicas: i32, change: impl Fn(&mut Value)) -> Fixture {
    let fixture = Fixture::start(1).await;
    let mut objects = plain(replicas);
    change(objects.last_mut().unwrap());
    fixture.create(objects).await;
    fixture.until("available", |_| is_available(&fixture, replicas)).await;
    fixture
}

async fn change(fixture: &Fixture, patch: Value) {
    fixture.objects::<MachineDeployment>().merge(&name("plain-md"), None, patch).await.unwrap();
}

/// The number of workers without and with the new failure domain, and the number of MachineSets.
fn count(fixture: &Fixture) -> (usize, usize, usize) {
    let machines = fixture.objects::<Machine>().all();
    let workers = machines.iter().filter(|machine| !is_control_plane(machine));
    let (new, old): (Vec<_>, Vec<_>) = workers.partition(|machine| machine.spec.failure_domain.is_some());
    (old.len(), new.len(), fixture.objects::<MachineSet>().all().len())
}

fn new_template() -> Value {
    json!({"template": {"spec": {"failureDomain": "fd"}}})
}

#[tokio::test(start_paused = true)]
async fn machines_count_after_a_while() {
    let fixture = start(2, |md| md["spec"]["template"]["spec"]["minReadySeconds"] = json!(5)).await;
    let ready = fixture.objects::<MachineSet>().all().remove(0);
    let since = |type_: &str| {
        let machines = fixture.objects::<Machine>().all();
        let workers = machines.iter().filter(|machine| !is_control_plane(machine));
        let times = workers.map(|it| it.condition(type_).unwrap().last_transition_time.clone());
        machinery::clock::parse_rfc3339(&times.max().unwrap()).unwrap()
    };
    assert_eq!((since("Available") - since("Ready")).num_seconds(), 5);
    assert_eq!(ready.status.clone().unwrap().available_replicas, Some(2));
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn on_delete_waits_for_somebody() {
    let fixture = start(2, |md| md["spec"]["rollout"]["strategy"] = json!({"type": "OnDelete"})).await;
    change(&fixture, json!({"spec": new_template()})).await;
    fixture.until("a new MachineSet", |_| count(&fixture) == (2, 0, 2)).await;
    settle(&fixture, "nobody deleted anything").await;
    assert_eq!(count(&fixture), (2, 0, 2));
    let machines = fixture.objects::<Machine>();
    for wanted in [(1, 1, 2), (0, 2, 1)] {
        let all = machines.all();
        let old = all.iter().find(|it| !is_control_plane(it) && it.spec.failure_domain.is_none()).unwrap();
        machines.delete(old.as_ref()).await.unwrap();
        fixture.until("one is replaced", |_| count(&fixture) == wanted).await;
    }
    fixture.until("available", |_| is_available(&fixture, 2)).await;
    fixture.manager.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_rollout_scales_and_goes_on() {
    let fixture = start(2, |_| {}).await;
    let mut spec = new_template();
    spec["paused"] = json!(true);
    spec["replicas"] = json!(3);
    change(&fixture, json!({"spec": spec})).await;
    fixture.until("scaled", |_| count(&fixture) == (3, 0, 1)).await;
    settle(&fixture, "paused").await;
    assert_eq!(count(&fixture), (3, 0, 1));
    change(&fixture, json!({"spec": {"paused": false}})).await;
    fixture.until("rolled out", |_| count(&fixture) == (0, 3, 1) && is_available(&fixture, 3)).await;
    fixture.manager.stop().await;
}
