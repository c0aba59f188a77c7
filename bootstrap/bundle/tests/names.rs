//! Names of files within archives.

use bundle::limits;
use bundle::names::{linked, relative};

#[test]
fn paths_stay_in_their_folder() {
    for (path, expected) in [("a", "a"), ("./a//b/", "a/b"), ("./", ""), ("a..b", "a..b")] {
        assert_eq!(relative(path).unwrap(), expected);
    }
    let deep = |count: usize| vec!["a"; count].join("/");
    assert!(relative(&deep(limits::PATH_DEPTH)).is_ok() && relative(&deep(limits::PATH_DEPTH + 1)).is_err());
    let long = |count: usize| "a".repeat(count);
    assert!(relative(&long(limits::PATH)).is_ok() && relative(&long(limits::PATH + 1)).is_err());
    for wrong in ["/a", "a/../b", "..", "a\0", "a\\b"] {
        assert!(relative(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn links_are_resolved_within_the_archive() {
    assert_eq!(linked("a/layer.tar", "../b/layer.tar").unwrap(), "b/layer.tar");
    for wrong in ["/etc/passwd", "../../a", "../../../etc/passwd"] {
        assert!(linked("a/layer.tar", wrong).is_err(), "{wrong:?}");
    }
}
