//! A process that is killed at any step leaves nothing, or a container that the next server finds, uses or removes.

use serde_json::json;

use crate::fixture::{Fixture, busybox, spec, text, wait_for};

/// The steps of a creation, of a start (by the server and by the supervisor), and of a removal.
pub const CREATE: [&str; 3] = ["record", "volumes", "prepared"];
pub const START: [&str; 9] =
    ["network", "supervised", "supervisor", "groups", "spawned", "named", "grouped", "unshared", "connected"];
pub const STARTED: &str = "started";
const REMOVE: [&str; 5] = ["removing", "killed", "released", "removed", "disconnected"];

#[test]
fn a_creation_that_was_killed_is_continued_or_removed() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    for step in CREATE {
        for is_removed in [true, false] {
            fixture.end_at(step);
            assert!(!fixture.server(&["create"], &spec("one", busybox())).status.success());
            assert!(fixture.has_ended_there(), "{step}");
            let listed = fixture.ask(&["list"], b"");
            assert_eq!(listed[0]["name"], "one", "{step}: {listed}");
            if !is_removed && step != "prepared" {
                let refused = fixture.refused(&["start", "one"], b"");
                assert!(refused.contains("create it again"), "{refused}");
                fixture.create("one");
                fixture.ask(&["start", "one"], b"");
                assert_eq!(fixture.shell("one", "cat /var/lib/some/file"), "content\n", "{step}");
            }
            fixture.ask(&["remove", "one"], b"");
            assert_eq!(fixture.machine(), before, "{step}");
        }
    }
}

#[test]
fn a_start_that_was_killed_is_repeated_or_removed() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    for step in START.into_iter().chain([STARTED]) {
        for is_removed in [true, false] {
            fixture.create("one");
            fixture.end_at(step);
            let output = fixture.server(&["start", "one"], b"");
            // At the last step, the supervisor is killed after it has said that the container runs.
            assert!(step == STARTED || !output.status.success(), "{step}: {}", text(&output.stdout));
            wait_for(step, || fixture.has_ended_there() && fixture.state("one") != "running");
            if !is_removed {
                let started = fixture.ask(&["start", "one"], b"");
                assert_eq!(started["state"], "running", "{step}");
                assert_eq!(fixture.shell("one", "echo runs"), "runs\n", "{step}");
            }
            fixture.ask(&["remove", "one"], b"");
            assert_eq!(fixture.machine(), before, "{step}");
        }
    }
}

#[test]
fn a_removal_that_was_killed_is_continued() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    for step in REMOVE {
        fixture.create_and_start("one");
        fixture.end_at(step);
        assert!(!fixture.server(&["remove", "one"], b"").status.success());
        assert!(fixture.has_ended_there(), "{step}");
        let refused = fixture.server(&["start", "one"], b"");
        assert!(!refused.status.success(), "{step}");
        fixture.ask(&["remove", "one"], b"");
        assert_eq!(fixture.machine(), before, "{step}");
    }
}

#[test]
fn an_end_that_nobody_has_seen_is_cleaned_up_by_the_next_start_or_the_removal() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    for is_removed in [true, false] {
        fixture.create_and_start("one");
        fixture.end_at("ended");
        fixture.ask(&["stop", "one", "10000"], b"");
        assert!(fixture.has_ended_there());
        assert_eq!(fixture.state("one"), json!({"stopped": {"code": null, "error": null}}));
        if !is_removed {
            fixture.ask(&["start", "one"], b"");
            fixture.shell("one", "true");
        }
        fixture.ask(&["remove", "one"], b"");
        assert_eq!(fixture.machine(), before);
    }
}

#[test]
fn a_container_ends_with_its_supervisor_and_is_started_again() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    let started = fixture.create_and_start("one");
    let state = std::fs::read_to_string(fixture.data().join("containers/one/state.json")).unwrap();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap();
    fixture.run("kill", &["-9", &state["supervisor"]["pid"].to_string()]);
    wait_for("the end", || fixture.state("one") == json!({"stopped": {"code": null, "error": null}}));
    let again = fixture.ask(&["start", "one"], b"");
    assert_eq!((&again["state"], &again["address"]), (&json!("running"), &started["address"]));
    fixture.shell("one", "true");
    fixture.ask(&["remove", "one"], b"");
    assert_eq!(fixture.machine(), before);
}
