//! What files are after each way to write them.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;

use files::{
    append, behind_links, lock, make_folder, open, publish, publish_folder, replace, tail, try_lock,
    try_lock_shared, write,
};

#[test]
fn a_file_is_replaced_whole_and_has_its_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/below/file");
    write(&path, 0o600, b"one").unwrap();
    write(&path, 0o600, b"two").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"two");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing beside it");
}

#[test]
fn a_file_that_cannot_be_written_leaves_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    write(&path, 0o644, b"old").unwrap();
    let failed = replace(&path, 0o644, |file| {
        file.write_all(b"half")?;
        anyhow::bail!("no more")
    });
    assert!(format!("{:#}", failed.unwrap_err()).contains(&path.display().to_string()));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A process that was interrupted left a file that others can read, or somebody put a link there.
#[test]
fn what_is_beside_a_file_is_not_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let (path, beside) = (folder.path().join("file"), folder.path().join("file.new"));
    let other = folder.path().join("other");
    fs::write(&other, "of somebody else").unwrap();
    std::os::unix::fs::symlink(&other, &beside).unwrap();
    write(&path, 0o600, b"secret").unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"of somebody else");
    fs::write(&beside, "left").unwrap();
    write(&path, 0o600, b"secret").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_arrived_in_parts_and_folders_are_published() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for part in ["one ", "two"] {
        append(&at("part"), 0o600).unwrap().write_all(part.as_bytes()).unwrap();
    }
    publish(&at("part"), &at("whole")).unwrap();
    assert_eq!(fs::read(at("whole")).unwrap(), b"one two");
    make_folder(&at("new/deep"), 0o755).unwrap();
    fs::write(at("new/deep/file"), "x").unwrap();
    publish_folder(&at("new"), &at("ready")).unwrap();
    assert_eq!(fs::read(at("ready/deep/file")).unwrap(), b"x");
    assert!(!at("part").exists() && !at("new").exists());
}

#[test]
fn a_lock_is_that_of_its_path_until_its_file_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("locks/one");
    let alone = try_lock(&path).unwrap().unwrap();
    assert!(try_lock(&path).unwrap().is_none() && try_lock_shared(&path).unwrap().is_none());
    drop(alone);
    let shared = [try_lock_shared(&path).unwrap().unwrap(), try_lock_shared(&path).unwrap().unwrap()];
    assert!(try_lock(&path).unwrap().is_none());
    drop(shared);
    let removed = lock(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert!(try_lock(&path).unwrap().is_some(), "another file, of which nobody has the lock");
    drop(removed);
}

/// Each would keep whoever reads it waiting for ever.
#[test]
fn only_regular_files_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    fs::write(at("file"), "content").unwrap();
    std::os::unix::fs::symlink("file", at("link")).unwrap();
    for name in ["file", "link"] {
        assert_eq!(std::io::read_to_string(open(&at(name)).unwrap()).unwrap(), "content");
    }
    let refused = |path: &std::path::Path| open(path).unwrap_err().to_string();
    assert_eq!(refused(&at("pipe")), "it is a named pipe and no regular file");
    assert_eq!(refused(folder.path()), "it is a folder and no regular file");
    assert_eq!(refused(std::path::Path::new("/dev/zero")), "it is a device and no regular file");
    assert_eq!(open(&at("nothing")).unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn the_end_of_a_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    for (content, most, expected) in
        [("", 4, ""), ("abc", 4, "abc"), ("abcd", 4, "abcd"), ("abcde", 4, "bcde"), ("abc", 0, "")]
    {
        fs::write(&path, content).unwrap();
        let read = tail(open(&path).unwrap(), most).unwrap();
        assert_eq!(String::from_utf8(read).unwrap(), expected, "the last {most} bytes of {content:?}");
    }
}

/// A rename would take them from the machine.
#[test]
fn only_regular_files_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    std::os::unix::fs::symlink("/dev/null", at("link")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("from"), "content").unwrap();
    for (name, kind) in [("socket", "a socket"), ("link", "a device"), ("folder", "a folder")] {
        let expected = format!("cannot write {}: it is {kind} and no regular file", at(name).display());
        assert_eq!(format!("{:#}", write(&at(name), 0o600, b"content").unwrap_err()), expected);
        assert_eq!(format!("{:#}", publish(&at("from"), &at(name)).unwrap_err()), expected);
    }
    assert_eq!(fs::read_link(at("link")).unwrap(), std::path::Path::new("/dev/null"));
    publish(&at("from"), &at("new")).unwrap();
    write(&at("new"), 0o600, b"another").unwrap();
    assert_eq!(fs::read(at("new")).unwrap(), b"another");
}

#[test]
fn the_file_behind_links_is_found_and_its_links_stay() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (to, name) in [("second", "first"), ("file", "second"), ("loop", "loop"), ("/nowhere/file", "far")] {
        std::os::unix::fs::symlink(to, at(name)).unwrap();
    }
    assert_eq!(behind_links(&at("plain")).unwrap(), at("plain"));
    assert_eq!(behind_links(&at("far")).unwrap(), std::path::Path::new("/nowhere/file"));
    assert!(behind_links(&at("loop")).unwrap_err().to_string().contains("is a link that leads to itself"));
    write(&behind_links(&at("first")).unwrap(), 0o600, b"content").unwrap();
    assert_eq!(fs::read_link(at("first")).unwrap(), std::path::Path::new("second"));
    assert_eq!(fs::read(at("file")).unwrap(), b"content");
}
