//! Tests of `redfish::media`.

use bmc::redfish::media::{action, image, is_cd};
use serde_json::json;

#[test]
fn devices() {
    for (device, cd, held) in [
        (json!({"MediaTypes": ["CD", "DVD"], "Inserted": true, "Image": "http://a"}), true, Some("http://a")),
        (json!({"MediaTypes": ["CD"], "Inserted": false, "Image": "http://a"}), true, None),
        (json!({"MediaTypes": ["Floppy", "USBStick"], "Image": null}), false, None),
        (json!({"MediaTypes": ["DVD"], "Image": "http://a"}), true, Some("http://a")),
        (json!({"MediaTypes": ["DVD"], "Image": "http://a", "ConnectedVia": "NotConnected"}), true, None),
        (json!({"MediaTypes": ["DVD"], "Inserted": true, "Image": null}), true, Some("")),
        (json!({"MediaTypes": "CD", "Inserted": "yes"}), false, None),
    ] {
        assert_eq!((is_cd(&device), image(&device).as_deref()), (cd, held), "{device}");
    }
}

#[test]
fn actions() {
    let standard = json!({"Actions": {"#VirtualMedia.InsertMedia": {"target": "/a"}}});
    let hpe =
        json!({"Oem": {"Hpe": {"Actions": {"#HpeiLOVirtualMedia.InsertVirtualMedia": {"target": "/b"}}}}});
    for (device, expected) in [(standard, Some("/a")), (hpe, Some("/b")), (json!({}), None)] {
        assert_eq!(action(&device, "InsertMedia", "InsertVirtualMedia").as_deref(), expected);
    }
}
