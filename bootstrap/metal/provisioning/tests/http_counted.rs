//! What is counted and logged of a path.

use metal_provisioning::http::counted::{service, shown};

#[test]
fn each_path_has_its_service() {
    for (path, expected) in [
        ("/agent/v1/enrol", "agent"),
        ("/boot/script/52-54-00-00-00-01.ipxe", "script"),
        ("/boot/media/metal/host-0/1234.iso", "media"),
        ("/boot/uki/x86_64.efi", "boot"),
        ("/images/a.raw", "images"),
        ("/v2/pause/manifests/3.10", "registry"),
        ("/healthz", "healthz"),
        ("/nocloud/user-data", "metadata"),
        ("/made-up", "metadata"),
    ] {
        assert_eq!(service(path), expected, "{path}");
    }
}

#[test]
fn the_secret_part_of_a_path_is_not_shown() {
    assert_eq!(shown("/boot/media/metal/host-0/1234.iso"), "/boot/media/metal/host-0/…");
    assert_eq!(shown("/metadata/1234/nocloud/user-data"), "/nocloud/user-data");
    assert_eq!(shown("/boot/script/52-54-00-00-00-01.ipxe"), "/boot/script/52-54-00-00-00-01.ipxe");
}
