//! Tests of `simulation::lifecycles::facts`.

use serde_json::json;
use simulation::lifecycles::facts::{Facts, changes, facts};

#[test]
fn an_object_changes() {
    let mut machine = json!({"kind": "Machine", "metadata": {"name": "m", "ownerReferences": [{"kind": "MachineSet", "name": "s", "controller": true}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": ""}]}});
    let before = facts(&machine);
    assert_eq!(
        changes(&Facts::new(), &before),
        ["Ready=True Ready", "owner MachineSet s=controller", "phase=Running"]
    );
    machine["metadata"] = json!({"deletionTimestamp": "2026-11-22T22:40:41Z"});
    machine["status"]["conditions"] = json!([
        {"type": "Ready", "status": "True", "reason": "Ready", "message": "other words"},
        {"type": "Deleting", "status": "True", "reason": "DrainingNode", "message": "since 2026-11-22T22:40:41Z:\n* Pod"}]);
    let lines = [
        "Deleting=True DrainingNode: since <time>:\\n* Pod",
        "deletionTimestamp=set",
        "owner MachineSet s removed",
    ];
    assert_eq!(changes(&before, &facts(&machine)), lines);
    let secret = json!({"kind": "Secret", "metadata": {"ownerReferences": [{"kind": "A", "name": "a"}]}});
    assert!(facts(&secret).is_empty());
}
