//! What is put into a bundle is in it, once.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use bundle::{Additions, Bundle, Catalogue, Container, Digest, FileKind, Item, NewFile, list, verify, write};
use serde_json::json;

use crate::bundle::archives::{Archive, Layout, plain};

/// Returns the container images of `path` for linux/amd64.
pub(crate) fn container(name: &str, path: &Path) -> Additions {
    let name = (!name.is_empty()).then(|| name.parse().unwrap());
    let container = Container { name, path: path.to_owned(), platforms: "linux/amd64".parse().unwrap() };
    Additions { containers: vec![container], files: vec![] }
}

fn file(kind: FileKind, title: &str, path: &Path) -> Additions {
    let file = NewFile { kind, title: title.into(), path: path.to_owned() };
    Additions { containers: vec![], files: vec![file] }
}

/// Adds to the bundle at `path`, and returns it.
fn add(path: &Path, additions: &Additions) -> Bundle {
    let old = path.exists().then(|| Bundle::open(path).unwrap());
    write(path, old.as_ref(), additions).unwrap_or_else(|error| panic!("{error:#}"));
    let bundle = Bundle::open(path).unwrap();
    assert_eq!(verify(&bundle).unwrap(), Vec::<String>::new());
    bundle
}

fn names(bundle: &Bundle) -> Vec<String> {
    let line = |item: Item| {
        format!(
            "{} {}{}",
            item.kind,
            item.name,
            item.platforms.iter().map(|p| format!(" {p}")).collect::<String>()
        )
    };
    list(bundle).unwrap().into_iter().map(line).collect()
}

/// Returns the digests of the blobs in the archive, as tar reads it.
fn blobs(path: &Path) -> Vec<String> {
    let mut archive = tar::Archive::new(std::fs::File::open(path).unwrap());
    let mut found = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        if let Some(hex) = name.strip_prefix("blobs/sha256/") {
            assert_eq!(Digest::of(&content).hex(), hex);
            found.push(hex.to_owned());
        }
    }
    found
}

struct Place {
    folder: tempfile::TempDir,
    bundle: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bundle = folder.path().join("site.bundle");
        Self { folder, bundle }
    }

    fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

#[test]
fn every_form_of_one_image_gives_the_same_blobs() {
    let place = Place::new();
    let layout = plain();
    let archive = layout.archive();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&archive).unwrap();
    let forms = [
        layout.folder(&place.folder.path().join("layout")),
        place.write("a.tar", &archive),
        place.write("a.tar.gz", &gzip.finish().unwrap()),
        place.write("a.tar.zst", &zstd::encode_all(archive.as_slice(), 1).unwrap()),
    ];
    let mut expected = None;
    for form in forms {
        let path = place.folder.path().join("one.bundle");
        let bundle = add(&path, &container("", &form));
        assert_eq!(names(&bundle), ["image registry.example/a:1 linux/amd64"]);
        let content = std::fs::read(&path).unwrap();
        assert!(*expected.get_or_insert_with(|| content.clone()) == content, "{}", form.display());
        std::fs::remove_file(&path).unwrap();
    }
    // A bundle is itself an OCI archive.
    let path = place.write("again.tar", &expected.unwrap());
    assert_eq!(names(&add(&place.bundle, &container("", &path))), ["image registry.example/a:1 linux/amd64"]);
}

#[test]
fn of_an_index_the_wanted_platform_is_taken_with_what_is_about_it() {
    let place = Place::new();
    let mut layout = Layout::default();
    let (amd, arm) = (layout.image("amd64", "for amd64"), layout.image("arm64", "for arm64"));
    let attestation = |layout: &mut Layout, about: &serde_json::Value| {
        let mut made = layout.image("unknown", &format!("about {}", about["digest"]));
        made["platform"] = json!({"architecture": "unknown", "os": "unknown"});
        made["annotations"] = json!({"vnd.docker.reference.digest": about["digest"]});
        made
    };
    let (of_amd, of_arm) = (attestation(&mut layout, &amd), attestation(&mut layout, &arm));
    let index = layout.index(&[amd.clone(), arm.clone(), of_amd.clone(), of_arm.clone()]);
    layout.name(&index, "registry.example/multi:1");
    let signature = layout.referrer(&amd, "application/vnd.example.signature");
    let of_signature = layout.referrer(&signature, "application/vnd.example.witness");
    let of_other = layout.referrer(&arm, "application/vnd.example.signature");
    for referrer in [&of_signature, &signature, &of_other] {
        layout.name(referrer, "");
    }
    let source = layout.folder(&place.folder.path().join("layout"));
    let bundle = add(&place.bundle, &container("", &source));
    assert_eq!(names(&bundle), ["image registry.example/multi:1 linux/amd64"]);
    let found = blobs(&place.bundle);
    for (descriptor, expected) in [
        (&index, true),
        (&amd, true),
        (&of_amd, true),
        (&signature, true),
        (&of_signature, true),
        (&arm, false),
        (&of_arm, false),
        (&of_other, false),
    ] {
        let hex = descriptor["digest"].as_str().unwrap().trim_start_matches("sha256:").to_owned();
        assert_eq!(found.contains(&hex), expected, "{descriptor}");
    }
    let catalogue = Catalogue::of(&[bundle]).unwrap();
    let repository = &catalogue.repositories["registry.example/multi"];
    assert_eq!(repository.manifests.len(), 5);
    let mut more = container("", &source);
    more.containers[0].platforms = "linux/arm64".parse().unwrap();
    // The second platform does not remove the first one.
    let bundle = add(&place.bundle, &more);
    assert_eq!(names(&bundle), ["image registry.example/multi:1 linux/amd64 linux/arm64"]);
}

#[test]
fn an_archive_of_docker_gets_a_manifest() {
    let place = Place::new();
    let layer = b"layer of docker".to_vec();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"second layer").unwrap();
    let config = json!({
        "architecture": "amd64", "os": "linux",
        "rootfs": {"diff_ids": [Digest::of(&layer), Digest::of(b"second layer"), Digest::of(&layer)]},
    });
    let images = json!([{
        "Config": "config.json", "RepoTags": ["docker.example/b:2", "b:latest"],
        "Layers": ["1/layer.tar", "2.tar.gz", "3/layer.tar"],
    }]);
    let mut archive = Archive::default();
    archive.file("config.json", config.to_string().as_bytes()).file("1/layer.tar", &layer);
    archive.file("2.tar.gz", &gzip.finish().unwrap());
    archive.link("3/layer.tar", tar::EntryType::Symlink, "../1/layer.tar");
    archive.file("manifest.json", images.to_string().as_bytes());
    let source = place.write("docker.tar", &archive.end());
    let bundle = add(&place.bundle, &container("", &source));
    assert_eq!(
        names(&bundle),
        ["image docker.example/b:2 linux/amd64", "image docker.io/library/b:latest linux/amd64"]
    );
    assert_eq!(blobs(&place.bundle).len(), 4, "config, manifest, and two layers of which one is used twice");
    let other = add(&place.folder.path().join("named"), &container("registry.example/c:3", &source));
    assert_eq!(names(&other), ["image registry.example/c:3 linux/amd64"]);
}

#[test]
fn names_are_given_where_an_image_has_none() {
    let place = Place::new();
    let mut layout = Layout::default();
    let image = layout.image("amd64", "content");
    for (own, given, expected) in [
        ("", "registry.example/a:1", Ok("registry.example/a:1")),
        ("", "registry.example/a", Ok("registry.example/a:latest")),
        ("1.2", "registry.example/a", Ok("registry.example/a:1.2")),
        ("1.2", "registry.example/a:2", Ok("registry.example/a:2")),
        ("registry.example/a:1", "registry.example/b:2", Ok("registry.example/b:2")),
        ("1.2", "", Err("has no name: name the image")),
        ("", "", Err("has no name: name the image")),
    ] {
        layout.entries.clear();
        layout.name(&image, own);
        let source = place.write("a.tar", &layout.archive());
        let path = place.folder.path().join("one");
        let written = write(&path, None, &container(given, &source));
        match (written, expected) {
            (Ok(_), Ok(expected)) => {
                assert_eq!(list(&Bundle::open(&path).unwrap()).unwrap()[0].name, expected);
                std::fs::remove_file(&path).unwrap();
            }
            (Err(error), Err(expected)) => assert!(format!("{error:#}").contains(expected), "{error:#}"),
            (written, _) => panic!("{own:?} {given:?}: {written:?}"),
        }
    }
}

#[test]
fn additions_replace_what_has_their_name_and_nothing_is_kept_twice() {
    let place = Place::new();
    let disk = place.write("noble.raw", &[7; 100_000]);
    let bundle = add(&place.bundle, &file(FileKind::Disk, "noble.raw", &disk));
    let before = bundle.path().metadata().unwrap().len();
    // The same content with another name needs only a new artifact.
    let bundle = add(&place.bundle, &file(FileKind::Disk, "copy.raw", &disk));
    assert!(bundle.path().metadata().unwrap().len() < before + 10_000);
    assert_eq!(names(&bundle), ["disk copy.raw", "disk noble.raw"]);
    let manifest = place.write("cluster.yaml", b"kind: A\n");
    add(&place.bundle, &file(FileKind::Manifests, "site/cluster.yaml", &manifest));
    let source = place.write("a.tar", &plain().archive());
    let bundle = add(&place.bundle, &container("", &source));
    assert_eq!(
        names(&bundle),
        [
            "image registry.example/a:1 linux/amd64",
            "disk copy.raw",
            "disk noble.raw",
            "manifests site/cluster.yaml"
        ]
    );
    let many = blobs(&place.bundle).len();
    let disk = place.write("noble.raw", b"smaller");
    add(&place.bundle, &file(FileKind::Disk, "noble.raw", &disk));
    let bundle = add(&place.bundle, &file(FileKind::Disk, "copy.raw", &disk));
    assert_eq!(blobs(&place.bundle).len(), many, "the old image is gone, and the new one is there once");
    let mut layout = Layout::default();
    let image = layout.image("amd64", "another layer");
    layout.name(&image, "registry.example/a:1");
    let source = place.write("a.tar", &layout.archive());
    let old = Catalogue::of(&[bundle]).unwrap();
    let new = Catalogue::of(&[add(&place.bundle, &container("", &source))]).unwrap();
    let tag = |catalogue: &Catalogue| catalogue.repositories["registry.example/a"].tags["1"];
    assert_ne!(tag(&old), tag(&new));
    assert_eq!(blobs(&place.bundle).len(), many);
    assert_eq!(
        old.disk("noble.raw").unwrap().content(10).unwrap(),
        b"smaller",
        "an open bundle stays as it is"
    );
    assert_eq!(new.kubernetes_manifests().unwrap()[0].1, "kind: A\n");
}

#[test]
fn a_refused_addition_leaves_the_bundle_as_it_was() {
    let place = Place::new();
    let source = place.write("a.tar", &plain().archive());
    let bundle = add(&place.bundle, &container("", &source));
    let before = std::fs::read(&place.bundle).unwrap();
    let damaged = place.write("b.tar", &plain().archive()[..2048]);
    assert!(write(&place.bundle, Some(&bundle), &container("", &damaged)).is_err());
    assert!(std::fs::read(&place.bundle).unwrap() == before);
    let mut left: Vec<_> =
        std::fs::read_dir(place.folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["a.tar", "b.tar", "site.bundle"], "no file is left beside it");
    let beside = place.write("site.bundle.new", b"");
    let error = write(&place.bundle, Some(&bundle), &container("", &source)).unwrap_err();
    assert!(error.to_string().contains("another command writes this bundle"), "{error:#}");
    assert!(beside.exists(), "the file of the other command stays");
}

#[test]
fn a_later_bundle_is_used_first() {
    let place = Place::new();
    let disk = place.write("noble.raw", b"old");
    let old = add(&place.bundle, &file(FileKind::Disk, "noble.raw", &disk));
    let disk = place.write("noble.raw", b"new");
    let new = add(&place.folder.path().join("second.bundle"), &file(FileKind::Disk, "noble.raw", &disk));
    let catalogue = Catalogue::of(&[old, new]).unwrap();
    assert_eq!(catalogue.disk("noble.raw").unwrap().content(3).unwrap(), b"new");
}
