//! Access to a workload cluster through its endpoint, as by a user.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use engine::testing::WorkloadClients;
use http::Request;
use kube::Client;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::Scene;
use crate::place::Place;

/// Paths of the lists that together contain all objects of a workload cluster.
const LISTS: &[&str] = &[
    "/api/v1/nodes",
    "/api/v1/pods",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/namespaces",
    "/api/v1/services",
    "/apis/apps/v1/daemonsets",
    "/apis/apps/v1/deployments",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
];
/// The pause between two uses of the endpoint.
const LOOK: Duration = Duration::from_millis(10);

/// A user of a workload cluster.
#[derive(Clone)]
pub struct User {
    client: Client,
    scene_clock: machinery::clock::Clock,
}

impl User {
    /// A user with the kubeconfig that is stored at `place`.
    ///
    /// # Errors
    /// There is no kubeconfig.
    pub fn of(scene: &Scene, place: &Place, cluster: &str) -> Result<Self> {
        let is_it = |key: &str| key.ends_with(&format!("/secrets/default/{cluster}-kubeconfig"));
        let secret = place.objects().into_iter().find(|(key, _)| is_it(key));
        let (_, secret) = secret.context("there is no kubeconfig")?;
        let secret: k8s_openapi::api::core::v1::Secret = serde_json::from_value(secret)?;
        let kubeconfig = secret.data.and_then(|mut data| data.remove("value")).context("it is empty")?;
        let client = WorkloadClients::new(&scene.network, &scene.clock, &kubeconfig.0)?.dedicated;
        Ok(Self { client, scene_clock: scene.clock.clone() })
    }

    /// Creates a ConfigMap.
    ///
    /// # Errors
    /// The cluster rejects it.
    pub async fn write(&self, name: &str) -> kube::Result<()> {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}).to_string();
        let request = Request::post("/api/v1/namespaces/default/configmaps")
            .header("content-type", "application/json")
            .body(object.into_bytes())
            .map_err(kube::Error::HttpError)?;
        self.client.request::<Value>(request).await.map(drop)
    }

    async fn reads(&self) -> bool {
        let Ok(request) = Request::get("/api/v1/nodes").body(Vec::new()) else { return false };
        self.client.request::<Value>(request).await.is_ok()
    }

    /// All objects of the cluster, by list and name.
    ///
    /// # Errors
    /// The cluster does not respond.
    pub async fn everything(&self) -> Result<BTreeMap<String, Value>> {
        let mut all = BTreeMap::new();
        for list in LISTS {
            let answer: Value = self.client.request(Request::get(*list).body(Vec::new())?).await?;
            for item in answer["items"].as_array().into_iter().flatten() {
                let metadata = &item["metadata"];
                all.insert(format!("{list} {} {}", metadata["namespace"], metadata["name"]), item.clone());
            }
        }
        Ok(all)
    }

    /// Starts to use the cluster continuously: reads, and creates the ConfigMaps `NAME-0`, `NAME-1` and so
    /// on.
    pub fn go_on(&self, name: &str) -> Usage {
        let usage = Usage::default();
        let (user, noted, prefix) = (self.clone(), usage.0.clone(), name.to_owned());
        drop(tokio::spawn(async move {
            let clock = user.scene_clock.clone();
            let mut last = clock.monotonic();
            for number in 0.. {
                let reads = user.reads().await;
                let name = format!("{prefix}-{number}");
                let written = user.write(&name).await.is_ok().then_some(name);
                let now = clock.monotonic();
                if noted.lock().take(reads.then(|| now - last), written) {
                    return;
                }
                last = if reads { now } else { last };
                clock.sleep(LOOK).await;
            }
        }));
        usage
    }
}

/// The observations of a user that uses a cluster continuously.
#[derive(Clone, Default)]
pub struct Usage(Arc<Mutex<Noted>>);

#[derive(Default)]
struct Noted {
    longest: Duration,
    written: Vec<String>,
    over: bool,
}

impl Noted {
    /// Records one round: the time since the last response, and the created ConfigMap. Returns true when the
    /// recording has ended.
    fn take(&mut self, since: Option<Duration>, written: Option<String>) -> bool {
        if !self.over {
            self.longest = self.longest.max(since.unwrap_or_default());
            self.written.extend(written);
        }
        self.over
    }
}

impl Usage {
    /// Ends the recording. Returns the longest time without a response, and the acknowledged ConfigMaps.
    pub fn end(&self) -> (Duration, Vec<String>) {
        let mut noted = self.0.lock();
        noted.over = true;
        (noted.longest, noted.written.clone())
    }
}
