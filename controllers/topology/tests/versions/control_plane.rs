//! The version of the control plane, and the hooks that hold it back.

use std::collections::BTreeSet;

use cluster_topology::UpgradePlan;
use cluster_topology::versions::{
    Answer, ControlPlaneFacts, ControlPlaneVersion, Facts, Hook, Hooks, choose, is_provisioning, is_scaling,
    is_upgrading,
};
use serde_json::json;

/// A control plane at v1.34.0 with workers, whose topology wants v1.36.0.
fn facts() -> Facts {
    Facts {
        wanted: "v1.36.0".to_owned(),
        control_plane: Some(ControlPlaneFacts {
            version: "v1.34.0".to_owned(),
            ..ControlPlaneFacts::default()
        }),
        has_machine_deployments: true,
        lowest_workers: Some("v1.34.0".to_owned()),
        concurrency: 1,
        ..Facts::default()
    }
}

fn plan(control_plane: &[&str], workers: &[&str]) -> UpgradePlan {
    let texts = |versions: &[&str]| versions.iter().map(|version| (*version).to_owned()).collect();
    UpgradePlan { control_plane: texts(control_plane), workers: texts(workers) }
}

fn both() -> UpgradePlan {
    plan(&["v1.35.0", "v1.36.0"], &["v1.36.0"])
}

fn hooks(pending: &[Hook], proceed: &[Hook]) -> Hooks {
    Hooks {
        are_enabled: true,
        pending: pending.iter().copied().collect(),
        held_by: BTreeSet::new(),
        answers: proceed.iter().map(|hook| (*hook, Answer::Proceed)).collect(),
    }
}

fn chosen(facts: &Facts, plan: &UpgradePlan, hooks: &Hooks) -> ControlPlaneVersion {
    choose(facts, plan, hooks).expect("there is a version").control_plane
}

#[test]
fn a_new_control_plane_has_the_version_of_the_topology() {
    let facts = Facts { control_plane: None, ..facts() };
    let version = chosen(&facts, &UpgradePlan::default(), &Hooks::default());
    assert_eq!(version.version, "v1.36.0");
    assert!(version.is_stable());
}

#[test]
fn without_hooks_the_next_version_is_taken_when_all_is_at_rest() {
    let version = chosen(&facts(), &both(), &Hooks::default());
    assert_eq!(version.version, "v1.35.0");
    assert!(version.is_starting && !version.is_pending && !version.is_stable());
    assert!(version.pending.is_empty() && version.done.is_empty());
}

#[test]
fn a_control_plane_in_the_middle_of_something_keeps_its_version() {
    for (is_provisioning, is_upgrading) in [(true, false), (false, true)] {
        let mut facts = facts();
        let version = "v1.34.0".to_owned();
        facts.control_plane = Some(ControlPlaneFacts { version, is_provisioning, is_upgrading });
        let version = chosen(&facts, &both(), &hooks(&[Hook::AfterControlPlaneUpgrade], &[]));
        assert_eq!(version.version, "v1.34.0");
        assert_eq!((version.is_provisioning, version.is_upgrading), (is_provisioning, is_upgrading));
        assert!(version.is_pending && version.ask.is_none() && !version.lets_workers_upgrade());
    }
}

#[test]
fn workers_that_must_follow_go_first() {
    let waits = plan(&["v1.35.0", "v1.36.0"], &["v1.34.0", "v1.36.0"]);
    let version = chosen(&facts(), &waits, &Hooks::default());
    assert_eq!(version.version, "v1.34.0");
    assert!(version.is_pending && version.is_waiting_for_workers && version.lets_workers_upgrade());
    let mut upgrading = facts();
    upgrading.upgrading_machine_pools.insert("old".to_owned());
    let version = chosen(&upgrading, &both(), &Hooks::default());
    assert_eq!(version.version, "v1.34.0");
    assert!(version.is_pending && !version.is_waiting_for_workers && !version.lets_workers_upgrade());
}

#[test]
fn annotations_of_the_cluster_hold_back_an_upgrade_that_has_not_begun() {
    let mut hooks = hooks(&[], &[Hook::BeforeClusterUpgrade, Hook::BeforeControlPlaneUpgrade]);
    hooks.held_by.insert("before-upgrade.hook.cluster.cluster.x-k8s.io/b".to_owned());
    let version = chosen(&facts(), &both(), &hooks);
    assert_eq!(version.version, "v1.34.0");
    let blocked = version.blocked.expect("it is held back");
    assert_eq!(blocked.message, "annotation before-upgrade.hook.cluster.cluster.x-k8s.io/b is set");
    assert_eq!((blocked.hook, blocked.retry_after_seconds), (Hook::BeforeClusterUpgrade, 1200));
    hooks.held_by.insert("before-upgrade.hook.cluster.cluster.x-k8s.io/a".to_owned());
    let blocked = chosen(&facts(), &both(), &hooks).blocked.expect("it is held back");
    let names =
        "before-upgrade.hook.cluster.cluster.x-k8s.io/a, before-upgrade.hook.cluster.cluster.x-k8s.io/b";
    assert_eq!(blocked.message, format!("annotations {names} are set"));
    hooks.pending.insert(Hook::AfterClusterUpgrade);
    assert_eq!(chosen(&facts(), &both(), &hooks).version, "v1.35.0", "it has begun");
}

#[test]
fn hooks_are_asked_one_after_the_other() {
    let asked = |hooks: &Hooks| {
        let version = chosen(&facts(), &both(), hooks);
        let ask =
            version.ask.as_ref().map(|question| (question.hook, question.from.clone(), question.to.clone()));
        (version.version.clone(), ask, version.pending, version.done)
    };
    let question = |hook, from: &str, to: &str| Some((hook, from.to_owned(), to.to_owned()));
    let (version, ask, pending, _) = asked(&hooks(&[], &[]));
    assert_eq!(
        (version.as_str(), ask),
        ("v1.34.0", question(Hook::BeforeClusterUpgrade, "v1.34.0", "v1.36.0"))
    );
    assert!(pending.is_empty());
    let (version, ask, pending, _) = asked(&hooks(&[], &[Hook::BeforeClusterUpgrade]));
    assert_eq!(version, "v1.34.0");
    assert_eq!(ask, question(Hook::BeforeControlPlaneUpgrade, "v1.34.0", "v1.35.0"));
    assert_eq!(pending, [Hook::AfterClusterUpgrade], "the upgrade has begun");
    let all = [Hook::BeforeClusterUpgrade, Hook::BeforeControlPlaneUpgrade];
    let (version, ask, pending, _) = asked(&hooks(&[], &all));
    assert_eq!((version.as_str(), ask), ("v1.35.0", None));
    assert_eq!(pending, [Hook::AfterClusterUpgrade]);
    let following = chosen(&facts(), &both(), &hooks(&[], &all)).following;
    assert_eq!(following, [Hook::AfterControlPlaneUpgrade], "once the control plane has its version");
    // In the middle of the upgrade, the first hook is not asked again.
    let (version, ..) = asked(&hooks(&[Hook::AfterClusterUpgrade], &[Hook::BeforeControlPlaneUpgrade]));
    assert_eq!(version, "v1.35.0");
}

#[test]
fn hooks_of_the_step_before_are_called_first() {
    let pending = [
        Hook::AfterClusterUpgrade,
        Hook::AfterControlPlaneUpgrade,
        Hook::BeforeWorkersUpgrade,
        Hook::AfterWorkersUpgrade,
    ];
    let mut answers = hooks(&pending, &[]);
    let order = [
        (Hook::AfterControlPlaneUpgrade, "", "v1.34.0"),
        (Hook::BeforeWorkersUpgrade, "v1.34.0", "v1.34.0"),
        (Hook::AfterWorkersUpgrade, "", "v1.34.0"),
        (Hook::BeforeControlPlaneUpgrade, "v1.34.0", "v1.35.0"),
    ];
    for (position, (hook, from, to)) in order.into_iter().enumerate() {
        let version = chosen(&facts(), &both(), &answers);
        let question = version.ask.expect("a hook is asked");
        assert_eq!((question.hook, question.from.as_str(), question.to.as_str()), (hook, from, to));
        assert_eq!(version.done.len(), position.min(3), "the hooks before are done");
        answers.answers.insert(hook, Answer::Proceed);
    }
    assert_eq!(chosen(&facts(), &both(), &answers).version, "v1.35.0");
}

#[test]
fn a_hook_that_says_to_wait_keeps_the_version() {
    for hook in [Hook::AfterControlPlaneUpgrade, Hook::BeforeWorkersUpgrade, Hook::AfterWorkersUpgrade] {
        let mut answers = hooks(&[Hook::AfterClusterUpgrade, hook], &[Hook::BeforeControlPlaneUpgrade]);
        answers.answers.insert(hook, Answer::Wait { message: "not yet".into(), retry_after_seconds: 5 });
        let version = chosen(&facts(), &both(), &answers);
        assert_eq!(version.version, "v1.34.0", "{hook}");
        let blocked = version.blocked.expect("it is held back");
        assert_eq!(
            (blocked.hook, blocked.message.as_str(), blocked.retry_after_seconds),
            (hook, "not yet", 5)
        );
        assert!(version.done.is_empty() && version.ask.is_none());
    }
}

#[test]
fn workers_that_follow_make_their_hooks_pending() {
    let last = plan(&["v1.36.0"], &["v1.36.0"]);
    let mut facts = facts();
    if let Some(plane) = &mut facts.control_plane {
        plane.version = "v1.35.0".to_owned();
    }
    let answers = hooks(&[Hook::AfterClusterUpgrade], &[Hook::BeforeControlPlaneUpgrade]);
    let pending = chosen(&facts, &last, &answers).following;
    assert_eq!(
        pending,
        [Hook::AfterControlPlaneUpgrade, Hook::BeforeWorkersUpgrade, Hook::AfterWorkersUpgrade]
    );
    facts.has_machine_deployments = false;
    assert_eq!(chosen(&facts, &last, &answers).following, [Hook::AfterControlPlaneUpgrade]);
}

#[test]
fn a_version_that_is_written_has_its_hooks() {
    let mut facts = facts();
    if let Some(plane) = &mut facts.control_plane {
        (plane.version, plane.is_upgrading) = ("v1.35.0".to_owned(), true);
    }
    let next = plan(&["v1.36.0"], &["v1.35.0", "v1.36.0"]);
    // The process ended before they were recorded.
    let begun = hooks(&[Hook::AfterClusterUpgrade], &[]);
    let all = [Hook::AfterControlPlaneUpgrade, Hook::BeforeWorkersUpgrade, Hook::AfterWorkersUpgrade];
    assert_eq!(chosen(&facts, &next, &begun).following, all);
    let recorded = hooks(&[Hook::AfterClusterUpgrade, Hook::AfterControlPlaneUpgrade], &[]);
    assert!(chosen(&facts, &next, &recorded).following.is_empty());
    assert!(chosen(&facts, &next, &Hooks::default()).following.is_empty(), "nobody is asked");
}

#[test]
fn an_upgrade_without_a_plan_is_an_error() {
    let error =
        choose(&facts(), &UpgradePlan::default(), &Hooks::default()).expect_err("there is no version");
    assert!(error.contains("has v1.34.0 and wants v1.36.0"), "{error}");
}

#[test]
fn the_step_of_an_upgrade_lasts_until_its_last_hook() {
    let step = |facts: &Facts, plan: &UpgradePlan, hooks: &Hooks| {
        choose(facts, plan, hooks).expect("there is a version").upgrade_step
    };
    let begins = hooks(&[], &[Hook::BeforeClusterUpgrade, Hook::BeforeControlPlaneUpgrade]);
    assert_eq!(step(&facts(), &both(), &begins).as_deref(), Some("v1.35.0"));
    assert_eq!(step(&facts(), &both(), &hooks(&[], &[])), None, "it has not begun");
    let mut done = facts();
    done.wanted = "v1.34.0".to_owned();
    let nothing = UpgradePlan::default();
    let going_on = hooks(&[Hook::AfterClusterUpgrade], &[]);
    assert_eq!(step(&done, &nothing, &going_on).as_deref(), Some("v1.34.0"));
    assert_eq!(step(&done, &nothing, &hooks(&[], &[])), None);
    assert_eq!(step(&facts(), &both(), &Hooks::default()).as_deref(), Some("v1.35.0"));
    assert_eq!(step(&done, &plan(&[], &["v1.34.0"]), &Hooks::default()).as_deref(), Some("v1.34.0"));
    assert_eq!(step(&done, &nothing, &Hooks::default()), None);
}

#[test]
fn what_the_status_of_a_control_plane_says() {
    let rows = [
        (json!({}), true, false),
        (json!({ "version": "" }), true, false),
        (json!({ "version": "v1.34.0" }), false, true),
        (json!({ "version": "v1.35.0" }), false, false),
        (json!({ "versions": [{ "version": "v1.34.0" }, { "version": "v1.35.0" }] }), false, true),
        (json!({ "versions": [{ "version": "v1.35.0" }], "version": "v1.34.0" }), false, false),
        (json!({ "versions": [{ "version": "v1.35.0+b" }] }), false, false),
    ];
    for (status, provisioning, upgrading) in rows {
        let object = json!({ "kind": "Plane", "spec": { "version": "v1.35.0" }, "status": status });
        assert_eq!(is_provisioning(&object), provisioning, "{object}");
        assert_eq!(is_upgrading(&object), Ok(upgrading), "{object}");
    }
    let broken = json!({ "kind": "Plane", "spec": { "version": "v1.35.0" }, "status": { "version": "x" } });
    assert!(is_upgrading(&broken).expect_err("no version").contains("\"x\""));
}

#[test]
fn a_control_plane_scales_until_all_machines_are_available() {
    let object = |spec, status| json!({ "spec": spec, "status": status });
    let status = json!({ "replicas": 3, "upToDateReplicas": 3, "readyReplicas": 3, "availableReplicas": 3 });
    assert!(!is_scaling(&object(json!({ "replicas": 3 }), status.clone())));
    assert!(!is_scaling(&object(json!({}), json!({}))));
    assert!(is_scaling(&object(json!({ "replicas": 3 }), json!({}))));
    for counter in ["replicas", "upToDateReplicas", "readyReplicas", "availableReplicas"] {
        let mut status = status.clone();
        status[counter] = json!(2);
        assert!(is_scaling(&object(json!({ "replicas": 3 }), status)), "{counter}");
    }
}
