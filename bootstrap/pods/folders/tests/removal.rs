//! The removal of what a container leaves behind.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use pod_folders::{Folder, remove};
use rustix::fs::{Mode, OFlags, mkdirat, openat};

/// Makes folders below each other, more than a path could name.
fn deep(top: &Folder, levels: usize) {
    let mut at: OwnedFd = top.find(".").unwrap();
    for level in 0..levels {
        mkdirat(&at, "d", Mode::RWXU).unwrap();
        if level % 50 == 0 {
            mkdirat(&at, "deep-1", Mode::RWXU).unwrap();
        }
        at = openat(&at, "d", OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
}

#[test]
fn a_tree_is_removed_however_deep() {
    let all = tempfile::tempdir().unwrap();
    let folder = Folder::open(all.path()).unwrap();
    for levels in [1, 63, 64, 65, 130, 3_000] {
        deep(&folder.make("tree", 0o755).unwrap(), levels);
        // A thread of tokio has a larger stack.
        let (folder, copy) = (Folder::open(all.path()).unwrap(), all.path().to_owned());
        let small = std::thread::Builder::new().stack_size(128 << 10);
        let removed = small.spawn(move || remove(folder.as_fd(), "tree")).unwrap().join().unwrap();
        removed.unwrap_or_else(|error| panic!("{levels}: {error:#}"));
        assert_eq!(fs::read_dir(copy).unwrap().count(), 0, "{levels}");
    }
}

#[test]
fn links_names_and_modes_are_no_obstacle() {
    let all = tempfile::tempdir().unwrap();
    let outside = all.path().join("outside");
    let tree = all.path().join("tree");
    for folder in [&outside, &tree.join("closed/inner")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(outside.join("victim"), "whole").unwrap();
    symlink(&outside, tree.join("closed/link")).unwrap();
    fs::write(tree.join(OsStr::from_bytes(b"\xff\xfe")), "").unwrap();
    for number in 0..3000 {
        fs::write(tree.join(format!("file-{number}")), "").unwrap();
    }
    fs::set_permissions(tree.join("closed/inner"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::set_permissions(tree.join("closed"), fs::Permissions::from_mode(0o100)).unwrap();
    symlink(&outside, all.path().join("link")).unwrap();
    let folder = Folder::open(all.path()).unwrap();
    for name in ["tree", "link", "none"] {
        remove(folder.as_fd(), name).unwrap();
    }
    assert_eq!(fs::read_to_string(outside.join("victim")).unwrap(), "whole");
    assert_eq!(fs::read_dir(all.path()).unwrap().count(), 1);
}
