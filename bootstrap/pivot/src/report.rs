//! The result of a pivot, object by object.

use std::fmt;

use serde::Serialize;

use crate::finding::Finding;
use crate::journal::State;
use crate::object::Key;
use crate::progress::Phase;

/// The result for one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Outcome {
    /// It is to be moved.
    Planned,
    /// It is at the target and has been deleted at the source.
    Moved,
    /// It is at the target and kept at the source.
    Copied,
    /// The target already had it, and keeps its own object.
    Left,
    /// It stays at the source.
    Stays,
    /// It is only at the source, as before the pivot.
    RolledBack,
}

/// One object.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// Kind, namespace and name.
    #[serde(serialize_with = "as_text")]
    pub object: Key,
    /// The result.
    pub outcome: Outcome,
    /// The reason for the result; empty if the object simply moved.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Whether it moved although `clusterctl move` would have left it behind.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub beyond_clusterctl: bool,
    /// The method of verification.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub verified: &'static str,
}

fn as_text<S: serde::Serializer>(key: &Key, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(key)
}

/// The report.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Identity of the source.
    pub source: String,
    /// Identity of the target.
    pub target: String,
    /// One entry per object.
    pub objects: Vec<Entry>,
    /// The findings of the preflight.
    pub findings: Vec<Finding>,
    /// The number of objects that the preflight tried to create in a dry run.
    pub tried: usize,
    /// Duration of each phase in seconds.
    pub seconds: Vec<(Phase, f64)>,
    /// Number of requests to the source.
    pub source_requests: u64,
    /// Number of requests to the target.
    pub target_requests: u64,
}

/// The copy was read back from the target and compared.
const COMPARED: &str = "read back: labels, annotations, owners, finalizers, spec and status are equal";

impl Report {
    /// Adds the objects of a journal in their present state.
    pub fn take_objects(&mut self, state: &State) {
        let Some(plan) = &state.plan else { return };
        if let Some(header) = &state.header {
            (self.source, self.target) = (header.source.clone(), header.target.clone());
        }
        let keep = state.header.as_ref().is_some_and(|header| header.keep_source);
        for step in plan.steps() {
            let key = &step.object;
            let (outcome, why) = if state.rolled_back {
                (Outcome::RolledBack, String::new())
            } else if state.left.contains_key(key) {
                (Outcome::Left, "the target had it already".to_owned())
            } else if !state.done {
                (Outcome::Planned, String::new())
            } else if keep {
                (Outcome::Copied, "--keep-source".to_owned())
            } else if let Some(why) = &step.kept {
                (Outcome::Copied, why.clone())
            } else if state.changed.contains(key) {
                (
                    Outcome::Copied,
                    "it, or something that it owns, changed at the source after it was copied".to_owned(),
                )
            } else {
                (Outcome::Moved, String::new())
            };
            let why = match &step.beyond {
                Some(beyond) if why.is_empty() => beyond.clone(),
                Some(beyond) => format!("{beyond}; {why}"),
                None => why,
            };
            self.objects.push(Entry {
                object: key.clone(),
                outcome,
                why,
                beyond_clusterctl: step.beyond.is_some(),
                verified: if state.verified.contains_key(key) && !state.rolled_back { COMPARED } else { "" },
            });
        }
        self.objects.extend(plan.stays.iter().map(|stay| Entry {
            object: stay.object.clone(),
            outcome: Outcome::Stays,
            why: stay.why.clone(),
            beyond_clusterctl: false,
            verified: "",
        }));
    }

    /// Marks the objects as written to, or read from, this directory: the source, or the directory, keeps them.
    pub(crate) fn saved(&mut self, directory: &str) {
        for entry in &mut self.objects {
            if entry.outcome != Outcome::Stays && entry.outcome != Outcome::Left {
                (entry.outcome, entry.verified) = (Outcome::Copied, "");
                entry.why = directory.to_owned();
            }
        }
    }

    /// Returns the number of objects with this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.objects.iter().filter(|entry| entry.outcome == outcome).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Objects that are only planned are in the plan, which is printed before.
        for entry in self.objects.iter().filter(|entry| entry.outcome != Outcome::Planned) {
            write!(f, "{:<10} {}", format!("{:?}", entry.outcome), entry.object)?;
            let beyond = if entry.beyond_clusterctl { "beyond clusterctl's rules: " } else { "" };
            if !entry.why.is_empty() {
                write!(f, " ({beyond}{})", entry.why)?;
            }
            writeln!(f)?;
        }
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        let outcomes = [
            Outcome::Planned,
            Outcome::Moved,
            Outcome::Copied,
            Outcome::Left,
            Outcome::Stays,
            Outcome::RolledBack,
        ];
        let counts: Vec<String> = outcomes
            .iter()
            .map(|outcome| (outcome, self.count(*outcome)))
            .filter(|(_, count)| *count > 0)
            .map(|(outcome, count)| format!("{count} {outcome:?}"))
            .collect();
        let verified = self.objects.iter().filter(|entry| !entry.verified.is_empty()).count();
        let seconds: f64 = self.seconds.iter().map(|(_, seconds)| seconds).sum();
        writeln!(
            f,
            "{}; {verified} read back and equal; {seconds:.1} s, {} requests to the source, {} to the target",
            if counts.is_empty() { "no objects".to_owned() } else { counts.join(", ") },
            self.source_requests,
            self.target_requests
        )
    }
}
