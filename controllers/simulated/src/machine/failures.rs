//! The failures that annotations of a DevMachine ask for, and which of them show at a given moment. Pure functions.
//!
//! The value of an annotation is the time after which the failure shows, counted from the start of the part that fails: `5m`. An empty
//! value means at once.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use engine::conditions;
use schemas::meta::Condition;

use crate::names::{FAILURE_DRAWN, FAILURE_RATE};
use crate::workload::part::Part;
use crate::workload::symptoms::{NodeHealth, Symptoms};

/// The condition of a DevMachine that tells which failures show.
pub const CONDITION: &str = "SimulatedFailure";
/// A drawn failure shows within this time after the start of its part.
const LATEST_SECONDS: f64 = 600.0;

/// A way in which a simulated machine fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The machine starts, and never becomes a Node.
    BootstrapHangs,
    /// The kubelet reports that the Node is not ready.
    NodeNotReady,
    /// The kubelet reports nothing any more.
    KubeletStopped,
    /// The etcd member does not answer.
    EtcdMemberUnhealthy,
    /// The etcd cluster has lost the member.
    EtcdMemberLost,
    /// A volume stays attached to the Node.
    VolumeAttached,
}

impl Failure {
    /// All failures.
    pub const ALL: [Self; 6] = [
        Self::BootstrapHangs,
        Self::NodeNotReady,
        Self::KubeletStopped,
        Self::EtcdMemberUnhealthy,
        Self::EtcdMemberLost,
        Self::VolumeAttached,
    ];

    /// Returns the annotation that asks for the failure.
    pub fn annotation(self) -> &'static str {
        match self {
            Self::BootstrapHangs => "simulated.firstlight.dev/bootstrap-hangs",
            Self::NodeNotReady => "simulated.firstlight.dev/node-not-ready",
            Self::KubeletStopped => "simulated.firstlight.dev/kubelet-stopped",
            Self::EtcdMemberUnhealthy => "simulated.firstlight.dev/etcd-member-unhealthy",
            Self::EtcdMemberLost => "simulated.firstlight.dev/etcd-member-lost",
            Self::VolumeAttached => "simulated.firstlight.dev/volume-attached",
        }
    }

    /// Returns the part that fails.
    pub fn part(self) -> Part {
        match self {
            Self::BootstrapHangs => Part::Vm,
            Self::NodeNotReady | Self::KubeletStopped | Self::VolumeAttached => Part::Node,
            Self::EtcdMemberUnhealthy | Self::EtcdMemberLost => Part::Etcd,
        }
    }

    /// Returns the last word of the annotation, which names the failure in messages.
    fn name(self) -> &'static str {
        self.annotation().rsplit('/').next().unwrap_or_default()
    }
}

/// The failures that annotations ask for, each with the time after which it shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Asked {
    failures: Vec<(Failure, TimeDelta)>,
    /// The annotations whose values are no durations, with these values.
    invalid: Vec<String>,
}

impl Asked {
    /// Reads the annotations of a machine.
    pub fn read(annotations: &BTreeMap<String, String>) -> Self {
        let mut asked = Self::default();
        for failure in Failure::ALL {
            let Some(text) = annotations.get(failure.annotation()) else { continue };
            let after = match text.as_str() {
                "" => Some(TimeDelta::zero()),
                text => machinery::duration::parse(text).and_then(|after| TimeDelta::from_std(after).ok()),
            };
            match after {
                Some(after) => asked.failures.push((failure, after)),
                None => asked.invalid.push(format!("{}: {text:?}", failure.annotation())),
            }
        }
        asked
    }

    /// Returns whether the annotations ask for the failure.
    pub fn has(&self, failure: Failure) -> bool {
        self.failures.iter().any(|(asked, _)| *asked == failure)
    }

    /// Returns the failures that show at `now`, and the time until the next one. `since` returns when a part started to run.
    pub fn at(
        &self,
        now: DateTime<Utc>,
        since: impl Fn(Part) -> Option<DateTime<Utc>>,
    ) -> (Vec<Failure>, Option<TimeDelta>) {
        let (mut showing, mut next) = (Vec::new(), None::<TimeDelta>);
        for (failure, after) in &self.failures {
            // Bootstrap hangs from the beginning: it cannot stop again after it has succeeded.
            let after = if *failure == Failure::BootstrapHangs { TimeDelta::zero() } else { *after };
            let Some(left) = since(failure.part()).map(|since| after - (now - since)) else { continue };
            if left <= TimeDelta::zero() {
                showing.push(*failure);
            } else {
                next = Some(next.map_or(left, |next| next.min(left)));
            }
        }
        (showing, next)
    }

    /// Returns the condition about the failures that show; `None` if there is nothing to say.
    pub fn condition(&self, showing: &[Failure]) -> Option<Condition> {
        if !self.invalid.is_empty() {
            let values = self.invalid.join(", ");
            let message = format!(
                "The value of an annotation is no duration, such as 5m, and not empty ({values}): the failure does not show"
            );
            return Some(conditions::is_unknown(CONDITION, "InvalidAnnotation", message));
        }
        let names: Vec<&str> = showing.iter().map(|failure| failure.name()).collect();
        let message = format!("By annotation: {}", names.join(", "));
        (!names.is_empty())
            .then(|| Condition { message, ..conditions::is_true(CONDITION, "AskedForByAnnotation") })
    }
}

/// Returns what the workload cluster shows of these failures.
pub fn symptoms(showing: &[Failure]) -> Symptoms {
    let has = |failure: Failure| showing.contains(&failure);
    let node = match (has(Failure::KubeletStopped), has(Failure::NodeNotReady)) {
        (true, _) => NodeHealth::Unreachable,
        (false, true) => NodeHealth::NotReady,
        (false, false) => NodeHealth::Ready,
    };
    Symptoms {
        node,
        member_is_unhealthy: has(Failure::EtcdMemberUnhealthy),
        member_is_lost: has(Failure::EtcdMemberLost),
        volume_is_attached: has(Failure::VolumeAttached),
    }
}

/// Three random numbers in 0..1, which decide whether a machine fails, how, and when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    /// Whether it fails.
    pub chance: f64,
    /// How.
    pub failure: f64,
    /// When.
    pub time: f64,
}

/// Returns whether the annotations ask for a draw that was not made yet.
pub fn is_draw_due(annotations: Option<&BTreeMap<String, String>>) -> bool {
    let has = |key: &str| annotations.is_some_and(|annotations| annotations.contains_key(key));
    has(FAILURE_RATE) && !has(FAILURE_DRAWN)
}

/// Returns the annotations that record a draw: the one that asks for the failure, if there is one, and the one that says what was drawn.
pub fn drawn(rate: &str, draw: Draw, parts: &[Part]) -> Vec<(&'static str, String)> {
    let possible: Vec<Failure> =
        Failure::ALL.into_iter().filter(|failure| parts.contains(&failure.part())).collect();
    let index = ((draw.failure * possible.len() as f64) as usize).min(possible.len().saturating_sub(1));
    let fails = rate.parse::<f64>().is_ok_and(|rate| draw.chance < rate);
    match possible.get(index).filter(|_| fails) {
        Some(failure) => vec![
            (failure.annotation(), format!("{}s", (draw.time * LATEST_SECONDS) as u64)),
            (FAILURE_DRAWN, failure.name().to_owned()),
        ],
        None => vec![(FAILURE_DRAWN, "none".to_owned())],
    }
}
