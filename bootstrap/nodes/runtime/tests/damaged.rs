//! Files of the data directory that cannot be read.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::fixture::{Fixture, busybox, spec, text, wait_for};

/// The names of the containers in a list.
fn names(listed: &Value) -> Vec<&str> {
    listed.as_array().unwrap().iter().filter_map(|container| container["name"].as_str()).collect()
}

#[test]
fn a_container_that_runs_and_has_a_damaged_file_hinders_no_other_one_and_is_removed() {
    for (file, content) in [("state.json", ""), ("record.json", ""), ("record.json", "{\"spec\": 1}")] {
        let Some(fixture) = Fixture::new() else { return };
        fixture.create("kept");
        let before = fixture.machine();
        let address = fixture.create_and_start("one")["address"].clone();
        fs::write(fixture.data().join("containers/one").join(file), content).unwrap();
        let listed = fixture.ask(&["list"], b"");
        assert_eq!(names(&listed), ["kept", "one"]);
        let error = listed[1]["state"]["stopped"]["error"].as_str().unwrap();
        assert!(error.contains(file) && error.contains("(firstlight nodes delete one)"), "{error}");
        for (verb, input) in [
            (&["start", "one"][..], vec![]),
            (&["stop", "one", "1"], vec![]),
            (&["create"], spec("one", busybox())),
        ] {
            let refused = fixture.refused(verb, &input);
            let is_told =
                refused.contains("firstlight nodes delete one") || refused.contains("there is a container");
            assert!(is_told, "{file} {verb:?}: {refused}");
        }
        let two = fixture.create_and_start("two");
        assert_ne!(two["address"], address, "{file}");
        fixture.shell("two", &format!("ping -c 1 -W 5 {}", address.as_str().unwrap()));
        fixture.ask(&["remove", "two"], b"");
        fixture.ask(&["remove", "one"], b"");
        assert_eq!(names(&fixture.ask(&["list"], b"")), ["kept"]);
        let identity = fs::read_to_string(fixture.data().join("identity")).unwrap();
        wait_for("the end of the link", || {
            !fixture.run("ip", &["-o", "link"]).contains(&format!("fl{identity}v"))
        });
        fixture.ask(&["remove", "kept"], b"");
        fixture.create("kept");
        assert_eq!(fixture.machine(), before, "{file}");
    }
}

#[test]
fn a_container_that_has_ended_is_started_again_without_what_its_supervisor_said() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    fixture.ask(&["kill", "one"], b"");
    fs::write(fixture.data().join("containers/one/state.json"), "").unwrap();
    assert_eq!(fixture.ask(&["start", "one"], b"")["state"], "running");
}

#[test]
fn a_removal_that_was_interrupted_goes_on_without_its_record() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    fixture.create_and_start("one");
    fixture.end_at("removing");
    fixture.server(&["remove", "one"], b"");
    fs::write(fixture.data().join("containers/one/removing.json"), "").unwrap();
    assert_eq!(names(&fixture.ask(&["list"], b"")), ["one"]);
    fixture.ask(&["remove", "one"], b"");
    assert_eq!(fixture.machine(), before);
}

#[test]
fn nothing_runs_on_without_a_record() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    for files in [&["record.json"][..], &["record.json", "state.json"]] {
        let pid = fixture.create_and_start("one")["pid"].clone();
        files
            .iter()
            .for_each(|file| fs::remove_file(fixture.data().join("containers/one").join(file)).unwrap());
        assert_eq!(names(&fixture.ask(&["list"], b"")), [] as [&str; 0]);
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{files:?}");
        assert_eq!(fixture.machine(), before, "{files:?}");
    }
}

#[test]
fn a_container_ends_with_its_folder() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    for is_paused in [false, true] {
        let pid = fixture.create_and_start("one")["pid"].clone();
        if is_paused {
            fixture.ask(&["pause", "one"], b"");
        }
        fs::remove_dir_all(fixture.data().join("containers/one")).unwrap();
        wait_for("the end of its init", || !Path::new(&format!("/proc/{pid}")).exists());
        wait_for("nothing is left", || {
            fixture.ask(&["list"], b"");
            fixture.machine() == before
        });
    }
}

/// The old one notices only then that its folder is gone.
#[test]
fn a_container_takes_the_place_of_one_whose_folder_is_gone() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    let old = fixture.create_and_start("one")["pid"].clone();
    fs::remove_dir_all(fixture.data().join("containers/one")).unwrap();
    let new = fixture.create_and_start("one")["pid"].clone();
    wait_for("the end of the old one", || !Path::new(&format!("/proc/{old}")).exists());
    fixture.shell("one", "ping -c 6 -W 1 127.0.0.1 >/dev/null && ip addr show eth0");
    assert_eq!(fixture.ask(&["inspect", "one"], b"")["pid"], new);
    fixture.ask(&["remove", "one"], b"");
    assert_eq!(fixture.machine(), before);
}

#[test]
fn a_file_between_the_folders_of_containers_is_no_container() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create("one");
    fs::write(fixture.data().join("containers/two"), "").unwrap();
    assert_eq!(names(&fixture.ask(&["list"], b"")), ["one"]);
    assert_eq!(fixture.ask(&["inspect", "two"], b""), Value::Null);
    fixture.ask(&["remove", "one"], b"");
    assert_eq!(text(&fixture.server(&["list"], b"").stdout).trim(), "[]");
}
