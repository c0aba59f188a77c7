//! The `kubectl` beside the programs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use firstlight::envtest::kubectl::install;

fn program(folder: &Path) {
    let path = folder.join("kubectl");
    fs::write(&path, "#!/bin/sh\necho real\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn called(directory: &Path) -> (String, String) {
    let output = Command::new(directory.join("kubectl")).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn it_is_the_one_of_the_path_or_says_what_to_install() {
    let (place, bin) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = place.path().canonicalize().unwrap();
    let search = std::env::join_paths([directory.as_path(), bin.path()]).unwrap();
    install(&directory, &search).unwrap();
    let (printed, said) = called(&directory);
    assert!(printed.is_empty() && said.starts_with("kubectl is not installed"), "{printed}{said}");

    program(bin.path());
    install(&directory, &search).unwrap();
    assert_eq!(called(&directory).0, "real\n");
    install(&directory, &search).unwrap();
    assert_eq!(called(&directory).0, "real\n");

    // A program that is not there any more, and one of the user's own.
    fs::remove_file(bin.path().join("kubectl")).unwrap();
    install(&directory, &search).unwrap();
    assert!(called(&directory).1.starts_with("kubectl is not installed"));
    fs::remove_file(directory.join("kubectl")).unwrap();
    program(&directory);
    install(&directory, &search).unwrap();
    assert_eq!(called(&directory).0, "real\n");
}
