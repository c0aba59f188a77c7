//! A process that is killed, or whose requests and events are lost, while it creates, changes, upgrades, rebases and deletes a Cluster of a
//! class. All invariants hold at each change, nothing is written at rest, and nothing is left in the end.

use simulation::drawn::play;
use simulation::drawn::script::{Action, ClusterShape, Script};
use test_plane::requests::{Delivery, Fault, Kill, Moment};

use crate::seeds::number;
use crate::single_failures::{assert_none, failures_each, script, shape};

/// The distance of the writes at which the process is killed, which is odd for both moments to come. `cargo xtask simulate --thorough` takes
/// each of them.
const STRIDE: u64 = 241;

/// Creates, changes, upgrades over two minor versions, rebases and deletes.
fn story() -> Script {
    let shape = ClusterShape { is_of_class: true, ..shape(1, 1) };
    let actions = [
        Action::Apply(0),
        Action::Settle,
        Action::ScaleWorkers(0, 2),
        Action::RollOut(0),
        Action::Settle,
        Action::UpgradeToLast(0),
        Action::Settle,
        Action::Rebase(0),
        Action::Settle,
        Action::Delete(0),
        Action::Settle,
    ];
    script(shape, &actions.map(|action| (0, action)))
}

/// Returns the number of writes of the story, and of its events.
fn calm() -> (u64, u64) {
    let counting = Script { deliveries: vec![(u64::MAX, Delivery::Repeated)], ..story() };
    let report = play(1, &counting).expect("nothing goes wrong");
    (report.writes, report.events)
}

#[test]
fn killed_at_a_write_it_goes_on() {
    let (writes, _) = calm();
    assert_none(&failures_each(writes, number("SIMULATE_WORLD_STRIDE", STRIDE), |write| {
        let moment = if write % 2 == 0 { Moment::Before } else { Moment::After };
        Script { kills: vec![Kill { write, moment }], ..story() }
    }));
}

#[test]
fn a_write_that_fails_and_an_event_that_is_lost_are_made_good() {
    let faults = [Fault::Refused(500), Fault::Refused(409), Fault::Lost, Fault::Edited];
    let deliveries = [Delivery::Dropped, Delivery::Repeated];
    let (writes, events) = calm();
    let stride = number("SIMULATE_WORLD_STRIDE", STRIDE);
    let one = |number: u64, count: usize| usize::try_from(number).unwrap_or_default() % count;
    assert_none(&failures_each(writes, stride, |write| Script {
        faults: vec![(write, faults[one(write, faults.len())])],
        ..story()
    }));
    assert_none(&failures_each(events, 4 * stride, |event| Script {
        deliveries: vec![(event, deliveries[one(event, deliveries.len())])],
        ..story()
    }));
}
