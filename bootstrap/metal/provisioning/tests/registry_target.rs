//! Paths of the distribution specification.

use bundle::Digest;
use metal_provisioning::http::registry::target::{NAME_LENGTH, Target};

#[test]
fn paths_of_the_specification() {
    let digest = Digest::of(b"");
    let blob = format!("a/blobs/{digest}");
    let referrers = format!("registry.k8s.io/a/referrers/{digest}");
    let long = |length| format!("{}/tags/list", "a".repeat(length));
    let (most, more) = (long(NAME_LENGTH), long(NAME_LENGTH + 1));
    for (path, expected) in [
        ("", Some(Target::Root)),
        ("_catalog", Some(Target::Catalogue)),
        ("a/tags/list", Some(Target::Tags("a"))),
        ("a/manifests/1", Some(Target::Manifest("a", "1"))),
        ("a/manifests/manifests/1", Some(Target::Manifest("a/manifests", "1"))),
        (&blob, Some(Target::Blob("a", digest))),
        (&referrers, Some(Target::Referrers("registry.k8s.io/a", digest))),
        ("a/blobs/uploads/", Some(Target::Upload)),
        (&most, Some(Target::Tags(&most[..NAME_LENGTH]))),
        (&more, None),
        ("a/blobs/sha256:00", None),
        ("manifests/1", None),
        ("a", None),
        ("a b/tags/list", None),
        ("/tags/list", None),
        ("a/other/1", None),
    ] {
        assert_eq!(Target::parse(path).ok(), expected, "{path}");
    }
}
