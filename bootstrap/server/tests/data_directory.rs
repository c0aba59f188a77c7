//! Tests of `server::data_directory`.

use std::os::unix::fs::PermissionsExt;

use server::data_directory::{DataDirectory, write_private};

#[test]
fn private_files_are_private_and_replaced_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/kubeconfig");
    write_private(&path, b"one").unwrap();
    write_private(&path, b"two").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"two");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn the_directory_is_closed_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDirectory::locate(Some(&folder.path().join("data"))).unwrap();
    directory.create().unwrap();
    assert_eq!(std::fs::metadata(directory.path()).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(directory.running().unwrap().is_none());
}
