//! What hinders containers.

use node_runtime::groups::Version;
use node_runtime::preflight::{Facts, findings};
use system_containers::Weight;

use crate::fixture::Fixture;

/// A machine on which nothing is missing.
fn whole() -> Facts {
    Facts {
        is_root: true,
        has_resource_capability: true,
        file_systems: "nodev\tproc\nnodev\toverlay\n\text4\n".to_owned(),
        groups: Some(Ok(Version::Two)),
        inotify: Some((8192, 524_288)),
        can_raise_inotify: true,
        free_disk: Some(100 << 30),
        available_memory: Some(8 << 30),
        ..Facts::default()
    }
}

#[test]
fn each_finding_says_what_to_do() {
    assert_eq!(findings(&whole()), []);
    let raised = Facts { inotify: Some((128, 8192)), ..whole() };
    assert_eq!(findings(&raised), [], "the first container raises the limits of inotify");
    type Case = (&'static str, Weight, &'static str, fn(&mut Facts));
    let cases: [Case; 14] = [
        ("not root's", Weight::Obstacle, "sudo", |facts| facts.is_root = false),
        ("CAP_NET_ADMIN", Weight::Obstacle, "--cap-add", |facts| {
            facts.missing_capabilities = vec!["CAP_NET_ADMIN"]
        }),
        ("CAP_SYS_RESOURCE", Weight::Warning, "restrict_oom_score_adj", |facts| {
            facts.has_resource_capability = false
        }),
        ("no overlayfs", Weight::Obstacle, "modprobe overlay", |facts| {
            facts.file_systems = "\text4\n".to_owned()
        }),
        ("control groups", Weight::Obstacle, "mount them", |facts| {
            facts.groups = Some(Err("mount them".to_owned()))
        }),
        ("version 1", Weight::Note, "failCgroupV1: false", |facts| facts.groups = Some(Ok(Version::One))),
        ("controllers cpuset", Weight::Warning, "kubelet", |facts| {
            facts.missing_controllers = vec!["cpuset"]
        }),
        ("no network", Weight::Obstacle, "modprobe veth", |facts| {
            facts.network = vec!["modprobe veth".to_owned()]
        }),
        ("Docker", Weight::Warning, "DOCKER-USER", |facts| facts.has_docker = true),
        ("no addresses", Weight::Obstacle, "another range", |facts| {
            facts.range = Some("another range".to_owned())
        }),
        ("128 instances", Weight::Warning, "max_user_instances=512", |facts| {
            facts.inotify = Some((128, 524_288));
            facts.can_raise_inotify = false;
        }),
        ("1024 MiB left", Weight::Warning, "free 1024 MiB", |facts| facts.free_disk = Some(1 << 30)),
        ("512 MiB of memory", Weight::Warning, "end other programs", |facts| {
            facts.available_memory = Some(512 << 20)
        }),
        ("swap", Weight::Note, "swapoff", |facts| facts.has_swap = true),
    ];
    for (what, weight, remedy, change) in cases {
        let mut facts = whole();
        change(&mut facts);
        let found = findings(&facts);
        assert_eq!(found.len(), 1, "{what}: {found:?}");
        assert!(found[0].what.contains(what) && found[0].remedy.contains(remedy), "{found:?}");
        assert_eq!(found[0].weight, weight, "{what}");
    }
}

#[test]
fn all_findings_come_at_once_the_worst_first() {
    let facts =
        Facts { is_root: true, inotify: Some((1, 1)), groups: Some(Ok(Version::One)), ..Facts::default() };
    let weights: Vec<Weight> = findings(&facts).into_iter().map(|finding| finding.weight).collect();
    assert_eq!(weights, [Weight::Obstacle, Weight::Warning, Weight::Warning, Weight::Note]);
}

#[test]
fn on_a_machine_that_runs_containers_nothing_is_an_obstacle() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    let found = fixture.ask(&["preflight"], b"");
    let obstacles: Vec<_> =
        found.as_array().unwrap().iter().filter(|one| one["weight"] == "obstacle").collect();
    assert!(obstacles.is_empty(), "{obstacles:?}");
    assert_eq!(fixture.machine(), before);
}

#[test]
fn a_process_without_capabilities_is_told_which() {
    let Some(fixture) = Fixture::new() else { return };
    let program = env!("CARGO_BIN_EXE_node-runtime-try");
    let data = fixture.data();
    let line = format!(
        "exec setpriv --bounding-set -net_admin,-mknod --inh-caps -all {program} {} preflight",
        data.display()
    );
    let found = fixture.run("sh", &["-c", &line]);
    assert!(found.contains("this process does not have CAP_NET_ADMIN, CAP_MKNOD"), "{found}");
}
