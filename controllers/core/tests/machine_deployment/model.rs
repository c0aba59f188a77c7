//! Rollouts of random sets, in which Machines appear, become available, fail and go in random order.

use cluster_core::machine_deployment::rollout::{Limits, Set, rolling_update};
use proptest::prelude::*;

/// The largest number of steps after which a rollout is over once nothing fails any more.
const END: usize = 2000;

/// The Machines of a MachineSet: those that start, are available, have failed, and are being deleted.
#[derive(Debug, Clone, Default)]
struct Machines {
    starting: i32,
    available: i32,
    failed: i32,
    deleting: i32,
    spec: i32,
    /// What the MachineSet's status says. It is older than the Machines.
    status: (i32, i32),
}

impl Machines {
    fn all(&self) -> i32 {
        self.starting + self.available + self.failed + self.deleting
    }

    fn refresh(&mut self) {
        self.status = (self.all(), self.available);
    }

    fn numbers(&self) -> Set {
        let (status, available) = self.status;
        Set { spec: self.spec, status, available, intent: self.spec, ..Set::default() }
    }

    /// The MachineSet controller: it writes its status, then creates or deletes Machines. If `worst`, it deletes available Machines first.
    fn reconcile(&mut self, worst: bool) {
        self.refresh();
        self.starting += (self.spec - self.all()).max(0);
        let mut excess = (self.all() - self.spec - self.deleting).max(0);
        self.deleting += excess;
        let Self { starting, available, failed, .. } = self;
        for kind in if worst { [available, starting, failed] } else { [failed, starting, available] } {
            let count = excess.min(*kind);
            *kind -= count;
            excess -= count;
        }
    }
}

/// What happens next; the number chooses the MachineSet.
#[derive(Debug, Clone, Copy)]
enum Event {
    Plan,
    Reconcile(usize),
    Available(usize),
    Fails(usize),
    Gone(usize),
}

fn events(fails: bool) -> impl Strategy<Value = Vec<Event>> {
    let set = 0usize..3;
    let event = (0..if fails { 10 } else { 9 }, set).prop_map(|(kind, set)| match kind {
        0..=2 => Event::Plan,
        3..=4 => Event::Reconcile(set),
        5..=6 => Event::Available(set),
        7..=8 => Event::Gone(set),
        _ => Event::Fails(set),
    });
    proptest::collection::vec(event, 0..200)
}

fn limits() -> impl Strategy<Value = Limits> {
    (1..12i32, 0..5i32, 0..5i32).prop_map(|(replicas, surge, unavailable)| {
        let unavailable = if surge == 0 { unavailable.max(1) } else { unavailable };
        Limits { replicas, surge, unavailable: unavailable.min(replicas) }
    })
}

/// The new set, and two old ones with all available replicas, of which the older has `first`.
fn start(limits: &Limits, first: i32) -> [Machines; 3] {
    let old = |count: i32| Machines {
        available: count,
        spec: count,
        status: (count, count),
        ..Machines::default()
    };
    let first = first.min(limits.replicas);
    [Machines::default(), old(first), old(limits.replicas - first)]
}

fn step(limits: &Limits, sets: &mut [Machines; 3]) {
    let (mut new, mut old) = (sets[0].numbers(), [sets[1].numbers(), sets[2].numbers()]);
    rolling_update(limits, &mut new, &mut old, false);
    for (set, planned) in sets.iter_mut().zip(std::iter::once(new).chain(old)) {
        set.spec = planned.intent;
    }
}

/// Moves one Machine from one state to another, if there is one.
fn move_one(from: &mut i32, to: &mut i32) {
    let count = (*from).min(1);
    *from -= count;
    *to += count;
}

fn happen(limits: &Limits, sets: &mut [Machines; 3], event: Event) {
    match event {
        Event::Plan => step(limits, sets),
        Event::Reconcile(set) => sets[set].reconcile(true),
        Event::Available(set) => {
            let Machines { starting, available, .. } = &mut sets[set];
            move_one(starting, available);
        }
        Event::Fails(set) => {
            let Machines { available, failed, .. } = &mut sets[set];
            move_one(available, failed);
        }
        Event::Gone(set) => move_one(&mut sets[set].deleting, &mut 0),
    }
}

fn available(sets: &[Machines; 3]) -> i32 {
    sets.iter().map(|set| set.available).sum()
}

fn existing(sets: &[Machines; 3]) -> i32 {
    sets.iter().map(Machines::all).sum()
}

/// Plans with what is true now, and lets the MachineSets act at once. They delete what has failed first.
fn act(limits: &Limits, sets: &mut [Machines; 3]) {
    sets.iter_mut().for_each(Machines::refresh);
    step(limits, sets);
    sets.iter_mut().for_each(|set| set.reconcile(false));
}

/// Runs the rollout to its end: new Machines become available, and deleted ones go.
fn finish(limits: &Limits, sets: &mut [Machines; 3]) -> bool {
    for _ in 0..END {
        act(limits, sets);
        let new = &mut sets[0];
        new.available += std::mem::take(&mut new.starting) + std::mem::take(&mut new.failed);
        sets.iter_mut().for_each(|set| set.deleting = 0);
        if available(sets) == limits.replicas && sets[1].all() + sets[2].all() == 0 {
            return true;
        }
    }
    false
}

proptest! {
    /// Statuses are out of date, and available Machines are deleted first.
    #[test]
    fn while_nothing_fails_the_limits_hold(limits in limits(), first in 0..12i32, events in events(false)) {
        let mut sets = start(&limits, first);
        for event in events {
            happen(&limits, &mut sets, event);
            prop_assert!(available(&sets) >= limits.replicas - limits.unavailable, "{event:?}: {sets:?}");
            prop_assert!(existing(&sets) <= limits.replicas + limits.surge, "{event:?}: {sets:?}");
        }
        prop_assert!(finish(&limits, &mut sets), "{sets:?}");
    }

    /// Machines fail in between: then a rollout does not make it worse, and it ends nevertheless.
    #[test]
    fn when_machines_fail_no_available_one_is_missed(limits in limits(), first in 0..12i32, events in events(true)) {
        let mut sets = start(&limits, first);
        for event in events {
            match event {
                Event::Plan | Event::Reconcile(_) => {
                    let before = available(&sets);
                    act(&limits, &mut sets);
                    let enough = (limits.replicas - limits.unavailable).min(before);
                    prop_assert!(available(&sets) >= enough, "{sets:?}");
                }
                event => happen(&limits, &mut sets, event),
            }
            prop_assert!(existing(&sets) <= limits.replicas + limits.surge, "{event:?}: {sets:?}");
        }
        prop_assert!(finish(&limits, &mut sets), "{sets:?}");
    }
}
