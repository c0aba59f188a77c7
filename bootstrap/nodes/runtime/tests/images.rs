//! Images that cannot be used.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::fixture::{Fixture, make_busybox, spec, write_program};

#[test]
fn an_image_that_cannot_be_used_is_refused_before_anything_is_made() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    let image = make_busybox("");
    let init = image.path().join("sbin/init");
    let foreign = [
        &b"\x7fELF\x02\x01\x01"[..],
        &[0; 11],
        &[0xf3 ^ u8::from(cfg!(target_arch = "riscv64")), 0],
        &[0; 44],
    ]
    .concat();
    type Case<'a> = (&'static str, Box<dyn Fn() + 'a>);
    let cases: [Case<'_>; 3] = [
        ("has no program /sbin/init", Box::new(|| fs::remove_file(&init).unwrap())),
        ("is for the architecture", Box::new(|| write_program(&init, &foreign))),
        ("is no folder", Box::new(|| fs::remove_dir_all(image.path()).unwrap())),
    ];
    for (expected, damage) in cases {
        damage();
        let refused = fixture.refused(&["create"], &spec("one", image.path()));
        assert!(
            refused.contains("container one cannot be created") && refused.contains(expected),
            "{refused}"
        );
        assert_eq!(fixture.machine(), before, "{expected}");
    }
}

#[test]
fn an_init_that_cannot_be_run_is_named_and_the_container_can_be_removed() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    let not_executable = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
    for (init, damage) in [("#!/no/such/shell\n", None), ("#!/bin/sh\n", Some(not_executable))] {
        let image = make_busybox(init);
        damage.iter().for_each(|damage| damage(&image.path().join("sbin/init")));
        fixture.ask(&["create"], &spec("one", image.path()));
        let refused = fixture.refused(&["start", "one"], b"");
        assert!(refused.contains("cannot run /sbin/init of the image"), "{refused}");
        let state = fixture.state("one");
        assert!(state["stopped"]["error"].as_str().unwrap().contains("cannot run /sbin/init"), "{state}");
        fixture.ask(&["remove", "one"], b"");
        assert_eq!(fixture.machine(), before);
    }
}

#[test]
fn links_of_an_image_lead_to_nothing_on_this_machine() {
    let Some(fixture) = Fixture::new() else { return };
    let image = make_busybox("#!/bin/sh\nwhile :; do sleep 1000; done\n");
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret\n").unwrap();
    let var = image.path().join("var");
    fs::remove_dir_all(&var).unwrap();
    std::os::unix::fs::symlink(outside.path(), &var).unwrap();
    let etc = image.path().join("etc");
    fs::remove_dir_all(&etc).unwrap();
    std::os::unix::fs::symlink(outside.path(), &etc).unwrap();
    fixture.ask(&["create"], &spec("one", image.path()));
    fixture.ask(&["start", "one"], b"");
    assert_eq!(
        fixture.shell("one", "ls /etc/; ls -d /var/secret || echo none").replace("secret", "?"),
        "hostname\nhosts\nresolv.conf\nnone\n"
    );
    fixture.ask(&["remove", "one"], b"");
    let left: Vec<_> =
        fs::read_dir(outside.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["secret"]);
}
