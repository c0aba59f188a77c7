//! Damaged and hostile images are refused by name, and nothing of them remains.

use std::fs;

use bundle::Digest;
use container_images::limits;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use serde_json::json;

use super::archives::{Entry, Fault, archive, layer, unpack};

#[test]
fn no_layer_reaches_a_file_outside() {
    for (entries, expected) in [
        (vec![Entry::File("../escaped", "x")], "the path leads out of the image"),
        (vec![Entry::File("a/../../escaped", "x")], "the path leads out of the image"),
        (vec![Entry::File("/escaped", "x")], "the path is absolute"),
        (vec![Entry::HardLink("own", "../../escaped")], "its target leads out of the image"),
        (vec![Entry::HardLink("own", "/etc/hostname")], "its target leads out of the image"),
        (vec![Entry::File("a", "x"), Entry::File("a/b", "x")], "is no folder"),
        (vec![Entry::File(".wh...", "x")], "the whiteout names nothing"),
        (vec![Entry::File("../.wh.victim", "")], "the path leads out of the image"),
        (vec![Entry::File("/tmp/.wh.victim", "")], "the path is absolute"),
        (vec![Entry::Device("../escaped")], "the path leads out of the image"),
        (
            vec![Entry::Link("out", "../.."), Entry::HardLink("own", "out/../escaped")],
            "its target leads out of the image",
        ),
        (vec![Entry::HardLink("own", "nothing")], "its target nothing does not exist"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = archive(folder.path(), &[layer(&entries)], &Fault::default());
        let error = unpack(folder.path(), &path).unwrap_err();
        assert!(error.contains(expected), "{error}");
        assert!(!folder.path().join("escaped").exists() && !folder.path().join("images/escaped").exists());
        assert_eq!(fs::read_dir(folder.path().join("images")).unwrap().count(), 0, "something remains");
    }
}

#[test]
fn links_stay_within_the_image() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let target = outside.display().to_string();
    let entries = [
        Entry::Link("absolute", &target),
        Entry::File("absolute/file", "x"),
        Entry::Link("upwards", "../../../../../../tmp"),
        Entry::File("upwards/firstlight-escaped", "x"),
        Entry::HardLink("copy", "absolute"),
    ];
    let path = archive(folder.path(), &[layer(&entries)], &Fault::default());
    // The folders to which the links lead do not exist in the image, so nothing can be written through them.
    let error = unpack(folder.path(), &path).unwrap_err();
    assert!(error.contains("absolute"), "{error}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert!(!fs::exists("/tmp/firstlight-escaped").unwrap());
}

#[test]
fn nothing_outside_is_removed_or_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("victim"), "whole").unwrap();
    let target = outside.display().to_string();
    for entries in [
        vec![Entry::Link("out", &target), Entry::File("out/.wh.victim", "")],
        vec![Entry::Link("out", &target), Entry::File("out/.wh..wh..opq", "")],
        vec![Entry::Link("out", &target), Entry::File("out/victim", "x")],
        vec![Entry::Link("out", &target), Entry::HardLink("own", "out/victim"), Entry::File("own", "x")],
        vec![Entry::Link("out", "/proc/self/root"), Entry::File("out/victim", "x")],
    ] {
        let path = archive(folder.path(), &[layer(&entries)], &Fault::default());
        assert!(unpack(folder.path(), &path).is_err());
        assert_eq!(fs::read_to_string(outside.join("victim")).unwrap(), "whole");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(fs::read_dir(folder.path().join("images")).unwrap().count(), 0, "something remains");
    }
}

#[test]
fn devices_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let entries = [Entry::Device("dev/sda"), Entry::Pipe("pipe"), Entry::File("manager", "x")];
    let path = archive(folder.path(), &[layer(&entries)], &Fault::default());
    let unpacked = unpack(folder.path(), &path).unwrap();
    assert!(!unpacked.root.join("dev/sda").exists() && !unpacked.root.join("pipe").exists());
    assert!(unpacked.root.join("manager").exists());
}

#[test]
fn a_layer_that_expands_without_end_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let zeros = "\0".repeat(usize::try_from(limits::EXPANSION_FREE).unwrap() * 3 / 2);
    let path = archive(folder.path(), &[layer(&[Entry::File("zeros", &zeros)])], &Fault::default());
    let error = unpack(folder.path(), &path).unwrap_err();
    assert!(error.contains("expands to more than"), "{error}");
    assert_eq!(fs::read_dir(folder.path().join("images")).unwrap().count(), 0);
}

/// Only root can make a disk that is full; it exists for one thread.
#[test]
fn a_full_disk_leaves_no_half_image() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let tried = std::thread::spawn(|| {
        let folder = tempfile::tempdir().unwrap();
        let small = folder.path().join("images");
        fs::create_dir(&small).unwrap();
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).unwrap();
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).unwrap();
        mount("tmpfs", &small, "tmpfs", MountFlags::empty(), c"size=128k").unwrap();
        let content = "x".repeat(400_000);
        let path = archive(folder.path(), &[layer(&[Entry::File("manager", &content)])], &Fault::default());
        let error = unpack(folder.path(), &path).unwrap_err();
        assert!(error.contains("manager") && error.contains("No space left on device"), "{error}");
        assert_eq!(fs::read_dir(&small).unwrap().count(), 0);
        // What is small enough is unpacked all the same.
        let path = archive(folder.path(), &[layer(&[Entry::File("manager", "x")])], &Fault::default());
        assert!(unpack(folder.path(), &path).is_ok());
    });
    tried.join().unwrap();
}

#[test]
fn damaged_images_are_refused_by_name() {
    let good = || layer(&[Entry::File("manager", &"x".repeat(5000))]);
    for (fault, expected) in [
        (Fault { architecture: Some("riscv64"), ..Fault::default() }, "it is an image for linux/riscv64"),
        (Fault { spoil: Some(|bytes| bytes.truncate(bytes.len() / 2)), ..Fault::default() }, "layer"),
        (Fault { spoil: Some(|bytes| *bytes = vec![0; 600]), ..Fault::default() }, "layer"),
        (Fault { spoil: Some(|bytes| bytes.extend([7; 600])), ..Fault::default() }, "layer"),
        (
            Fault {
                change: Some(|config| config["rootfs"]["diff_ids"][0] = json!(Digest::of(b"other"))),
                ..Fault::default()
            },
            "and the config says sha256:",
        ),
        (
            Fault { change: Some(|config| config["rootfs"]["diff_ids"] = json!([])), ..Fault::default() },
            "the config has 0 layers, and manifest.json 1",
        ),
        (
            Fault { change: Some(|config| config["os"] = json!("windows")), ..Fault::default() },
            "it is an image for windows",
        ),
        (Fault { change: Some(|config| *config = json!("nothing")), ..Fault::default() }, "config"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = archive(folder.path(), &[good()], &fault);
        let error = unpack(folder.path(), &path).unwrap_err();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("image.tar") || error.contains("the layer sha256:"), "{error}");
        assert_eq!(fs::read_dir(folder.path().join("images")).unwrap().count(), 0);
    }
}

#[test]
fn an_archive_that_is_cut_off_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path =
        archive(folder.path(), &[layer(&[Entry::File("manager", &"x".repeat(50_000))])], &Fault::default());
    let whole = fs::read(&path).unwrap();
    for part in [0, 100, 512, 700, whole.len() / 2, whole.len() - 3000] {
        fs::write(&path, &whole[..part]).unwrap();
        let error = unpack(folder.path(), &path).unwrap_err();
        assert!(error.contains("image.tar"), "{part}: {error}");
        assert_eq!(fs::read_dir(folder.path().join("images")).unwrap().count(), 0, "{part}");
    }
}
