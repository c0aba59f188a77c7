//! The root folders of containers: as long as the machine runs, and whatever the containers made of them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::thread;

use kubelet::folders::Folders;
use kubelet::root_copy::{ROOTS, copy};
use rustix::process::{Uid, geteuid};
use rustix::thread::set_thread_uid;

/// The user that has no rights on any machine.
const NOBODY: u32 = 65_534;

/// Gives a folder and everything in it to a user.
fn give(path: &Path) {
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path()));
    }
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

/// Acts as a user to whom everything in `machine` belongs, and whom rights can stop.
fn without_root(machine: &Path, act: impl FnOnce() + Send + 'static) {
    if !geteuid().is_root() {
        return act();
    }
    give(machine);
    as_nobody(act);
}

/// Acts as the user without rights.
fn as_nobody(act: impl FnOnce() + Send + 'static) {
    // Only this thread becomes another user.
    let other = thread::spawn(move || {
        set_thread_uid(Uid::from_raw(NOBODY)).unwrap();
        act();
    });
    other.join().unwrap();
}

#[test]
fn copies_last_until_the_machine_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let (image, pods) = (folder.path().join("image"), folder.path().join("pods"));
    fs::create_dir_all(image.join("deep")).unwrap();
    fs::write(image.join("deep/program"), "whole").unwrap();
    let (root, volume) = (pods.join("uid").join(ROOTS).join("manager"), pods.join("uid/volumes/v"));
    let start = |boot: &str| {
        Folders::open(folder.path(), boot).unwrap();
        fs::create_dir_all(pods.join("uid").join(ROOTS)).unwrap();
        copy(&image, &root).unwrap();
        fs::read_to_string(root.join("deep/program")).unwrap()
    };
    fs::create_dir_all(&volume).unwrap();
    assert_eq!(start("first"), "whole");
    fs::write(root.join("deep/program"), "changed").unwrap();
    assert_eq!(start("first"), "changed", "a start of the server keeps it");
    assert_eq!(start("second"), "whole");
    fs::write(root.join("deep/program"), "lost").unwrap();
    assert_eq!(start(""), "whole", "nobody knows in which start of the machine it was made");
    assert!(volume.exists());
}

#[test]
fn copies_stay_when_what_belongs_to_no_pod_is_removed() {
    let machine = tempfile::tempdir().unwrap();
    let root = machine.path().join("pods/uid").join(ROOTS).join("manager");
    for start in 0..3 {
        let folders = Folders::open(machine.path(), "first").unwrap();
        match start {
            0 => fs::create_dir_all(&root).unwrap(),
            _ => assert!(root.exists(), "start {start}"),
        }
        fs::create_dir_all(folders.of("gone").join("volumes/own")).unwrap();
        folders.uids().iter().filter(|uid| *uid != "uid").for_each(|uid| folders.discard(uid));
        assert_eq!(folders.uids().into_iter().collect::<Vec<_>>(), ["uid"]);
    }
}

#[test]
fn rights_that_a_container_took_do_not_end_the_start() {
    let machine = tempfile::tempdir().unwrap();
    let roots = machine.path().join("pods/uid").join(ROOTS);
    fs::create_dir_all(roots.join("manager/closed/inner")).unwrap();
    fs::write(roots.join("manager/closed/inner/file"), "").unwrap();
    let (path, closed) = (machine.path().to_owned(), roots.join("manager/closed"));
    without_root(machine.path(), move || {
        fs::set_permissions(closed.join("inner"), fs::Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(closed, fs::Permissions::from_mode(0o000)).unwrap();
        Folders::open(&path, "first").unwrap();
        assert_eq!(fs::read_dir(path.join("pods/uid")).unwrap().count(), 0);
    });
}

#[test]
fn what_cannot_be_removed_is_in_no_container() {
    if !geteuid().is_root() {
        // Only root can make a file of somebody else.
        return;
    }
    let machine = tempfile::tempdir().unwrap();
    let root = machine.path().join("pods/uid").join(ROOTS).join("manager");
    fs::create_dir_all(machine.path().join("pods")).unwrap();
    fs::create_dir_all(machine.path().join("image")).unwrap();
    fs::write(machine.path().join("image/program"), "whole").unwrap();
    for (number, boot) in ["first", "second"].into_iter().enumerate() {
        fs::create_dir_all(root.join("foreign")).unwrap();
        fs::write(root.join("program"), "damaged").unwrap();
        give(machine.path());
        // The user who starts the server may not remove this.
        fs::write(root.join("foreign/file"), "").unwrap();
        chown(root.join("foreign"), Some(0), Some(0)).unwrap();
        let (path, root) = (machine.path().to_owned(), root.clone());
        let start = move || {
            Folders::open(&path, boot).unwrap();
            assert!(path.join(format!("pods/uid/{ROOTS}-{}/manager/foreign/file", number + 1)).exists());
            copy(&path.join("image"), &root).unwrap();
            assert_eq!(fs::read_to_string(root.join("program")).unwrap(), "whole");
            fs::write(root.join("program"), "changed").unwrap();
            Folders::open(&path, boot).unwrap();
            assert_eq!(fs::read_to_string(root.join("program")).unwrap(), "changed", "it is known as newer");
        };
        as_nobody(start);
    }
}

#[test]
fn a_copy_that_was_not_completed_is_made_again_whatever_its_rights() {
    let machine = tempfile::tempdir().unwrap();
    let (image, root) = (machine.path().join("image"), machine.path().join("manager"));
    let unfinished = machine.path().join("manager.unfinished");
    for folder in [&image, &unfinished] {
        fs::create_dir_all(folder.join("closed")).unwrap();
        fs::write(folder.join("closed/program"), "half").unwrap();
    }
    fs::write(image.join("closed/program"), "whole").unwrap();
    without_root(machine.path(), move || {
        for folder in [&image, &unfinished] {
            fs::set_permissions(folder.join("closed"), fs::Permissions::from_mode(0o500)).unwrap();
        }
        copy(&image, &root).unwrap();
        assert_eq!(fs::read_to_string(root.join("closed/program")).unwrap(), "whole");
        assert!(!unfinished.exists());
    });
}
