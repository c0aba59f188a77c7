#![allow(clippy::print_stderr, reason = "a test, which says why it skips")]

use std::collections::BTreeSet;
use std::path::Path;

use super::*;

/// A program that answers what packaging asks.
const PROGRAM: &str = r#"#!/bin/sh
case "$1" in
  --version) echo "firstlight VERSION" ;;
  completion) echo "completion of $2" ;;
  image) echo image >"$3" ;;
esac
"#;

/// Whether this machine can make all packages.
fn is_possible() -> bool {
    let has_dpkg = Command::new("dpkg-deb").arg("--version").output().is_ok();
    if !has_dpkg {
        eprintln!("skipped: this machine has no dpkg-deb");
    }
    has_dpkg
}

fn program(folder: &Path) -> Program {
    let path = folder.join("program");
    write(&path, PROGRAM.replace("VERSION", env!("CARGO_PKG_VERSION")).as_bytes()).unwrap();
    files::set_mode(&path, true).unwrap();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Program { path, version, glibc: Some((2, 34)), packages: BTreeSet::from(["libc6"]) }
}

fn packages(folder: &Path) -> Release {
    make(&crate::workspace_root(), program(folder), &folder.join("packages"), true).unwrap()
}

#[test]
fn packages_are_complete_and_a_changed_one_is_noticed() {
    if !is_possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let release = packages(folder.path());
    let name = release.name();
    let version = &release.program.version;
    let files = file_names(&release.output).unwrap();
    let debian = debian::file_name(&release);
    let expected = ["SHA256SUMS", ".cdx.json", ".oci.tar", ".provenance.json", ".tar.gz"];
    let mut expected: Vec<String> = expected
        .iter()
        .map(|end| if end.starts_with('.') { format!("{name}{end}") } else { (*end).to_owned() })
        .chain([debian.clone()])
        .collect();
    expected.sort();
    assert_eq!(files, expected);
    check::checksums(&release).unwrap();
    archive::try_it(&release).unwrap();
    let mut list = Command::new("tar");
    let listed = output_of(list.arg("-tf").arg(release.output.join(format!("{name}.tar.gz")))).unwrap();
    for file in ["LICENSE", "examples/bare-metal/machine", "systemd/firstlight.service", "completions/zsh"] {
        assert!(listed.lines().any(|line| line == format!("{name}/{file}")), "{file}:\n{listed}");
    }
    let mut fields = Command::new("dpkg-deb");
    let fields = output_of(fields.arg("--info").arg(release.output.join(&debian))).unwrap();
    for field in [&format!("Version: {version}"), "Depends: libc6 (>= 2.34)", "conffiles", "postinst"] {
        assert!(fields.contains(field), "{field}:\n{fields}");
    }
    let provenance = std::fs::read(release.output.join(format!("{name}.provenance.json"))).unwrap();
    let provenance: serde_json::Value = serde_json::from_slice(&provenance).unwrap();
    let subjects = provenance["subject"].as_array().unwrap();
    let archive = subjects.iter().find(|subject| subject["name"] == format!("{name}.tar.gz")).unwrap();
    let archive_path = release.output.join(format!("{name}.tar.gz"));
    assert_eq!(archive["digest"]["sha256"], digest(&archive_path).unwrap());

    let again = folder.path().join("again");
    std::fs::create_dir(&again).unwrap();
    let again = packages(&again);
    let sums = |release: &Release| std::fs::read_to_string(release.output.join(SUMS)).unwrap();
    assert_eq!(sums(&again), sums(&release), "the same commit gives the same packages");

    write(&archive_path, b"another archive").unwrap();
    let error = check::checksums(&release).unwrap_err().to_string();
    assert!(error.contains(&format!("{name}.tar.gz: FAILED")), "{error}");
}

#[test]
fn the_list_of_crates_is_complete() {
    let root = crate::workspace_root();
    let folder = tempfile::tempdir().unwrap();
    let bill = bill::of(&root, &program(folder.path())).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let components = bill["components"].as_array().unwrap();
    let named: BTreeSet<String> = components
        .iter()
        .map(|component| format!("{} v{}", text(&component["name"]), text(&component["version"])))
        .collect();
    let tree = bill::tree(&root, "firstlight", &["--edges=no-dev", "--prefix=none"]).unwrap();
    let mut crates: BTreeSet<String> =
        tree.lines().map(|line| line.split(' ').take(2).collect::<Vec<&str>>().join(" ")).collect();
    crates.remove(concat!("firstlight v", env!("CARGO_PKG_VERSION")));
    assert_eq!(named, crates, "left: the list; right: `cargo tree`");
    assert!(named.iter().any(|name| name.starts_with("tokio v1.")), "{named:?}");
    assert!(!named.iter().any(|name| name.starts_with("proptest ")), "tests are not in the program");
    // Each crate of a registry has its checksum, and each dependency is described.
    let references: BTreeSet<String> =
        bill["dependencies"].as_array().unwrap().iter().map(|entry| text(&entry["ref"])).collect();
    for entry in bill["dependencies"].as_array().unwrap() {
        for on in entry["dependsOn"].as_array().unwrap() {
            assert!(references.contains(on.as_str().unwrap()), "{on}");
        }
    }
    for component in components.iter().filter(|component| component.get("purl").is_some()) {
        assert_eq!(component["hashes"][0]["content"].as_str().map(str::len), Some(64), "{component}");
    }
}
