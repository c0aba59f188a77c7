//! Whole upgrades, step by step, as upstream's were recorded (`class-upgrade-chained.jsonl`, `class-upgrade-concurrency.jsonl`).

use std::collections::BTreeSet;

use cluster_topology::versions::{
    Answer, ControlPlaneFacts, Facts, Hook, Hooks, Source, Versions, WorkerFacts, choose, lowest, plan,
};

/// A cluster whose parts take a turn to reach a new version.
struct Cluster {
    facts: Facts,
    pending: BTreeSet<Hook>,
    versions: Vec<String>,
    history: Vec<String>,
}

impl Cluster {
    fn new(version: &str, class: &str) -> Self {
        let entry = |name: &str| WorkerFacts {
            topology_name: name.to_owned(),
            object: Some((name.to_owned(), version.to_owned())),
            is_deferred: false,
        };
        let facts = Facts {
            wanted: version.to_owned(),
            control_plane: Some(ControlPlaneFacts {
                version: version.to_owned(),
                ..ControlPlaneFacts::default()
            }),
            machine_deployments: vec![entry("md-0"), entry("md-1")],
            has_machine_deployments: true,
            concurrency: 1,
            ..Facts::default()
        };
        let versions = class.split_whitespace().map(str::to_owned).collect();
        Self { facts, pending: BTreeSet::new(), versions, history: Vec::new() }
    }

    fn plane(&mut self) -> &mut ControlPlaneFacts {
        self.facts.control_plane.as_mut().expect("there is a control plane")
    }

    fn note(&mut self, what: String) {
        if self.history.last() != Some(&what) {
            self.history.push(what);
        }
    }

    /// Chooses versions with extensions that always let the upgrade go on, and records the hooks that are pending in between.
    fn choose(&mut self) -> Versions {
        let mut answers = std::collections::BTreeMap::new();
        let wanted = self.facts.wanted.clone();
        loop {
            let plane = self.plane().version.clone();
            let all = self.facts.machine_deployments.iter().filter_map(|entry| entry.object.clone());
            self.facts.lowest_workers = lowest(all.map(|(_, version)| version), &plane).expect("versions");
            let source = Source::ClassVersions(&self.versions);
            let plan = plan(source, &wanted, &plane, self.facts.lowest_workers.as_deref()).expect("a plan");
            let hooks = Hooks {
                are_enabled: true,
                pending: self.pending.clone(),
                held_by: BTreeSet::new(),
                answers: std::mem::take(&mut answers),
            };
            let chosen = choose(&self.facts, &plan, &hooks).expect("versions");
            for hook in &chosen.control_plane.done {
                self.pending.remove(hook);
            }
            self.pending.extend(&chosen.control_plane.pending);
            self.pending.extend(&chosen.control_plane.following);
            let is_upgraded = chosen.is_upgraded(&hooks);
            if let Some(question) = &chosen.control_plane.ask {
                answers = hooks.answers;
                answers.insert(question.hook, Answer::Proceed);
                continue;
            }
            if is_upgraded {
                self.pending.remove(&Hook::AfterClusterUpgrade);
            }
            return chosen;
        }
    }

    /// One reconcile: what begins is finished before the next one.
    fn turn(&mut self) {
        self.plane().is_upgrading = false;
        self.facts.upgrading_machine_deployments.clear();
        let chosen = self.choose();
        if self.plane().version != chosen.control_plane.version {
            let version = chosen.control_plane.version.clone();
            self.note(format!("control plane {version}"));
            assert_eq!(
                chosen.upgrade_step.as_deref(),
                Some(version.as_str()),
                "machines of this version are let through"
            );
            *self.plane() = ControlPlaneFacts { version, is_provisioning: false, is_upgrading: true };
        }
        for position in 0..self.facts.machine_deployments.len() {
            let entry = &mut self.facts.machine_deployments[position];
            let Some((name, current)) = &mut entry.object else { continue };
            let version = &chosen.machine_deployments.versions[&entry.topology_name];
            if current != version {
                version.clone_into(current);
                let (name, what) = (name.clone(), format!("{name} {version}"));
                self.facts.upgrading_machine_deployments.insert(name);
                self.note(what);
            }
        }
    }

    fn upgrade(&mut self, wanted: &str) -> Vec<String> {
        wanted.clone_into(&mut self.facts.wanted);
        for _ in 0..30 {
            self.turn();
        }
        std::mem::take(&mut self.history)
    }

    fn defer(&mut self, position: usize, is_deferred: bool) {
        self.facts.machine_deployments[position].is_deferred = is_deferred;
    }
}

#[test]
fn four_minor_versions_with_a_stop_of_the_workers() {
    let mut cluster = Cluster::new("v1.32.0", "v1.32.0 v1.33.0 v1.34.0 v1.35.0 v1.36.0");
    let recorded = [
        "control plane v1.33.0",
        "control plane v1.34.0",
        "control plane v1.35.0",
        "md-0 v1.35.0",
        "md-1 v1.35.0",
        "control plane v1.36.0",
        "md-0 v1.36.0",
        "md-1 v1.36.0",
    ];
    assert_eq!(cluster.upgrade("v1.36.0"), recorded);
    assert!(cluster.pending.is_empty(), "{:?}", cluster.pending);
}

#[test]
fn annotations_defer_and_the_upgrade_goes_on_when_they_are_gone() {
    let mut cluster = Cluster::new("v1.33.0", "v1.33.0 v1.34.0 v1.34.2 v1.35.0 v1.36.0");
    cluster.defer(1, true);
    assert_eq!(
        cluster.upgrade("v1.35.0"),
        ["control plane v1.34.2", "control plane v1.35.0", "md-0 v1.35.0"]
    );
    let expected = [Hook::AfterClusterUpgrade, Hook::AfterWorkersUpgrade];
    assert_eq!(cluster.pending, BTreeSet::from(expected));
    cluster.defer(1, false);
    assert_eq!(cluster.upgrade("v1.35.0"), ["md-1 v1.35.0"]);
    assert!(cluster.pending.is_empty());
    cluster.defer(0, true);
    assert_eq!(cluster.upgrade("v1.36.0"), ["control plane v1.36.0", "md-1 v1.36.0"]);
    cluster.defer(0, false);
    assert_eq!(cluster.upgrade("v1.36.0"), ["md-0 v1.36.0"]);
    assert!(cluster.pending.is_empty());
}

/// The minor version of a version.
fn minor(version: &str) -> u64 {
    schemas::version::Version::parse(version).expect("a version").minor
}

#[test]
fn no_worker_is_ever_more_than_three_minor_versions_behind() {
    let class: Vec<String> = (20..=34).map(|minor| format!("v1.{minor}.0")).collect();
    for distance in 0..=12 {
        for deferred in [None, Some(0), Some(1)] {
            let mut cluster = Cluster::new("v1.20.0", &class.join(" "));
            if let Some(position) = deferred {
                cluster.defer(position, true);
            }
            let wanted = format!("v1.{}.0", 20 + distance);
            wanted.clone_into(&mut cluster.facts.wanted);
            for _ in 0..60 {
                cluster.turn();
                let plane = minor(&cluster.plane().version);
                for (name, version) in
                    cluster.facts.machine_deployments.iter().filter_map(|entry| entry.object.clone())
                {
                    let behind = plane.checked_sub(minor(&version)).expect("a worker is never ahead");
                    assert!(
                        behind <= 3,
                        "{name} has {version}, the control plane {plane}: {:?}",
                        cluster.history
                    );
                }
            }
            let plane = cluster.plane().version.clone();
            match deferred {
                None => {
                    let workers =
                        cluster.facts.machine_deployments.iter().filter_map(|entry| entry.object.clone());
                    assert!(workers.into_iter().all(|(_, version)| version == wanted) && plane == wanted);
                    assert!(cluster.pending.is_empty());
                }
                // The upgrade stops where it would leave the workers that wait too far behind.
                Some(_) => assert_eq!(minor(&plane), 20 + distance.min(3)),
            }
        }
    }
}
