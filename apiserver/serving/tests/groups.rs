//! The order of versions in discovery.

use serving::testing::compare_versions;

#[test]
fn versions_in_order_of_preference() {
    let mut versions = ["v1alpha1", "foo", "v1", "v10", "v2beta2", "v2", "v2beta10", "v11alpha2", "bar"];
    versions.sort_by(|a, b| compare_versions(a, b));
    let expected = ["v10", "v2", "v1", "v2beta10", "v2beta2", "v11alpha2", "v1alpha1", "bar", "foo"];
    assert_eq!(versions, expected);
}
