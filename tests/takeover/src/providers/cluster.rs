//! The life of a cluster of simulated machines: created, at rest, deleted.

use std::time::Duration;

use anyhow::{Context as _, Result};
use machinery::clock::Clock;
use netboot_tests::server::Objects;
use netboot_tests::wait::until;
use serde_json::{Value, json};

use super::outcome::{self, Outcome};

/// The time for each step. Upstream's managers ask again after 10 to 30 seconds where they wait.
const STEP: Duration = Duration::from_secs(300);
/// The machines of each cluster here: three of the control plane, three workers.
const MACHINES: usize = 6;
/// What a Cluster at rest says.
const AT_REST: [(&str, &str); 9] = [
    ("Available", "True"),
    ("RemoteConnectionProbe", "True"),
    ("InfrastructureReady", "True"),
    ("ControlPlaneAvailable", "True"),
    ("ControlPlaneMachinesReady", "True"),
    ("WorkersAvailable", "True"),
    ("WorkerMachinesReady", "True"),
    ("RollingOut", "False"),
    ("ScalingUp", "False"),
];

/// How long the steps of a cluster's life took.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Until the Cluster is available.
    pub available: Duration,
    /// Until nothing is on its way any more.
    pub rest: Duration,
    /// From the deletion until the Cluster is gone.
    pub deletion: Duration,
}

/// A cluster, by the name of its Cluster and its manifests.
pub struct Manifests {
    /// The name of the Cluster in the namespace `default`.
    pub name: String,
    /// The objects.
    pub objects: Vec<Value>,
}

impl Manifests {
    /// Reads the manifests of a cluster.
    ///
    /// # Errors
    /// The text is no YAML, or has no Cluster.
    pub fn parse(text: &str) -> Result<Self> {
        let objects: Result<Vec<Value>> =
            text.split("\n---\n").map(|document| Ok(serde_saphyr::from_str(document)?)).collect();
        let objects = objects?;
        let cluster = objects.iter().find(|object| object["kind"] == "Cluster");
        let name = cluster.and_then(|cluster| cluster["metadata"]["name"].as_str()).context("no Cluster")?;
        Ok(Self { name: name.to_owned(), objects })
    }

    /// Creates the cluster, waits until it is at rest, and deletes it. Returns what it was like at rest.
    ///
    /// # Errors
    /// An object is refused, or a step is not done in time; the error says what is missing.
    pub async fn live(&self, objects: &Objects) -> Result<(Outcome, Times)> {
        let from = Clock::system().monotonic();
        for object in &self.objects {
            objects.apply(object).await.with_context(|| format!("{} is refused", object["kind"]))?;
        }
        self.wait(objects, &AT_REST[..1], 0).await?;
        let available = from.elapsed();
        self.wait(objects, &AT_REST, MACHINES).await?;
        let rest = from.elapsed();
        let outcome = outcome::of(objects).await?;
        let from = Clock::system().monotonic();
        objects.delete(&self.cluster()).await?;
        let gone = until("the Cluster is deleted", STEP, || async {
            match objects.get(&self.cluster()).await {
                Ok(found) => found.is_null().then_some(Ok(())),
                Err(error) => Some(Err(error)),
            }
        });
        gone.await??;
        Ok((outcome, Times { available, rest, deletion: from.elapsed() }))
    }

    async fn wait(&self, objects: &Objects, wanted: &[(&str, &str)], machines: usize) -> Result<()> {
        let missing = parking_lot::Mutex::new(String::new());
        let waited = until("the cluster is as it must be", STEP, || async {
            match self.missing(objects, wanted, machines).await {
                Ok(None) => Some(Ok(())),
                Ok(Some(what)) => {
                    *missing.lock() = what;
                    None
                }
                Err(error) => Some(Err(error)),
            }
        });
        waited.await.with_context(|| missing.lock().clone())?
    }

    /// Says what is not yet as it must be.
    async fn missing(
        &self,
        objects: &Objects,
        wanted: &[(&str, &str)],
        machines: usize,
    ) -> Result<Option<String>> {
        let cluster = objects.get(&self.cluster()).await?;
        if let Some(wrong) = wanted.iter().find_map(|(kind, status)| other(&cluster, kind, status)) {
            return Ok(Some(wrong));
        }
        let found = objects.list(&named("Machine", "")).await?;
        if found.len() < machines {
            return Ok(Some(format!("there are {} Machines", found.len())));
        }
        // The deletion of a Machine of an earlier cluster may still be on its way.
        let own = found.iter().filter(|machine| machine["spec"]["clusterName"] == self.name.as_str());
        Ok(own.filter(|_| machines > 0).find_map(|machine| other(machine, "Available", "True")))
    }

    fn cluster(&self) -> Value {
        named("Cluster", &self.name)
    }
}

/// Returns the condition if its status is another one.
pub fn other(object: &Value, kind: &str, status: &str) -> Option<String> {
    let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == kind).unwrap_or(&Value::Null);
    let name = (&object["kind"], &object["metadata"]["name"]);
    (found["status"] != status).then(|| format!("{kind} of {} {} is {found}", name.0, name.1))
}

fn named(kind: &str, name: &str) -> Value {
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "metadata": {"namespace": "default", "name": name}})
}
