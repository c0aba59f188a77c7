//! A stored status counts when the controllers of the server have confirmed it since they started.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::sync::Arc;
use std::time::Duration;

use access::User;
use engine::{Action, Controller, Reconciler, Request};
use firstlight::tree::rest::all_available;
use firstlight::tree::view::View;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use schemas::cluster::Cluster;
use serde_json::json;
use server::confirmation::{CONFIRMED_PATH, CONTROLLERS_PATH, ask};
use server::connection;
use tokio::sync::Semaphore;

use crate::place::Place;

/// Reconciles one object for each permit.
struct Held(Arc<Semaphore>);

impl Reconciler for Held {
    async fn reconcile(&self, _: Request) -> engine::Result<Action> {
        self.0.acquire().await.map_err(|error| engine::Error::failed(error.to_string()))?.forget();
        Ok(Action::done())
    }
}

/// Creates a Cluster whose status says that it is Available.
async fn create_available(client: &Client) {
    let clusters: Api<Cluster> = Api::namespaced(client.clone(), "default");
    let cluster = json!({"metadata": {"name": "first"}, "spec": {"infrastructureRef":
        {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevCluster", "name": "first"}}});
    let cluster: Cluster = serde_json::from_value(cluster).unwrap();
    clusters.create(&PostParams::default(), &cluster).await.unwrap();
    let condition = json!({"type": "Available", "status": "True", "reason": "Available", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = Patch::Merge(json!({"status": {"conditions": [condition]}}));
    clusters.patch_status("first", &PatchParams::default(), &status).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_status_counts_when_the_controllers_have_confirmed_it() {
    let place = Place::start("none", &[]).await;
    let process = &place.process;
    let client = process.plane.client("test");
    create_available(&client).await;
    // The controllers are elsewhere, so the status is all that is known.
    assert!(ask(&client, CONFIRMED_PATH).await.unwrap().is_confirmed());

    let gate = Arc::new(Semaphore::new(0));
    let objects = process.manager.objects::<Cluster>();
    Controller::new(&process.manager, "slow").reconciles(&objects).start(Held(gate.clone()));
    assert!(!ask(&client, CONTROLLERS_PATH).await.unwrap().is_confirmed(), "it has begun only now");
    objects.wait_until_synced().await;
    let manager = connection::manager(client.clone());
    let view = View::of_server(&manager, &client);
    view.ready().await.unwrap();
    let held = view.objects();
    assert!(held.clusters.len() == 1 && !all_available(&held), "{:?}", held.unconfirmed);
    let cause = &held.unconfirmed.unconfirmed[0].cause;
    assert!(cause.starts_with("the controller slow has not "), "{cause}");

    let somebody = process.plane.server.client_service(User::new("somebody", Vec::<String>::new()));
    let somebody = ask(&Client::new(somebody, "default"), CONTROLLERS_PATH).await.unwrap();
    assert!(somebody.is_confirmed(), "who may not ask is told nothing");

    gate.add_permits(1000);
    let confirmed = async {
        while !all_available(&view.objects()) {
            view.changed().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), confirmed).await.unwrap();
    manager.stop().await;
    place.process.stop().await;
}
