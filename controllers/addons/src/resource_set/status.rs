//! What the conditions of a ClusterResourceSet say after its steps. Pure.

use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::v1beta1::{self, Severity};
use engine::{Action, Error, Outcome, conditions};
use schemas::addons::ClusterResourceSet;
use schemas::meta::{Condition, V1Beta1Condition};

use super::outcome::Applied;
use super::plan::Plan;
use super::source::title;
use crate::limits::{FAILURES_NAMED, MAX_REASON};
use crate::names::SECRET_TYPE;

/// The type of the condition.
pub const RESOURCES_APPLIED: &str = "ResourcesApplied";
/// Two sets that write one binding at the same time come back after this time.
pub const AFTER_CONFLICT: Duration = Duration::from_millis(100);

/// Returns the set with its conditions, and the errors that are tried again. `errors` are those of the Secrets and ConfigMaps.
pub fn conclude(
    plan: Plan,
    errors: Vec<Error>,
    applied: Vec<Applied>,
    now: DateTime<Utc>,
) -> Outcome<ClusterResourceSet> {
    let mut conclusion = Conclusion { names_clusters: applied.len() > 1, ..Conclusion::default() };
    conclusion.wrong_types(&plan.wrong_types);
    errors.into_iter().for_each(|error| conclusion.internal(String::new(), error));
    let has_targets = !applied.is_empty();
    applied.into_iter().for_each(|applied| conclusion.add(applied));
    let mut set = plan.set;
    if let Some(condition) = conclusion.condition(has_targets) {
        let status = set.status.get_or_insert_default();
        let older = status.deprecated.get_or_insert_default().v1beta1.get_or_insert_default();
        v1beta1::set(&mut older.conditions, now, conclusion.for_older_clients(&condition));
        conditions::set(&mut set, now, condition);
    }
    let action = if conclusion.is_conflicting && conclusion.errors.is_empty() {
        Action::requeue_after(AFTER_CONFLICT)
    } else {
        Action::done()
    };
    Outcome { wanted: Some(set), errors: conclusion.errors, action }
}

#[derive(Default)]
struct Conclusion {
    names_clusters: bool,
    wrong_types: Vec<String>,
    not_applied: Vec<String>,
    internal: Vec<String>,
    is_conflicting: bool,
    is_unconnected: bool,
    errors: Vec<Error>,
}

impl Conclusion {
    fn wrong_types(&mut self, names: &[String]) {
        for name in names {
            let message = format!(
                "Secret {name} does not have the type {SECRET_TYPE}, and a type cannot be changed: create it anew"
            );
            self.errors.push(Error::Terminal(message.clone()));
            self.wrong_types.push(message);
        }
    }

    fn add(&mut self, applied: Applied) {
        let of_cluster =
            if self.names_clusters { format!("Cluster {}: ", applied.cluster) } else { String::new() };
        if applied.is_unconnected {
            // An event reports the connection.
            self.is_unconnected = true;
            let message = format!("Cluster {} is not connected yet", applied.cluster);
            self.errors.push(Error::Terminal(message.clone()));
            self.internal.push(message);
        }
        for (reference, verdict) in &applied.resources {
            let Some(failure) = &verdict.failure else { continue };
            let message = shortened(format!("{of_cluster}{}: {}", title(reference), failure.reason));
            let error = if failure.is_retried { Error::Failed } else { Error::Terminal };
            self.errors.push(error(message.clone()));
            self.not_applied.push(message);
        }
        if let Some(error) = applied.error {
            self.internal(of_cluster, error);
        }
    }

    fn internal(&mut self, of_cluster: String, error: Error) {
        if error.is_conflict() {
            self.is_conflicting = true;
            return;
        }
        self.internal.push(shortened(format!("{of_cluster}{error}")));
        self.errors.push(error);
    }

    /// Returns the condition; `None` if it stays as it is.
    fn condition(&self, has_targets: bool) -> Option<Condition> {
        let lists = [
            ("WrongSecretType", &self.wrong_types),
            ("NotApplied", &self.not_applied),
            ("InternalError", &self.internal),
        ];
        if let Some((reason, messages)) = lists.into_iter().find(|(_, messages)| !messages.is_empty()) {
            return Some(conditions::is_false(RESOURCES_APPLIED, reason, list(messages)));
        }
        let is_applied = has_targets && !self.is_conflicting;
        is_applied.then(|| conditions::is_true(RESOURCES_APPLIED, "Applied"))
    }

    /// Returns the condition for clients of the API version v1beta1, with the reasons that Cluster API's controller gives there.
    fn for_older_clients(&self, condition: &Condition) -> V1Beta1Condition {
        let (severity, reason) = match condition.reason.as_str() {
            _ if condition.status == conditions::TRUE => return v1beta1::is_true(RESOURCES_APPLIED),
            "WrongSecretType" => (Severity::Warning, "WrongSecretType"),
            "NotApplied" => (Severity::Warning, "ApplyFailed"),
            _ if self.is_unconnected => (Severity::Error, "RemoteClusterClientFailed"),
            _ => (Severity::Warning, "RetrievingResourceFailed"),
        };
        v1beta1::is_false(RESOURCES_APPLIED, severity, reason, condition.message.as_str())
    }
}

/// Returns the first messages, and the number of the others.
fn list(messages: &[String]) -> String {
    let mut text = messages.iter().take(FAILURES_NAMED).map(String::as_str).collect::<Vec<_>>().join("; ");
    let others = messages.len().saturating_sub(FAILURES_NAMED);
    if others > 0 {
        text.push_str(&format!("; and {others} more"));
    }
    text
}

fn shortened(mut text: String) -> String {
    if text.len() > MAX_REASON {
        let end = (0..=MAX_REASON).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
    text
}
