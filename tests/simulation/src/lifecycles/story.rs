//! A recorded life, lived again.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use store::{EventKind, Page, Prefix, Watcher};

use super::facts::{self, COMPARED, FOLLOWED, Facts};
use super::order;
use super::recording::{Key, Step};
use crate::world::Life;

/// A state that lasts for this long without any work is final, in simulated time.
const REST: Duration = Duration::from_secs(60);
/// Limit for reaching it.
const LIMIT: Duration = Duration::from_secs(3600);

/// The owners for which names are generated in the recordings.
const OWNERS: [&str; 3] = ["plain-cp", "plain-md", "alone"];

/// Our life of a recorded cluster.
pub struct Story {
    steps: Vec<Step>,
    next: usize,
    watcher: Watcher,
    objects: BTreeMap<Key, Facts>,
    lines: Vec<String>,
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
        let recorded = &self.steps[self.next - 1];
        let (theirs, ours) = (summary(&recorded.rest), summary(&self.objects));
        let only = |these: &BTreeMap<String, usize>, those: &BTreeMap<String, usize>| -> String {
            let lines = these.iter().filter(|(line, count)| those.get(*line) != Some(count));
            lines.map(|(line, count)| format!("\n  {count} {line}")).collect()
        };
        let (theirs, ours) = (only(&theirs, &ours), only(&ours, &theirs));
        if !theirs.is_empty() || !ours.is_empty() {
            self.differences.push(format!("at the end of {name:?}\nthere:{theirs}\nhere:{ours}"));
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
        if let Some(pattern) = order::missing(patterns, &recorded.lines) {
            self.differences
                .push(format!("{name:?}: the recording has no such line where it must come: {pattern}"));
        }
        if let Some(pattern) = order::missing(patterns, &lines) {
            let lines = lines.join("\n  ");
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
        self.lines.extend(changes.into_iter().map(|change| format!("{} {} {change}", key.0, key.1)));
    }
}

/// Returns the facts about all objects at rest, and how often each occurs. Generated names become those of what they were generated for.
fn summary(objects: &BTreeMap<Key, Facts>) -> BTreeMap<String, usize> {
    let general =
        |text: &str| OWNERS.iter().fold(text.to_owned(), |text, base| without_suffixes(&text, base));
    let mut lines = BTreeMap::new();
    for ((kind, name), facts) in objects.iter().filter(|((kind, _), _)| COMPARED.contains(&kind.as_str())) {
        for (fact, found) in facts {
            let line = format!("{kind} {name} {fact}={}: {}", found.value, found.message);
            *lines.entry(general(line.trim_end_matches(": "))).or_default() += 1;
        }
    }
    lines
}

/// Replaces the generated suffixes of names that begin with `base`: `plain-md-469gt-292pf` becomes `plain-md-<suffix>-<suffix>`.
fn without_suffixes(text: &str, base: &str) -> String {
    let mut parts = text.split(base);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(base);
        let mut rest = part;
        while let Some(after) = suffix(rest) {
            out.push_str("-<suffix>");
            rest = after;
        }
        out.push_str(rest);
    }
    out
}

/// Returns what follows a generated suffix at the beginning of the text.
fn suffix(text: &str) -> Option<&str> {
    let (suffix, rest) = text.strip_prefix('-')?.split_at_checked(5)?;
    let is_part = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit();
    (suffix.chars().all(is_part) && !rest.starts_with(is_part)).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_general() {
        let text = "plain-md-469gt: plain-md-469gt-292pf, plain-md, plain-md-workers, {\"plain-cp-x9bj5\"}";
        let general = without_suffixes(&without_suffixes(text, "plain-md"), "plain-cp");
        let expected = "plain-md-<suffix>: plain-md-<suffix>-<suffix>, plain-md, plain-md-workers, {\"plain-cp-<suffix>\"}";
        assert_eq!(general, expected);
    }
}
