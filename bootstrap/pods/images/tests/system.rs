//! The image of a whole system, of which nothing is left out. Only root can unpack it.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use container_images::{Contents, Name, Sources, Store, Unpacked};
use rustix::fs::lgetxattr;
use tar::{Builder, EntryType, Header};

use super::archives::{Fault, NAME, archive};

/// The capability `cap_net_raw+ep` as the kernel keeps it, as `ping` has it.
const CAPABILITY: [u8; 20] = [1, 0, 0, 2, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const TIME: u64 = 1_700_000_000;

struct Entry {
    path: &'static str,
    kind: EntryType,
    mode: u32,
    owner: (u64, u64),
    link: &'static str,
    attributes: Vec<(&'static str, Vec<u8>)>,
}

fn entry(path: &'static str, kind: EntryType, mode: u32) -> Entry {
    Entry { path, kind, mode, owner: (0, 0), link: "", attributes: Vec::new() }
}

fn layer(entries: &[Entry]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for entry in entries {
        let keys: Vec<String> =
            entry.attributes.iter().map(|(key, _)| format!("SCHILY.xattr.{key}")).collect();
        let values = entry.attributes.iter().map(|(_, value)| value.as_slice());
        if !keys.is_empty() {
            archive.append_pax_extensions(keys.iter().map(String::as_str).zip(values)).unwrap();
        }
        let mut header = Header::new_ustar();
        header.set_path(entry.path).unwrap();
        header.set_entry_type(entry.kind);
        header.set_mode(entry.mode);
        header.set_mtime(TIME);
        header.set_uid(entry.owner.0);
        header.set_gid(entry.owner.1);
        if !entry.link.is_empty() {
            header.set_link_name(entry.link).unwrap();
        }
        header.set_device_major(1).unwrap();
        header.set_device_minor(3).unwrap();
        let content: &[u8] = if entry.kind == EntryType::Regular { b"x" } else { b"" };
        header.set_size(content.len() as u64);
        header.set_cksum();
        archive.append(&header, content).unwrap();
    }
    archive.into_inner().unwrap()
}

fn unpack(folder: &Path, layers: &[Vec<u8>], contents: Contents) -> Unpacked {
    let path = archive(folder, layers, &Fault::default());
    let store = Store::open_for(&folder.join("images"), contents).unwrap();
    let name: Name = NAME.parse().unwrap();
    let (archive, image) = Sources::new(vec![path]).find(&name, store.scratch()).unwrap();
    store.unpack(&archive, &image).unwrap()
}

fn everything() -> Vec<Vec<u8>> {
    let ping = Entry {
        attributes: vec![
            ("security.capability", CAPABILITY.to_vec()),
            ("trusted.overlay.redirect", b"/etc".to_vec()),
            ("security.selinux", b"system_u:object_r:bin_t:s0".to_vec()),
        ],
        ..entry("usr/bin/ping", EntryType::Regular, 0o755)
    };
    let first = [
        entry("usr", EntryType::Directory, 0o755),
        Entry { owner: (0, 42), ..entry("usr/local", EntryType::Directory, 0o2775) },
        entry("usr/bin/sudo", EntryType::Regular, 0o4755),
        ping,
        Entry { link: "usr/bin/sudo", ..entry("usr/bin/again", EntryType::Link, 0o4755) },
        Entry { owner: (1000, 1000), ..entry("home/user", EntryType::Directory, 0o500) },
        entry("dev/null", EntryType::Char, 0o666),
        entry("run/pipe", EntryType::Fifo, 0o600),
    ];
    // A later layer changes a folder after its time was set.
    vec![layer(&first), layer(&[entry("usr/later", EntryType::Regular, 0o644)])]
}

fn attribute(path: &Path, key: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 256];
    let length = lgetxattr(path, key, &mut value).ok()?;
    value.truncate(length);
    Some(value)
}

#[test]
fn a_system_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    let root = unpack(folder.path(), &everything(), Contents::System).root;
    let found = |path: &str| fs::symlink_metadata(root.join(path)).unwrap();
    for (path, mode, owner) in [
        ("usr", 0o755, (0, 0)),
        ("usr/local", 0o2775, (0, 42)),
        ("usr/bin/sudo", 0o4755, (0, 0)),
        ("home/user", 0o500, (1000, 1000)),
        ("dev/null", 0o666, (0, 0)),
        ("run/pipe", 0o600, (0, 0)),
    ] {
        let found = found(path);
        assert_eq!((found.mode() & 0o7777, (found.uid(), found.gid())), (mode, owner), "{path}");
        assert_eq!(found.mtime(), TIME as i64, "{path}");
    }
    assert!(found("dev/null").file_type().is_char_device() && found("run/pipe").file_type().is_fifo());
    assert_eq!(found("dev/null").rdev(), rustix::fs::makedev(1, 3));
    assert_eq!(found("usr/bin/again").ino(), found("usr/bin/sudo").ino());
    let ping = root.join("usr/bin/ping");
    assert_eq!(attribute(&ping, "security.capability").as_deref(), Some(&CAPABILITY[..]));
    for refused in ["trusted.overlay.redirect", "security.selinux"] {
        assert_eq!(attribute(&ping, refused), None, "{refused}");
    }
    let store = fs::metadata(folder.path().join("images")).unwrap();
    assert_eq!(store.mode() & 0o777, 0o700, "programs that make others root are out of their reach");
}

#[test]
fn processes_get_nothing_that_gives_rights() {
    let folder = tempfile::tempdir().unwrap();
    let root = unpack(folder.path(), &everything(), Contents::Processes).root;
    let mode = |path: &str| fs::metadata(root.join(path)).unwrap().mode() & 0o7777;
    assert_eq!((mode("usr/bin/sudo"), mode("usr/local")), (0o755, 0o775));
    assert_eq!(attribute(&root.join("usr/bin/ping"), "security.capability"), None);
    assert!(!root.join("dev/null").exists() && !root.join("run/pipe").exists());
}
