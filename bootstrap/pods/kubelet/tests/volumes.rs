//! `hostPath` volumes, in a folder of the test.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use kubelet::plan::Written;
use kubelet::volumes::{Content, write};

fn volume(path: &Path, kind: Option<&str>) -> Content {
    Content::Host(path.to_str().unwrap().to_owned(), kind.map(str::to_owned))
}

#[test]
fn a_path_of_this_machine_is_what_its_type_says() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    fs::write(folder.path().join("file"), "").unwrap();
    let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
    for (name, kind, fits) in [
        ("file", "", true),
        ("file", "File", true),
        ("file", "Directory", false),
        ("file", "DirectoryOrCreate", false),
        ("socket", "Socket", true),
        ("socket", "File", false),
        ("none", "Socket", false),
        ("none", "Directory", false),
        ("file", "Other", false),
        ("made/folder", "DirectoryOrCreate", true),
        ("made/file", "FileOrCreate", true),
    ] {
        let path = folder.path().join(name);
        let written = write(folder.path(), "own", &volume(&path, Some(kind)), None);
        let expected = Written { path: path.clone(), generation: None };
        assert_eq!(written.as_ref().ok(), fits.then_some(&expected), "{name} {kind}: {written:?}");
        assert_eq!(path.exists(), name != "none", "{name} {kind}");
    }
    assert!(!own.exists());
    let null = Path::new("/dev/null");
    assert_eq!(write(folder.path(), "own", &volume(null, Some("CharDevice")), None).unwrap().path, null);
}

#[test]
fn nothing_is_left_on_the_machine_for_a_path_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let (path, own) = (folder.path().join("run/docker.sock"), folder.path().join("own"));
    assert_eq!(write(folder.path(), "own", &volume(&path, None), None).unwrap().path, own);
    assert!(own.is_dir() && !folder.path().join("run").exists());
}
