//! Tests of `engine::contract`.

use engine::contract::plural;

#[test]
fn the_plural_of_a_kind() {
    assert_eq!(plural("DevCluster"), "devclusters");
    assert_eq!(plural("FooProxy"), "fooproxies");
    assert_eq!(plural("HostClass"), "hostclasses");
}
