//! A recorded life, lived again.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use machinery::clock::Clock;
use serde_json::Value;
use store::{EventKind, Page, Prefix, Watcher};
use tokio::time::Instant;

use super::facts::{self, COMPARED, FOLLOWED, Facts};
use super::recording::{Key, Line, Step};
use super::{compare, order};
use crate::simulation::Life;

/// A state that lasts for this long without any work is final, in simulated time.
const REST: Duration = Duration::from_secs(60);
/// Limit for reaching it.
const LIMIT: Duration = Duration::from_secs(3600);

/// Our life of a recorded cluster.
pub struct Story {
    steps: Vec<Step>,
    next: usize,
    watcher: Watcher,
    clock: Clock,
    /// When the current step began.
    began: Instant,
    objects: BTreeMap<Key, Facts>,
    lines: Vec<Line>,
    differences: Vec<String>,
}

impl Story {
    /// Begins at the first step.
    ///
    /// # Errors
    /// The recording cannot be read, or the store fails.
    pub fn begin(life: &Life, recording: &str) -> Result<Self> {
        let steps = super::recording::parse(recording)?;
        let snapshot = life.store.list(&Prefix::all(), &Page::default());
        let watcher = life.store.watch(&Prefix::all(), snapshot.revision)?;
        Ok(Self {
            steps,
            next: 0,
            watcher,
            clock: life.clock.clone(),
            began: life.clock.monotonic(),
            objects: BTreeMap::new(),
            lines: Vec::new(),
            differences: Vec::new(),
        })
    }

    /// Returns the names of the Machines whose names begin like this, in order.
    pub fn machines(&self, prefix: &str) -> Vec<String> {
        self.names("Machine", prefix)
    }

    /// Returns the names of the objects of a kind whose names begin like this, in order.
    pub fn names(&self, kind: &str, prefix: &str) -> Vec<String> {
        let all = self.objects.keys().filter(|(found, name)| found == kind && name.starts_with(prefix));
        all.map(|(_, name)| name.clone()).collect()
    }

    /// Returns the Machine of which a fact contains this text.
    pub fn machine_with(&self, fact: &str, text: &str) -> Option<String> {
        let has = |facts: &Facts| facts.get(fact).is_some_and(|found| found.value.contains(text));
        self.objects
            .iter()
            .find(|((kind, _), facts)| kind == "Machine" && has(facts))
            .map(|((_, name), _)| name.clone())
    }

    /// Begins the next recorded step, and returns it; `None` after the last one.
    pub(super) fn begin_step(&mut self) -> Option<Step> {
        let step = self.steps.get(self.next)?.clone();
        self.next += 1;
        self.began = self.clock.monotonic();
        self.lines.clear();
        Some(step)
    }

    /// Returns the facts about all objects.
    pub(super) fn objects(&self) -> &BTreeMap<Key, Facts> {
        &self.objects
    }

    /// Returns what changed since the step began.
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Lets time pass until the step has lasted this long.
    ///
    /// # Errors
    /// The store fails.
    pub(super) async fn pass_until(&mut self, after: Duration) -> Result<()> {
        let passed = self.clock.monotonic() - self.began;
        self.pass(after.saturating_sub(passed)).await
    }

    /// Lets time pass.
    ///
    /// # Errors
    /// The store fails.
    pub async fn pass(&mut self, time: Duration) -> Result<()> {
        let mut end = std::pin::pin!(tokio::time::sleep(time));
        loop {
            tokio::select! {
                biased;
                event = self.watcher.next() => self.observe(event?.as_ref()),
                () = &mut end => return Ok(()),
            }
        }
    }

    /// Waits until nothing happens any more.
    ///
    /// # Errors
    /// It never does.
    pub async fn settle(&mut self) -> Result<()> {
        let settle = async {
            while let Ok(event) = tokio::time::timeout(REST, self.watcher.next()).await {
                self.observe(event?.as_ref());
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(LIMIT, settle).await.context("it never comes to rest")?
    }

    /// Ends the recorded step whose name begins like this: waits for rest, and compares the order of changes and the state at rest.
    ///
    /// # Errors
    /// It is another step's turn, or nothing comes to rest.
    pub async fn step(&mut self, name: &str, patterns: &str) -> Result<()> {
        self.settle().await?;
        self.step_without_rest(name, patterns)?;
        let (theirs, ours) = compare::at_rest(&self.steps[self.next - 1].rest, &self.objects);
        if !theirs.is_empty() || !ours.is_empty() {
            let text = |lines: Vec<String>| lines.join("\n  ");
            self.differences.push(format!(
                "at the end of {name:?}\nthere:\n  {}\nhere:\n  {}",
                text(theirs),
                text(ours)
            ));
        }
        Ok(())
    }

    /// Like [`Story::step`], for a step in which things are still going on, there or here: compares only the order so far.
    ///
    /// # Errors
    /// It is another step's turn.
    pub fn step_without_rest(&mut self, name: &str, patterns: &str) -> Result<()> {
        self.leave_out(name)?;
        let recorded = &self.steps[self.next - 1];
        let lines = std::mem::take(&mut self.lines);
        let texts = || lines.iter().map(|line| line.text.as_str());
        if let Some(pattern) = order::missing(patterns, recorded.lines.iter().map(|line| line.text.as_str()))
        {
            self.differences
                .push(format!("{name:?}: the recording has no such line where it must come: {pattern}"));
        }
        if let Some(pattern) = order::missing(patterns, texts()) {
            let lines = texts().collect::<Vec<_>>().join("\n  ");
            self.differences
                .push(format!("{name:?}: here is no such line where it must come: {pattern}\n  {lines}"));
        }
        Ok(())
    }

    /// Leaves out the recorded step whose name begins like this.
    ///
    /// # Errors
    /// It is another step's turn.
    pub fn leave_out(&mut self, name: &str) -> Result<()> {
        ensure!(
            self.steps.get(self.next).is_some_and(|step| step.name.starts_with(name)),
            "{name:?} is not next"
        );
        self.next += 1;
        Ok(())
    }

    /// Returns what differed so far.
    pub fn differences(&self) -> &[String] {
        &self.differences
    }

    /// Ends the story where the recording ends.
    ///
    /// # Errors
    /// All differences, or a step that was not taken.
    pub fn end(&mut self) -> Result<()> {
        self.leave_out("end")?;
        ensure!(self.differences.is_empty(), "our controllers do not do the same");
        Ok(())
    }

    fn observe(&mut self, event: &store::Event) {
        let Ok(object) = serde_json::from_slice::<Value>(&event.object.value) else { return };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let key = (text(&object["kind"]), text(&object["metadata"]["name"]));
        if !COMPARED.contains(&key.0.as_str()) && !FOLLOWED.contains(&key.0.as_str()) {
            return;
        }
        let mut changes = Vec::new();
        if event.kind == EventKind::Deleted {
            self.objects.remove(&key);
            changes.push("gone".to_owned());
        } else {
            let facts = facts::facts(&object);
            if !self.objects.contains_key(&key) {
                changes.push("created".to_owned());
            }
            let before = self.objects.insert(key.clone(), facts.clone()).unwrap_or_default();
            changes.extend(facts::changes(&before, &facts));
        }
        let after = self.clock.monotonic() - self.began;
        let line = |change| Line { after, text: format!("{} {} {change}", key.0, key.1) };
        self.lines.extend(changes.into_iter().map(line));
    }
}
