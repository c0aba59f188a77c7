//! Lives a recording again: others write what they wrote there, and the host does what befell it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::Kind;
use parking_lot::Mutex;
use schemas::cluster::Machine;
use schemas::infrastructure::{DevCluster, DevMachine, DevMachinePool};
use serde::Serialize;
use serde_json::Value;
use test_plane::Fixture;

use super::compare::{self, Difference, MILESTONES, Writes};
use super::facts::{Facts, changes, facts, is_of_pool};
use super::members::Members;
use super::recording::{Fact, Line, parse};
use crate::containers_machines::fixture::{GROUPS, Workload};
use crate::containers_machines::host::Host;

/// Longer than a look at containers, and than any step of the host.
const REST: Duration = Duration::from_secs(45);

/// What befalls the host in a step whose name begins like this.
pub type Events<'a> = &'a [(&'a str, fn(&Host, &Members))];

/// What our controllers have written.
#[derive(Default)]
pub struct Seen {
    pub members: Members,
    objects: BTreeMap<String, Facts>,
    writes: Writes,
}

impl Seen {
    fn change<K: Kind<DynamicType = ()> + Serialize>(&mut self, change: &engine::Change<K>) {
        let name = change.name().name;
        let new = change.new.as_ref().map(|new| serde_json::to_value(new.as_ref()).unwrap());
        if K::kind(&()) == "DevMachine" && new.as_ref().is_some_and(is_of_pool) {
            self.members.meet(&name);
        }
        let key = format!("{} {}", K::kind(&()), self.members.theirs(&name));
        let Some(new) = new else {
            self.objects.remove(&key);
            // The end of a Machine is the work of others.
            if K::kind(&()) != "Machine" {
                let gone = Fact { name: "gone".to_owned(), value: String::new(), message: String::new() };
                self.writes.entry(key).or_default().push(vec![gone]);
            }
            return;
        };
        let new: Value = serde_json::from_str(&self.members.to_theirs(&new.to_string())).unwrap();
        let facts = facts(&K::kind(&()), &new);
        let before = self.objects.insert(key.clone(), facts.clone()).unwrap_or_default();
        let changed = changes(&before, &facts);
        if !changed.is_empty() {
            self.writes.entry(key).or_default().push(changed);
        }
    }

    /// Returns whether our controllers have come as far with a machine of a pool as the provider had.
    fn has_come_as_far(&self, milestones: &[(String, String)]) -> bool {
        milestones.iter().all(|(object, milestone)| {
            let writes = self.writes.get(object).into_iter().flatten();
            writes.flatten().any(|fact| fact.line() == *milestone)
        })
    }
}

/// What others wrote of a machine of a pool. They write it once our controllers have come as far with the machine as the provider had there: ours
/// may do one after the other what the provider did at once.
struct Waiting {
    kind: String,
    name: String,
    patch: Value,
    /// Each with its object.
    milestones: Vec<(String, String)>,
}

/// Lives a recording, and returns what was different. What is at rest is not compared at the end of the steps in `unfinished`.
pub async fn play(recording: &str, events: Events<'_>, unfinished: &[&str]) -> Vec<Difference> {
    let lines = parse(recording);
    let first = lines.iter().position(|line| matches!(line, Line::Step(_))).unwrap();
    let mut player = Player::new(&lines[..first], Members::of(&lines)).await;
    let mut differences = Vec::new();
    let mut step = String::new();
    for line in &lines[first..] {
        match line {
            Line::Step(name) => {
                differences.extend(player.end(&step, unfinished).await);
                step.clone_from(name);
                events
                    .iter()
                    .filter(|(start, _)| name.starts_with(start))
                    .for_each(|(_, befall)| befall(&player.host, &player.seen.lock().members));
            }
            Line::Input(kind, name, patch) if player.seen.lock().members.has(kind, name) => {
                player.wait(kind, name, patch);
                player.write_waiting().await;
            }
            Line::Input(kind, name, patch) => player.write(kind, name, patch).await,
            Line::Write(object, written) => {
                player.rest().await;
                player.recorded(object, written);
            }
        }
    }
    differences.extend(player.end(&step, unfinished).await);
    differences
        .extend(player.waiting.iter().map(|it| format!("unwritten {} {} {}", it.kind, it.name, it.patch)));
    differences.extend(compare::lives(&player.recorded, &player.seen.lock().writes));
    player.fixture.manager.stop().await;
    differences
}

pub struct Player {
    pub fixture: Fixture,
    host: Host,
    /// The API server of each workload cluster. No container becomes a Node there.
    pub workload: Workload,
    pub seen: Arc<Mutex<Seen>>,
    recorded: Writes,
    /// What was recorded of each object.
    pub theirs: BTreeMap<String, Facts>,
    pub uids: BTreeMap<(String, String), String>,
    waiting: Vec<Waiting>,
    pub is_at_rest: bool,
}

impl Player {
    /// Makes what is there when the recording begins, and starts the controllers.
    async fn new(begun: &[Line], members: Members) -> Self {
        let (host, workload) = (Host::alone(), Workload::new().await);
        let (started, nodes) = (Arc::new(AtomicBool::new(false)), host.clone());
        let (may_start, serves) = (started.clone(), workload.clone());
        let fixture = Fixture::new(GROUPS, move |manager| {
            if may_start.load(Ordering::SeqCst) {
                serves.serve(manager);
                let nodes = nodes.nodes();
                container_machines::PROVIDERS.iter().for_each(|provider| provider.start(manager, &nodes));
            }
        });
        let mut player = Self {
            fixture: fixture.await,
            host,
            workload,
            seen: Arc::new(Mutex::new(Seen { members, ..Seen::default() })),
            recorded: Writes::new(),
            theirs: BTreeMap::new(),
            uids: BTreeMap::new(),
            waiting: Vec::new(),
            is_at_rest: false,
        };
        for line in begun {
            let Line::Input(kind, name, object) = line else { panic!("{line:?}") };
            player.write(kind, name, object).await;
            if let Some(id) = object["spec"]["providerID"].as_str().filter(|_| kind == "DevMachine") {
                player.host.with(|contents| contents.adopt(id.trim_start_matches("docker:////")));
            }
            if kind.starts_with("Dev") {
                player.theirs.insert(format!("{kind} {name}"), facts(kind, object));
            }
        }
        player.seen.lock().objects = player.theirs.clone();
        player.watch::<DevCluster>();
        player.watch::<DevMachine>();
        player.watch::<DevMachinePool>();
        player.watch::<Machine>();
        started.store(true, Ordering::SeqCst);
        (player.fixture.start)(&player.fixture.manager);
        player.rest().await;
        player
    }

    fn watch<K: Kind<DynamicType = ()> + Serialize>(&self) {
        let seen = self.seen.clone();
        self.fixture.manager.objects::<K>().subscribe(move |change| seen.lock().change(change));
    }

    async fn rest(&mut self) {
        if !self.is_at_rest {
            tokio::time::sleep(REST).await;
            while self.write_waiting().await {
                tokio::time::sleep(REST).await;
            }
            self.is_at_rest = true;
        }
    }

    /// Lets what others wrote of a machine of a pool wait.
    fn wait(&mut self, kind: &str, name: &str, patch: &Value) {
        let objects = ["Machine", "DevMachine"].map(|kind| format!("{kind} {name}"));
        let milestones = objects.iter().flat_map(|object| {
            let facts = self.recorded.get(object).into_iter().flatten().flatten().map(Fact::line);
            facts.filter(|line| is_milestone(line)).map(|line| (object.clone(), line))
        });
        let milestones = milestones.collect();
        let (kind, name, patch) = (kind.to_owned(), name.to_owned(), patch.clone());
        self.waiting.push(Waiting { kind, name, patch, milestones });
        self.is_at_rest = false;
    }

    /// Writes what waits and needs not wait any more. Returns whether there was something.
    async fn write_waiting(&mut self) -> bool {
        let (mut later, mut names) = (Vec::new(), BTreeSet::new());
        let mut has_written = false;
        for waiting in std::mem::take(&mut self.waiting) {
            let may_be_written = self.seen.lock().has_come_as_far(&waiting.milestones);
            if may_be_written && !names.contains(&waiting.name) {
                self.write(&waiting.kind, &waiting.name, &waiting.patch).await;
                has_written = true;
            } else {
                names.insert(waiting.name.clone());
                later.push(waiting);
            }
        }
        self.waiting = later;
        has_written
    }

    /// Ends a step: compares what is at rest.
    async fn end(&mut self, step: &str, unfinished: &[&str]) -> Vec<Difference> {
        self.is_at_rest = false;
        self.rest().await;
        self.is_at_rest = false;
        if step.is_empty() || unfinished.iter().any(|start| step.starts_with(start)) {
            return Vec::new();
        }
        compare::at_rest(&self.theirs, &self.seen.lock().objects)
    }

    /// Notes a write of the recording.
    fn recorded(&mut self, object: &str, written: &[Fact]) {
        self.recorded.entry(object.to_owned()).or_default().push(written.to_vec());
        if written.iter().any(|fact| fact.name == "gone") {
            self.theirs.remove(object);
            return;
        }
        let facts = self.theirs.entry(object.to_owned()).or_default();
        for fact in written {
            match fact.name.strip_suffix(" removed") {
                Some(name) => drop(facts.remove(name)),
                None => drop(facts.insert(fact.name.clone(), fact.clone())),
            }
        }
    }
}

/// Returns whether others wait for this with a machine of a pool.
fn is_milestone(line: &str) -> bool {
    MILESTONES.contains(&line) || line.starts_with("pool=")
}
