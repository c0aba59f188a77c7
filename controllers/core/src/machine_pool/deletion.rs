//! The deletion of a MachinePool: its infrastructure and bootstrap objects, and then the Nodes that are left of its machines.

use chrono::{DateTime, Duration, Utc};
use engine::object::is_deleting;
use engine::{Action, Step, time};

use super::nodes;
use super::observed::Observed;
use super::plan::Plan;
use crate::change::Reference;

/// The interval at which the deletion is tried again if no event reports its end.
const RETRY: std::time::Duration = std::time::Duration::from_secs(20);

/// Plans the next step of the deletion. Returns whether it is complete.
pub fn plan(plan: &mut Plan, observed: &Observed) -> bool {
    let (infrastructure, bootstrap) = (&observed.infrastructure, &observed.bootstrap);
    let is_gone = |reference: &Reference| matches!(reference, Reference::None | Reference::NotFound);
    let parts = [infrastructure, bootstrap].into_iter().filter_map(Reference::found);
    plan.steps.extend(parts.filter(|part| !is_deleting(part.object.as_ref())).map(Step::delete));
    if !is_gone(infrastructure) || !is_gone(bootstrap) {
        return false;
    }
    let end = end(observed);
    if end.is_some_and(|end| observed.now >= end) {
        return true;
    }
    // Of a pool whose machines never became Nodes, nothing is left in a cluster that perhaps nobody will ever reach.
    if observed.pool.status.as_ref().is_none_or(|status| status.node_refs.is_empty()) {
        return true;
    }
    if observed.nodes.is_some() {
        let left = nodes::deletions(observed, &plan.wanted.spec.provider_id_list);
        if left.is_empty() {
            return true;
        }
        plan.steps.extend(left);
    }
    // The end of the time-out is no event.
    let left = end.and_then(|end| (end - observed.now).to_std().ok());
    plan.action = plan.action.min(Action::requeue_after(left.map_or(RETRY, |left| left.min(RETRY))));
    false
}

/// Returns when the deletion no longer waits for Nodes; `None` if it waits forever.
fn end(observed: &Observed) -> Option<DateTime<Utc>> {
    let deletion = observed.pool.spec.template.spec.deletion.as_ref()?;
    let seconds = deletion.node_deletion_timeout_seconds.filter(|seconds| *seconds > 0)?;
    let since = observed.pool.metadata.deletion_timestamp.as_ref().map(time::utc)?;
    since.checked_add_signed(Duration::seconds(i64::from(seconds)))
}
