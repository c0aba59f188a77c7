//! Tests of `images::cache`.

use metal_boot::images::cache::{Inputs, MODE, make_once, sum};

#[test]
fn files_are_made_anew_when_something_of_them_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let (source, path) = (folder.path().join("source"), folder.path().join("made"));
    std::fs::write(&source, "content").unwrap();
    let again = |arguments: &str| {
        let mut inputs = Inputs::default();
        inputs.bytes(arguments.as_bytes());
        inputs.file(&source).unwrap();
        let make = || files::write(&path, MODE, arguments.as_bytes());
        make_once(folder.path(), inputs, &["made"], make).unwrap()
    };
    assert_eq!([again("a"), again("a"), again("b"), again("b")], [true, false, true, false]);
    assert_eq!(std::fs::read(&path).unwrap(), b"b");
    std::fs::write(&source, "other").unwrap();
    assert_eq!([again("b"), again("b")], [true, false], "the source is another");
    std::fs::write(&path, "damaged").unwrap();
    assert_eq!([again("b"), again("b")], [true, false], "somebody wrote into what was made");
    std::fs::remove_file(&path).unwrap();
    assert_eq!([again("b"), again("b")], [true, false], "it is gone");
    assert_eq!(std::fs::read(&path).unwrap(), b"b");
}

#[test]
fn a_missing_file_has_no_sum() {
    let folder = tempfile::tempdir().unwrap();
    assert!(sum(&folder.path().join("missing")).is_err());
}
