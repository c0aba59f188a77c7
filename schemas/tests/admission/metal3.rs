//! Tests of Metal3's kinds.

use schemas::admission::{Facts, admit};
use serde_json::{Value, json};

use super::{Case, creations, merge, updates};

const GROUP: &str = "metal3.io";

fn host() -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": { "name": "node-1", "namespace": "site" },
        "spec": {
            "online": true,
            "bootMACAddress": "52:54:00:12:34:56",
            "bmc": { "address": "redfish://192.0.2.7/redfish/v1/Systems/1", "credentialsName": "node-1-bmc" },
        },
    })
}

fn spec(spec: Value) -> Value {
    json!({ "spec": spec })
}

fn address(address: &str) -> Value {
    spec(json!({ "bmc": { "address": address } }))
}

fn annotated(key: &str, value: &str) -> Value {
    json!({ "metadata": { "annotations": { key: value } } })
}

fn created(cases: &[Case<'_>]) {
    creations(GROUP, "BareMetalHost", &host(), cases);
}

#[test]
fn names() {
    let named = |name: &str| json!({ "metadata": { "name": name } });
    let refused: &[&str] = &["metadata.name: Invalid"];
    created(&[
        ("good", json!({}), &[]),
        ("letters", named("Node_1.example-2"), &[]),
        ("other letters", named("node~1"), refused),
        ("a UUID", named("01234567-89ab-cdef-0123-456789abcdef"), refused),
        ("a UUID without dashes", named("0123456789abcdef0123456789abcdef"), refused),
        ("dashes elsewhere", named("0123456-789ab-cdef-0123-456789abcdef"), &[]),
        ("not hexadecimal", named("0123456789abcdef0123456789abcdeg"), &[]),
    ]);
}

#[test]
fn controllers() {
    let without_mac = |mut other: Value| {
        other["spec"]["bootMACAddress"] = Value::Null;
        other
    };
    let needed: &[&str] = &["spec.bootMACAddress: Required"];
    let wrong: &[&str] = &["spec.bmc.address: Invalid"];
    let volumes = json!({ "hardwareRAIDVolumes": [{ "level": "1" }] });
    let ipmi = json!({ "address": "ipmi://192.0.2.7" });
    created(&[
        ("none", spec(json!({ "bmc": null })), &[]),
        ("empty", address(""), &[]),
        ("no scheme", address("192.0.2.7:623"), &[]),
        ("unknown scheme", address("idrac://192.0.2.7"), wrong),
        ("bad host", address("ipmi://a_b"), wrong),
        ("password", address("ipmi://a:b@192.0.2.7"), &["spec.bmc.address: Forbidden"]),
        ("no MAC address", without_mac(json!({})), needed),
        ("IPMI without one", without_mac(address("ipmi://192.0.2.7")), &[]),
        ("virtual media without one", without_mac(address("redfish-virtualmedia://192.0.2.7")), &[]),
        ("HTTP boot without one", without_mac(address("redfish-uefihttp://192.0.2.7")), needed),
        (
            "and without inspection",
            without_mac(spec(json!({ "bmc": ipmi, "inspectionMode": "disabled" }))),
            needed,
        ),
        (
            "bad MAC address",
            spec(json!({ "bootMACAddress": "x52:54:00:12:34:56" })),
            &["spec.bootMACAddress: Invalid"],
        ),
        (
            "seven octets",
            spec(json!({ "bootMACAddress": "52:54:00:12:34:56:78" })),
            &["spec.bootMACAddress: Invalid"],
        ),
        ("eight octets", spec(json!({ "bootMACAddress": "52:54:00:12:34:56:78:9a" })), &[]),
        ("Secure Boot", spec(json!({ "bootMode": "UEFISecureBoot" })), &[]),
        ("by IPMI", spec(json!({ "bmc": ipmi, "bootMode": "UEFISecureBoot" })), &["spec.bootMode: Invalid"]),
        ("RAID", spec(json!({ "raid": volumes })), &[]),
        (
            "RAID by IPMI",
            spec(json!({ "bmc": ipmi, "raid": volumes })),
            &["spec.raid.hardwareRAIDVolumes: Forbidden"],
        ),
        ("no RAID by IPMI", spec(json!({ "bmc": ipmi, "raid": { "hardwareRAIDVolumes": [] } })), &[]),
        ("firmware", spec(json!({ "firmware": { "sriovEnabled": true } })), &["spec.firmware: Forbidden"]),
    ]);
}

#[test]
fn images_and_disks() {
    let image = |image: Value| spec(json!({ "image": image }));
    let disk = |name: &str| spec(json!({ "rootDeviceHints": { "deviceName": name } }));
    let no_checksum: &[&str] = &["spec.image.checksum: Required"];
    let no_url: &[&str] = &["spec.image.url: Invalid"];
    let no_disk: &[&str] = &["spec.rootDeviceHints.deviceName: Invalid"];
    let level = |level: &str| spec(json!({ "raid": { "softwareRAIDVolumes": [{ "level": level }] } }));
    let hardware = |volume: Value| spec(json!({ "raid": { "hardwareRAIDVolumes": [volume] } }));
    created(&[
        ("image", image(json!({ "url": "http://a/b", "checksum": "0123" })), &[]),
        ("no checksum", image(json!({ "url": "http://a/b" })), no_checksum),
        ("ISO", image(json!({ "url": "http://a/b", "format": "live-iso" })), &[]),
        ("registry", image(json!({ "url": "oci://a/b" })), &[]),
        ("no URL", image(json!({ "url": "", "checksum": "0123" })), no_url),
        ("relative", image(json!({ "url": "a/b", "checksum": "0123" })), no_url),
        ("disk", disk("/dev/vda"), &[]),
        ("disk by path", disk("/dev/disk/by-path/pci-0000:01:00.0"), &[]),
        ("disk by identity", disk("/dev/disk/by-id/wwn-0x1"), no_disk),
        ("no path", disk("vda"), no_disk),
        ("first volume", level("1"), &[]),
        ("can't be booted", level("0"), &["spec.raid.softwareRAIDVolumes[0].level: Invalid"]),
        (
            "both kinds of volumes",
            spec(json!({ "raid": {
                "hardwareRAIDVolumes": [{ "level": "1" }],
                "softwareRAIDVolumes": [{ "level": "1" }],
            } })),
            &["spec.raid.softwareRAIDVolumes: Forbidden"],
        ),
        (
            "disks of whom",
            hardware(json!({ "level": "1", "physicalDisks": ["a", "b"] })),
            &["spec.raid.hardwareRAIDVolumes[0].controller: Required"],
        ),
        (
            "how many disks",
            hardware(
                json!({ "level": "1", "physicalDisks": ["a"], "controller": "c", "numberOfPhysicalDisks": 2 }),
            ),
            &["spec.raid.hardwareRAIDVolumes[0].numberOfPhysicalDisks: Invalid"],
        ),
        ("number alone", hardware(json!({ "level": "1", "numberOfPhysicalDisks": 2 })), &[]),
    ]);
}

#[test]
fn power_and_secrets() {
    let secret = |namespace: &str| spec(json!({ "userData": { "name": "a", "namespace": namespace } }));
    let elsewhere = json!({ "name": "a", "namespace": "other" });
    created(&[
        ("never off", spec(json!({ "disablePowerOff": true })), &[]),
        ("and off", spec(json!({ "disablePowerOff": true, "online": false })), &["spec.online: Forbidden"]),
        ("own namespace", secret("site"), &[]),
        ("no namespace", secret(""), &[]),
        ("other namespace", secret("other"), &["spec.userData.namespace: Invalid"]),
        (
            "others",
            spec(json!({ "networkData": elsewhere, "metaData": elsewhere })),
            &["spec.networkData.namespace: Invalid", "spec.metaData.namespace: Invalid"],
        ),
    ]);
}

#[test]
fn reboots_and_inspection() {
    let reboot = |value: &str| annotated("reboot.metal3.io/fence", value);
    let inspect = |value: &str| annotated("inspect.metal3.io", value);
    let mode = |mode: &str, annotation: &str| {
        let mut both = inspect(annotation);
        merge(&mut both, &spec(json!({ "inspectionMode": mode })));
        both
    };
    let power = |value: &str| annotated("metal.firstlight.dev/power", value);
    let refused: &[&str] = &["metadata.annotations[inspect.metal3.io]: Forbidden"];
    let no_reboot: &[&str] = &["metadata.annotations[reboot.metal3.io/fence]: Invalid"];
    let mut asleep = power("wake-on-lan");
    asleep["spec"] = json!({ "bmc": null, "bootMACAddress": null });
    created(&[
        ("empty", reboot(""), &[]),
        ("hard", reboot(r#"{"mode":"hard","force":true}"#), &[]),
        ("no mode", reboot(r#"{"mode":null}"#), &[]),
        (
            "other mode",
            reboot(r#"{"mode":"warm"}"#),
            &["metadata.annotations[reboot.metal3.io/fence].mode: NotSupported"],
        ),
        ("not JSON", reboot("hard"), no_reboot),
        ("wrong type", reboot(r#"{"force":"yes"}"#), no_reboot),
        (
            "without suffix",
            annotated("reboot.metal3.io", "now"),
            &["metadata.annotations[reboot.metal3.io]: Invalid"],
        ),
        ("somebody else's", annotated("reboot.metal3.iox", "now"), &[]),
        ("inspect", inspect(""), &[]),
        ("never inspect", inspect("disabled"), &[]),
        ("inspect how", inspect("fast"), &["metadata.annotations[inspect.metal3.io]: NotSupported"]),
        ("agrees", mode("disabled", "disabled"), &[]),
        ("agent, never", mode("agent", "disabled"), refused),
        ("disabled, once more", mode("disabled", ""), refused),
        ("by hand", power("manual"), &[]),
        ("woken", power("wake-on-lan"), &[]),
        ("woken how", asleep, &["spec.bootMACAddress: Required"]),
        ("by magic", power("magic"), &["metadata.annotations[metal.firstlight.dev/power]: NotSupported"]),
        ("by URL", annotated("netboot.firstlight.dev/user-data", "url"), &[]),
        (
            "by pigeon",
            annotated("netboot.firstlight.dev/user-data", "pigeon"),
            &["metadata.annotations[netboot.firstlight.dev/user-data]: NotSupported"],
        ),
        ("on", annotated("metal.firstlight.dev/powered", "on"), &[]),
        ("protected", annotated("metal.firstlight.dev/protect-disks", "true"), &[]),
        (
            "protected or not",
            annotated("metal.firstlight.dev/protect-disks", "false"),
            &["metadata.annotations[metal.firstlight.dev/protect-disks]: NotSupported"],
        ),
        (
            "protected by mistake",
            annotated("metal.firstlight.dev/protect-disk", "true"),
            &["metadata.annotations[metal.firstlight.dev/protect-disk]: Forbidden"],
        ),
        (
            "perhaps",
            annotated("metal.firstlight.dev/powered", "true"),
            &["metadata.annotations[metal.firstlight.dev/powered]: NotSupported"],
        ),
    ]);
}

#[test]
fn a_status_and_hardware_told_by_hand() {
    let status = |value: Value| annotated("baremetalhost.metal3.io/status", &value.to_string());
    let hardware = |value: Value| {
        let mut both = annotated("inspect.metal3.io/hardwaredetails", &value.to_string());
        merge(&mut both, &spec(json!({ "inspectionMode": "disabled" })));
        both
    };
    let full = json!({
        "operationalStatus": "OK", "errorCount": 0, "errorMessage": "", "poweredOn": true, "errorType": "",
        "lastUpdated": "2026-11-21T02:48:04Z", "hardware": null,
        "provisioning": { "ID": "", "state": "provisioned", "image": { "url": "http://a/b" } },
        "operationHistory": { "inspect": { "start": null, "end": null } },
    });
    let refused: &[&str] = &["metadata.annotations[baremetalhost.metal3.io/status]: Invalid"];
    let no_hardware: &[&str] = &["metadata.annotations[inspect.metal3.io/hardwaredetails]: Invalid"];
    let changed = |change: Value| {
        let mut changed = full.clone();
        merge(&mut changed, &change);
        status(changed)
    };
    created(&[
        ("full", status(full.clone()), &[]),
        ("little", status(json!({ "provisioning": { "state": "provisioned" } })), &[]),
        ("empty", annotated("baremetalhost.metal3.io/status", ""), &[]),
        ("not JSON", annotated("baremetalhost.metal3.io/status", "provisioned"), refused),
        ("a list", status(json!([])), refused),
        ("unknown field", changed(json!({ "provisioning": { "status": "x" } })), refused),
        ("wrong type", changed(json!({ "errorCount": "0" })), refused),
        ("no time", changed(json!({ "lastUpdated": "yesterday" })), refused),
        (
            "not taken over",
            changed(json!({ "operationalStatus": "servicing" })),
            &["metadata.annotations[baremetalhost.metal3.io/status].operationalStatus: NotSupported"],
        ),
        (
            "error not taken over",
            changed(json!({ "errorType": "servicing error" })),
            &["metadata.annotations[baremetalhost.metal3.io/status].errorType: NotSupported"],
        ),
        ("hardware", hardware(json!({ "hostname": "a", "nics": null, "cpu": { "count": 4 } })), &[]),
        ("unknown hardware", hardware(json!({ "gpus": null })), no_hardware),
        ("no MAC address", hardware(json!({ "nics": [{ "mac": "a" }] })), no_hardware),
        (
            "although it is inspected",
            annotated("inspect.metal3.io/hardwaredetails", "{}"),
            &["metadata.annotations[inspect.metal3.io/hardwaredetails]: Forbidden"],
        ),
    ]);
}

#[test]
fn what_changes_when() {
    let in_state = |state: &str, operational: &str, external: bool| {
        let mut host = host();
        host["spec"]["externallyProvisioned"] = json!(external);
        host["status"] = json!({
            "operationalStatus": operational, "errorCount": 0, "errorMessage": "", "poweredOn": true,
            "provisioning": { "ID": "", "state": state },
        });
        host
    };
    let moved = address("redfish://192.0.2.8/redfish/v1/Systems/1");
    let refused: &[&str] = &["spec.bmc.address: Forbidden"];
    for (state, operational, expected) in [
        ("available", "OK", refused),
        ("provisioned", "error", refused),
        ("provisioned", "detached", &[]),
        ("registering", "error", &[]),
    ] {
        let cases: &[Case<'_>] = &[("address", moved.clone(), expected)];
        updates(GROUP, "BareMetalHost", &in_state(state, operational, false), cases);
    }
    let mac = |mac: &str| spec(json!({ "bootMACAddress": mac }));
    let mut without = in_state("unmanaged", "discovered", false);
    merge(&mut without, &spec(json!({ "bmc": null, "bootMACAddress": null })));
    updates(GROUP, "BareMetalHost", &without, &[("both at once", spec(host()["spec"].clone()), &[])]);
    let good = in_state("available", "OK", false);
    let no_mac: &[&str] = &["spec.bootMACAddress: Forbidden"];
    let cases: &[Case<'_>] = &[
        ("letters", mac("52:54:00:12:34:56"), &[]),
        ("another", mac("52:54:00:12:34:57"), no_mac),
        ("upper case", mac("52:54:00:12:34:5A"), no_mac),
        (
            "none",
            spec(json!({ "bmc": null, "bootMACAddress": null })),
            &["spec.bmc.address: Forbidden", no_mac[0]],
        ),
        ("externally", spec(json!({ "externallyProvisioned": true })), &[]),
    ];
    updates(GROUP, "BareMetalHost", &good, cases);
    let mut letters = good;
    merge(&mut letters, &mac("52:54:00:12:34:5A"));
    updates(GROUP, "BareMetalHost", &letters, &[("lower case", mac("52:54:00:12:34:5a"), &[])]);
    let external: &[&str] = &["spec.externallyProvisioned: Forbidden"];
    let set = spec(json!({ "externallyProvisioned": true }));
    let unset = spec(json!({ "externallyProvisioned": false }));
    updates(GROUP, "BareMetalHost", &in_state("provisioned", "OK", false), &[("too late", set, external)]);
    let taken_back: &[Case<'_>] = &[("taken back", unset, external)];
    updates(GROUP, "BareMetalHost", &in_state("externally provisioned", "OK", true), taken_back);
}

#[test]
fn event_subscriptions() {
    let good = json!({
        "metadata": { "name": "events", "namespace": "site" },
        "spec": { "hostName": "node-1", "destination": "https://events.example.org/" },
    });
    let destination = |url: &str| spec(json!({ "destination": url }));
    let headers =
        |namespace: &str| spec(json!({ "httpHeadersRef": { "name": "a", "namespace": namespace } }));
    creations(
        GROUP,
        "BMCEventSubscription",
        &good,
        &[
            ("good", json!({}), &[]),
            ("whose", spec(json!({ "hostName": null })), &["spec.hostName: Required"]),
            ("where to", destination(""), &["spec.destination: Required"]),
            ("no path", destination("https://events.example.org"), &["spec.destination: Invalid"]),
            ("no URL", destination("events"), &["spec.destination: Invalid"]),
            ("headers", headers("site"), &[]),
            ("headers of others", headers("other"), &["spec.httpHeadersRef.namespace: Invalid"]),
        ],
    );
    updates(
        GROUP,
        "BMCEventSubscription",
        &good,
        &[
            ("status", json!({ "status": { "error": "x" } }), &[]),
            ("spec", spec(json!({ "context": "x" })), &["spec: Forbidden"]),
        ],
    );
}

#[test]
fn errors_say_what_to_do_and_no_password() {
    let message = |patch: Value| {
        let mut object = host();
        merge(&mut object, &patch);
        let found = admit(GROUP, "BareMetalHost", &mut object, None, false, &Facts::of_empty_server());
        let errors = found.unwrap_err();
        errors.iter().map(|error| format!("{}: {}", error.field, error.body())).collect::<Vec<_>>().join("\n")
    };
    let secret = message(address("ipmi://admin:hunter2@192.0.2.7"));
    assert!(!secret.contains("hunter2"), "{secret}");
    assert_eq!(
        message(address("irmc://192.0.2.7")),
        "spec.bmc.address: Invalid value: \"irmc://192.0.2.7\": unknown scheme \"irmc\": use one of ipmi, libvirt, \
         redfish, ilo5-redfish, idrac-redfish, redfish-virtualmedia, ilo5-virtualmedia, idrac-virtualmedia, \
         redfish-uefihttp, each Redfish scheme also with +http or +https"
    );
    assert_eq!(
        message(spec(json!({ "bootMACAddress": "52:54:00:12:34:56:78" }))),
        "spec.bootMACAddress: Invalid value: \"52:54:00:12:34:56:78\": must be a MAC address with colons, such as \
         52:54:00:12:34:56"
    );
    assert_eq!(
        message(spec(json!({ "image": { "url": "http://images/debian.raw" } }))),
        "spec.image.checksum: Required value: set it to the checksum of the image, or to the URL of a file of checksums"
    );
    assert_eq!(
        message(annotated("baremetalhost.metal3.io/status", r#"{"provisioning":{"status":"x"}}"#)),
        "metadata.annotations[baremetalhost.metal3.io/status]: Invalid value: must be the JSON of a BareMetalHost's \
         status: unknown field \"status.provisioning.status\""
    );
}
