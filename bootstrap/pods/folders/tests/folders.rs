//! A volume: nothing outside of it is reached, whatever a container has put into it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};

use pod_folders::Folder;

#[test]
fn no_link_is_followed() {
    let all = tempfile::tempdir().unwrap();
    let (volume, outside) = (all.path().join("volume"), all.path().join("outside"));
    for folder in [volume.join("own"), outside.clone()] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(outside.join("key"), "secret").unwrap();
    fs::write(volume.join("own/key"), "own").unwrap();
    symlink(&outside, volume.join("absolute")).unwrap();
    symlink("../outside", volume.join("relative")).unwrap();
    symlink("own", volume.join("inside")).unwrap();
    symlink("/proc/self/root", volume.join("magic")).unwrap();
    symlink(outside.join("key"), volume.join("file")).unwrap();
    let folder = Folder::open(&volume).unwrap();
    for path in ["absolute", "relative/new", "inside/new", "magic/tmp", "own/../absolute", "../outside/new"] {
        assert!(folder.find_or_make(path, 0o755).is_err(), "{path}");
        assert!(folder.create(&format!("{path}/file"), 0o600).is_err(), "{path}");
    }
    for path in ["file", "absolute/key", "relative/key", "inside/key"] {
        assert_eq!(folder.read(path, 100).unwrap(), None, "{path}");
        assert!(folder.find(path).is_err(), "{path}");
    }
    let error = format!("{:#}", folder.find("absolute").unwrap_err());
    assert!(error.contains("cannot open absolute: a part of it is a symbolic link"), "{error}");
    let error = format!("{:#}", folder.find("../outside").unwrap_err());
    assert!(error.contains("it leads out of its folder"), "{error}");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert!(Folder::open(&volume.join("absolute")).is_err());
    assert_eq!(folder.read("own/key", 3).unwrap().as_deref(), Some(&b"own"[..]));
}

#[test]
fn what_is_missing_is_made() {
    let all = tempfile::tempdir().unwrap();
    let folder = Folder::open(all.path()).unwrap();
    folder.find_or_make("a/b//c/", 0o777).unwrap();
    folder.make("a", 0o700).unwrap();
    for path in ["a", "a/b", "a/b/c"] {
        let mode = fs::metadata(all.path().join(path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o777, "{path}");
    }
    folder.create("a/x/file", 0o600).unwrap().write_all(b"text").unwrap();
    assert_eq!(fs::read_to_string(all.path().join("a/x/file")).unwrap(), "text");
    assert!(folder.create("a/x/file", 0o600).is_err());
}

#[test]
fn reading_is_limited_and_never_waits() {
    let all = tempfile::tempdir().unwrap();
    let folder = Folder::open(all.path()).unwrap();
    fs::write(all.path().join("file"), [1; 10]).unwrap();
    for (most, expected) in [(9, None), (10, Some(vec![1; 10])), (11, Some(vec![1; 10]))] {
        assert_eq!(folder.read("file", most).unwrap(), expected, "{most}");
    }
    fs::File::create(all.path().join("sparse")).unwrap().set_len(1 << 40).unwrap();
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(&folder, "pipe", pipe, rustix::fs::Mode::RWXU, 0).unwrap();
    for name in ["sparse", "pipe", ".", "none"] {
        assert_eq!(folder.read(name, 10).unwrap(), None, "{name}");
    }
}
