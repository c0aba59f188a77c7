//! The grace period of a Cluster's deletion.

use engine::object::annotation;
use engine::steps::Patch;

use super::*;

const ANNOTATION: &str = schemas::deletion_grace::ANNOTATION;

/// A Cluster that was deleted a minute ago.
fn held(period: &str) -> cluster::Observed {
    let mut observed = deleting_cluster();
    let cluster = Arc::make_mut(&mut observed.cluster);
    cluster.metadata.deletion_timestamp = Some(engine::time::time(now() - chrono::Duration::seconds(60)));
    cluster.metadata.annotations = Some(BTreeMap::from([(ANNOTATION.to_owned(), period.to_owned())]));
    let owner =
        json!([{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "c", "uid": "c"}]);
    observed.deployments = vec![read(
        json!({"metadata": {"name": "md", "namespace": "default", "uid": "md", "ownerReferences": owner}}),
    )];
    observed
}

/// Whether the annotation is removed, and the number of deletions.
fn summary(plan: &cluster::Plan) -> (bool, usize) {
    let ends = plan.steps.of::<Patch<Cluster>>().any(|patch| annotation(&patch.wanted, ANNOTATION).is_none());
    (ends, plan.steps.texts().iter().filter(|step| step.starts_with("delete ")).count())
}

#[test]
fn nothing_is_deleted_before_it_has_passed() {
    let deleted = || external("Infra", true);
    for (what, observed, expected) in [
        ("waits", held("90s"), (false, 0, Some(30))),
        ("has passed", held("60s"), (true, 0, None)),
        ("cannot be read", held("soon"), (false, 0, None)),
        (
            "no infrastructure",
            cluster::Observed { infrastructure: deleted(), ..held("90s") },
            (true, 0, None),
        ),
        (
            "no control plane",
            cluster::Observed { control_plane: Reference::NotFound, ..held("90s") },
            (true, 0, None),
        ),
        (
            "unknown",
            cluster::Observed { control_plane: Reference::Failed("no".into()), ..held("90s") },
            (false, 0, Some(30)),
        ),
    ] {
        let plan = cluster::plan(&observed);
        let (ends, deletes) = summary(&plan);
        let wait = plan.action.requeue_after.map(|after| after.as_secs());
        assert_eq!((ends, deletes, wait), expected, "{what}");
    }
    let mut without = held("90s");
    Arc::make_mut(&mut without.cluster).metadata.annotations = None;
    let plan = cluster::plan(&without);
    assert_eq!(summary(&plan), (false, 1), "without it, it begins");
}

#[test]
fn the_condition_says_until_when_it_can_be_undone() {
    let plan = cluster::plan(&held("90s"));
    let deleting = plan.wanted.condition("Deleting").unwrap().clone();
    let expected =
        "Nothing is deleted before 2026-11-21T00:00:30Z (annotation firstlight.dev/deletion-grace-period)";
    assert_eq!(
        (deleting.status.as_str(), deleting.reason.as_str(), deleting.message.as_str()),
        ("True", "WaitingForDeletionGracePeriod", expected)
    );
    assert!(plan.wanted.condition("Available").unwrap().message.contains(expected));
    let reasons = |plan: &cluster::Plan| plan.steps.events().map(|event| event.reason).collect::<Vec<_>>();
    assert_eq!(reasons(&plan), ["WaitingForDeletionGracePeriod", "Deleting"]);

    let mut again = held("90s");
    again.cluster = Arc::new(plan.wanted.clone());
    assert!(reasons(&cluster::plan(&again)).is_empty(), "the event comes once");
    Arc::make_mut(&mut again.cluster).metadata.deletion_timestamp = None;
    let undone = cluster::plan(&again);
    assert_eq!(reasons(&undone)[0], "DeletionUndone");
    assert_eq!(undone.wanted.condition("Deleting").unwrap().reason, "NotDeleting");
    again.cluster = Arc::new(undone.wanted);
    assert!(reasons(&cluster::plan(&again)).is_empty());

    let wrong = cluster::plan(&held("soon"));
    let message = &wrong.wanted.condition("Deleting").unwrap().message;
    assert!(
        message.contains(r#"firstlight.dev/deletion-grace-period: "soon" must be a duration"#),
        "{message}"
    );
}

/// A Machine that is deleted for another reason meanwhile is drained, as if nobody had deleted the Cluster.
#[test]
fn the_machines_live_on() {
    for (annotations, is_drained) in [(json!({ANNOTATION: "10m"}), true), (json!({}), false)] {
        let mut observed = machine::Observed { pods: OnDemand::NotRead, ..deleting_machine(json!({})) };
        let metadata = &mut Arc::make_mut(&mut observed.cluster).metadata;
        metadata.deletion_timestamp = Some(engine::time::time(now()));
        metadata.annotations = serde_json::from_value(annotations).unwrap();
        let plan = machine::plan(&observed);
        let reason = plan.machine.condition("Deleting").unwrap().reason.clone();
        assert_eq!(reason != "WaitingForInfrastructureDeletion", is_drained, "{reason}");
    }
}
