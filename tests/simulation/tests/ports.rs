//! Ports of workload clusters that another process uses.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use firstlight::manifests::apply::apply_all;
use kube::api::Api;
use machinery::clock::Clock;
use machinery::random::Random;
use net::{Dial, Network, SimulatedNetwork};
use schemas::HasConditions;
use schemas::infrastructure::DevCluster;
use server::controllers::{self, Context, Selection};
use server::plane::{Dependencies, Plane};
use simulation::manifests::{Shape, cluster};
use store::{Memory, Store};

const HOST: &str = "127.0.0.1";
/// Longer than any retry delay.
const RETRIED: Duration = Duration::from_secs(300);

async fn plane(store: &Store, clock: &Clock, network: &SimulatedNetwork) -> Plane {
    let random = Random::seeded(1);
    let dependencies = Dependencies { clock: clock.clone(), random, network: Arc::new(network.clone()) };
    Plane::start(
        store.clone(),
        &dependencies,
        None,
        pki::TokenKeys::generate(&dependencies.random).expect("a key"),
    )
    .await
    .expect("a plane")
}

fn control(plane: &Plane) -> engine::Manager {
    let manager = plane.manager();
    controllers::start(&Context::new(&manager), &Selection::all().without("metal"));
    manager
}

async fn dev_cluster(plane: &Plane) -> DevCluster {
    tokio::time::sleep(RETRIED).await;
    let clusters: Api<DevCluster> = Api::namespaced(plane.client("user"), "default");
    clusters.get("first").await.expect("the DevCluster")
}

fn port(cluster: &DevCluster) -> Option<i32> {
    cluster.spec.control_plane_endpoint.as_ref().and_then(|endpoint| endpoint.port)
}

#[tokio::test(start_paused = true)]
async fn a_port_in_use_is_left_alone_and_a_lost_one_is_reported_and_taken_back() {
    let clock = Clock::simulated(DateTime::from_timestamp(1_800_000_000, 0).expect("a time"));
    let store = Store::open(Memory::default(), clock.clone()).await.expect("a store");

    let network = SimulatedNetwork::new();
    let _stranger = network.listen(HOST, 20_000).await.expect("a port");
    let first = plane(&store, &clock, &network).await;
    let manager = control(&first);
    let shape = Shape { control_plane: 1, workers: 1, version: "v1.35.0" };
    let manifests = cluster(shape).expect("manifests");
    apply_all(&first.registry, &first.client("user"), &manifests).await.expect("applied");
    let created = dev_cluster(&first).await;
    assert_eq!((port(&created), created.condition("Ready")), (Some(20_001), None));
    manager.stop().await;

    let network = SimulatedNetwork::new();
    let stranger = network.listen(HOST, 20_001).await.expect("a port");
    let second = plane(&store, &clock, &network).await;
    let manager = control(&second);
    let lost = dev_cluster(&second).await;
    let ready = lost.condition("Ready").expect("a condition").clone();
    assert_eq!(
        (port(&lost), ready.status.as_str(), ready.reason.as_str()),
        (Some(20_001), "False", "NotReady")
    );
    for part in ["127.0.0.1:20001", "address already in use", "end the process"] {
        assert!(ready.message.contains(part), "{}", ready.message);
    }

    drop(stranger);
    let back = dev_cluster(&second).await;
    assert!(back.condition_is_true("Ready"), "{:?}", back.status);
    assert!(network.dial(HOST, 20_001).await.is_ok(), "the cluster listens again");
    manager.stop().await;
}
