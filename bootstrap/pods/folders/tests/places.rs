//! Places for mounts in the root folder of a container.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;

use pod_folders::{Missing, Root};

#[test]
fn links_lead_to_places_within_the_root_folder() {
    let all = tempfile::tempdir().unwrap();
    let outside = all.path().join("outside");
    let root = all.path().join("root");
    for folder in [&outside, &root.join("var")] {
        fs::create_dir_all(folder).unwrap();
    }
    // As images have them: what they lead to need not exist.
    symlink("/run", root.join("var/run")).unwrap();
    symlink("../run/stub/resolv.conf", root.join("resolv.conf")).unwrap();
    symlink(&outside, root.join("absolute")).unwrap();
    symlink("../../../..", root.join("upwards")).unwrap();
    symlink("again", root.join("again")).unwrap();
    symlink("two", root.join("one")).unwrap();
    symlink("three/four", root.join("two")).unwrap();
    let opened = Root::open(&root).unwrap();
    for (path, missing, made) in [
        ("/var/run/secrets/token", Missing::Folder, "run/secrets/token"),
        ("resolv.conf", Missing::File, "run/stub/resolv.conf"),
        ("/absolute/new", Missing::Folder, &format!(".{}/new", outside.display())),
        ("upwards/new", Missing::Folder, "new"),
        ("one", Missing::File, "three/four"),
        ("one", Missing::Folder, "three/four"),
        ("/", Missing::Folder, "."),
        ("dev/null", Missing::File, "dev/null"),
    ] {
        opened.place(path, missing).unwrap_or_else(|error| panic!("{path}: {error:#}"));
        assert!(root.join(made).exists(), "{path} did not make {made}");
    }
    assert!(root.join("run/stub/resolv.conf").is_file() && root.join("run/secrets/token").is_dir());
    assert!(opened.place("again/x", Missing::Folder).is_err());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert!(!all.path().join("new").exists());
}

#[test]
fn files_are_read_within_the_root_folder() {
    let all = tempfile::tempdir().unwrap();
    let root = all.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(all.path().join("key"), "secret").unwrap();
    fs::write(root.join("program"), "text").unwrap();
    symlink(all.path().join("key"), root.join("out")).unwrap();
    symlink("/program", root.join("in")).unwrap();
    let opened = Root::open(&root).unwrap();
    rustix::fs::mknodat(&opened, "pipe", rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    for (path, expected) in
        [("out", None), ("pipe", None), (".", None), ("in", Some("text")), ("/program", Some("text"))]
    {
        let found = opened.file(path).unwrap().map(|mut file| {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            text
        });
        assert_eq!(found.as_deref(), expected, "{path}");
    }
    for (most, is_read) in [(3, false), (4, true), (5, true)] {
        assert_eq!(opened.small("program", most).is_ok(), is_read, "{most}");
    }
}
