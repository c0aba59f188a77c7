//! `firstlight plan`: plays a change of manifests to its end in a simulated management plane, with the controllers of this program and a
//! clock that jumps, and says what they did.
//!
//! [`State`] is read from a server, or empty. [`play`] fills a server in memory with it, applies the manifests there, follows what the
//! controllers do until nothing is left to be done, and returns the [`Plan`]. Infrastructure other than the simulated one has [`stand_ins`].
//!
//! Invariant: nothing leaves the process. The simulated network reaches the simulated workload clusters only, and the real server is read
//! before the simulation begins.

pub mod action;
mod certificates;
mod create;
pub mod follow;
mod load;
mod network;
mod object;
mod progress;
pub mod stand_ins;
pub mod state;
pub mod view;
pub mod waits;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use chrono::{DateTime, Utc};
use engine::Manager;
use machinery::clock::Clock;
use serde::Serialize;
use server::controllers::{self, Context, Selection};
use server::plane::Plane;
use store::{Event, Memory, Page, Prefix, Store, Watcher};

use crate::limits::{PLAN_CHANGES, PLAN_QUIET};
use crate::manifests::apply::{apply_all, check_all};
use crate::manifests::read::Document;
use crate::simulation;
use follow::{Action, Follower, Machines};
use network::Hosts;
use stand_ins::plan::Durations;
use stand_ins::{Later, StandIns};
pub use state::State;
use view::View;
use waits::{Remaining, Wait, remaining};

/// The seed of all random numbers, so that two runs print the same.
const SEED: u64 = 1;
/// Controllers that have nothing to do for this long are idle, as they do not wait for events of their own.
const REST: Duration = Duration::from_secs(5);
/// How long the copy of a server may take to come to rest before the change is applied, in simulated time.
const SETTLE: Duration = Duration::from_secs(300);
/// The field manager of `kubectl apply` without `--server-side`, as messages show it.
const CLIENT_SIDE_APPLY: &str = "\"kubectl-client-side-apply\"";
/// The families of controllers that act in a plan.
const CONTROLLERS: &str = "core,kubeadm,ipam,simulated";

/// What a plan is played with.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How long what is not simulated takes to start.
    pub durations: Durations,
    /// The longest time that is played.
    pub limit: Duration,
    /// When the change is applied.
    pub begin: DateTime<Utc>,
}

/// How a plan ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Ending {
    /// The manifests change nothing.
    NothingToDo,
    /// Everything is as the manifests want it.
    Finished,
    /// Something waits for what does not come.
    Unfinished,
}

/// What would happen if the manifests were applied.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The server whose state was the beginning; absent if it was nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// How many objects were read of the server.
    pub objects: usize,
    /// How it ends.
    pub ending: Ending,
    /// After how many seconds nothing changes any more.
    pub seconds: i64,
    /// What happens, in this order.
    pub actions: Vec<Action>,
    /// The numbers of machines.
    pub machines: Machines,
    /// The gates, holds, hooks and checks that objects waited for.
    pub waits: Vec<Wait>,
    /// What is not as it should be at the end.
    pub remaining: Vec<Remaining>,
    /// What the reader should know of the difference between a plan and the real thing, each a sentence.
    pub notes: Vec<String>,
}

/// Plays the change of `documents`, beginning with `state`. It takes a runtime of its own, so call it from a blocking thread.
///
/// # Errors
/// The simulated server refuses a document; the error is that of an apply.
pub fn play(state: &State, documents: &[Document], settings: &Settings) -> Result<Plan> {
    let disk = Memory::default();
    let mut notes = state.notes();
    if state.server.is_some() {
        let namespaces: BTreeSet<&str> = documents.iter().map(Document::namespace).collect();
        notes.extend(load::load(&disk, state, &namespaces, &Clock::simulated(settings.begin), SEED + 1)?);
    }
    let runtime = simulation::paused_runtime()?;
    runtime.block_on(async { Box::pin(run(disk, state, documents, settings, notes)).await })
}

async fn run(
    disk: Memory,
    state: &State,
    documents: &[Document],
    settings: &Settings,
    mut notes: Vec<String>,
) -> Result<Plan> {
    let clock = Clock::simulated(settings.begin);
    let (store, plane) = simulation::start(disk, &clock, SEED, Arc::new(Hosts::default())).await?;
    load::create_secrets(&plane, state).await?;
    let mut stage = Stage::begin(&store, &plane, &clock, settings)?;
    if state.server.is_some() {
        stage.settle().await?;
    }
    let client = plane.client("firstlight-plan");
    let undone = check_all(&plane.registry, &client, documents).await?;
    // What the user applied with kubectl before is nobody else's.
    let of_others = undone.iter().filter(|undone| undone.managers != CLIENT_SIDE_APPLY);
    notes.extend(of_others.map(|undone| format!("others have set a value that is changed back: {undone}")));
    stage.follower.begin(clock.now());
    let begin = clock.now();
    apply_all(&plane.registry, &client, documents).await?;
    let remaining = stage.follow(settings.limit).await?;
    Ok(stage.finish(state, begin, remaining, notes))
}

/// The running simulation, and who watches it.
struct Stage {
    clock: Clock,
    manager: Manager,
    watcher: Watcher,
    follower: Follower,
    stand_ins: StandIns,
    /// What stand-ins have to do.
    later: Later,
    /// Whether the stand-ins have not seen the last changes.
    is_behind: bool,
    /// Whether it ended because the same was repeated.
    is_stuck: bool,
}

impl Stage {
    /// Starts the controllers.
    fn begin(store: &Store, plane: &Plane, clock: &Clock, settings: &Settings) -> Result<Self> {
        let snapshot = store.list(&Prefix::all(), &Page::default());
        let objects = snapshot.items.iter().filter(|stored| view::is_followed(stored.key.group()));
        let objects = objects.filter_map(|stored| serde_json::from_slice(&stored.value).ok());
        let view = View::default().with(objects);
        let watcher = store.watch(&Prefix::all(), snapshot.revision)?;
        let manager = plane.manager_without_events();
        let selection: Selection = CONTROLLERS.parse().map_err(anyhow::Error::msg)?;
        controllers::start(&Context::new(&manager), &selection);
        let stand_ins = StandIns::new(plane, &manager, settings.durations);
        let follower = Follower::new(view, clock.now());
        Ok(Self {
            clock: clock.clone(),
            manager,
            watcher,
            follower,
            stand_ins,
            later: Later::default(),
            is_behind: true,
            is_stuck: false,
        })
    }

    /// Lets the controllers take over the copy of a server, which is at rest but for what is under way.
    async fn settle(&mut self) -> Result<()> {
        let begin = self.clock.now();
        loop {
            self.advance().await?;
            let now = self.clock.now();
            let is_quiet = now - self.follower.last_change() > duration(REST) && self.is_idle();
            if is_quiet || now - begin > duration(SETTLE) {
                return Ok(());
            }
        }
    }

    /// Follows the change until all clusters that it concerns are as they should be, or nothing happens any more. Returns what remains.
    async fn follow(&mut self, limit: Duration) -> Result<Vec<Remaining>> {
        let begin = self.clock.now();
        let mut checked = None;
        loop {
            self.advance().await?;
            let (now, last) = (self.clock.now(), self.follower.last_change());
            let is_stuck = self.follower.progress.is_stuck(now) && self.later.due.is_none();
            let is_over = is_stuck
                || now - begin >= duration(limit)
                || now - last >= duration(PLAN_QUIET) && self.later.due.is_none()
                || self.follower.changes >= PLAN_CHANGES;
            let is_quiet = now - last > duration(REST) && self.later.due.is_none() && self.is_idle();
            // Nothing is different as long as nothing changes.
            let is_new = is_quiet && checked != Some(self.follower.changes);
            if !is_over && !is_new {
                continue;
            }
            checked = Some(self.follower.changes);
            let remaining = remaining(&self.follower.view, &self.follower.clusters);
            self.is_stuck = is_stuck;
            if is_over || remaining.is_empty() {
                return Ok(remaining);
            }
        }
    }

    /// Takes in all events that are there, lets the stand-ins act, and waits for more, at most for as long as idle controllers rest.
    async fn advance(&mut self) -> Result<()> {
        while let Some(event) = self.watcher.try_next()? {
            self.take_in(&event);
        }
        let now = self.clock.now();
        if std::mem::take(&mut self.is_behind) || self.later.is_due(now) {
            self.later = self.stand_ins.step(&self.follower.view, now).await;
        }
        let wait = self.later.due.and_then(|due| (due - self.clock.now()).to_std().ok());
        let wait = wait.map_or(REST, |wait| wait.min(REST));
        if let Ok(event) = tokio::time::timeout(wait, self.watcher.next()).await {
            self.take_in(event?.as_ref());
        }
        Ok(())
    }

    fn take_in(&mut self, event: &Event) {
        self.follower.observe(self.clock.now(), event);
        self.is_behind = true;
    }

    fn is_idle(&self) -> bool {
        self.manager.is_synced() && self.manager.is_idle(REST)
    }

    fn finish(
        mut self,
        state: &State,
        begin: DateTime<Utc>,
        remaining: Vec<Remaining>,
        mut notes: Vec<String>,
    ) -> Plan {
        let machines = self.follower.machines();
        let end = if remaining.is_empty() { self.follower.last_change() } else { self.clock.now() };
        if self.follower.left_out > 0 {
            notes.push(format!("{} more actions are left out", self.follower.left_out));
        }
        if self.is_stuck {
            notes.push(
                "a controller fails, and repeats the same without an end; what it says is among what remains"
                    .to_owned(),
            );
        }
        notes.extend(self.stand_ins.into_notes());
        let actions = self.follower.actions().to_vec();
        let ending = if !remaining.is_empty() {
            Ending::Unfinished
        } else if actions.iter().all(|action| action.is_under_way) {
            Ending::NothingToDo
        } else {
            Ending::Finished
        };
        Plan {
            server: state.server.clone(),
            objects: state.objects.len(),
            ending,
            seconds: (end - begin).num_seconds(),
            actions,
            machines,
            waits: self.follower.waits.finish(end),
            remaining,
            notes,
        }
    }
}

fn duration(duration: Duration) -> chrono::Duration {
    chrono::Duration::from_std(duration).unwrap_or(chrono::Duration::MAX)
}
