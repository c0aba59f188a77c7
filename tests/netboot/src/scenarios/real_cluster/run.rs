//! A run of the scenario, with what an error shows.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{CLUSTER, STEP};
use crate::machine::Machine;
use crate::scenario::{NAMESPACE, Scenario, last_lines};
use crate::wait::until;

/// A run, with what an error shows.
pub(super) struct Run {
    pub scenario: Scenario,
    pub machines: Vec<Arc<Machine>>,
    pub start: Instant,
}

impl Run {
    pub(super) fn say(&self, what: &str) -> Result<()> {
        let seconds = self.start.elapsed().as_secs();
        Ok(writeln!(std::io::stdout(), "figure: real cluster: from power-off to {what}: {seconds} s")?)
    }

    pub(super) async fn is_provisioned(&self, host: &str) -> Result<()> {
        for state in ["provisioning", "provisioned"] {
            let is_there = |found: &Value| {
                let now = found["status"]["provisioning"]["state"].as_str().unwrap_or_default();
                now == state || now == "provisioned"
            };
            self.wait(&format!("{host} {state}"), CLUSTER, &object("BareMetalHost", host), is_there).await?;
        }
        Ok(())
    }

    /// Waits until an object has a condition that is true.
    pub(super) async fn has(&self, kind: &str, name: &str, condition: &str, limit: Duration) -> Result<()> {
        let what = format!("{kind} {condition}");
        self.wait(&what, limit, &object(kind, name), |found| has_condition(found, condition)).await
    }

    pub(super) async fn machines_run(&self) -> Result<()> {
        for machine in self.list("Machine").await? {
            let object = object("Machine", machine["metadata"]["name"].as_str().unwrap_or_default());
            let runs = |found: &Value| found["status"]["phase"] == "Running" && has_condition(found, "Ready");
            self.wait("a Machine runs", STEP, &object, runs).await?;
        }
        Ok(())
    }

    pub(super) async fn list(&self, kind: &str) -> Result<Vec<Value>> {
        self.scenario.server.list(&object(kind, "")).await
    }

    pub(super) async fn wait(
        &self,
        what: &str,
        limit: Duration,
        object: &Value,
        condition: impl Fn(&Value) -> bool,
    ) -> Result<()> {
        let server = &self.scenario.server;
        let waited =
            until(what, limit, || async { condition(&server.get(object).await.ok()?).then_some(()) });
        match waited.await {
            Ok(()) => self.say(what),
            Err(error) => Err(self.explained(error).await),
        }
    }

    /// Adds the conditions of all objects, and the machines' consoles.
    pub(super) async fn explained(&self, error: anyhow::Error) -> anyhow::Error {
        let mut text = error.to_string();
        for kind in ["Cluster", "KubeadmControlPlane", "Machine", "Metal3Machine", "BareMetalHost"] {
            for mut object in self.list(kind).await.unwrap_or_default() {
                object["status"]["hardware"] = Value::Null;
                text += &format!("\n--- {kind} {}\n{:#}", object["metadata"]["name"], object["status"]);
            }
        }
        for machine in &self.machines {
            text += &format!("\n--- console of {}\n{}", machine.design().name, machine.console().tail());
        }
        anyhow!("{text}\n--- the server\n{}", last_lines(&self.scenario.server.log(), 100))
    }
}

/// Names an object.
pub(super) fn object(kind: &str, name: &str) -> Value {
    let version = match kind {
        "BareMetalHost" => "metal3.io/v1alpha1",
        "KubeadmControlPlane" => "controlplane.cluster.x-k8s.io/v1beta2",
        "Secret" => "v1",
        "Metal3Machine" => "infrastructure.cluster.x-k8s.io/v1beta2",
        _ => "cluster.x-k8s.io/v1beta2",
    };
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}})
}

pub(super) fn has_condition(found: &Value, condition: &str) -> bool {
    let conditions = found["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|known| known["type"] == condition && known["status"] == "True")
}
