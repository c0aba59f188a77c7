//! Tests of `deploy::config_drive`.

use std::io::{Cursor, Read};

use agent::testing::config_drive::{BYTES_MAX, LABEL, build};
use agent_protocol::ConfigDrive;
use fatfs::{FileSystem, FsOptions};

#[test]
fn files_are_found_under_their_names() {
    let mut drive = ConfigDrive::default();
    drive.files.insert("openstack/latest/meta_data.json".into(), "{}".into());
    drive.files.insert("openstack/latest/user_data".into(), "#cloud-config\n".repeat(100_000));
    let bytes = build(&drive).unwrap();
    assert_eq!(bytes.len() % (1 << 20), 0);
    let system = FileSystem::new(Cursor::new(bytes), FsOptions::new()).unwrap();
    assert_eq!(system.volume_label(), LABEL);
    for (path, content) in &drive.files {
        let mut read = String::new();
        system.root_dir().open_file(path).unwrap().read_to_string(&mut read).unwrap();
        assert_eq!(&read, content);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    for path in ["/x", "a//b", "../x", ""] {
        let mut drive = ConfigDrive::default();
        drive.files.insert(path.into(), String::new());
        assert!(build(&drive).is_err(), "{path}");
    }
    let mut drive = ConfigDrive::default();
    drive.files.insert("a".into(), "x".repeat(BYTES_MAX));
    assert!(build(&drive).unwrap_err().to_string().contains("holds 67108864"));
}
