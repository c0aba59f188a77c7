//! The events about MachineSets.

use cluster_core::machine_deployment::changes::{change, deletion};
use std::sync::Arc;

use engine::Error;
use schemas::cluster::MachineSet;

fn set(replicas: i32) -> MachineSet {
    let mut set = MachineSet::default();
    set.metadata.name = Some("md-abc".to_owned());
    set.metadata.namespace = Some("default".to_owned());
    set.spec.replicas = Some(replicas);
    set
}

#[test]
fn events_about_sets() {
    let refused = Error::failed("refused");
    type Row<'a> = (Option<i32>, i32, Option<&'a Error>, &'a str, &'a str);
    let rows: [Row<'_>; 7] = [
        (None, 3, None, "SuccessfulCreate", "Created MachineSet default/md-abc with 3 replicas"),
        (None, 3, Some(&refused), "FailedCreate", "Failed to create a MachineSet: refused"),
        (Some(1), 3, None, "SuccessfulScale", "Scaled up MachineSet md-abc: 1 -> 3"),
        (Some(3), 1, None, "SuccessfulScale", "Scaled down MachineSet md-abc: 3 -> 1"),
        (Some(3), 1, Some(&refused), "FailedScale", "Failed to scale MachineSet md-abc: 3 -> 1: refused"),
        (Some(3), 3, Some(&refused), "FailedUpdate", "Failed to update MachineSet md-abc: refused"),
        (Some(3), 3, None, "", ""),
    ];
    for (from, to, error, reason, message) in rows {
        let event = change(from.map(set).map(Arc::new), set(to), "abc").event(error);
        let expected = (!reason.is_empty()).then(|| (reason.starts_with("Failed"), reason, message));
        let found = event.as_ref().map(|event| (event.warning, event.reason, event.message.as_str()));
        assert_eq!(found, expected);
    }
    let deletion = deletion(&Arc::new(set(0)));
    assert_eq!(deletion.event(None).unwrap().reason, "SuccessfulDelete");
    assert_eq!(deletion.event(Some(&refused)).unwrap().reason, "FailedDelete");
}
