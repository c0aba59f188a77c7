//! Tests of `server::token_keys`.

use std::os::unix::fs::PermissionsExt;

use machinery::random::Random;
use server::data_directory::DataDirectory;
use server::testing::{TOKEN_KEY, token_keys};

#[test]
fn a_new_key_signs_and_the_earlier_one_still_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDirectory::locate(Some(folder.path())).unwrap();
    directory.create().unwrap();
    let random = Random::seeded(1);
    let first = token_keys(&directory, &random).unwrap();
    let path = directory.pki().join(TOKEN_KEY);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let signature = first.signing().sign(b"text").unwrap();
    let again = token_keys(&directory, &random).unwrap();
    assert_eq!(again.signing().public().id(), first.signing().public().id());
    assert_eq!(again.verifying().len(), 1);

    std::fs::remove_file(&path).unwrap();
    let second = token_keys(&directory, &random).unwrap();
    assert_ne!(second.signing().public().id(), first.signing().public().id());
    assert_eq!(second.verifying().len(), 2);
    assert!(second.verifying().iter().any(|key| key.verify(b"text", &signature)));
    assert!(!second.signing().public().verify(b"text", &signature));

    std::fs::write(&path, "garbage").unwrap();
    let error = token_keys(&directory, &random).err().unwrap();
    assert!(format!("{error:#}").contains(TOKEN_KEY), "{error:#}");
}
