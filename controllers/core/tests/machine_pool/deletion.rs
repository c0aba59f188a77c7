//! The deletion of a MachinePool.

use super::*;

fn deleting(more: &[(&str, Value)]) -> Arc<MachinePool> {
    let changes =
        [("/metadata/deletionTimestamp", json!(EPOCH)), ("/spec/providerIDList", json!(["a", "b"]))];
    pool(&[changes.as_slice(), more].concat())
}

#[test]
fn infrastructure_bootstrap_and_left_nodes_go_first() {
    let here = |kind: &str| Reference::Found(external(kind, "workers", json!({})));
    let going = |kind: &str| {
        Reference::Found(external(
            kind,
            "workers",
            json!({"metadata": {"deletionTimestamp": EPOCH, "finalizers": ["x"]}}),
        ))
    };
    let left = || Some(vec![node("node-a", "a", &[]), node("old", "z", &[])]);
    let old = ("/status/nodeRefs", json!([{"name": "node-a"}, {"name": "old"}]));
    let limited =
        |seconds: i32| ("/spec/template/spec/deletion", json!({"nodeDeletionTimeoutSeconds": seconds}));
    let gone = || Reference::NotFound;
    // What is deleted, whether it is complete, and after how many seconds it is tried again.
    type Row = (
        &'static str,
        Vec<(&'static str, Value)>,
        [Reference; 2],
        Option<Vec<Arc<Node>>>,
        (&'static str, bool, Option<u64>),
    );
    let rows: [Row; 11] = [
        (
            "both are there",
            vec![],
            [here("Pool"), here("Config")],
            left(),
            ("Pool default/workers Config default/workers", false, None),
        ),
        ("both go", vec![], [going("Pool"), going("Config")], left(), ("", false, None)),
        ("one is left", vec![], [gone(), going("Config")], left(), ("", false, None)),
        ("unreadable", vec![], [Reference::Failed("x".to_owned()), gone()], left(), ("", false, None)),
        ("nothing is left", vec![], [gone(), gone()], left(), ("", true, None)),
        ("never came up", vec![limited(0)], [gone(), gone()], None, ("", true, None)),
        ("never came up, with objects", vec![limited(0)], [gone(), going("Config")], None, ("", false, None)),
        ("a Node is left", vec![old.clone()], [gone(), gone()], left(), ("Node old", false, Some(20))),
        ("out of reach", vec![old.clone()], [gone(), gone()], None, ("", false, Some(20))),
        (
            "out of reach, before the time-out",
            vec![old.clone(), limited(605)],
            [gone(), gone()],
            None,
            ("", false, Some(5)),
        ),
        (
            "out of reach, after the time-out",
            vec![old, limited(600)],
            [gone(), gone()],
            None,
            ("", true, None),
        ),
    ];
    for (what, changes, [infrastructure, bootstrap], nodes, expected) in rows {
        let plan = plan(&Observed { infrastructure, bootstrap, nodes, ..observed(deleting(&changes)) });
        let steps = plan.steps.texts();
        let deleted: Vec<&str> = steps.iter().filter_map(|step| step.strip_prefix("delete ")).collect();
        let is_complete = plan.wanted.metadata.finalizers.is_none_or(|finalizers| finalizers.is_empty());
        let again = plan.action.requeue_after.map(|again| again.as_secs());
        assert_eq!((deleted.join(" ").as_str(), is_complete, again), expected, "{what}");
    }
}
