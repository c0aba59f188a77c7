//! Tests of `engine::conditions::aggregate`.

use engine::conditions::{Reasons, Source, aggregate, is_false, is_true};
use schemas::meta::Condition;

const READY: Reasons = Reasons { issue: "NotReady", unknown: "ReadyUnknown", info: "Ready" };

fn merged(objects: &[(&str, bool, Vec<Condition>)]) -> (String, String) {
    let sources: Vec<Source<'_>> = objects
        .iter()
        .map(|(name, is_control_plane, conditions)| Source {
            kind: "Machine",
            name,
            is_control_plane: *is_control_plane,
            conditions,
        })
        .collect();
    let condition = aggregate("MachinesReady", "Ready", false, &READY, &sources);
    (format!("{} {}", condition.status, condition.reason), condition.message)
}

#[test]
fn groups_equal_messages_and_counts_the_rest() {
    let bad = |message: &str| vec![is_false("Ready", "NotReady", message)];
    let (status, message) = merged(&[
        ("d", false, bad("* A: x")),
        ("a", false, bad("* A: x")),
        ("b", false, bad("* A: x")),
        ("c", false, bad("* A: x")),
        ("cp", true, bad("slow")),
        ("new", false, vec![]),
        ("z", false, bad("other")),
        ("y", false, bad("and another")),
    ]);
    assert_eq!(status, "False NotReady");
    assert_eq!(
        message,
        "* Machine cp: slow\n* Machines a, b, c, ... (1 more):\n  * A: x\n* Machine y: and another\n\
         And 1 Machine with other issues\nAnd 1 Machine with status unknown"
    );
}

#[test]
fn all_well_and_not_yet_reported() {
    assert_eq!(
        merged(&[("a", false, vec![is_true("Ready", "Ready")])]),
        ("True Ready".into(), String::new())
    );
    let (status, message) = merged(&[("a", false, vec![])]);
    assert_eq!(status, "Unknown ReadyUnknown");
    assert_eq!(message, "* Machine a: Condition Ready not yet reported");
}
