//! What an honest image becomes.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use container_images::{Name, Root, Sources, Store, User};

use super::archives::{Entry, Fault, NAME, archive, layer, unpack};

#[test]
fn layers_replace_and_remove_what_is_below() {
    let folder = tempfile::tempdir().unwrap();
    let layers = [
        layer(&[
            Entry::Folder("./etc/"),
            Entry::File(
                "etc/passwd",
                "root:x:0:0:root:/root:/bin/sh\nnonroot:x:65532:65533::/home/nonroot:/x\n",
            ),
            Entry::File("etc/group", "root:x:0:\nfriends:x:44:\n"),
            Entry::File("manager", "old"),
            Entry::Folder("gone"),
            Entry::File("gone/file", "x"),
            Entry::Folder("hidden"),
            Entry::File("hidden/below", "x"),
            Entry::Link("usr/lib64", "../lib"),
            Entry::File("lib/a", "a"),
        ]),
        layer(&[
            Entry::File("manager", "new"),
            Entry::File(".wh.gone", ""),
            Entry::File("hidden/mine", "y"),
            Entry::File("hidden/.wh..wh..opq", ""),
            // Through the link of the layer below, as in a chroot.
            Entry::File("usr/lib64/b", "b"),
            Entry::HardLink("again", "manager"),
        ]),
    ];
    let unpacked = unpack(folder.path(), &archive(folder.path(), &layers, &Fault::default())).unwrap();
    let text = |path: &str| fs::read_to_string(unpacked.root.join(path)).ok();
    for (path, expected) in [
        ("manager", Some("new")),
        ("again", Some("new")),
        ("gone/file", None),
        ("hidden/below", None),
        ("hidden/mine", Some("y")),
        ("lib/a", Some("a")),
        ("lib/b", Some("b")),
    ] {
        assert_eq!(text(path).as_deref(), expected, "{path}");
    }
    assert_eq!(fs::metadata(unpacked.root.join("manager")).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(
        (unpacked.config.entrypoint.as_slice(), unpacked.config.working_directory.as_str()),
        (&["/manager".to_owned()][..], "/data")
    );
    let root = Root::open(&unpacked.root).unwrap();
    let user = |text: &str| User::find(text, &root).map(|user| (user.user, user.group, user.home));
    assert_eq!(user("nonroot").unwrap(), (65532, 65533, Some("/home/nonroot".to_owned())));
    assert_eq!(user("1000").unwrap(), (1000, 0, None));
    assert_eq!(user("nonroot:friends").unwrap().1, 44);
    assert_eq!(user("").unwrap().0, 0);
    assert!(user("stranger").is_err() && user("0:strangers").is_err());
}

#[test]
fn an_image_is_unpacked_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = archive(folder.path(), &[layer(&[Entry::File("manager", "x")])], &Fault::default());
    let number = |root: &Path| fs::metadata(root).unwrap().ino();
    let before = number(&unpack(folder.path(), &path).unwrap().root);
    let again = unpack(folder.path(), &path).unwrap();
    assert_eq!(number(&again.root), before, "the folder is the same");
    // A later process removes what an earlier one did not complete.
    let unfinished = folder.path().join("images/unfinished-x");
    fs::create_dir_all(unfinished.join("deep")).unwrap();
    Store::open(&folder.path().join("images")).unwrap();
    assert!(!unfinished.exists() && again.root.exists());
}

#[test]
fn images_are_found_by_name_and_by_digest() {
    let folder = tempfile::tempdir().unwrap();
    let archives = folder.path().join("archives");
    fs::create_dir(&archives).unwrap();
    archive(&archives, &[layer(&[Entry::File("manager", "x")])], &Fault::default());
    fs::write(archives.join("notes.txt"), "no archive").unwrap();
    let sources = Sources::new(vec![archives]);
    let find = |name: &str| sources.find(&name.parse::<Name>().unwrap(), folder.path());
    let (_, image) = find(NAME).map_err(|error| error.to_string()).unwrap();
    let exact = format!("registry.example/provider@{}", image.manifest);
    assert!(find(&exact).is_ok());
    let other = format!("registry.example/provider@{}", bundle::Digest::of(b""));
    for missing in [other.as_str(), "registry.example/provider:v2", "registry.example/provider"] {
        let Err(error) = find(missing) else { panic!("{missing} was found") };
        assert!(format!("{error:#}").contains("is not in"), "{error:#}");
    }
}
