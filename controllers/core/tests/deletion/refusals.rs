//! The reasons of refused evictions.

use cluster_core::machine::{REFUSAL_LENGTH, refusal};
use serde_json::json;

const BUDGET: &str = "cannot evict pod as it would violate the pod's disruption budget.";
const FAILED: &str = "failed to evict Pod";

fn refused(code: u16, message: &str, causes: serde_json::Value) -> String {
    let status =
        json!({"status": "Failure", "code": code, "message": message, "details": {"causes": causes}});
    refusal(&kube::Error::Api(Box::new(serde_json::from_value(status).unwrap())))
}

#[test]
fn refusals_say_why() {
    const BUDGET_OF_SERVER: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
    const BEING_TERMINATED: &str = "cannot evict pod from terminating namespace: unable to create eviction \
                                    (kube-controller-manager should set deletionTimestamp)";
    let cause = |reason: &str, message: &str| json!([{"reason": reason, "message": message, "field": ""}]);
    let needs = "The disruption budget x needs 1 healthy pods and has 1 currently";
    let terminating = cause("NamespaceTerminating", "namespace n is being terminated");
    let rows = [
        (refused(429, BUDGET_OF_SERVER, cause("DisruptionBudget", needs)), format!("{BUDGET} {needs}")),
        (refused(429, "slow down", json!([])), format!("{FAILED}, slow down")),
        (refused(403, "no", terminating), BEING_TERMINATED.to_owned()),
        (refused(403, "no", json!([])), format!("{FAILED}, no")),
        (refused(500, "the webhook is down", json!([])), format!("{FAILED}, the webhook is down")),
    ];
    for (found, expected) in rows {
        assert_eq!(found, expected);
    }
}

#[test]
fn long_refusals_are_cut() {
    let room = REFUSAL_LENGTH - format!("{FAILED}, ").len();
    for (length, cut) in [(room - 1, false), (room, false), (room + 1, true)] {
        let found = refused(500, &"ä".repeat(length), json!([]));
        assert_eq!(found.ends_with("..."), cut, "{length}");
        assert!(found.chars().count() <= REFUSAL_LENGTH + "...".len());
    }
}
