//! Tests of the container image: its digests, its name, and the program in it.

#![allow(clippy::print_stderr, reason = "one of them says why it skips")]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use server::image::{Entry, PROGRAM, of_this_process, write};
use sha2::{Digest, Sha256};

fn unpack(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(archive).entries().unwrap() {
        let mut entry = entry.unwrap();
        assert_eq!(entry.header().mtime().unwrap(), 0);
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        files.insert(entry.path().unwrap().to_str().unwrap().to_owned(), content);
    }
    files
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the blob of a descriptor, after checking its digest and size.
fn blob<'a>(files: &'a BTreeMap<String, Vec<u8>>, descriptor: &Value) -> &'a [u8] {
    let name = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    let content = &files[&format!("blobs/sha256/{name}")];
    assert_eq!(digest(content), name);
    assert_eq!(descriptor["size"], content.len());
    content
}

fn image(entries: &[Entry]) -> (Vec<u8>, String) {
    let mut archive = Vec::new();
    let digest = write(&mut archive, "registry.example/a/firstlight:v1", entries).unwrap();
    (archive, digest)
}

fn decompressed(layer: &[u8]) -> Vec<u8> {
    let mut contents = Vec::new();
    flate2::read::GzDecoder::new(layer).read_to_end(&mut contents).unwrap();
    contents
}

#[test]
fn everything_is_where_its_digest_says_and_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("program");
    std::fs::write(&source, "the program").unwrap();
    let entries = [
        Entry::File { path: PROGRAM.into(), source: source.clone() },
        Entry::File { path: "/usr/lib/x/libc.so.6".into(), source },
        Entry::Link { path: "/lib64/ld.so".into(), target: "/usr/lib/x/libc.so.6".into() },
    ];
    let (archive, named) = image(&entries);
    assert_eq!(image(&entries), (archive.clone(), named.clone()));
    let files = unpack(&archive);
    assert_eq!(files["oci-layout"], br#"{"imageLayoutVersion":"1.0.0"}"#);
    let index: Value = serde_json::from_slice(&files["index.json"]).unwrap();
    let entry = &index["manifests"][0];
    assert_eq!(entry["digest"], named);
    assert_eq!(
        entry["annotations"],
        json!({"io.containerd.image.name": "registry.example/a/firstlight:v1", "org.opencontainers.image.ref.name": "v1"})
    );
    let manifest: Value = serde_json::from_slice(blob(&files, entry)).unwrap();
    let config: Value = serde_json::from_slice(blob(&files, &manifest["config"])).unwrap();
    assert_eq!(config["config"]["Entrypoint"], json!([PROGRAM]));
    let layer = blob(&files, &manifest["layers"][0]);
    let contents = decompressed(layer);
    assert_eq!(config["rootfs"]["diff_ids"], json!([format!("sha256:{}", digest(&contents))]));
    let names: Vec<String> = unpack(&contents).into_keys().collect();
    assert_eq!(
        names,
        [
            "data/",
            "firstlight",
            "lib64/",
            "lib64/ld.so",
            "usr/",
            "usr/lib/",
            "usr/lib/x/",
            "usr/lib/x/libc.so.6"
        ]
    );
    // `manifest.json` is the list of contents for older versions of Docker.
    let docker: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    assert_eq!(docker[0]["RepoTags"], json!(["registry.example/a/firstlight:v1"]));
    for path in [&docker[0]["Config"], &docker[0]["Layers"][0]] {
        assert!(files.contains_key(path.as_str().unwrap()), "{path}");
    }
    assert_eq!(files.len(), 6);
}

/// A container that is started with the image's user, arguments and variables can write its data, and is reached from outside.
#[test]
fn a_container_starts_as_the_image_says() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("program");
    std::fs::write(&source, "the program").unwrap();
    let (archive, _) = image(&[Entry::File { path: PROGRAM.into(), source }]);
    let files = unpack(&archive);
    let docker: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    let config: Value = serde_json::from_slice(&files[docker[0]["Config"].as_str().unwrap()]).unwrap();
    let starts = &config["config"];
    assert_eq!(starts["User"], "65532:65532");
    assert_eq!(starts["Cmd"], json!(["serve", "--listen", "0.0.0.0:6443"]));
    assert_eq!(starts["Env"], json!(["PATH=/", "FIRSTLIGHT_DATA_DIR=/data"]));
    assert_eq!(starts["Volumes"], json!({"/data": {}}));
    let created = chrono::DateTime::parse_from_rfc3339(config["created"].as_str().unwrap()).unwrap();
    let expected = std::env::var("SOURCE_DATE_EPOCH").unwrap_or_else(|_| "0".to_owned());
    assert_eq!(created.timestamp().to_string(), expected, "builds of developers have no time of a commit");
    let layer = decompressed(&files[docker[0]["Layers"][0].as_str().unwrap()]);
    let mut layer = tar::Archive::new(&layer[..]);
    let mut entries = layer.entries().unwrap().map(Result::unwrap);
    let data = entries.find(|entry| entry.path().unwrap() == Path::new("data/")).unwrap();
    let header = data.header();
    assert_eq!((header.uid().unwrap(), header.gid().unwrap(), header.mode().unwrap()), (65532, 65532, 0o700));
}

/// Packs this test's own program into an image; the program must run with nothing else in its root folder.
#[test]
fn the_program_finds_everything_in_its_layer() {
    let entries = of_this_process().unwrap();
    let (archive, _) = image(&entries);
    let files = unpack(&archive);
    let docker: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    let layer = decompressed(&files[docker[0]["Layers"][0].as_str().unwrap()]);
    let root = tempfile::tempdir().unwrap();
    tar::Archive::new(&layer[..]).unpack(root.path()).unwrap();
    let Some(output) = run_in(root.path()) else {
        eprintln!("skipped: this user may not change the root folder of a process");
        return;
    };
    assert!(output.contains("the_program_finds_everything_in_its_layer: test"), "{output}");
}

/// Returns the output of `/firstlight --list` in a root folder; `None` if this user may not change the root.
fn run_in(root: &Path) -> Option<String> {
    for command in [&["chroot"][..], &["unshare", "--map-root-user", "chroot"]] {
        let allowed = Command::new(command[0]).args(&command[1..]).args(["/", "true"]).output();
        if allowed.is_ok_and(|output| output.status.success()) {
            let output = Command::new(command[0])
                .args(&command[1..])
                .arg(root)
                .args([PROGRAM, "--list"])
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            return Some(text + &String::from_utf8_lossy(&output.stderr));
        }
    }
    None
}
