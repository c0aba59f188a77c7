//! The machines of a pool. The provider draws their names, and so do our controllers: each of ours stands for one of the recording. Pure.

use std::collections::{BTreeMap, VecDeque};

use super::recording::Line;

/// The beginning of the names of containers of pools, whose machines have other names there than their containers.
const CLUSTER: &str = "d1-";

/// The machines of a pool in a recording, and those of ours.
#[derive(Default)]
pub struct Members {
    /// Those of the recording for which none of ours stands yet, in the order of their creation.
    free: VecDeque<String>,
    /// Our names by those of the recording.
    ours: BTreeMap<String, String>,
}

impl Members {
    /// Finds them in a recording: their first line is a write of the provider.
    pub fn of(lines: &[Line]) -> Self {
        let made = |line: &Line| match line {
            Line::Write(object, facts) if facts.iter().any(|fact| fact.name == "pool") => {
                object.strip_prefix("DevMachine ").map(str::to_owned)
            }
            _ => None,
        };
        Self { free: lines.iter().filter_map(made).collect(), ours: BTreeMap::new() }
    }

    /// Returns whether an object of the recording is one of a machine of a pool.
    pub fn has(&self, kind: &str, name: &str) -> bool {
        ["Machine", "DevMachine"].contains(&kind)
            && (self.ours.contains_key(name) || self.free.iter().any(|free| free == name))
    }

    /// Lets one of ours that has just been made stand for the next one of the recording.
    pub fn meet(&mut self, ours: &str) {
        if !self.ours.values().any(|known| known == ours)
            && let Some(theirs) = self.free.pop_front()
        {
            self.ours.insert(theirs, ours.to_owned());
        }
    }

    /// Returns the name that the recording has for a machine of ours.
    pub fn theirs<'a>(&'a self, ours: &'a str) -> &'a str {
        self.ours.iter().find(|(_, name)| *name == ours).map_or(ours, |(theirs, _)| theirs)
    }

    /// Returns a text of the recording with our names of machines and containers.
    pub fn to_ours(&self, text: &str) -> String {
        self.ours.iter().fold(text.to_owned(), |text, (theirs, ours)| {
            text.replace(&format!("{CLUSTER}{theirs}"), ours).replace(theirs, ours)
        })
    }

    /// Returns a text of ours with the names of containers of the recording.
    pub fn to_theirs(&self, text: &str) -> String {
        self.ours
            .iter()
            .fold(text.to_owned(), |text, (theirs, ours)| text.replace(ours, &format!("{CLUSTER}{theirs}")))
    }
}

#[test]
fn names_are_translated() {
    let lines = super::recording::parse("DevMachine worker-a\n  pool=p\nDevMachine m\n  finalizer=set\n");
    let mut members = Members::of(&lines);
    assert!(members.has("Machine", "worker-a") && !members.has("DevMachine", "m"));
    members.meet("d1-mp-1");
    members.meet("d1-mp-1");
    members.meet("d1-mp-2");
    assert_eq!((members.theirs("d1-mp-1"), members.theirs("d1-mp-2")), ("worker-a", "d1-mp-2"));
    assert_eq!(members.to_ours("worker-a docker:////d1-worker-a"), "d1-mp-1 docker:////d1-mp-1");
    assert_eq!(members.to_theirs("docker:////d1-mp-1"), "docker:////d1-worker-a");
}
