//! What happens when a Machine cannot be created.
#![allow(clippy::unwrap_used, missing_docs, reason = "a test")]

use engine::object::label;
use k8s_openapi::api::core::v1::Event;
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfig;
use schemas::cluster::{Machine, MachineSet};
use schemas::infrastructure::DevMachine;
use serde_json::json;

use crate::core::lifecycle::plain;
use crate::core::support::{Fixture, REFUSED};

#[tokio::test(start_paused = true)]
async fn what_was_made_for_a_machine_that_is_refused_is_deleted() {
    let fixture = Fixture::start(1).await;
    let mut objects = plain(1);
    objects[5]["spec"]["template"]["metadata"]["labels"][REFUSED] = json!("");
    fixture.create(objects).await;
    let (sets, machines) = (fixture.objects::<MachineSet>(), fixture.objects::<Machine>());
    let is_told = |set: &MachineSet| {
        let condition = set.condition("ScalingUp");
        condition.is_some_and(|condition| condition.message.contains("this Machine is refused"))
    };
    fixture.until("told", |_| sets.all().iter().any(|set| is_told(set))).await;
    let is_worker = |pool: Option<&str>| pool == Some("plain-md");
    let (configs, infrastructure) = (fixture.objects::<KubeadmConfig>(), fixture.objects::<DevMachine>());
    let is_gone = |_: &_| {
        !configs.all().iter().any(|config| is_worker(label(config.as_ref(), "pool")))
            && !infrastructure.all().iter().any(|machine| is_worker(label(machine.as_ref(), "pool")))
    };
    fixture.until("what was made for it is gone", is_gone).await;
    assert!(!machines.all().iter().any(|machine| is_worker(label(machine.as_ref(), "pool"))));
    let before = fixture.manager.metrics().count("machineset", "error");
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    let attempts = fixture.manager.metrics().count("machineset", "error") - before;
    assert!((1..20).contains(&attempts), "the attempts become rarer: {attempts}");
    let events: kube::Api<Event> = kube::Api::default_namespaced(fixture.manager.client().clone());
    let events = events.list(&kube::api::ListParams::default()).await.unwrap().items;
    let failed = events.iter().find(|event| event.reason.as_deref() == Some("FailedCreate")).unwrap();
    let message = failed.message.clone().unwrap();
    assert!(message.contains("-*: this Machine is refused"), "{message}");
    assert_eq!(failed.type_.as_deref(), Some("Warning"));
    fixture.manager.stop().await;
}
