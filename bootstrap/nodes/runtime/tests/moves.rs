//! A data directory that moves.

use std::fs;

use serde_json::{Value, json};

use crate::fixture::{Fixture, busybox, spec, text};

#[test]
fn a_data_directory_moves() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    // Also its image is in it.
    let image = fixture.data().join("images/busybox");
    fs::create_dir(fixture.data().join("images")).unwrap();
    fixture.run("cp", &["-a", busybox().to_str().unwrap(), image.to_str().unwrap()]);
    fixture.ask(&["create"], &spec("one", &image));
    fixture.ask(&["start", "one"], b"");
    let other = fixture.folder.path().join("other");
    fs::rename(fixture.data(), &other).unwrap();
    let done = |arguments: &[&str]| {
        let output = fixture.server_at(&other, arguments, b"");
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    done(&["exec", "one", "5000", "true"]);
    done(&["stop", "one", "10000"]);
    let inspected: Value = serde_json::from_str(&done(&["inspect", "one"])).unwrap();
    assert_eq!(inspected["state"], json!({"stopped": {"code": 7, "error": null}}));
    assert_eq!(inspected["image"], json!(other.join("images/busybox")));
    assert_eq!(done(&["console", "one"]), "init runs as 1\nbye\n");
    assert!(!fixture.data().exists(), "its supervisor has made the earlier folder again");
    done(&["start", "one"]);
    done(&["stop", "one", "10000"]);
    done(&["remove", "one"]);
    fs::rename(&other, fixture.data()).unwrap();
    assert_eq!(fixture.machine(), before);
}

#[test]
fn an_image_that_an_earlier_version_recorded_is_found_after_the_data_directory_moved() {
    let Some(fixture) = Fixture::new() else { return };
    let image = fixture.data().join("images/busybox");
    fs::create_dir_all(fixture.data().join("images")).unwrap();
    fixture.run("cp", &["-a", busybox().to_str().unwrap(), image.to_str().unwrap()]);
    fixture.ask(&["create"], &spec("one", &image));
    let path = fixture.data().join("containers/one/record.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(record["spec"]["image"], "images/busybox");
    record["spec"]["image"] = json!(fixture.folder.path().join("earlier/nodes/images/busybox"));
    fs::write(&path, record.to_string()).unwrap();
    assert_eq!(fixture.ask(&["start", "one"], b"")["image"], json!(image));
    fixture.ask(&["remove", "one"], b"");
}
