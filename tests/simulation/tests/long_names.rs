//! A cluster whose objects have the longest names that they may have.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::NamespacedName;
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::Document;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, PostParams};
use schemas::HasConditions;
use schemas::cluster::{Cluster, Machine};
use serde_json::json;
use simulation::manifests::{Shape, cluster};
use simulation::simulation::{Life, Simulation};

const LIMIT: Duration = Duration::from_secs(1800);
/// The limit of a label's value and of a Namespace's name.
const LABEL: usize = 63;
/// The limit of the name of any other object.
const SUBDOMAIN: usize = 253;

fn long(start: &str, length: usize) -> String {
    format!("{start}{}", "x".repeat(length - start.len()))
}

/// The namespace, and the names of the Cluster, the control plane and the workers.
struct Names {
    namespace: String,
    cluster: String,
    control_plane: String,
    workers: String,
}

fn names() -> Names {
    Names {
        namespace: long("namespace-", LABEL),
        cluster: long("cluster-", LABEL),
        control_plane: long("plane-", SUBDOMAIN),
        workers: long("workers-", LABEL),
    }
}

/// The cluster of all scenarios with these names.
fn renamed(names: &Names, version: &'static str) -> Result<Vec<Document>> {
    let mut documents = cluster(Shape { control_plane: 3, workers: 1, version })?;
    for document in &mut documents {
        let text = document.object.to_string();
        let text = text
            .replace("\"default\"", &format!("{:?}", names.namespace))
            .replace("\"first\"", &format!("{:?}", names.cluster))
            .replace("\"first-control-plane\"", &format!("{:?}", names.control_plane))
            .replace("\"first-workers\"", &format!("{:?}", names.workers));
        document.object = serde_json::from_str(&text)?;
    }
    Ok(documents)
}

/// Waits until the Cluster is available and all of its Machines have this version.
async fn until_available(life: &Life, name: &NamespacedName, version: &str) -> Result<()> {
    let state = || {
        let cluster = life.manager.objects::<Cluster>().get(name);
        let available = cluster.is_some_and(|cluster| cluster.condition_is_true("Available"));
        let machines = life.manager.objects::<Machine>().by_cluster(name);
        let versions: Vec<String> =
            machines.iter().map(|machine| machine.spec.version.clone().unwrap_or_default()).collect();
        (available, versions)
    };
    let waiting = async {
        loop {
            let (available, versions) = state();
            if available && versions.len() == 4 && versions.iter().all(|found| found == version) {
                return;
            }
            life.clock.sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(LIMIT, waiting).await.with_context(|| format!("{:?}", state()))
}

async fn live(life: &Life) -> Result<()> {
    let client = life.plane.client("user");
    let names = names();
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": names.namespace}}))?;
    Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &namespace).await?;
    let name = NamespacedName::new(&names.namespace, &names.cluster);
    for version in ["v1.35.0", "v1.36.0"] {
        apply_all(&life.plane.registry, &client, &renamed(&names, version)?).await?;
        until_available(life, &name, version).await.with_context(|| version.to_owned())?;
    }
    for machine in life.manager.objects::<Machine>().by_cluster(&name) {
        let own = machine.metadata.name.as_deref().unwrap_or_default();
        ensure!(own.len() <= LABEL, "{own} is the name of a host, and may have {LABEL} characters");
    }
    let clusters = Api::<Cluster>::namespaced(client, &names.namespace);
    clusters.delete(&names.cluster, &DeleteParams::default()).await?;
    let waiting = async {
        while life.manager.objects::<Cluster>().get(&name).is_some() {
            life.clock.sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(LIMIT, waiting).await.context("the Cluster is not deleted")
}

#[test]
fn a_cluster_of_long_names_is_created_upgraded_and_deleted() {
    Simulation::new(23).live(async |life, _| live(life).await).expect("seed 23");
}
