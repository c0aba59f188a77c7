//! Recordings of Cluster API's own controllers, in the form of `data/lifecycles/*.txt`.
//!
//! ```text
//! == a step: what was done
//! Machine plain-md-469gt-292pf HealthCheckSucceeded=False UnhealthyNode: Health check failed
//! Machine plain-md-469gt-292pf gone
//! rest Machine plain-cp-lrmws Ready=False NotReady: the message of a condition at the end of the step
//! ```
//!
//! Recordings of classes also say when something was done or changed, in seconds since the step began, and what was asked for:
//!
//! ```text
//! == delete the ClusterClass in use
//! at 0.00 {"verb": "DELETE", "kind": "ClusterClass", "name": "base", "refused": 403}
//! 1.52 Cluster demo phase=Deleting
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::facts::{Fact, Facts};

/// Kind and name of an object.
pub type Key = (String, String);

/// A change of an object.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// When it was seen, after the beginning of the step; zero if this was not recorded.
    pub after: Duration,
    /// Kind, name and change.
    pub text: String,
}

/// A request of the user.
#[derive(Debug, Clone)]
pub struct Request {
    /// When it was sent, after the beginning of the step.
    pub after: Duration,
    /// `verb`, `kind` and `name`; `body` (for PATCH, a list is a JSON patch, and an object is a merge patch); `dryRun`; `refused` with the code
    /// if the server said no, in words of its own.
    pub content: Value,
}

/// A recorded step.
#[derive(Debug, Clone, Default)]
pub struct Step {
    /// What was done.
    pub name: String,
    /// What the user asked for, in order.
    pub requests: Vec<Request>,
    /// What changed, in order.
    pub lines: Vec<Line>,
    /// The facts about all objects at the end.
    pub rest: BTreeMap<Key, Facts>,
}

/// Parses a recording.
///
/// # Errors
/// A line that says nothing.
pub fn parse(text: &str) -> Result<Vec<Step>> {
    let (mut steps, mut state): (Vec<Step>, BTreeMap<Key, Facts>) = (Vec::new(), BTreeMap::new());
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("== ") {
            end(&mut steps, &state);
            steps.push(Step { name: name.to_owned(), ..Step::default() });
            continue;
        }
        let mut step = steps.last_mut();
        if let Some(request) = line.strip_prefix("at ") {
            let request = request_of(request).with_context(|| line.to_owned())?;
            step.context("no step")?.requests.push(request);
            continue;
        }
        let rest = line.strip_prefix("rest ");
        let (after, text) = timed(rest.unwrap_or(line));
        read(text, &mut state).with_context(|| line.to_owned())?;
        if let Some(step) = step.as_mut().filter(|_| rest.is_none()) {
            step.lines.push(Line { after, text: text.to_owned() });
        }
    }
    end(&mut steps, &state);
    Ok(steps)
}

fn end(steps: &mut [Step], state: &BTreeMap<Key, Facts>) {
    if let Some(step) = steps.last_mut() {
        step.rest = state.clone();
    }
}

/// Splits a line that begins with a number of seconds.
fn timed(line: &str) -> (Duration, &str) {
    let split = line.split_once(' ').and_then(|(seconds, rest)| Some((seconds.parse().ok()?, rest)));
    let timed = split.and_then(|(seconds, rest)| Some((Duration::try_from_secs_f64(seconds).ok()?, rest)));
    timed.unwrap_or((Duration::ZERO, line))
}

fn request_of(line: &str) -> Result<Request> {
    let (after, content) = timed(line);
    Ok(Request { after, content: serde_json::from_str(content)? })
}

/// Changes the state by one line.
fn read(line: &str, state: &mut BTreeMap<Key, Facts>) -> Result<()> {
    let mut words = line.splitn(3, ' ');
    let (Some(kind), Some(name), Some(what)) = (words.next(), words.next(), words.next()) else {
        bail!("neither kind, name and change nor a step")
    };
    let key = (kind.to_owned(), name.to_owned());
    if what == "gone" {
        state.remove(&key);
        return Ok(());
    }
    let facts = state.entry(key).or_default();
    if what == "created" {
        return Ok(());
    }
    if let Some(fact) = what.strip_suffix(" removed") {
        facts.remove(fact);
        return Ok(());
    }
    let (fact, value) = what.split_once('=').context("no change")?;
    let (value, message) = match value.split_once(": ").filter(|_| !fact.starts_with("annotation ")) {
        Some((value, message)) => (value, message),
        None => (value, ""),
    };
    let fact_of = Fact { value: value.to_owned(), message: message.replace("\\n", "\n") };
    facts.insert(fact.to_owned(), fact_of);
    Ok(())
}
