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

async fn plane(store: &Store, clock: &Clock, network: &SimulatedNetwork, seed: u64) -> Plane {
    let random = Random::seeded(seed);
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

/// Applies the manifests of a cluster to a server whose data is new; returns what holds the data, the clock and the port of the cluster.
async fn created(network: &SimulatedNetwork, seed: u64) -> (Store, Clock, u16) {
    let clock = Clock::simulated(DateTime::from_timestamp(1_800_000_000, 0).expect("a time"));
    let store = Store::open(Memory::default(), clock.clone()).await.expect("a store");
    let plane = plane(&store, &clock, network, seed).await;
    let manager = control(&plane);
    let shape = Shape { control_plane: 1, workers: 1, version: "v1.35.0" };
    let manifests = cluster(shape).expect("manifests");
    apply_all(&plane.registry, &plane.client("user"), &manifests).await.expect("applied");
    let dev = dev_cluster(&plane).await;
    assert_eq!(dev.condition("Ready"), None);
    manager.stop().await;
    (store, clock, u16::try_from(port(&dev).expect("a port")).expect("a port"))
}

#[tokio::test(start_paused = true)]
async fn a_port_in_use_is_left_alone_and_a_lost_one_is_reported_and_taken_back() {
    let (_, _, first) = created(&SimulatedNetwork::new(), 1).await;
    let network = SimulatedNetwork::new();
    let _stranger = network.listen(HOST, first).await.expect("a port");
    let (store, clock, taken) = created(&network, 1).await;
    assert_eq!(taken, first + 1);

    let network = SimulatedNetwork::new();
    let stranger = network.listen(HOST, taken).await.expect("a port");
    let second = plane(&store, &clock, &network, 1).await;
    let manager = control(&second);
    let lost = dev_cluster(&second).await;
    let ready = lost.condition("Ready").expect("a condition").clone();
    assert_eq!(
        (port(&lost), ready.status.as_str(), ready.reason.as_str()),
        (Some(i32::from(taken)), "False", "NotReady")
    );
    for part in [&format!("{HOST}:{taken}"), "address already in use", "end the process"] {
        assert!(ready.message.contains(part), "{}", ready.message);
    }

    drop(stranger);
    let back = dev_cluster(&second).await;
    assert!(back.condition_is_true("Ready"), "{:?}", back.status);
    assert!(network.dial(HOST, taken).await.is_ok(), "the cluster listens again");
    manager.stop().await;
}

/// A stopped server has its ports only in its objects. Another one of the machine looks for its own elsewhere.
#[tokio::test(start_paused = true)]
async fn servers_of_a_machine_take_their_first_port_at_different_places() {
    let (_, _, one) = created(&SimulatedNetwork::new(), 1).await;
    let (_, _, other) = created(&SimulatedNetwork::new(), 2).await;
    assert!(one.abs_diff(other) > 1, "{one} {other}");
}
