//! A deletion whose times were written while the clock was an hour ahead, and one whose clock jumps ahead.

use std::sync::Arc;

use chrono::Duration;
use cluster_core::Reference;
use cluster_core::machine::{self, LastEviction, OnDemand};
use engine::NamespacedName;
use machinery::clock::rfc3339;
use schemas::HasConditions;
use schemas::cluster::MachineDeletionStatus;
use serde_json::json;

use super::drain::{pod, with};
use super::{deleting_machine, now};

fn draining_since(hours: i64) -> machine::Observed {
    let mut observed = with(vec![pod("p", json!({}))]);
    let machine = Arc::make_mut(&mut observed.machine);
    machine.spec.deletion.get_or_insert_default().node_drain_timeout_seconds = Some(600);
    let deletion: &mut Option<MachineDeletionStatus> = &mut machine.status.get_or_insert_default().deletion;
    deletion.get_or_insert_default().node_drain_start_time = Some(rfc3339(now() + Duration::hours(hours)));
    observed
}

#[test]
fn a_drain_that_began_in_the_future_begins_now() {
    let observed = draining_since(1);
    let plan = machine::plan(&observed);
    let started = plan.machine.status.as_ref().unwrap().deletion.as_ref().unwrap();
    assert_eq!(started.node_drain_start_time, Some(rfc3339(now())));
    assert_eq!(plan.evict.len(), 1, "the drain goes on");
    let later = |seconds| machine::Observed {
        machine: Arc::new(plan.machine.clone()),
        now: now() + Duration::seconds(seconds),
        ..observed.clone()
    };
    let reason = |observed| machine::plan(&observed).machine.condition("Deleting").unwrap().reason.clone();
    assert_eq!(reason(later(599)), "DrainingNode");
    assert_ne!(reason(later(600)), "DrainingNode", "the time-out is not an hour longer");
}

/// The time-out is over: upstream does the same, and the user has set a limit for what the Pods may take.
#[test]
fn a_clock_that_jumps_ahead_ends_the_drain() {
    let plan = machine::plan(&draining_since(-1));
    assert_ne!(plan.machine.condition("Deleting").unwrap().reason, "DrainingNode");
    assert!(plan.evict.is_empty());
}

#[test]
fn an_eviction_that_was_refused_in_the_future_is_tried_again() {
    let mut observed = with(vec![pod("p", json!({}))]);
    // Columns: minutes from now to the last eviction, whether another one follows now.
    for (minutes, is_tried) in [(60, true), (0, false), (-1, true), (-60, true)] {
        let last =
            LastEviction { at: now() + Duration::minutes(minutes), refused: Some("budget".to_owned()) };
        observed.evictions = [(NamespacedName::new("n", "p"), last)].into();
        assert_eq!(!machine::plan(&observed).evict.is_empty(), is_tried, "{minutes}");
    }
}

#[test]
fn a_node_that_was_to_be_deleted_in_the_future_has_its_time() {
    let mut observed = machine::Observed {
        infrastructure: Reference::NotFound,
        bootstrap: Reference::NotFound,
        pods: OnDemand::NotRead,
        node_deletion_since: Some(now() + Duration::hours(1)),
        ..deleting_machine(json!({}))
    };
    let deletion = Arc::make_mut(&mut observed.machine).spec.deletion.get_or_insert_default();
    deletion.node_deletion_timeout_seconds = Some(10);
    let plan = machine::plan(&observed);
    assert!(plan.delete_node);
    let again = plan.action.requeue_after.unwrap();
    assert!(again <= std::time::Duration::from_secs(20), "not after an hour: {again:?}");
}
