//! Tests of `engine::versions`.

use engine::versions::count;

#[test]
fn oldest_first() {
    let versions = ["v1.36.0", "v1.35.0", "v1.35.0+build.1", "v1.35.0-alpha.1", "v1.36.0", "latest"];
    let counted = count(versions.into_iter().map(|version| (version, 1)));
    let counted: Vec<(&str, Option<i32>)> =
        counted.iter().map(|counted| (counted.version.as_str(), counted.replicas)).collect();
    let wanted = [
        ("latest", Some(1)),
        ("v1.35.0-alpha.1", Some(1)),
        ("v1.35.0", Some(1)),
        ("v1.35.0+build.1", Some(1)),
        ("v1.36.0", Some(2)),
    ];
    assert_eq!(counted, wanted);
}
