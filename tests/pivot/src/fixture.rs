//! The initial content of the source: clusters that our own controllers created on simulated machines, and
//! other objects.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use chrono::DateTime;
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::{Document, parse};
use machinery::clock::Clock;
use machinery::random::Random;
use net::SimulatedNetwork;
use serde_json::Value;
use server::controllers::{self, Context, Selection};
use server::names::CONTROLLER_USER;
use server::plane::{Dependencies, Plane};
use store::{Batch, Engine, Loaded, Memory, Store};

use crate::place::Place;

const EXAMPLE: &str = include_str!("../../../examples/first-cluster.yaml");
const AROUND: &str = include_str!("around.yaml");

/// The contents of the disks of source and target.
pub struct Fixture {
    source: Loaded,
    target: Loaded,
}

/// The size of the fixture.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Number of clusters.
    pub clusters: usize,
    /// Control plane machines of each cluster.
    pub control_plane: i64,
    /// Workers of each cluster.
    pub workers: i64,
}

impl Fixture {
    /// Creates the clusters on simulated machines.
    ///
    /// # Errors
    /// The clusters do not become Available within a simulated hour.
    pub fn make(size: Size) -> Result<Self> {
        let source = Memory::default();
        let target = Memory::default();
        let bring_up = || {
            crate::simulated(async {
                let clock = Clock::simulated(DateTime::from_timestamp(1_800_000_000, 0).unwrap_or_default());
                Place::start("target", target.clone(), &clock, 1).await?;
                bring_up(source.clone(), &clock, size).await
            })
        };
        // A separate thread, because the caller may already be inside a runtime.
        let outcome = std::thread::scope(|scope| scope.spawn(bring_up).join());
        outcome.map_err(|_| anyhow::anyhow!("the clusters did not come up: a panic"))??;
        Ok(Self { source: source.load()?, target: target.load()? })
    }

    /// A copy of the source's disk.
    pub fn source(&self) -> Memory {
        copy(&self.source)
    }

    /// A copy of the target's disk, which contains only the definitions of the kinds.
    pub fn target(&self) -> Memory {
        copy(&self.target)
    }
}

fn copy(content: &Loaded) -> Memory {
    let disk = Memory::default();
    let batch = Batch {
        changes: content.changes.clone(),
        revision: content.revision,
        trim: Some(content.compacted),
        ..Batch::default()
    };
    // The in-memory store does not fail.
    drop(disk.commit(&batch));
    disk
}

async fn bring_up(disk: Memory, clock: &Clock, size: Size) -> Result<()> {
    let dependencies = Dependencies {
        clock: clock.clone(),
        random: Random::seeded(2),
        network: Arc::new(SimulatedNetwork::new()),
    };
    let store = Store::open(disk, clock.clone()).await?;
    let keys = pki::TokenKeys::generate(&dependencies.random)?;
    let plane = Plane::start(store.clone(), &dependencies, None, keys).await?;
    let manager = plane.manager_with(plane.client(CONTROLLER_USER));
    controllers::start(&Context::new(&manager), &Selection::all().without("metal"));
    let place = Place { role: "source", plane: plane.clone(), store };
    let client = plane.client("kubectl");
    for number in 0..size.clusters {
        apply_all(&plane.registry, &client, &cluster(&format!("c{number}"), size)?).await?;
    }
    let deadline = clock.monotonic() + Duration::from_secs(3600);
    while available(&place) < size.clusters || !manager.is_idle(Duration::from_secs(5)) {
        if clock.monotonic() > deadline {
            bail!("{} of {} clusters are Available after an hour", available(&place), size.clusters);
        }
        clock.sleep(Duration::from_secs(1)).await;
    }
    manager.stop().await;
    apply_all(&plane.registry, &client, &parse("around.yaml", AROUND)?).await?;
    adopt(&place, &client).await
}

/// The example with another name and other replica counts.
fn cluster(name: &str, size: Size) -> Result<Vec<Document>> {
    let text = EXAMPLE.replace("first", name);
    let mut documents = parse("first-cluster.yaml", &text)?;
    for document in &mut documents {
        let object = &mut document.object;
        let replicas = match object["kind"].as_str() {
            Some("KubeadmControlPlane") => size.control_plane,
            Some("MachineDeployment") => size.workers,
            _ => continue,
        };
        object["spec"]["replicas"] = replicas.into();
    }
    Ok(documents)
}

fn available(place: &Place) -> usize {
    let is_available = |object: &Value| {
        let conditions = object["status"]["conditions"].as_array();
        conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Available" && condition["status"] == "True")
    };
    place.objects().iter().filter(|(key, object)| key.contains("/clusters/") && is_available(object)).count()
}

/// Gives the objects around the clusters the owners that controllers would have set.
async fn adopt(place: &Place, client: &kube::Client) -> Result<()> {
    let objects = place.objects();
    let uid = |part: &str| -> Result<String> {
        let found = objects.iter().find(|(key, _)| key.ends_with(part)).with_context(|| part.to_owned())?;
        Ok(found.1["metadata"]["uid"].as_str().unwrap_or_default().to_owned())
    };
    let set = uid("/clusterresourcesets/default/addons")?;
    let owner = serde_json::json!([{
        "apiVersion": "addons.cluster.x-k8s.io/v1beta2", "kind": "ClusterResourceSet", "name": "addons", "uid": set,
    }]);
    let patch = serde_json::json!({"metadata": {"ownerReferences": owner}});
    let request = http::Request::patch("/api/v1/namespaces/default/configmaps/addons-content")
        .header("content-type", "application/merge-patch+json")
        .body(serde_json::to_vec(&patch)?)?;
    client.request::<Value>(request).await?;
    Ok(())
}
