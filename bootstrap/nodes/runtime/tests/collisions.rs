//! Names, addresses and ranges that are taken.

use serde_json::{Value, json};

use crate::fixture::{Fixture, busybox, spec, text};

#[test]
fn a_name_is_taken_once() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    let refused = fixture.refused(&["create"], &spec("one", busybox()));
    assert!(refused.contains("there is a container of this name"), "{refused}");
    assert_eq!(fixture.state("one"), "running");
    for name in ["", "-a", "a-", "a/b", "..", "A", &"a".repeat(64)] {
        let refused = fixture.refused(&["create"], &spec(name, busybox()));
        assert!(refused.contains("is no name of a container"), "{name:?}: {refused}");
    }
}

#[test]
fn an_address_is_taken_once() {
    let Some(fixture) = Fixture::new() else { return };
    let address = fixture.create_and_start("one")["address"].clone();
    let mut second: Value = serde_json::from_slice(&spec("two", busybox())).unwrap();
    for (wanted, expected) in [
        (address, "another container has"),
        (json!("192.0.2.7"), "is no address for a container in the network"),
    ] {
        second["address"] = wanted;
        let refused = fixture.refused(&["create"], second.to_string().as_bytes());
        assert!(refused.contains(expected), "{refused}");
        assert_eq!(fixture.ask(&["inspect", "two"], b""), Value::Null, "nothing is left");
    }
}

#[test]
fn a_range_that_the_machine_uses_is_not_taken() {
    let Some(fixture) = Fixture::new() else { return };
    // All candidates but one.
    fixture.run("ip", &["link", "add", "taken", "type", "bridge"]);
    fixture.run("ip", &["link", "set", "taken", "up"]);
    for (index, range) in [
        "10.93.0.1/17",
        "10.93.128.1/18",
        "10.93.224.1/19",
        "10.93.208.1/20",
        "10.93.200.1/21",
        "10.93.196.1/22",
        "10.93.194.1/23",
        "10.93.193.1/24",
    ]
    .into_iter()
    .enumerate()
    {
        fixture.run("ip", &["addr", "add", range, "dev", "taken"]);
        assert!(index < 8);
    }
    fixture.create("one");
    assert_eq!(fixture.ask(&["inspect", "one"], b"")["address"], "10.93.192.2");
    fixture.ask(&["remove", "one"], b"");
    fixture.run("ip", &["addr", "add", "10.93.192.1/24", "dev", "taken"]);
    let refused = fixture.refused(&["create"], &spec("one", busybox()));
    assert!(refused.contains("all ranges of 10.93.0.0/16 collide with routes of this machine"), "{refused}");
}

#[test]
fn a_link_of_another_program_with_the_name_of_the_bridge_is_left_alone() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create("one");
    let identity = std::fs::read_to_string(fixture.data().join("identity")).unwrap();
    let name = format!("fl{identity}");
    fixture.run("ip", &["link", "add", &name, "type", "veth", "peer", "name", "other"]);
    let refused = fixture.refused(&["start", "one"], b"");
    assert!(refused.contains(&format!("ip link delete {name}")), "{refused}");
    fixture.run("ip", &["link", "delete", &name]);
    fixture.ask(&["start", "one"], b"");
}

#[test]
fn two_data_directories_on_one_machine_do_not_meet() {
    let Some(fixture) = Fixture::new() else { return };
    let other = fixture.folder.path().join("other");
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    let at_other = |arguments: &[&str], input: &[u8]| {
        let output = fixture.server_at(&other, arguments, input);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    let first = fixture.create_and_start("one");
    at_other(&["create"], &spec("one", busybox()));
    let second: Value = serde_json::from_str(&at_other(&["start", "one"], b"")).unwrap();
    assert_ne!(first["address"], second["address"]);
    // They reach each other through the machine.
    fixture.shell("one", &format!("ping -c 1 -W 5 {}", second["address"].as_str().unwrap()));
    fixture.ask(&["remove", "one"], b"");
    assert_eq!(fixture.settings(), "8192\n524288\n1", "the other one needs them");
    at_other(&["exec", "one", "5000", "true"], b"");
    at_other(&["remove", "one"], b"");
    assert_eq!(fixture.settings(), "128\n8192\n0");
    assert_eq!(fixture.machine(), before);
}
