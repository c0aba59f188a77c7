//! Archives and bundles that are damaged, or that somebody made to do harm, are refused with a message that names the entry.

use std::io::Write;

use bundle::{Bundle, Digest, FileKind, NewFile, limits, verify, write};
use serde_json::{Value, json};
use tar::EntryType;

use crate::bundle::archives::{Archive, INDEX, LAYER, Layout, MANIFEST, plain};
use crate::bundle::content::container;

/// Returns the error of adding `archive`, and checks that nothing was written.
#[track_caller]
fn refused(archive: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (path, source) = (folder.path().join("site.bundle"), folder.path().join("hostile.tar"));
    std::fs::write(&source, archive).unwrap();
    let error = match write(&path, None, &container("", &source)) {
        Ok(lines) => panic!("it was accepted: {lines:?}"),
        Err(error) => format!("{error:#}"),
    };
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the archive is there: {error}");
    error
}

/// Returns the archive of a layout after a change of its files.
fn changed(change: impl FnOnce(&mut Layout)) -> Vec<u8> {
    let mut layout = plain();
    change(&mut layout);
    layout.archive()
}

/// Returns the archive of a good layout with more entries.
fn with(add: impl FnOnce(&mut Archive) -> &mut Archive) -> Vec<u8> {
    let mut archive = Archive::default();
    for (name, content) in plain().all() {
        archive.file(&name, &content);
    }
    add(&mut archive);
    archive.end()
}

#[test]
fn entries_that_no_archive_of_images_has() {
    let long_name = |size: u64| {
        let name = vec![b'a'; size as usize];
        with(|a| a.entry("x", EntryType::GNULongName, &name, size, "").file("y", b""))
    };
    let pax = |record: &str| {
        let record = format!("{} {record}\n", record.len() + 2 + (record.len() + 4).to_string().len());
        with(|a| a.entry("x", EntryType::XHeader, record.as_bytes(), record.len() as u64, "").file("y", b""))
    };
    let no_end = {
        let mut archive = Archive::default();
        archive.file("a", b"b");
        archive.open_end()
    };
    let mut damaged = with(|a| a);
    damaged[512 * 2] ^= 1;
    for (archive, expected) in [
        (vec![], "it is cut off"),
        (vec![1; 4096], "no tar archive"),
        (no_end, "it is cut off"),
        (with(|a| a)[..3000].to_vec(), "it is cut off"),
        (damaged, "at byte 1024 is no header"),
        (with(|a| a.file("../../etc/passwd", b"")), "../../etc/passwd (at byte"),
        (with(|a| a.file("/etc/passwd", b"")), "the path is absolute"),
        (with(|a| a.file("a\\b", b"")), "backslash"),
        (with(|a| a.file("index.json", b"{}")), "index.json (at byte"),
        (with(|a| a.file("./index.json", b"{}")), "two entries"),
        (with(|a| a.link("a", EntryType::Symlink, "/etc/passwd")), "absolute path \"/etc/passwd\""),
        (with(|a| a.link("a", EntryType::Symlink, "../b")), "leads out of the archive"),
        (with(|a| a.link("a", EntryType::Link, "../b")), "leads out of its folder"),
        (with(|a| a.link("dev", EntryType::Char, "")), "only files, folders and links"),
        (with(|a| a.link("pipe", EntryType::Fifo, "")), "only files, folders and links"),
        (with(|a| a.entry("huge", EntryType::Regular, b"", 1 << 62, "")), "huge (at byte"),
        (with(|a| a.entry("huge", EntryType::Regular, b"", u64::MAX, "")), "huge (at byte"),
        (long_name(limits::EXTENSION + 1), "an extension of"),
        (long_name(limits::PATH as u64 + 1), "longer than 1024 bytes"),
        (pax("path=../x"), "leads out of its folder"),
        (pax("size=99999999999999"), "it is cut off"),
        (pax("size=-1"), "the size \"-1\""),
        (pax("GNU.sparse.major=1"), "a sparse file"),
        (with(|a| a.entry("x", EntryType::XHeader, b"99 a=b\n", 7, "")), "a damaged PAX header"),
    ] {
        let error = refused(&archive);
        assert!(error.contains(expected), "expected {expected:?}: {error}");
    }
}

#[test]
fn the_number_of_entries_and_the_expansion_are_limited() {
    let mut archive = Archive::default();
    for _ in 0..=limits::ENTRIES {
        archive.entry("a", EntryType::Directory, b"", 0, "");
    }
    assert!(refused(&archive.end()).contains("more than 100000 entries"));
    let zeros = vec![0; 1 << 20];
    let mut zstd = zstd::Encoder::new(Vec::new(), 1).unwrap();
    for _ in 0..=(limits::EXPANSION_FREE >> 20) + 1 {
        zstd.write_all(&zeros).unwrap();
    }
    assert!(refused(&zstd.finish().unwrap()).contains("it expands to more than"));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain().archive()).unwrap();
    let gzip = gzip.finish().unwrap();
    assert!(refused(&gzip[..gzip.len() / 2]).contains("damaged or cut off"));
}

/// Replaces the content of the first blob that contains `text`, whose name stays.
fn forge(layout: &mut Layout, text: &str, by: &str) {
    let is_it = |content: &Vec<u8>| String::from_utf8_lossy(content).contains(text);
    let (_, content) = layout.files.iter_mut().find(|(_, content)| is_it(content)).unwrap();
    *content = by.into();
}

/// Returns an archive whose only image has this manifest.
fn manifest(media_type: &str, content: &Value) -> Vec<u8> {
    let mut layout = Layout::default();
    let manifest = layout.blob(media_type, content.to_string());
    layout.name(&manifest, "registry.example/a:1");
    layout.archive()
}

#[test]
fn digests_sizes_and_manifests_that_lie() {
    let layer = Digest::of(b"content of the layer").path();
    let empty = json!({"mediaType": LAYER, "digest": Digest::of(b""), "size": 0});
    let with_manifests = json!({"mediaType": MANIFEST, "config": empty, "manifests": [empty]});
    let index_with_layers = json!({"mediaType": INDEX, "manifests": [], "layers": [empty]});
    let nested = changed(|layout| {
        let mut inner = layout.entries[0].clone();
        for _ in 0..=limits::INDEX_DEPTH {
            inner = layout.index(&[inner]);
        }
        layout.entries.clear();
        layout.name(&inner, "registry.example/a:1");
    });
    let large = "x".repeat(limits::DOCUMENT as usize + 1);
    let many = vec![empty.clone(); limits::DESCRIPTORS + 1];
    for (archive, expected) in [
        (changed(|l| forge(l, "content of", "another layer 123456")), "it is damaged"),
        (changed(|l| forge(l, "content of", "short")), "it has 5 bytes, and its descriptor says 20"),
        (changed(|l| drop(l.files.remove(&layer))), &*format!("{layer} is missing")),
        (changed(|l| forge(l, "\"layers\"", "{}")), "it is damaged"),
        (changed(|l| l.entries[0]["size"] = json!(1)), "its descriptor says 1"),
        (changed(|l| l.entries[0]["size"] = json!(u64::MAX)), "a manifest has at most"),
        (changed(|l| l.entries[0]["digest"] = json!("sha256:../../etc/passwd")), "is no digest"),
        (changed(|l| l.entries[0]["digest"] = json!("sha512:00")), "the only supported algorithm"),
        (
            changed(|l| l.entries[0]["mediaType"] = json!("text/html")),
            "no manifest and no index that is supported",
        ),
        (changed(|l| l.entries[0]["mediaType"] = json!(INDEX)), "its descriptor says"),
        (changed(|l| l.entries.clear()), "index.json has no image"),
        (changed(|l| drop(l.files.insert("index.json".into(), b"[".to_vec()))), "index.json"),
        (changed(|l| drop(l.files.insert("index.json".into(), "[".repeat(100_000).into()))), "index.json"),
        (manifest(MANIFEST, &with_manifests), "has the manifests of an index"),
        (manifest(INDEX, &index_with_layers), "has the config or the layers of a manifest"),
        (manifest(MANIFEST, &json!({"config": empty, "x": large})), "a manifest has at most"),
        (manifest(MANIFEST, &json!({"config": empty, "layers": many})), "more than 10000 descriptors"),
        (manifest(MANIFEST, &json!({"layers": []})), "a manifest without a config"),
        (nested, "nested more than"),
        (
            changed(|l| l.entries[0]["annotations"] = json!({"io.containerd.image.name": "../../x"})),
            "no name of an image",
        ),
    ] {
        let error = refused(&archive);
        assert!(error.contains(expected), "expected {expected:?}: {error}");
    }
}

#[test]
fn an_image_for_another_platform() {
    let mut layout = Layout::default();
    let arm = layout.image("arm64", "content");
    let index = layout.index(std::slice::from_ref(&arm));
    layout.name(&index, "registry.example/a:1");
    let error = refused(&layout.archive());
    assert!(
        error.contains("registry.example/a:1")
            && error.contains("no image for linux/amd64, but for linux/arm64"),
        "{error}"
    );
    layout.entries.clear();
    layout.name(&arm, "registry.example/a:1");
    assert!(refused(&layout.archive()).contains("linux/arm64"));
}

#[test]
fn links_lead_to_files_in_one_step() {
    let docker = |add: &dyn Fn(&mut Archive)| {
        let config =
            json!({"architecture": "amd64", "os": "linux", "rootfs": {"diff_ids": [Digest::of(b"layer")]}});
        let images = json!([{"Config": "c.json", "RepoTags": ["a:1"], "Layers": ["layer.tar"]}]);
        let mut archive = Archive::default();
        archive
            .file("c.json", config.to_string().as_bytes())
            .file("manifest.json", images.to_string().as_bytes());
        add(&mut archive);
        archive.end()
    };
    let link = |archive: &mut Archive, name: &str, target: &str| {
        archive.link(name, EntryType::Symlink, target);
    };
    for (archive, expected) in [
        (docker(&|a| link(a, "layer.tar", "layer.tar")), "a link to another link"),
        (
            docker(&|a| {
                link(a, "layer.tar", "b");
                link(a, "b", "c");
                a.file("c", b"layer");
            }),
            "a link to another link",
        ),
        (docker(&|a| link(a, "layer.tar", "b")), "a link to b, which the archive does not have"),
        (docker(&|_| {}), "the layer is missing"),
        (docker(&|a| _ = a.file("layer.tar", b"other")), "and the config says"),
    ] {
        let error = refused(&archive);
        assert!(error.contains(expected) && error.contains("layer.tar"), "expected {expected:?}: {error}");
    }
    let outside = {
        let images = json!([{"Config": "../../../etc/passwd", "RepoTags": ["a:1"], "Layers": []}]);
        let mut archive = Archive::default();
        archive.file("manifest.json", images.to_string().as_bytes());
        archive.end()
    };
    assert!(refused(&outside).contains("leads out of its folder"));
}

#[test]
fn a_folder_does_not_lead_out() {
    let folder = tempfile::tempdir().unwrap();
    let layout = plain();
    let root = layout.folder(&folder.path().join("layout"));
    let layer = root.join(Digest::of(b"content of the layer").path());
    std::fs::write(folder.path().join("secret"), "content of the layer").unwrap();
    std::fs::remove_file(&layer).unwrap();
    std::os::unix::fs::symlink(folder.path().join("secret"), &layer).unwrap();
    let error = write(&folder.path().join("b"), None, &container("", &root)).unwrap_err();
    assert!(format!("{error:#}").contains("the link leads out of the folder"), "{error:#}");
}

#[test]
fn titles_stay_in_their_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    std::fs::write(&path, "disk").unwrap();
    for title in ["../x", "/x", "", "a/../b"] {
        let file = NewFile { kind: FileKind::Boot, title: title.into(), path: path.clone() };
        let additions = bundle::Additions { containers: vec![], files: vec![file] };
        assert!(write(&folder.path().join("b"), None, &additions).is_err(), "{title:?}");
    }
}

/// Whatever is changed in a bundle, opening it or verifying it says so, and nothing panics.
#[test]
fn a_flipped_bit_or_a_cut_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (source, path) = (folder.path().join("a.tar"), folder.path().join("site.bundle"));
    std::fs::write(&source, plain().archive()).unwrap();
    write(&path, None, &container("", &source)).unwrap();
    let good = std::fs::read(&path).unwrap();
    let finds = |content: &[u8]| {
        std::fs::write(&path, content).unwrap();
        match Bundle::open(&path) {
            Err(_) => true,
            Ok(bundle) => verify(&bundle).map_or(true, |problems| !problems.is_empty()),
        }
    };
    assert!(!finds(&good));
    // The padding of an entry is no content, and neither are the names of its owner in the header, whose checksum covers them.
    for at in (0..good.len()).step_by(13) {
        let mut bad = good.clone();
        bad[at] ^= 4;
        let is_padding = good[at] == 0;
        assert!(finds(&bad) || is_padding, "a flipped bit at {at} is not found");
    }
    for length in (0..good.len()).step_by(101) {
        assert!(finds(&good[..length]), "cut to {length}");
    }
    let mut longer = good.clone();
    longer.extend([0; 512]);
    assert!(finds(&longer));
}
