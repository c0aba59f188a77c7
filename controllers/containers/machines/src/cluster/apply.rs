//! Carries out the plan of a DevCluster.

use anyhow::Context;
use chrono::{DateTime, Utc};
use engine::conditions::{self, Reasons, Summary, summarize};
use engine::object::is_deleting;
use engine::{Action, Error, Outcome, finalizer};
use schemas::HasConditions;
use schemas::infrastructure::DevCluster;
use schemas::meta::{ApiEndpoint, Condition};
use system_containers::State;
use system_containers::balancer::{Balancer, Configuration, Health, ServerStatus, Status};

use super::observe::DevClusterController;
use super::observed::Observed;
use super::plan::Plan;
use crate::limits;
use crate::names::CLUSTER_FINALIZER;

/// Whether the load balancer runs.
const BALANCER: &str = "LoadBalancerAvailable";

impl DevClusterController {
    /// Makes the load balancer what the plan says.
    pub(super) async fn execute(&self, observed: &Observed, plan: Plan) -> Outcome<DevCluster> {
        let now = self.manager.clock().now();
        let mut wanted = plan.wanted;
        let outcome = match &plan.configuration {
            Some(configuration) => self
                .run(observed, configuration)
                .await
                .map(|balancer| show(&mut wanted, &balancer, configuration)),
            None => self.remove(observed).await.map(|()| deleting()),
        };
        let (condition, errors) = match outcome {
            Ok(condition) => (condition, Vec::new()),
            Err(error) => {
                // It is there, and so is what it has made of the machine.
                if is_deleting(&wanted) {
                    finalizer::add(&mut wanted, CLUSTER_FINALIZER);
                }
                (unavailable(&error), vec![Error::failed(format!("{error:#}"))])
            }
        };
        conditions::set(&mut wanted, now, condition);
        summarize_all(&mut wanted, now);
        Outcome { wanted: Some(wanted), errors, action: Action::requeue_after(limits::INSPECT) }
    }

    async fn run(&self, observed: &Observed, configuration: &Configuration) -> anyhow::Result<Balancer> {
        let parts = self.nodes.parts().await?;
        let endpoint = observed.dev.spec.control_plane_endpoint.as_ref();
        let address =
            endpoint.and_then(|endpoint| endpoint.host.as_deref()).and_then(|host| host.parse().ok());
        let ensured = async {
            parts.balancers.ensure(observed.name()?, &observed.labels, address, configuration).await
        };
        ensured.await.context("Failed to create load balancer")
    }

    async fn remove(&self, observed: &Observed) -> anyhow::Result<()> {
        let status = observed.dev.status.as_ref().and_then(|status| status.initialization.as_ref());
        let was_made = status.is_some_and(|status| status.provisioned == Some(true));
        let parts = match self.nodes.parts().await {
            // There never was one, because no container can run here.
            Err(_) if !was_made => return Ok(()),
            parts => parts?,
        };
        let removed = async { parts.balancers.remove(observed.name()?).await };
        removed.await.context("Failed to delete load balancer")
    }
}

/// Writes what the load balancer decides, and returns the condition about it.
fn show(wanted: &mut DevCluster, balancer: &Balancer, configuration: &Configuration) -> Condition {
    let endpoint = wanted.spec.control_plane_endpoint.get_or_insert_with(ApiEndpoint::default);
    if endpoint.host.as_ref().is_none_or(String::is_empty) {
        endpoint.host = Some(balancer.address.to_string());
    }
    if endpoint.port.is_none_or(|port| port == 0) {
        endpoint.port = Some(configuration.port.into());
    }
    wanted.status.get_or_insert_default().initialization.get_or_insert_default().provisioned = Some(true);
    let name = &balancer.name;
    match (&balancer.state, &balancer.status) {
        (State::Paused, _) => {
            let message =
                format!("Load balancer {name} is paused: `firstlight nodes resume {name}` lets it go on");
            conditions::is_false(BALANCER, "NotAvailable", message)
        }
        (_, None) => {
            let message =
                format!("Load balancer {name} does not answer: `firstlight nodes logs {name}` says more");
            conditions::is_false(BALANCER, "NotAvailable", message)
        }
        (_, Some(status)) => {
            Condition { message: unwell(status), ..conditions::is_true(BALANCER, "Available") }
        }
    }
}

/// Returns which API servers get no connections; an empty text if all do.
fn unwell(status: &Status) -> String {
    let why = |server: &ServerStatus| match &server.health {
        Health::Unhealthy(why) => Some(format!("{}: {why}", server.name)),
        _ => None,
    };
    let unwell: Vec<String> = status.servers.iter().filter_map(why).collect();
    match unwell.as_slice() {
        [] => String::new(),
        unwell => format!("API servers that get no connections: {}", unwell.join("; ")),
    }
}

fn deleting() -> Condition {
    conditions::is_false(BALANCER, "Deleting", "")
}

fn unavailable(error: &anyhow::Error) -> Condition {
    conditions::is_false(BALANCER, "NotAvailable", format!("{error:#}"))
}

/// Sets `Ready` from the condition of the load balancer.
fn summarize_all(wanted: &mut DevCluster, now: DateTime<Utc>) {
    let summary = Summary {
        types: vec![BALANCER],
        negative: Vec::new(),
        ignore_if_missing: Vec::new(),
        reasons: Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" },
    };
    let ready = summarize("Ready", wanted.conditions(), &summary, |_| None);
    conditions::set(wanted, now, ready);
}
