//! What a seed says: the clusters of a simulation, what its user does with them, and what goes wrong.

use std::time::Duration;

use machinery::random::Random;
use test_plane::requests::{Delivery, Fault, Kill, Moment};

/// A cluster as its user first applies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterShape {
    /// Namespace; clusters of several namespaces may have the same name.
    pub namespace: &'static str,
    /// Name.
    pub name: String,
    /// Number of control plane Machines.
    pub control_plane: i64,
    /// Number of workers.
    pub workers: i64,
    /// `maxSurge` of the workers.
    pub surge: i64,
    /// `maxUnavailable` of the workers.
    pub unavailable: i64,
    /// `unhealthyLessThanOrEqualTo` of the workers' health check.
    pub unhealthy: &'static str,
    /// Seconds that each part of a machine takes to start.
    pub startup: u64,
    /// Whether the cluster has a topology, and a class of its own.
    pub is_of_class: bool,
}

/// A failure of machines that the infrastructure simulates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The kubelet stops.
    KubeletStopped,
    /// The Node is not ready.
    NodeNotReady,
    /// The etcd member does not answer; workers have none, and a Node of theirs is not ready.
    EtcdMemberUnhealthy,
    /// A volume stays attached to the Node.
    VolumeAttached,
}

/// What the user does, or what befalls a cluster. A cluster is named by its position in [`Script::clusters`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Applies the cluster as it is first to be, also where it exists.
    Apply(usize),
    /// Scales the control plane.
    ScaleControlPlane(usize, i64),
    /// Scales the workers.
    ScaleWorkers(usize, i64),
    /// Sets the next Kubernetes version for the whole cluster.
    Upgrade(usize),
    /// Sets the last Kubernetes version; only for a cluster of a class.
    UpgradeToLast(usize),
    /// Has all workers replaced; in a cluster of a class by a variable.
    RollOut(usize),
    /// Lets a cluster of a class have its other class.
    Rebase(usize),
    /// Lets this number of control plane machines and of workers fail.
    Break(usize, usize, usize, Failure),
    /// Lets the next machines that are created hang.
    BreakNew(usize, usize),
    /// Deletes this number of control plane Machines and of workers.
    DeleteMachines(usize, usize, usize),
    /// Deletes the workers' MachineDeployment.
    DeleteWorkers(usize),
    /// Deletes the Cluster.
    Delete(usize),
    /// Lets the API server accept connections and never answer, or answer again.
    Silence(usize, bool),
    /// Breaks the connections to the API server, or lets them pass again.
    Cut(usize, bool),
    /// Pauses or resumes the cluster.
    Pause(usize, bool),
    /// Changes labels and annotations of objects that controllers write.
    Edit(usize),
    /// Lets failed machines recover, resumes and answers, in all clusters, and waits until every cluster is as wanted and at rest.
    Settle,
}

impl Action {
    /// Returns the cluster that the action is about; `None` if it is about all.
    pub(super) fn cluster_mut(&mut self) -> Option<&mut usize> {
        match self {
            Self::Settle => None,
            Self::Apply(number)
            | Self::ScaleControlPlane(number, _)
            | Self::ScaleWorkers(number, _)
            | Self::Upgrade(number)
            | Self::UpgradeToLast(number)
            | Self::RollOut(number)
            | Self::Rebase(number)
            | Self::Break(number, ..)
            | Self::BreakNew(number, _)
            | Self::DeleteMachines(number, ..)
            | Self::DeleteWorkers(number)
            | Self::Delete(number)
            | Self::Silence(number, _)
            | Self::Cut(number, _)
            | Self::Pause(number, _)
            | Self::Edit(number) => Some(number),
        }
    }
}

/// The time of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// This number of seconds after the last action.
    After(u64),
    /// As soon as the controllers have made this number of writes, or have nothing to write for a while.
    AtWrite(u64),
}

/// An action and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Act(pub When, pub Action);

/// What a seed says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// The clusters.
    pub clusters: Vec<ClusterShape>,
    /// The actions in order.
    pub acts: Vec<Act>,
    /// Writes of the controllers that fail.
    pub faults: Vec<(u64, Fault)>,
    /// Events of the controllers' watches that are lost or repeated.
    pub deliveries: Vec<(u64, Delivery)>,
    /// Kills of the process.
    pub kills: Vec<Kill>,
}

/// Draws numbers of a seed.
struct Draw(Random);

impl Draw {
    /// Returns a number below `end`.
    fn below(&self, end: u64) -> u64 {
        self.0.number() % end.max(1)
    }

    fn one<T: Copy>(&self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap_or_default()]
    }

    fn is(&self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn count(&self, end: u64) -> usize {
        usize::try_from(self.below(end)).unwrap_or_default()
    }
}

/// Sizes of control planes and numbers of workers. Large ones are drawn seldom, since they take longer.
const CONTROL_PLANES: [i64; 16] = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 5];
const WORKERS: [i64; 16] = [0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 4, 10];
/// Machines of a simulation of several clusters.
const MACHINES: i64 = 7;
/// Writes that the controllers make for a machine in a typical scenario.
const WRITES: u64 = 70;

impl Script {
    /// Draws what `seed` says.
    pub fn draw(seed: u64) -> Self {
        let draw = Draw(Random::seeded(seed.wrapping_mul(15_485_863)));
        let mut script = Self::default();
        let mut machines = 0;
        for number in 0..draw.one(&[1, 1, 2, 3]) {
            let cluster = cluster(&draw, number);
            if number > 0 && machines + cluster.control_plane + cluster.workers > MACHINES {
                break;
            }
            machines += cluster.control_plane + cluster.workers;
            script.clusters.push(cluster);
        }
        for number in 0..script.clusters.len() {
            let after = draw.one(&[0, 0, 1, 20]);
            script.acts.push(Act(When::After(after), Action::Apply(number)));
        }
        // Half of the scenarios begin with clusters that are ready, and the other half while they come up.
        if draw.is(50) {
            script.acts.push(Act(When::After(0), Action::Settle));
        }
        for _ in 0..2 + draw.below(4) {
            script.act(&draw);
        }
        script.acts.push(Act(When::After(draw.below(30)), Action::Settle));
        if draw.is(50) {
            let number = draw.count(script.clusters.len() as u64);
            script.acts.push(Act(When::After(0), Action::Delete(number)));
            script.acts.push(Act(When::After(0), Action::Settle));
        }
        script.fail(&draw, u64::try_from(machines).unwrap_or_default() * WRITES);
        script.draw_classes(&Draw(Random::seeded(seed.wrapping_mul(982_451_653))));
        script
    }

    /// Draws which clusters are of a class, and what only those do.
    fn draw_classes(&mut self, draw: &Draw) {
        for cluster in &mut self.clusters {
            cluster.is_of_class = draw.is(35);
        }
        for Act(_, action) in &mut self.acts {
            match *action {
                Action::RollOut(number) if self.clusters[number].is_of_class && draw.is(50) => {
                    *action = Action::Rebase(number);
                }
                Action::Upgrade(number) if self.clusters[number].is_of_class && draw.is(50) => {
                    *action = Action::UpgradeToLast(number);
                }
                _ => {}
            }
        }
    }

    /// Draws an action, and what ends it.
    fn act(&mut self, draw: &Draw) {
        let number = draw.count(self.clusters.len() as u64);
        let cluster = &self.clusters[number];
        let (planes, workers) = (cluster.control_plane.unsigned_abs(), cluster.workers.unsigned_abs());
        let failure = draw.one(&[
            Failure::KubeletStopped,
            Failure::NodeNotReady,
            Failure::EtcdMemberUnhealthy,
            Failure::VolumeAttached,
        ]);
        let (action, end) = match draw.below(15) {
            0 => (Action::ScaleControlPlane(number, draw.one(&[1, 3, 3])), None),
            1 | 2 => (Action::ScaleWorkers(number, draw.one(&[0, 1, 2, 3])), None),
            3 | 4 => (Action::Upgrade(number), None),
            5 => (Action::RollOut(number), None),
            6 | 7 => {
                (Action::Break(number, draw.count(planes / 2 + 2), draw.count(workers + 1), failure), None)
            }
            8 => (Action::BreakNew(number, 1 + draw.count(2)), None),
            9 => {
                (Action::DeleteMachines(number, draw.count(planes.min(2) + 1), draw.count(workers + 1)), None)
            }
            10 => (
                draw.one(&[Action::DeleteWorkers(number), Action::Delete(number), Action::Delete(number)]),
                None,
            ),
            11 => (Action::Silence(number, true), Some(Action::Silence(number, false))),
            12 => (Action::Cut(number, true), Some(Action::Cut(number, false))),
            13 => (Action::Pause(number, true), Some(Action::Pause(number, false))),
            _ => (Action::Edit(number), None),
        };
        self.acts.push(Act(When::After(draw.one(&[0, 1, 3, 8, 20, 60, 300])), action));
        if let Some(end) = end {
            if draw.is(50) {
                self.act(draw);
            }
            self.acts.push(Act(When::After(draw.one(&[5, 60, 400, 3600])), end));
        }
    }

    /// Draws what goes wrong with the process and its requests. Four in ten seeds have none of it.
    fn fail(&mut self, draw: &Draw, writes: u64) {
        let write = || 1 + draw.below(writes);
        match draw.below(10) {
            0..4 => {}
            4 | 5 => {
                for _ in 0..1 + draw.below(2) {
                    let moment = draw.one(&[Moment::Before, Moment::After]);
                    self.kills.push(Kill { write: write(), moment });
                }
            }
            6 | 7 => {
                for _ in 0..1 + draw.below(12) {
                    let fault = draw.one(&[
                        Fault::Refused(409),
                        Fault::Refused(500),
                        Fault::Refused(503),
                        Fault::Refused(504),
                        Fault::Lost,
                        Fault::Edited,
                        Fault::Edited,
                        Fault::Slow(Duration::from_secs(5)),
                    ]);
                    self.faults.push((write(), fault));
                }
            }
            _ => {
                for _ in 0..1 + draw.below(4) {
                    let delivery = draw.one(&[Delivery::Dropped, Delivery::Repeated]);
                    self.deliveries.push((write(), delivery));
                }
            }
        }
    }
}

fn cluster(draw: &Draw, number: usize) -> ClusterShape {
    let (surge, unavailable) = draw.one(&[(1, 0), (1, 0), (0, 1), (2, 1)]);
    // Two clusters of the same name in two namespaces must not be taken for each other.
    let is_twin = number == 1 && draw.is(30);
    ClusterShape {
        namespace: if is_twin { "other" } else { "default" },
        name: format!("c{}", if is_twin { 0 } else { number }),
        control_plane: draw.one(&CONTROL_PLANES),
        workers: draw.one(&WORKERS),
        surge,
        unavailable,
        unhealthy: draw.one(&["100%", "100%", "50%", "1"]),
        startup: draw.one(&[0, 1, 1, 5, 12]),
        is_of_class: false,
    }
}
