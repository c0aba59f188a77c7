//! The programs that envtest starts.

mod flags;
mod kubectl;

use firstlight::envtest::{Program, install};

#[test]
fn names() {
    let cases = [
        ("/assets/kube-apiserver", Some(Program::KubeApiserver)),
        ("etcd", Some(Program::Etcd)),
        ("/etcd/firstlight", None),
        ("firstlight", None),
        ("etcdctl", None),
        ("", None),
    ];
    for (argument, program) in cases {
        assert_eq!(Program::called(argument.as_ref()), program, "{argument}");
    }
}

#[test]
fn help_has_the_flags_that_envtest_looks_for() {
    let has = |help: &str, flag: &str| help.lines().any(|line| line.trim_start().starts_with(flag));
    assert!(has(Program::Etcd.help(), "--unsafe-no-fsync"));
    assert!(!has(Program::KubeApiserver.help(), "--insecure-port"));
}

#[test]
fn a_directory_is_filled_and_filled_again() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("deep/assets");
    for _ in 0..2 {
        install(&directory).unwrap();
        let mut names: Vec<_> =
            std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["etcd", "kube-apiserver", "kubectl"]);
    }
}
