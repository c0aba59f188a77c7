//! Control groups of both versions, against plain files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pod_processes::cgroup::{Cgroups, Limits, Version};

/// Returns the files of a folder, and removes them, as the kernel does with those of a group.
fn taken(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let read = entries.map(|entry| {
        let content = fs::read_to_string(entry.path()).unwrap();
        fs::remove_file(entry.path()).unwrap();
        (entry.file_name().into_string().unwrap(), content)
    });
    read.collect()
}

#[test]
fn limits_are_written_in_the_words_of_each_version() {
    let (first, second, third) = (
        Limits { memory: Some(1 << 20), cpu: Some(1500) },
        Limits { cpu: Some(1), ..Limits::default() },
        Limits::default(),
    );
    for (version, limits, memory, cpu) in [
        (
            Version::One,
            first,
            &[("memory.limit_in_bytes", "1048576"), ("memory.memsw.limit_in_bytes", "1048576")][..],
            &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "150000")][..],
        ),
        (Version::One, second, &[], &[("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "1000")]),
        (
            Version::Two,
            first,
            &[
                ("cpu.max", "150000 100000"),
                ("memory.max", "1048576"),
                ("memory.oom.group", "1"),
                ("memory.swap.max", "0"),
            ],
            &[],
        ),
        (Version::Two, second, &[("cpu.max", "1000 100000")], &[]),
        (Version::Two, third, &[], &[]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let names: &[&str] = if version == Version::One { &["memory", "cpu"] } else { &["all"] };
        let parents: Vec<_> = names.iter().map(|name| folder.path().join(name)).collect();
        parents.iter().for_each(|parent| fs::create_dir(parent).unwrap());
        let group = Cgroups::at(version, parents.clone()).make(&limits).unwrap();
        for (folder, expected) in group.folders().to_vec().iter().zip([memory, cpu]) {
            let expected: BTreeMap<String, String> =
                expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(taken(folder), expected, "{version:?} {limits:?}");
        }
        drop(group);
        for parent in parents {
            assert_eq!(fs::read_dir(parent).unwrap().count(), 0, "{version:?}");
        }
    }
}

#[test]
fn want_of_memory_is_found_in_both_versions() {
    for (version, file, text, expected) in [
        (Version::One, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", false),
        (Version::One, "memory.oom_control", "oom_kill_disable 0\nunder_oom 1\noom_kill 2\n", true),
        (Version::Two, "memory.events", "low 0\nmax 7\noom 1\noom_kill 1\noom_group_kill 0\n", true),
        (Version::Two, "memory.events", "low 0\nmax 7\noom 1\noom_kill 0\noom_group_kill 0\n", false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let group = Cgroups::at(version, vec![folder.path().to_owned()]).make(&Limits::default()).unwrap();
        let own = group.folders()[0].clone();
        fs::write(own.join(file), text).unwrap();
        assert_eq!(group.ran_out_of_memory(), expected, "{version:?} {text:?}");
        taken(&own);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let error = Cgroups::at(Version::Two, vec![missing.clone()]).make(&Limits::default()).unwrap_err();
    assert!(format!("{error:#}").contains(&missing.display().to_string()), "{error:#}");
}
