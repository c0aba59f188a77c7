//! Tests of `firstlight::commands::metal::plan`.

use firstlight::commands::metal::plan::{plan, text};
use kube::ResourceExt;
use metal::names::PROTECT_DISKS;
use schemas::metal3::BareMetalHost;
use serde_json::json;

fn host() -> BareMetalHost {
    let disk = |name: &str, gigabytes: i64| {
        json!({ "name": format!("/dev/disk/by-path/{name}"), "alternateNames": [format!("/dev/{name}")],
                "sizeBytes": gigabytes << 30, "serialNumber": name })
    };
    let host = json!({
        "metadata": { "name": "host-0", "namespace": "site" },
        "spec": {
            "online": true,
            "bmc": { "address": "redfish://192.0.2.7/redfish/v1/Systems/1", "credentialsName": "bmc" },
            "image": { "url": "http://images/a.raw", "checksum": "00ff", "checksumType": "sha256", "format": "raw" },
            "userData": { "name": "user-data" },
        },
        "status": {
            "provisioning": { "state": "available" },
            "hardware": { "storage": [disk("sda", 80), disk("sdb", 20)] },
        },
    });
    serde_json::from_value(host).unwrap()
}

#[test]
fn a_plan_names_each_disk_and_says_why_nothing_happens() {
    let mut host = host();
    let expected = "\
Provisioning site/host-0 would do this:
start        its power is cut, then its agent is started by redfish://192.0.2.7/redfish/v1/Systems/1
wiped        /dev/sda (80 GiB, serial sda)
             /dev/sdb (20 GiB, serial sdb)
root disk    /dev/sdb (20 GiB, serial sdb), all of it
chosen by    none: the smallest disk of 4 GiB or more
image        http://images/a.raw, raw, sha256 00ff
network      DHCP, as the image does it
user data    Secret user-data
Removable and read-only disks are left as they are. This happens as soon as the host is available.
";
    assert_eq!(text(&plan(&host, None).unwrap()), expected);
    host.annotations_mut().insert(PROTECT_DISKS.to_owned(), "true".to_owned());
    host.spec.root_device_hints =
        serde_json::from_value(json!({ "deviceName": "/dev/disk/by-path/sda" })).unwrap();
    host.spec.automated_cleaning_mode = Some("disabled".to_owned());
    let made = plan(&host, Some("http://images/b.raw")).unwrap();
    assert_eq!((made.root_disk.as_str(), made.cleaned_disks.len()), ("/dev/sda (80 GiB, serial sda)", 0));
    assert!(made.image.contains("no checksum yet"), "{}", made.image);
    let held = made.held_by.join("; ");
    assert!(held.contains(PROTECT_DISKS) && held.contains("not this image"), "{held}");
}

#[test]
fn what_cannot_be_planned_is_said() {
    let refused = |change: &dyn Fn(&mut BareMetalHost), part: &str| {
        let mut host = host();
        change(&mut host);
        let error = plan(&host, None).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(&|host| host.spec.image = None, "--image");
    refused(&|host| host.status = None, "inspection");
    let hints = json!({ "minSizeGigabytes": 1000 });
    refused(
        &|host| host.spec.root_device_hints = serde_json::from_value(hints.clone()).unwrap(),
        "/dev/sda (80.0 GiB",
    );
}
