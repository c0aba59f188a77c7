//! Recordings of Cluster API's own controllers, in the form of `data/lifecycles/*.txt`.
//!
//! ```text
//! == a step: what was done
//! Machine plain-md-469gt-292pf HealthCheckSucceeded=False UnhealthyNode: Health check failed
//! Machine plain-md-469gt-292pf gone
//! rest Machine plain-cp-lrmws Ready=False NotReady: the message of a condition at the end of the step
//! ```

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use super::facts::{Fact, Facts};

/// Kind and name of an object.
pub type Key = (String, String);

/// A recorded step.
#[derive(Debug, Clone, Default)]
pub struct Step {
    /// What was done.
    pub name: String,
    /// What changed, in order.
    pub lines: Vec<String>,
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
        let rest = line.strip_prefix("rest ");
        read(rest.unwrap_or(line), &mut state).with_context(|| line.to_owned())?;
        let Some(step) = steps.last_mut().filter(|_| rest.is_none()) else { continue };
        step.lines.push(line.to_owned());
    }
    end(&mut steps, &state);
    Ok(steps)
}

fn end(steps: &mut [Step], state: &BTreeMap<Key, Facts>) {
    if let Some(step) = steps.last_mut() {
        step.rest = state.clone();
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_add_up() {
        let text = "# About.\n== one: begins\nMachine a created\nMachine a phase=Pending\nMachine a Ready=False NotReady\n\
            rest Machine a Ready=False NotReady: x\\ny\n== two\nMachine b created\nMachine a Ready removed\nMachine b gone";
        let steps = parse(text).unwrap();
        assert_eq!(steps[0].name, "one: begins");
        assert_eq!(steps[0].lines.len(), 3);
        let a = ("Machine".to_owned(), "a".to_owned());
        let ready = &steps[0].rest[&a]["Ready"];
        assert_eq!((ready.value.as_str(), ready.message.as_str()), ("False NotReady", "x\ny"));
        assert_eq!(steps[1].rest.len(), 1);
        assert_eq!(steps[1].rest[&a].len(), 1);
        assert!(parse("== s\nMachine").is_err());
    }
}
