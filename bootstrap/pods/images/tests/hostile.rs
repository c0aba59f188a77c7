//! Damaged and hostile images are refused by name, and nothing of them remains.

use std::fs;

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
fn damaged_images_are_refused_by_name() {
    let good = || layer(&[Entry::File("manager", &"x".repeat(5000))]);
    for (fault, expected) in [
        (Fault { architecture: Some("riscv64"), ..Fault::default() }, "it is an image for linux/riscv64"),
        (Fault { spoil: Some(|bytes| bytes.truncate(bytes.len() / 2)), ..Fault::default() }, "layer"),
        (Fault { spoil: Some(|bytes| *bytes = vec![0; 600]), ..Fault::default() }, "layer"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = archive(folder.path(), &[good()], &fault);
        let error = unpack(folder.path(), &path).unwrap_err();
        assert!(error.contains(expected) && error.contains("image.tar"), "{error}");
        assert_eq!(fs::read_dir(folder.path().join("images")).unwrap().count(), 0);
    }
}
