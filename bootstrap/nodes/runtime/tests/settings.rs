//! Settings of the kernel that containers need: raised with the first container, restored with the last one.

use node_runtime::settings::{Raise, SETTINGS, Values, to_raise, to_restore};

use crate::fixture::{Fixture, wait_for};

/// Values in the order of [`SETTINGS`]; what is not there is no value.
fn values<const N: usize>(all: [(usize, i64); N]) -> Values {
    all.into_iter().map(|(index, value)| (SETTINGS[index].name, value)).collect()
}

/// The values of a machine that has all settings.
fn machine(instances: i64, watches: i64, forward: i64) -> Values {
    values([(0, instances), (1, watches), (2, forward)])
}

const FORWARD: &str = "firstlight: net.ipv4.ip_forward was 0";
const INSTANCES: &str = "firstlight: fs.inotify.max_user_instances was 128";
const BOTH: &str = "firstlight: fs.inotify.max_user_instances was 128, net.ipv4.ip_forward was 0";
const ALL: &str = "firstlight: fs.inotify.max_user_instances was 128, fs.inotify.max_user_watches was 8192, net.ipv4.ip_forward was 0";

#[test]
fn what_is_too_low_is_remembered_and_raised() {
    type Case =
        (&'static str, Values, Option<&'static str>, &'static [&'static str], Option<&'static str>, Values);
    let raised = || machine(8192, 524_288, 1);
    let cases: [Case; 13] = [
        ("everything is low", machine(128, 8192, 0), None, &[], Some(ALL), raised()),
        ("everything is high", raised(), None, &[], None, values([])),
        ("some are higher", machine(128, 600_000, 2), None, &[], Some(INSTANCES), values([(0, 8192)])),
        ("a kernel without inotify", values([(2, 0)]), None, &[], Some(FORWARD), values([(2, 1)])),
        ("the second container", raised(), Some(ALL), &[], None, values([])),
        ("a process has ended before it wrote", machine(128, 8192, 0), Some(ALL), &[], None, raised()),
        (
            "an alias of ip_forward alone",
            machine(128, 524_288, 1),
            Some(FORWARD),
            &[],
            Some(BOTH),
            values([(0, 8192)]),
        ),
        (
            "somebody has lowered it",
            machine(100, 524_288, 1),
            Some(INSTANCES),
            &[],
            Some("firstlight: fs.inotify.max_user_instances was 100"),
            values([(0, 8192)]),
        ),
        (
            "an alias of somebody",
            machine(128, 524_288, 1),
            Some("uplink"),
            &["lan"],
            Some(INSTANCES),
            values([(0, 8192)]),
        ),
        ("another data directory has raised it", raised(), None, &["lan", ALL], Some(ALL), values([])),
        (
            "one with ip_forward alone",
            machine(128, 524_288, 1),
            None,
            &[FORWARD],
            Some(BOTH),
            values([(0, 8192)]),
        ),
        ("two of them", raised(), None, &[FORWARD, INSTANCES], Some(BOTH), values([])),
        (
            "no numbers and unknown names",
            raised(),
            None,
            &[
                "firstlight: net.ipv4.ip_forward was x, kernel.panic was 3",
                "firstlight: ",
                "net.ipv4.ip_forward was 0",
            ],
            None,
            values([]),
        ),
    ];
    for (what, now, own, others, alias, write) in cases {
        let alias = alias.map(str::to_owned);
        assert_eq!(to_raise(&now, own, others), Raise { alias, write }, "{what}");
    }
    let longest = to_raise(&machine(i64::MIN, i64::MIN, i64::MIN), None, &[]).alias.unwrap();
    assert!(longest.len() <= 255, "the kernel keeps no more: {longest}");
}

#[test]
fn what_is_remembered_is_restored_unless_somebody_needs_or_has_changed_it() {
    type Case = (&'static str, Values, Option<&'static str>, &'static [&'static str], Values);
    let raised = || machine(8192, 524_288, 1);
    let cases: [Case; 10] = [
        ("all", raised(), Some(ALL), &[], machine(128, 8192, 0)),
        ("an alias of ip_forward alone", raised(), Some(FORWARD), &["lan"], values([(2, 0)])),
        ("it was high enough", raised(), Some("firstlight: net.ipv4.ip_forward was 1"), &[], values([])),
        ("nothing was changed", raised(), None, &[], values([])),
        ("an alias of somebody", raised(), Some("uplink"), &[], values([])),
        ("another data directory needs all", raised(), Some(ALL), &[ALL], values([])),
        ("another one needs one", raised(), Some(ALL), &[FORWARD], values([(0, 128), (1, 8192)])),
        ("somebody has raised one", machine(9000, 524_288, 1), Some(ALL), &[], values([(1, 8192), (2, 0)])),
        (
            "somebody has lowered one",
            machine(8192, 524_288, 0),
            Some(ALL),
            &[],
            values([(0, 128), (1, 8192)]),
        ),
        ("a kernel without inotify", values([(2, 1)]), Some(ALL), &[], values([(2, 0)])),
    ];
    for (what, now, own, others, write) in cases {
        assert_eq!(to_restore(&now, own, others), write, "{what}");
    }
}

#[test]
fn the_first_container_raises_them_and_the_last_one_restores_them() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    fixture.create("one");
    assert_eq!(fixture.settings(), "128\n8192\n0");
    fixture.ask(&["start", "one"], b"");
    assert_eq!(fixture.settings(), "8192\n524288\n1");
    fixture.create_and_start("two");
    fixture.ask(&["remove", "one"], b"");
    assert_eq!(fixture.settings(), "8192\n524288\n1", "there is a container");
    fixture.ask(&["remove", "two"], b"");
    assert_eq!(fixture.machine(), before);
}

#[test]
fn what_is_high_enough_or_somebody_elses_stays() {
    let Some(fixture) = Fixture::new() else { return };
    let set =
        |name: &str, value: &str| fixture.run("sh", &["-c", &format!("echo {value} > /proc/sys/{name}")]);
    set("fs/inotify/max_user_instances", "9000");
    set("net/ipv4/ip_forward", "1");
    fixture.create_and_start("one");
    assert_eq!(fixture.settings(), "9000\n524288\n1");
    set("fs/inotify/max_user_watches", "600000");
    fixture.ask(&["remove", "one"], b"");
    assert_eq!(fixture.settings(), "9000\n600000\n1");
}

#[test]
fn packets_are_forwarded_as_long_as_another_bridge_is_there() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    fixture.run("ip", &["link", "add", "docker0", "type", "bridge"]);
    fixture.ask(&["remove", "one"], b"");
    assert_eq!(fixture.settings(), "128\n8192\n1");
    fixture.run("ip", &["link", "del", "docker0"]);
    fixture.create_and_start("one");
    fixture.ask(&["remove", "one"], b"");
    assert_eq!(fixture.settings(), "128\n8192\n1", "it was 1 before");
}

#[test]
fn a_container_starts_where_the_limits_of_inotify_cannot_be_written() {
    let Some(fixture) = Fixture::new() else { return };
    let warns = || {
        let found = fixture.ask(&["preflight"], b"");
        found.as_array().unwrap().iter().any(|one| one["what"].as_str().unwrap().contains("128 instances"))
    };
    assert!(!warns(), "the first container raises them");
    fixture.run("mount", &["-o", "remount,bind,ro", "/proc/sys/fs/inotify"]);
    assert!(warns());
    let before = fixture.machine();
    fixture.create_and_start("one");
    assert_eq!(fixture.settings(), "128\n8192\n1");
    fixture.ask(&["remove", "one"], b"");
    assert_eq!(fixture.machine(), before);
}

#[test]
fn the_kernel_has_the_limits_of_inotify() {
    let Some(fixture) = Fixture::with_inotify_of_machine() else { return };
    let limits = || {
        let number = |line: &str| line.parse::<i64>().unwrap();
        fixture.settings().lines().take(2).map(number).collect::<Vec<_>>()
    };
    // Processes that run containers in other networks raise and restore them, too: once nobody does during the sequence.
    wait_for("raised and restored", || {
        let before = limits();
        fixture.create_and_start("one");
        let during = limits();
        fixture.ask(&["remove", "one"], b"");
        let least = SETTINGS.iter().map(|setting| setting.least);
        let raised: Vec<i64> = before.iter().zip(least).map(|(value, least)| least.max(*value)).collect();
        during == raised && limits() == before
    });
}
