//! Tests of `redfish::boot`.

use bmc::redfish::boot::{change, difference};
use bmc::redfish::vendor::{STANDARD, SUPERMICRO};
use bmc::{Boot, BootDevice, BootMode, Persistence};
use serde_json::{Value, json};

fn system(boot: Value) -> Value {
    json!({"Boot": boot})
}

fn current() -> Value {
    system(json!({
        "BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideMode": "UEFI",
        "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Pxe", "Cd", "UsbCd", "Hdd", "UefiHttp"],
    }))
}

fn wanted(device: BootDevice, persistence: Persistence, mode: Option<BootMode>) -> Boot {
    Boot { device, persistence, mode }
}

#[test]
fn only_what_differs_is_sent() {
    let http = |url: Option<&str>| BootDevice::UefiHttp { url: url.map(str::to_owned) };
    let bare = system(json!({}));
    let once = system(
        json!({"BootSourceOverrideTarget": "Hdd", "BootSourceOverrideEnabled": "Once", "HttpBootUri": "http://old"}),
    );
    let (target, enabled, mode) =
        ("BootSourceOverrideTarget", "BootSourceOverrideEnabled", "BootSourceOverrideMode");
    use BootDevice::{Disk, Network, VirtualMedia};
    use Persistence::{Always, Once};
    for (system, boot, vendor, expected) in [
        (
            current(),
            wanted(Network, Once, Some(BootMode::Uefi)),
            &STANDARD,
            json!({target: "Pxe", enabled: "Once"}),
        ),
        (
            current(),
            wanted(Network, Once, Some(BootMode::Uefi)),
            &SUPERMICRO,
            json!({target: "Pxe", enabled: "Once", mode: "UEFI"}),
        ),
        (
            current(),
            wanted(Disk, Always, Some(BootMode::Legacy)),
            &STANDARD,
            json!({target: "Hdd", enabled: "Continuous", mode: "Legacy"}),
        ),
        (current(), wanted(VirtualMedia, Once, None), &STANDARD, json!({target: "Cd", enabled: "Once"})),
        (current(), wanted(VirtualMedia, Once, None), &SUPERMICRO, json!({target: "UsbCd", enabled: "Once"})),
        (
            current(),
            wanted(http(Some("http://a/b")), Once, None),
            &STANDARD,
            json!({target: "UefiHttp", enabled: "Once", "HttpBootUri": "http://a/b"}),
        ),
        (current(), wanted(http(None), Once, None), &STANDARD, json!({target: "UefiHttp", enabled: "Once"})),
        (
            once.clone(),
            wanted(http(None), Once, None),
            &STANDARD,
            json!({target: "UefiHttp", "HttpBootUri": null}),
        ),
        (once, wanted(Disk, Once, Some(BootMode::Uefi)), &STANDARD, json!({target: "Hdd"})),
        (bare, wanted(Disk, Once, Some(BootMode::Uefi)), &STANDARD, json!({target: "Hdd", enabled: "Once"})),
    ] {
        let sent = change(&system, &boot, boot.persistence, vendor);
        assert_eq!(sent, Ok(json!({"Boot": expected})), "{boot:?} {vendor:?}");
    }
    let few = system(json!({"BootSourceOverrideTarget@Redfish.AllowableValues": ["Pxe", "Cd", "Hdd"]}));
    let refused = change(&few, &wanted(http(None), Once, None), Once, &STANDARD);
    assert_eq!(refused, Err("the service offers only Pxe, Cd, Hdd".to_owned()));
}

#[test]
fn what_is_read_back_is_compared() {
    let read = |target: &str, enabled: &str, mode: &str, url: &str| {
        system(
            json!({"BootSourceOverrideTarget": target, "BootSourceOverrideEnabled": enabled, "BootSourceOverrideMode": mode, "HttpBootUri": url}),
        )
    };
    let network = wanted(BootDevice::Network, Persistence::Once, Some(BootMode::Uefi));
    let http =
        wanted(BootDevice::UefiHttp { url: Some("http://a/?token=x".to_owned()) }, Persistence::Once, None);
    for (system, wanted, expected) in [
        (read("Pxe", "Once", "UEFI", ""), &network, None),
        (read("Pxe", "Continuous", "UEFI", ""), &network, None),
        (read("Pxe", "Disabled", "UEFI", ""), &network, Some("the boot device network (PXE) Pxe (Disabled)")),
        (read("Hdd", "Once", "UEFI", ""), &network, Some("the boot device network (PXE) disk")),
        (read("Pxe", "Once", "Legacy", ""), &network, Some("the boot mode UEFI legacy")),
        (system(json!({})), &network, Some("the boot device network (PXE) not set (not set)")),
        (read("UefiHttp", "Once", "UEFI", "http://a/?token=x"), &http, None),
        (
            read("UefiHttp", "Once", "UEFI", "http://b"),
            &http,
            Some("HttpBootUri the address that was written another one"),
        ),
    ] {
        let found =
            difference(&system, wanted).map(|(what, wanted, found)| format!("{what} {wanted} {found}"));
        assert_eq!(found.as_deref(), expected, "{system}");
    }
}
