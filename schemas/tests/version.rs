//! Tests of Kubernetes versions.

use schemas::version::Version;

#[test]
fn order() {
    let sorted = ["v1.9.0", "v1.31.0-alpha.1", "v1.31.0-alpha.10", "v1.31.0-beta", "v1.31.0", "1.31.1+x"];
    for pair in sorted.windows(2) {
        assert!(Version::parse(pair[0]).unwrap() < Version::parse(pair[1]).unwrap(), "{pair:?}");
    }
    assert_eq!(Version::parse("v1.31.0+a"), Version::parse("v1.31.0+b"));
    assert_eq!(Version::parse("1.31.0-rc.1+b").unwrap().to_string(), "v1.31.0-rc.1+b");
    for bad in ["", "v1", "v1.2", "v1.2.3.4", "v1.x.0", "latest"] {
        assert!(Version::parse(bad).is_none(), "{bad}");
    }
}
