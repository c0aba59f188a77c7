//! What the condition says, a row for each outcome.

use addons::limits::{FAILURES_NAMED, MAX_REASON};
use addons::resource_set::outcome::{Failure, Verdict};
use addons::resource_set::status::AFTER_CONFLICT;
use addons::resource_set::{Applied, Plan, RESOURCES_APPLIED, conclude};
use chrono::DateTime;
use engine::{Action, Error};
use schemas::HasConditions;
use schemas::addons::ResourceReference;

fn failure(reason: &str, is_retried: bool) -> Option<Failure> {
    Some(Failure { reason: reason.to_owned(), is_retried })
}

fn applied(cluster: &str, failure: Option<Failure>) -> Applied {
    let reference = ResourceReference { kind: "ConfigMap".into(), name: "m".into() };
    let verdict = Verdict { hash: None, failure };
    let cluster = cluster.to_owned();
    Applied { cluster, resources: vec![(reference, verdict)], is_unconnected: false, error: None }
}

fn unconnected(cluster: &str) -> Applied {
    Applied { is_unconnected: true, resources: Vec::new(), ..applied(cluster, None) }
}

fn conflict() -> Error {
    let status = kube::core::Status { code: 409, reason: "Conflict".into(), ..Default::default() };
    Error::api("patch", kube::Error::Api(Box::new(status)))
}

/// Returns status, reason and message of the condition, and whether the outcome is tried again because of an error.
fn said(plan: Plan, errors: Vec<Error>, all: Vec<Applied>) -> ((String, String, String), bool, Action) {
    let outcome = conclude(plan, errors, all, DateTime::UNIX_EPOCH);
    let set = outcome.wanted.unwrap();
    let condition = set.condition(RESOURCES_APPLIED).cloned().unwrap_or_default();
    let is_retried = outcome.errors.iter().any(|error| !matches!(error, Error::Terminal(_)));
    ((condition.status, condition.reason, condition.message), is_retried, outcome.action)
}

#[test]
fn older_clients_see_their_condition() {
    let wrong = Plan { wrong_types: vec!["s".to_owned()], ..Plan::default() };
    let failed = || applied("a", failure("no", false));
    // Columns: the plan, the outcome, severity and reason.
    for (plan, outcome, expected) in [
        (Plan::default(), applied("a", None), (None, None)),
        (Plan::default(), failed(), (Some("Warning"), Some("ApplyFailed"))),
        (Plan::default(), unconnected("a"), (Some("Error"), Some("RemoteClusterClientFailed"))),
        (wrong, failed(), (Some("Warning"), Some("WrongSecretType"))),
    ] {
        let set = conclude(plan, Vec::new(), vec![outcome], DateTime::UNIX_EPOCH).wanted.unwrap();
        let older = set.status.and_then(|status| status.deprecated?.v1beta1).unwrap_or_default();
        let found =
            older.conditions.first().map(|found| (found.severity.as_deref(), found.reason.as_deref()));
        assert_eq!(found, Some(expected));
    }
}

#[test]
fn conditions() {
    let stop = || failure("key \"k\": no", false);
    let long = "é".repeat(MAX_REASON);
    for (all, status, reason, message, is_retried) in [
        (vec![], "", "", "", false),
        (vec![applied("a", None)], "True", "Applied", "", false),
        (vec![applied("a", stop())], "False", "NotApplied", "ConfigMap m: key \"k\": no", false),
        (vec![applied("a", failure("no", true))], "False", "NotApplied", "ConfigMap m: no", true),
        (
            vec![applied("a", None), applied("b", stop())],
            "False",
            "NotApplied",
            "Cluster b: ConfigMap m: key \"k\": no",
            false,
        ),
        (vec![unconnected("a")], "False", "InternalError", "Cluster a is not connected yet", false),
        (
            vec![unconnected("a"), applied("b", stop())],
            "False",
            "NotApplied",
            "Cluster b: ConfigMap m: key \"k\": no",
            false,
        ),
        (
            vec![Applied { error: Some(Error::failed("no")), ..applied("a", None) }],
            "False",
            "InternalError",
            "no",
            true,
        ),
    ] {
        let told = said(Plan::default(), Vec::new(), all);
        let expected = (status.to_owned(), reason.to_owned(), message.to_owned());
        assert_eq!(told, (expected, is_retried, Action::done()));
    }
    let ((_, _, message), ..) = said(Plan::default(), Vec::new(), vec![applied("a", failure(&long, false))]);
    assert!(message.len() <= MAX_REASON + '…'.len_utf8() && message.ends_with("é…"), "{message}");
    let many = (0..FAILURES_NAMED + 2).map(|number| applied(&number.to_string(), stop())).collect();
    let ((_, _, message), ..) = said(Plan::default(), Vec::new(), many);
    assert!(message.ends_with("; and 2 more") && message.matches("Cluster").count() == FAILURES_NAMED);
}

#[test]
fn a_secret_of_the_wrong_type_is_waited_for() {
    let plan = Plan { wrong_types: vec!["s".into()], ..Plan::default() };
    let ((status, reason, message), is_retried, _) = said(plan, Vec::new(), Vec::new());
    assert_eq!((status.as_str(), reason.as_str(), is_retried), ("False", "WrongSecretType", false));
    assert!(message.starts_with("Secret s does not have the type addons.cluster.x-k8s.io/resource-set"));
}

#[test]
fn a_conflict_alone_comes_back_soon_and_says_nothing() {
    let conflicting = || Applied { error: Some(conflict()), ..applied("a", None) };
    let quiet = (String::new(), String::new(), String::new());
    assert_eq!(
        said(Plan::default(), Vec::new(), vec![conflicting()]),
        (quiet.clone(), false, Action::requeue_after(AFTER_CONFLICT))
    );
    let told = said(Plan::default(), vec![conflict()], Vec::new());
    assert_eq!(told, (quiet, false, Action::requeue_after(AFTER_CONFLICT)));
    let ((_, reason, _), is_retried, action) =
        said(Plan::default(), Vec::new(), vec![conflicting(), applied("b", failure("no", true))]);
    assert_eq!((reason.as_str(), is_retried, action), ("NotApplied", true, Action::done()));
}
