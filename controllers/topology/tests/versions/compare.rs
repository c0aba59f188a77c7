//! The order of versions with build metadata.

use cluster_topology::versions::{Order, compare};
use schemas::version::Version;

#[test]
fn build_metadata_decides_last() {
    let rows = [
        ("v1.30.0", "v1.31.0", Order::Lower),
        ("v1.31.0-rc.1", "v1.31.0", Order::Lower),
        ("v1.31.0", "v1.31.0", Order::Same),
        ("v1.31.0+b.1", "v1.31.0+b.1", Order::Same),
        ("v1.31.0", "v1.31.0+b", Order::Lower),
        ("v1.31.0+1", "v1.31.0+2", Order::Lower),
        ("v1.31.0+b.10", "v1.31.0+b.9", Order::Higher),
        ("v1.31.0+b.99999999999999999999", "v1.31.0+b.100000000000000000000", Order::Lower),
        ("v1.31.0+1", "v1.31.0+b", Order::Lower),
        ("v1.31.0+b", "v1.31.0+1", Order::Higher),
        ("v1.31.0+a", "v1.31.0+b", Order::Different),
        ("v1.31.1+a", "v1.31.0+b", Order::Higher),
    ];
    for (a, b, order) in rows {
        let parse = |text| Version::parse(text).expect("a version");
        assert_eq!(compare(&parse(a), &parse(b)), order, "{a} {b}");
    }
}
