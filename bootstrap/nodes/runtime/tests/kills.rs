//! A process that is killed at any step leaves nothing, or a container that the next server finds, uses or removes.

use serde_json::json;

use crate::world::{World, busybox, spec, text, wait_for};

/// The steps of a creation, of a start (by the server and by the supervisor), and of a removal.
pub const CREATE: [&str; 3] = ["record", "volumes", "prepared"];
pub const START: [&str; 9] =
    ["network", "supervised", "supervisor", "groups", "spawned", "named", "grouped", "unshared", "connected"];
pub const STARTED: &str = "started";
const REMOVE: [&str; 5] = ["removing", "killed", "released", "removed", "disconnected"];

#[test]
fn a_creation_that_was_killed_is_continued_or_removed() {
    let Some(world) = World::new() else { return };
    world.ask(&["list"], b"");
    let before = world.machine();
    for step in CREATE {
        for is_removed in [true, false] {
            world.end_at(step);
            assert!(!world.server(&["create"], &spec("one", busybox())).status.success());
            assert!(world.has_ended_there(), "{step}");
            let listed = world.ask(&["list"], b"");
            assert_eq!(listed[0]["name"], "one", "{step}: {listed}");
            if !is_removed && step != "prepared" {
                let refused = world.refused(&["start", "one"], b"");
                assert!(refused.contains("create it again"), "{refused}");
                world.create("one");
                world.ask(&["start", "one"], b"");
                assert_eq!(world.shell("one", "cat /var/lib/some/file"), "content\n", "{step}");
            }
            world.ask(&["remove", "one"], b"");
            assert_eq!(world.machine(), before, "{step}");
        }
    }
}

#[test]
fn a_start_that_was_killed_is_repeated_or_removed() {
    let Some(world) = World::new() else { return };
    world.ask(&["list"], b"");
    let before = world.machine();
    for step in START.into_iter().chain([STARTED]) {
        for is_removed in [true, false] {
            world.create("one");
            world.end_at(step);
            let output = world.server(&["start", "one"], b"");
            // At the last step, the supervisor is killed after it has said that the container runs.
            assert!(step == STARTED || !output.status.success(), "{step}: {}", text(&output.stdout));
            wait_for(step, || world.has_ended_there() && world.state("one") != "running");
            if !is_removed {
                let started = world.ask(&["start", "one"], b"");
                assert_eq!(started["state"], "running", "{step}");
                assert_eq!(world.shell("one", "echo runs"), "runs\n", "{step}");
            }
            world.ask(&["remove", "one"], b"");
            assert_eq!(world.machine(), before, "{step}");
        }
    }
}

#[test]
fn a_removal_that_was_killed_is_continued() {
    let Some(world) = World::new() else { return };
    world.ask(&["list"], b"");
    let before = world.machine();
    for step in REMOVE {
        world.create_and_start("one");
        world.end_at(step);
        assert!(!world.server(&["remove", "one"], b"").status.success());
        assert!(world.has_ended_there(), "{step}");
        let refused = world.server(&["start", "one"], b"");
        assert!(!refused.status.success(), "{step}");
        world.ask(&["remove", "one"], b"");
        assert_eq!(world.machine(), before, "{step}");
    }
}

#[test]
fn an_end_that_nobody_has_seen_is_cleaned_up_by_the_next_start_or_the_removal() {
    let Some(world) = World::new() else { return };
    world.ask(&["list"], b"");
    let before = world.machine();
    for is_removed in [true, false] {
        world.create_and_start("one");
        world.end_at("ended");
        world.ask(&["stop", "one", "10000"], b"");
        assert!(world.has_ended_there());
        assert_eq!(world.state("one"), json!({"stopped": {"code": null, "error": null}}));
        if !is_removed {
            world.ask(&["start", "one"], b"");
            world.shell("one", "true");
        }
        world.ask(&["remove", "one"], b"");
        assert_eq!(world.machine(), before);
    }
}

#[test]
fn a_container_ends_with_its_supervisor_and_is_started_again() {
    let Some(world) = World::new() else { return };
    world.ask(&["list"], b"");
    let before = world.machine();
    let started = world.create_and_start("one");
    let state = std::fs::read_to_string(world.data().join("containers/one/state.json")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    world.run("kill", &["-9", &state["supervisor"]["pid"].to_string()]);
    wait_for("the end", || world.state("one") == json!({"stopped": {"code": null, "error": null}}));
    let again = world.ask(&["start", "one"], b"");
    assert_eq!((&again["state"], &again["address"]), (&json!("running"), &started["address"]));
    world.shell("one", "true");
    world.ask(&["remove", "one"], b"");
    assert_eq!(world.machine(), before);
}
