//! The versions of workers.

use std::collections::BTreeSet;

use cluster_topology::UpgradePlan;
use cluster_topology::versions::{
    Answer, ControlPlaneFacts, Facts, Hook, Hooks, WorkerFacts, WorkersVersions, choose,
};

fn entry(name: &str, version: Option<&str>) -> WorkerFacts {
    WorkerFacts {
        topology_name: name.to_owned(),
        object: version.map(|version| (format!("c1-{name}"), version.to_owned())),
        is_deferred: false,
    }
}

/// A control plane that has v1.36.0, as the topology wants, and two MachineDeployments that have not.
fn facts() -> Facts {
    Facts {
        wanted: "v1.36.0".to_owned(),
        control_plane: Some(ControlPlaneFacts {
            version: "v1.36.0".to_owned(),
            ..ControlPlaneFacts::default()
        }),
        machine_deployments: vec![entry("a", Some("v1.35.0")), entry("b", Some("v1.35.0"))],
        has_machine_deployments: true,
        lowest_workers: Some("v1.35.0".to_owned()),
        concurrency: 1,
        ..Facts::default()
    }
}

fn plan(control_plane: &[&str], workers: &[&str]) -> UpgradePlan {
    let texts = |versions: &[&str]| versions.iter().map(|version| (*version).to_owned()).collect();
    UpgradePlan { control_plane: texts(control_plane), workers: texts(workers) }
}

fn last() -> UpgradePlan {
    plan(&[], &["v1.36.0"])
}

fn chosen(facts: &Facts, plan: &UpgradePlan, hooks: &Hooks) -> WorkersVersions {
    choose(facts, plan, hooks).expect("there are versions").machine_deployments
}

fn versions(workers: &WorkersVersions) -> Vec<&str> {
    workers.versions.values().map(String::as_str).collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn as_many_are_upgraded_at_once_as_the_cluster_allows() {
    let workers = chosen(&facts(), &last(), &Hooks::default());
    assert_eq!(versions(&workers), ["v1.36.0", "v1.35.0"]);
    assert_eq!((&workers.upgrading, &workers.pending_upgrade), (&set(&["c1-a"]), &set(&["c1-b"])));
    let workers = chosen(&Facts { concurrency: 2, ..facts() }, &last(), &Hooks::default());
    assert_eq!(versions(&workers), ["v1.36.0", "v1.36.0"]);
    // One that is no longer in the topology counts, too.
    let busy = Facts { upgrading_machine_deployments: set(&["c1-gone"]), ..facts() };
    let workers = chosen(&busy, &last(), &Hooks::default());
    assert_eq!(versions(&workers), ["v1.35.0", "v1.35.0"]);
    assert!(!workers.is_at_rest());
}

#[test]
fn new_workers_have_the_version_of_the_topology_and_wait_for_the_control_plane() {
    let mut facts = facts();
    facts.machine_deployments = vec![entry("new", None)];
    let workers = chosen(&facts, &UpgradePlan::default(), &Hooks::default());
    assert_eq!((versions(&workers), workers.pending_create.len()), (vec!["v1.36.0"], 0));
    if let Some(plane) = &mut facts.control_plane {
        plane.is_upgrading = true;
    }
    let workers = chosen(&facts, &UpgradePlan::default(), &Hooks::default());
    assert_eq!(workers.pending_create, set(&["new"]));
    // While the whole cluster is being made, nothing is waited for.
    facts.control_plane = None;
    assert!(chosen(&facts, &UpgradePlan::default(), &Hooks::default()).pending_create.is_empty());
}

#[test]
fn an_annotation_defers_the_upgrade() {
    let mut facts = facts();
    facts.machine_deployments[0].is_deferred = true;
    let workers = chosen(&facts, &last(), &Hooks::default());
    assert_eq!(versions(&workers), ["v1.35.0", "v1.36.0"]);
    assert_eq!((&workers.deferred, &workers.pending_upgrade), (&set(&["c1-a"]), &set(&["c1-a"])));
    facts.machine_deployments[0].object = Some(("c1-a".to_owned(), "v1.36.0".to_owned()));
    assert!(chosen(&facts, &last(), &Hooks::default()).deferred.is_empty(), "it has the version already");
}

#[test]
fn workers_wait_for_a_control_plane_that_is_not_at_rest() {
    for (is_provisioning, is_upgrading) in [(true, false), (false, true)] {
        let mut facts = facts();
        let version = "v1.36.0".to_owned();
        facts.control_plane = Some(ControlPlaneFacts { version, is_provisioning, is_upgrading });
        let workers = chosen(&facts, &last(), &Hooks::default());
        assert_eq!(workers.pending_upgrade, set(&["c1-a", "c1-b"]));
    }
    // It takes the next version now.
    let mut starting = facts();
    if let Some(plane) = &mut starting.control_plane {
        plane.version = "v1.35.0".to_owned();
    }
    let workers = chosen(&starting, &plan(&["v1.36.0"], &["v1.36.0"]), &Hooks::default());
    assert_eq!((versions(&workers), workers.upgrading.len()), (vec!["v1.35.0", "v1.35.0"], 0));
}

#[test]
fn workers_wait_for_hooks() {
    for hook in [Hook::AfterControlPlaneUpgrade, Hook::BeforeWorkersUpgrade] {
        let mut hooks = Hooks { are_enabled: true, pending: BTreeSet::from([hook]), ..Hooks::default() };
        let mut facts = facts();
        facts.machine_deployments.push(entry("new", None));
        for answer in [None, Some(Answer::Wait { message: "no".into(), retry_after_seconds: 1 })] {
            hooks.answers.extend(answer.map(|answer| (hook, answer)));
            let workers = chosen(&facts, &last(), &hooks);
            assert_eq!(workers.pending_upgrade, set(&["c1-a", "c1-b"]), "{hook}");
            assert_eq!(workers.pending_create, set(&["new"]), "{hook}");
        }
        hooks.answers.insert(hook, Answer::Proceed);
        assert_eq!(chosen(&facts, &last(), &hooks).upgrading, set(&["c1-a"]));
    }
}

#[test]
fn workers_that_have_the_version_of_the_step_wait_for_the_next_one() {
    let mut facts = facts();
    if let Some(plane) = &mut facts.control_plane {
        plane.version = "v1.35.0".to_owned();
    }
    facts.machine_deployments = vec![entry("a", Some("v1.35.0")), entry("b", Some("v1.32.0"))];
    let step = plan(&["v1.36.0"], &["v1.35.0", "v1.36.0"]);
    let workers = chosen(&facts, &step, &Hooks::default());
    assert_eq!(versions(&workers), ["v1.35.0", "v1.35.0"]);
    assert_eq!((&workers.pending_upgrade, &workers.upgrading), (&set(&["c1-a"]), &set(&["c1-b"])));
}

#[test]
fn machine_pools_follow_the_same_rules_with_their_own_limit() {
    let mut facts = facts();
    facts.machine_pools = vec![entry("p", Some("v1.35.0")), entry("q", Some("v1.35.0"))];
    facts.has_machine_pools = true;
    let chosen = choose(&facts, &last(), &Hooks::default()).expect("there are versions");
    assert_eq!(chosen.machine_deployments.upgrading, set(&["c1-a"]));
    assert_eq!(chosen.machine_pools.upgrading, set(&["c1-p"]));
    assert_eq!(chosen.machine_pools.pending_upgrade, set(&["c1-q"]));
}

#[test]
fn the_cluster_is_upgraded_when_nothing_waits() {
    let pending = |hooks: &[Hook]| Hooks {
        are_enabled: true,
        pending: hooks.iter().copied().collect(),
        answers: [Hook::AfterControlPlaneUpgrade, Hook::AfterWorkersUpgrade]
            .map(|hook| (hook, Answer::Proceed))
            .into(),
        ..Hooks::default()
    };
    let is_upgraded = |facts: &Facts, plan: &UpgradePlan, hooks: &Hooks| {
        choose(facts, plan, hooks).expect("there are versions").is_upgraded(hooks)
    };
    let mut done = facts();
    done.machine_deployments = vec![entry("a", Some("v1.36.0"))];
    let nothing = UpgradePlan::default();
    assert!(is_upgraded(&done, &nothing, &pending(&[Hook::AfterClusterUpgrade])));
    assert!(!is_upgraded(&done, &nothing, &pending(&[])), "there was no upgrade");
    let step = pending(&[Hook::AfterClusterUpgrade, Hook::AfterWorkersUpgrade]);
    assert!(is_upgraded(&done, &nothing, &step), "the last hook of the step is called now");
    let waits = Answer::Wait { message: String::new(), retry_after_seconds: 1 };
    let waits = Hooks { answers: [(Hook::AfterWorkersUpgrade, waits)].into(), ..step };
    assert!(!is_upgraded(&done, &nothing, &waits));
    assert!(!is_upgraded(&facts(), &last(), &pending(&[Hook::AfterClusterUpgrade])));
}
