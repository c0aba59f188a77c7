//! Tests of `xtask::package`.
#![allow(clippy::print_stderr, reason = "a test, which says why it skips")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use xtask::package::program::Program;
use xtask::package::release::{Release, SUMS};
use xtask::package::tools::{digest, file_names, output_of, write};
use xtask::package::{archive, bill, check, debian, files, make};

/// A program that answers what packaging asks.
const PROGRAM: &str = r#"#!/bin/sh
case "$1" in
  --version) echo "firstlight VERSION" ;;
  completion) echo "completion of $2" ;;
  image) echo image >"$3" ;;
  man-pages) mkdir -p "$2" && echo page >"$2/firstlight.1" ;;
  serve) mkdir -p "$4" && echo "$@" >"$4/kubeconfig" ;;
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
    make(&xtask::workspace_root(), program(folder), &folder.join("packages"), true).unwrap()
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
    for file in [
        "LICENSE",
        "examples/bare-metal/machine",
        "systemd/firstlight.service",
        "completions/zsh",
        "man/firstlight.1",
    ] {
        assert!(listed.lines().any(|line| line == format!("{name}/{file}")), "{file}:\n{listed}");
    }
    let mut fields = Command::new("dpkg-deb");
    let fields = output_of(fields.arg("--info").arg(release.output.join(&debian))).unwrap();
    for field in [&format!("Version: {version}"), "Depends: libc6 (>= 2.34)", "conffiles", "postinst"] {
        assert!(fields.contains(field), "{field}:\n{fields}");
    }
    let mut list = Command::new("dpkg-deb");
    let listed = output_of(list.arg("--contents").arg(release.output.join(&debian))).unwrap();
    for file in ["etc/default/firstlight", "usr/bin/kubectl-firstlight", "usr/share/man/man1/firstlight.1.gz"]
    {
        assert!(listed.contains(&format!(" ./{file}")), "{file}:\n{listed}");
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
    let root = xtask::workspace_root();
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

/// A run of the action's script, with the files that GitHub gives to a step.
fn install(release: &Release, folder: &Path, version: &str) -> (bool, String) {
    std::fs::create_dir_all(folder).unwrap();
    let mut script = Command::new(release.root.join(".github/actions/firstlight/install"));
    for (name, file) in [("GITHUB_PATH", "path"), ("GITHUB_ENV", "env"), ("GITHUB_OUTPUT", "output")] {
        script.env(name, folder.join(file));
    }
    script.env("RUNNER_TEMP", folder).env("FIRSTLIGHT_VERSION", version).env("FIRSTLIGHT_START", "true");
    script.env("FIRSTLIGHT_URL", format!("file://{}", release.output.display()));
    let output = script.env("FIRSTLIGHT_OPTIONS", "--controllers none").output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_action_installs_and_starts_what_the_checksums_say() {
    if !is_possible() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let release = packages(folder.path());
    let action = std::fs::read_to_string(release.root.join(".github/actions/firstlight/action.yml")).unwrap();
    let action: serde_json::Value = serde_saphyr::from_str(&action).unwrap();
    assert_eq!(action["inputs"]["version"]["default"], release.program.version, "the default release");

    let step = folder.path().join("step");
    let (is_done, errors) = install(&release, &step, &format!("v{}", release.program.version));
    assert!(is_done, "{errors}");
    let written = |file: &str| std::fs::read_to_string(step.join(file)).unwrap();
    let kubeconfig = step.join("firstlight-data/kubeconfig");
    assert!(written("env").contains(&format!("KUBECONFIG={}\n", kubeconfig.display())));
    assert_eq!(written("output"), format!("kubeconfig={}\n", kubeconfig.display()));
    assert!(written("firstlight-data/kubeconfig").trim_end().ends_with("--controllers none"));
    assert!(Path::new(written("path").trim_end()).join("firstlight").is_file());

    let other = folder.path().join("other");
    let (is_done, errors) = install(&release, &other, "9.9.9");
    assert!(!is_done && errors.contains("cannot be downloaded"), "{errors}");
    write(&release.output.join(archive::file_name(&release)), b"another archive").unwrap();
    let (is_done, errors) = install(&release, &other, &release.program.version);
    assert!(!is_done && errors.contains("not what SHA256SUMS says"), "{errors}");
    assert!(!other.join("path").exists() && !other.join("firstlight-data").exists());
}

#[test]
fn the_readme_names_the_c_library() {
    let page = std::fs::read_to_string(xtask::workspace_root().join("README.md")).unwrap();
    let (major, minor) = check::GLIBC;
    assert!(page.contains(&format!("glibc {major}.{minor}")));
}

/// Returns the values of a setting of the service with a drop-in, of which an empty one takes back all before (systemd.syntax(7)).
fn with_drop_in(drop_in: &str, setting: &str) -> Vec<String> {
    let folder = xtask::workspace_root().join("bootstrap/firstlight/packaging");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let text = read("firstlight.service") + &read(drop_in);
    let mut values = Vec::new();
    for value in text.lines().filter_map(|line| line.strip_prefix(setting)?.strip_prefix('=')) {
        match value {
            "" => values.clear(),
            value => values.push(value.to_owned()),
        }
    }
    values
}

/// `chown` would take the owners and the setuid bits of all files of nodes at each start, and a node that cannot be started would keep the server down.
/// Images with other devices than the unit's could not be unpacked.
#[test]
fn the_service_with_nodes_leaves_their_files_alone_and_starts_without_them() {
    let before = with_drop_in("nodes.conf", "ExecStartPre");
    let [start] = before.as_slice() else { panic!("{before:?}") };
    assert!(start.starts_with('-') && start.contains("nodes start --all"), "{start}");
    assert_eq!(with_drop_in("nodes.conf", "DeviceAllow"), [""; 0]);
    assert_eq!(with_drop_in("nodes.conf", "DevicePolicy").last().unwrap(), "auto");
}
