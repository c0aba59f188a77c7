//! The step of a deletion that drains the Node.

use engine::object::annotation;
use engine::steps::Event;

use super::timeouts::{come_again, end, is_over};
use super::{OUT_OF_REACH, deletion, is_past_drain, spec, start, status};
use crate::machine::changes::{Plan, Step};
use crate::machine::drain::{self, Outcome};
use crate::machine::observed::{NodeState, Observed, OnDemand};
use crate::machine::v1beta1;

const EXCLUDE: &str = "machine.cluster.x-k8s.io/exclude-node-draining";
const REASON: &str = "DrainingNode";

/// The progress of the drain.
enum Drain {
    /// The Node does not exist any more.
    NodeGone,
    /// The workload cluster is not connected.
    OutOfReach,
    /// The Pods could not be read, or a MachineDrainRule is invalid.
    Failed(String),
    /// What is evicted, and what the drain waits for.
    Known(Outcome),
}

/// Returns whether the Node is not drained, or not any more.
pub fn is_skipped(observed: &Observed) -> bool {
    let timeout = spec(observed).node_drain_timeout_seconds;
    let since = deletion(observed).node_drain_start_time;
    annotation(observed.machine.as_ref(), EXCLUDE).is_some()
        || is_past_drain(observed)
        || is_over(observed, timeout, since.as_deref())
}

/// Returns whether the drain is complete, or not necessary.
pub fn is_complete(observed: &Observed) -> bool {
    is_skipped(observed)
        || match progress(observed) {
            Drain::NodeGone => true,
            Drain::OutOfReach | Drain::Failed(_) => false,
            Drain::Known(outcome) => outcome.messages.is_empty() && is_cordoned(observed),
        }
}

fn progress(observed: &Observed) -> Drain {
    match (&observed.node, &observed.pods) {
        (NodeState::Absent, _) => Drain::NodeGone,
        (NodeState::Found(node), OnDemand::Found(pods)) => {
            drain::plan(observed, node, pods).map_or_else(Drain::Failed, Drain::Known)
        }
        (NodeState::Found(_), OnDemand::Failed(error)) => Drain::Failed(error.clone()),
        (NodeState::Found(_), OnDemand::NotRead) | (NodeState::NotConnected | NodeState::Ambiguous(_), _) => {
            Drain::OutOfReach
        }
    }
}

/// A Node that was not cordoned when its Pods were read may have got more of them since then.
fn is_cordoned(observed: &Observed) -> bool {
    observed.node.found().is_some_and(|node| drain::is_cordoned(node))
}

/// Plans the drain; `None` if it is complete or skipped.
pub fn step(plan: &mut Plan, observed: &Observed) -> Option<Step> {
    if is_skipped(observed) {
        return None;
    }
    start(&mut status(plan).node_drain_start_time, observed);
    let since = status(plan).node_drain_start_time.clone().unwrap_or_default();
    let end = end(spec(observed).node_drain_timeout_seconds, Some(&since));
    plan.node = observed.node.found().and_then(|node| drain::cordoned(node));
    let mut lines = vec![format!("Drain not completed yet (started at {since}):")];
    match progress(observed) {
        Drain::NodeGone => {
            v1beta1::succeeded(plan, observed, "DrainingSucceeded");
            return None;
        }
        Drain::OutOfReach => {
            come_again(plan, observed, end);
            return Some(Step::Waiting(REASON, OUT_OF_REACH.to_owned()));
        }
        Drain::Failed(error) => {
            let name = observed.node.found().and_then(|node| node.metadata.name.as_deref());
            let message = format!("error draining Machine's node \"{}\": {error}", name.unwrap_or_default());
            plan.events.push(Event::warning("FailedDrainNode", message));
            lines.push(format!("* {error}"));
        }
        Drain::Known(outcome) if outcome.messages.is_empty() && is_cordoned(observed) => {
            completed(plan, observed);
            return None;
        }
        Drain::Known(outcome) => {
            plan.evict = outcome.evict;
            lines.extend(outcome.messages);
        }
    }
    come_again(plan, observed, end);
    Some(Step::Waiting(REASON, lines.join("\n")))
}

fn completed(plan: &mut Plan, observed: &Observed) {
    v1beta1::succeeded(plan, observed, "DrainingSucceeded");
    if deletion(observed).wait_for_node_volume_detach_start_time.is_some() {
        return;
    }
    let name = observed.node.found().and_then(|node| node.metadata.name.as_deref());
    let message = format!("success draining Machine's node \"{}\"", name.unwrap_or_default());
    plan.events.push(Event::normal("SuccessfulDrainNode", message));
}
