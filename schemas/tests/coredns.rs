//! Which versions of CoreDNS are known.

use schemas::coredns::is_known;
use schemas::version::Version;

#[test]
fn known_versions_are_those_with_images() {
    for (version, known) in
        [("1.1.3", true), ("1.6.8", false), ("1.8.2", false), ("v1.14.6-x+y", true), ("2.0.0", false)]
    {
        assert_eq!(is_known(&Version::parse(version).unwrap()), known, "{version}");
    }
}
