//! The data directory: who can read it, and who holds it.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use store::DataDirectory;
use store::EngineError;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn is_private_and_locked_once() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("a/b");
    let held = DataDirectory::open(&path).unwrap();
    assert_eq!((mode(&path), mode(&path.join("lock"))), (0o700, 0o600));
    let refused = DataDirectory::open(&path).unwrap_err().to_string();
    assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
    assert!(refused.contains(&path.display().to_string()), "{refused}");
    drop(held);
    DataDirectory::open(&path).unwrap();
}

#[tokio::test]
async fn is_unlocked_although_a_program_that_just_starts_has_a_copy_of_the_file() {
    let parent = tempfile::tempdir().unwrap();
    let held = DataDirectory::open(parent.path()).unwrap();
    let copy = held.as_fd().try_clone_to_owned().unwrap();
    let (clone, released) = (held.clone(), held.released());
    drop(held);
    let mut released = std::pin::pin!(released);
    tokio::select! {
        biased;
        () = &mut released => panic!("a clone is left"),
        () = async {} => {}
    }
    drop(clone);
    released.await;
    DataDirectory::open(parent.path()).unwrap();
    drop(copy);
}

#[test]
fn narrows_its_own_directory_and_no_other() {
    let parent = tempfile::tempdir().unwrap();
    let open_to_all = |name: &str| {
        let path = parent.path().join(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    };
    let empty = open_to_all("empty");
    DataDirectory::open(&empty).unwrap();
    assert_eq!(mode(&empty), 0o700);
    let other = open_to_all("other");
    std::fs::write(other.join("thesis.txt"), "").unwrap();
    assert!(matches!(DataDirectory::open(&other), Err(EngineError::Exposed { mode: 0o755, .. })));
    assert_eq!(mode(&other), 0o755);
}
