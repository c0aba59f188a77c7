//! Volumes that the server writes: whole at any time, and never outside of their folder.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use kubelet::volumes::{Content, write};

fn files(text: &str) -> Content {
    let file = |name: &str| (name.to_owned(), (text.as_bytes().to_vec(), 0o644));
    Content::Files(BTreeMap::from(["a", "b/c", "key"].map(file)))
}

/// Writes the volume as a start of the server does, and returns the folder with its files.
fn start(volumes: &Path, text: &str) -> String {
    let written = write(volumes, "v", &files(text), None).unwrap();
    let volume = volumes.join("v");
    assert_eq!(written.path, volume);
    for path in ["a", "b/c", "key"] {
        assert_eq!(fs::read_to_string(volume.join(path)).unwrap(), text, "{path}");
    }
    let generation = written.generation.unwrap();
    assert_eq!(fs::read_link(volume.join("..data")).unwrap(), Path::new(&generation));
    generation
}

#[test]
fn a_volume_is_whole_after_each_start() {
    let all = tempfile::tempdir().unwrap();
    let mut before: Vec<String> = Vec::new();
    for time in 0..20 {
        let generation = start(all.path(), &format!("token {time}"));
        assert_eq!(start(all.path(), &format!("token {time}")), generation, "nothing has changed");
        assert!(!before.contains(&generation), "{generation} is there a second time: {before:?}");
        before.push(generation);
        let mut names: Vec<_> = fs::read_dir(all.path().join("v")).unwrap().flatten().collect();
        names.retain(|entry| entry.file_type().unwrap().is_dir());
        assert_eq!(names.len(), 1, "only the newest generation remains");
        // What a server leaves that was killed while it wrote.
        let half = all.path().join(format!("v/..{}", 2 * time + 5));
        fs::create_dir_all(&half).unwrap();
        fs::write(half.join("a"), "half").unwrap();
        symlink("nothing", all.path().join("v/..data_tmp")).unwrap();
    }
}

#[test]
fn files_that_are_gone_are_not_seen_and_places_of_mounts_stay() {
    let all = tempfile::tempdir().unwrap();
    start(all.path(), "one");
    let volume = all.path().join("v");
    // The place of a mount in this volume.
    fs::create_dir(volume.join("mounted")).unwrap();
    let one = Content::Files(BTreeMap::from([("b/new".to_owned(), (b"two".to_vec(), 0o600))]));
    write(all.path(), "v", &one, None).unwrap();
    assert_eq!(fs::read_to_string(volume.join("b/new")).unwrap(), "two");
    assert_eq!(fs::metadata(volume.join("b/new")).unwrap().permissions().mode() & 0o777, 0o600);
    for gone in ["a", "key", "b/c"] {
        assert!(fs::symlink_metadata(volume.join(gone)).is_err(), "{gone}");
    }
    assert!(volume.join("mounted").is_dir());
}

#[test]
fn nothing_outside_of_a_volume_is_touched() {
    type Attack = fn(&Path, &Path);
    let attacks: [(&str, Attack); 8] = [
        ("the newest generation is a folder of the machine", |volume, victim| {
            fs::remove_file(volume.join("..data")).unwrap();
            symlink(victim, volume.join("..data")).unwrap();
        }),
        ("the newest generation lies elsewhere", |volume, _| {
            fs::remove_file(volume.join("..data")).unwrap();
            symlink("../victim", volume.join("..data")).unwrap();
        }),
        ("the newest generation is a folder itself", |volume, victim| {
            fs::remove_file(volume.join("..data")).unwrap();
            fs::create_dir(volume.join("..data")).unwrap();
            symlink(victim, volume.join("..data/link")).unwrap();
        }),
        ("the next generation is there", |volume, victim| {
            (2..5).for_each(|next| symlink(victim, volume.join(format!("..{next}"))).unwrap());
        }),
        ("the folder of the generation is exchanged", |volume, victim| {
            let own = volume.join(fs::read_link(volume.join("..data")).unwrap());
            fs::rename(&own, volume.join("moved")).unwrap();
            symlink(victim, own).unwrap();
        }),
        ("a folder in the generation is exchanged", |volume, victim| {
            let own = volume.join(fs::read_link(volume.join("..data")).unwrap());
            fs::rename(own.join("b"), own.join("moved")).unwrap();
            symlink(victim, own.join("b")).unwrap();
        }),
        ("a file of the generation is exchanged", |volume, victim| {
            let own = volume.join(fs::read_link(volume.join("..data")).unwrap());
            fs::remove_file(own.join("key")).unwrap();
            symlink(victim.join("key"), own.join("key")).unwrap();
        }),
        ("what is not complete is there", |volume, victim| {
            fs::create_dir(volume.join("..data_tmp")).unwrap();
            symlink(victim, volume.join("..data_tmp/link")).unwrap();
        }),
    ];
    for (name, attack) in attacks {
        let all = tempfile::tempdir().unwrap();
        let (volumes, victim) = (all.path().join("volumes"), all.path().join("volumes/victim"));
        fs::create_dir_all(&victim).unwrap();
        fs::write(victim.join("key"), "the machine's").unwrap();
        start(&volumes, "old");
        attack(&volumes.join("v"), &victim);
        start(&volumes, "new");
        start(&volumes, "newer");
        let left: Vec<_> = fs::read_dir(&victim).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left, ["key"], "{name}");
        assert_eq!(fs::read_to_string(victim.join("key")).unwrap(), "the machine's", "{name}");
    }
}

#[test]
fn a_folder_for_containers_is_made_once() {
    let all = tempfile::tempdir().unwrap();
    let mode = || fs::metadata(all.path().join("data")).unwrap().permissions().mode() & 0o7777;
    let path = write(all.path(), "data", &Content::Empty, Some(77)).unwrap().path;
    assert_eq!(mode(), 0o777);
    if rustix::process::geteuid().is_root() {
        use std::os::unix::fs::MetadataExt;
        assert_eq!(fs::metadata(&path).unwrap().gid(), 77);
    }
    // Programs that insist on it do this to their folder.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    write(all.path(), "data", &Content::Empty, Some(77)).unwrap();
    assert_eq!(mode(), 0o700);
    assert_eq!(fs::read_dir(all.path()).unwrap().count(), 1);
}
