//! Known objects of Metal3's kinds in both versions.

use schemas::conversion::check;
use serde_json::{Value, json};

use super::{ANNOTATION, METAL3, kind};

fn object(kind: &str, version: &str, body: Value) -> Value {
    let mut object = json!({
        "apiVersion": format!("{METAL3}/{version}"), "kind": kind, "metadata": { "name": "a", "namespace": "site" },
    });
    object.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    object
}

/// Checks both directions. Nothing has to be kept in an annotation.
fn same(name: &str, older: Value, newer: Value) {
    let kind = kind(name);
    let (older, newer) = (object(name, "v1beta1", older), object(name, "v1beta2", newer));
    assert_eq!(kind.convert(&older, "v1beta2"), newer, "{name} up");
    assert_eq!(kind.convert(&newer, "v1beta1"), older, "{name} down");
}

/// Checks what `v1beta1` becomes, apart from the annotation that keeps the rest of it.
fn becomes(name: &str, older: Value, newer: Value) {
    let kind = kind(name);
    let older = object(name, "v1beta1", older);
    let mut found = kind.convert(&older, "v1beta2");
    assert_eq!(kind.convert(&found, "v1beta1"), older, "{name} and back");
    let annotations = found["metadata"].as_object_mut().unwrap().remove("annotations").unwrap();
    assert!(annotations[ANNOTATION].is_string(), "{name}");
    assert_eq!(found, object(name, "v1beta2", newer), "{name}");
}

#[test]
fn clusters() {
    let condition =
        json!({ "type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T02:48:04Z" });
    let newer_condition = json!({
        "type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T02:48:04Z", "reason": "Ready",
        "message": "", "observedGeneration": 3,
    });
    same(
        "Metal3Cluster",
        json!({
            "spec": {
                "cloudProviderEnabled": false, "noCloudProvider": true,
                "controlPlaneEndpoint": { "host": "192.0.2.1", "port": 6443 },
                "failureDomains": { "b": { "controlPlane": true }, "a": { "attributes": { "rack": "1" } } },
            },
            "status": {
                "ready": true, "failureReason": "a", "failureMessage": "b", "conditions": [condition],
                "failureDomains": { "a": {} }, "v1beta2": { "conditions": [newer_condition] },
            },
        }),
        json!({
            "spec": {
                "cloudProviderEnabled": false,
                "controlPlaneEndpoint": { "host": "192.0.2.1", "port": 6443 },
                "failureDomains": [
                    { "name": "a", "attributes": { "rack": "1" } }, { "name": "b", "controlPlane": true },
                ],
            },
            "status": {
                "initialization": { "provisioned": true }, "failureDomains": [{ "name": "a" }],
                "conditions": [newer_condition],
                "deprecated": { "v1beta1": {
                    "failureReason": "a", "failureMessage": "b", "conditions": [condition],
                } },
            },
        }),
    );
    // Upstream ignores it, too.
    becomes("Metal3Cluster", json!({ "spec": { "noCloudProvider": false } }), json!({ "spec": {} }));
    becomes("Metal3Cluster", json!({ "spec": { "failureDomains": {} } }), json!({ "spec": {} }));
    let spec = json!({ "controlPlaneEndpoint": { "host": "192.0.2.1", "port": 6443 } });
    same(
        "Metal3ClusterTemplate",
        json!({ "spec": { "template": { "spec": spec } } }),
        json!({ "spec": { "template": { "spec": spec } } }),
    );
}

#[test]
fn machines() {
    let image =
        |format: &str| json!({ "url": "http://a/b", "checksum": "c", "checksumType": "md5", format: "raw" });
    let spec = |format: &str| {
        json!({
            "image": image(format), "dataTemplate": { "name": "t" }, "providerID": "metal3://a/b/c",
            "hostSelector": { "matchLabels": { "rack": "1" } }, "automatedCleaningMode": "metadata",
            "userData": { "name": "s", "namespace": "site" },
        })
    };
    let status = json!({ "addresses": [{ "type": "InternalIP", "address": "192.0.2.9" }] });
    let (mut older, mut newer) = (status.clone(), status);
    older["ready"] = json!(false);
    newer["initialization"] = json!({ "provisioned": false });
    same(
        "Metal3Machine",
        json!({ "spec": spec("format"), "status": older }),
        json!({ "spec": spec("diskFormat"), "status": newer }),
    );
    same(
        "Metal3MachineTemplate",
        json!({ "spec": { "nodeReuse": true, "template": { "spec": spec("format") } } }),
        json!({ "spec": { "nodeReuse": true, "template": { "spec": spec("diskFormat") } } }),
    );
    let full = json!({ "kind": "Metal3DataTemplate", "name": "t", "namespace": "site", "uid": "u" });
    becomes(
        "Metal3Machine",
        json!({ "spec": { "dataTemplate": full, "providerID": "" }, "status": { "phase": "Running" } }),
        json!({ "spec": { "dataTemplate": { "name": "t", "namespace": "site" } }, "status": {} }),
    );
}

#[test]
fn data() {
    let reference = |name: &str| json!({ "name": name, "namespace": "site" });
    let data = json!({ "spec": { "index": 2, "claim": reference("c"), "template": reference("t") } });
    same("Metal3Data", data.clone(), data);
    becomes(
        "Metal3Data",
        json!({ "spec": { "claim": { "name": "c", "kind": "Metal3DataClaim" }, "template": {} } }),
        json!({ "spec": { "index": 0, "claim": { "name": "c" } } }),
    );
    let claim =
        json!({ "spec": { "template": reference("t") }, "status": { "renderedData": reference("d") } });
    same("Metal3DataClaim", claim.clone(), claim);
}

#[test]
fn data_templates() {
    let pool = json!([{ "key": "ip", "name": "p", "apiGroup": "ipam.metal3.io", "kind": "IPPool" }]);
    let bond = |parameters: Value| json!({ "id": "b", "bondMode": "802.3ad", "parameters": parameters });
    let spec = |lists: [&str; 4], parameters: Value| {
        json!({
            "clusterName": "c",
            "metaData": {
                lists[0]: pool, lists[1]: pool, lists[2]: pool, lists[3]: pool,
                "strings": [{ "key": "a", "value": "b" }],
            },
            "networkData": {
                "links": { "bonds": [bond(parameters)] },
                "networks": {
                    "ipv4": [{ "id": "n", "link": "b", "ipAddressFromIPPool": "p" }],
                    "ipv6": [{ "id": "m", "link": "b", "ipAddressFromIPPool": "q" }],
                },
            },
        })
    };
    let older = ["ipAddressesFromIPPool", "prefixesFromIPPool", "gatewaysFromIPPool", "dnsServersFromIPPool"];
    let newer = ["ipAddressesFromPool", "prefixesFromPool", "gatewaysFromPool", "dnsServersFromPool"];
    same(
        "Metal3DataTemplate",
        json!({
            "spec": spec(older, json!({ "miimon": 100, "lacp_rate": "fast" })),
            "status": { "indexes": { "m-2": 1, "m-1": 2 } },
        }),
        json!({
            "spec": spec(newer, json!([
                { "name": "lacp_rate", "value": "fast" }, { "name": "miimon", "value": 100 },
            ])),
            "status": { "indexes": [{ "name": "m-2", "index": 1 }, { "name": "m-1", "index": 2 }] },
        }),
    );
    becomes(
        "Metal3DataTemplate",
        json!({ "spec": { "clusterName": "c", "templateReference": "t" } }),
        json!({ "spec": { "clusterName": "c" } }),
    );
}

#[test]
fn remediations() {
    let strategy = |timeout: Value| {
        let mut strategy = json!({ "type": "Reboot", "retryLimit": 1 });
        strategy.as_object_mut().unwrap().extend(timeout.as_object().unwrap().clone());
        json!({ "spec": { "strategy": strategy } })
    };
    for (text, seconds) in [("10m0s", 600), ("1h0m1s", 3601), ("59s", 59), ("-1m0s", -60)] {
        same(
            "Metal3Remediation",
            strategy(json!({ "timeout": text })),
            strategy(json!({ "timeoutSeconds": seconds })),
        );
    }
    for (text, seconds) in [("600s", 600), ("1.5s", 1), ("2500000h", i32::MAX)] {
        becomes(
            "Metal3Remediation",
            strategy(json!({ "timeout": text })),
            strategy(json!({ "timeoutSeconds": seconds })),
        );
    }
    let template = |timeout: Value| json!({ "spec": { "template": strategy(timeout) } });
    same(
        "Metal3RemediationTemplate",
        template(json!({ "timeout": "10m0s" })),
        template(json!({ "timeoutSeconds": 600 })),
    );
}

#[test]
fn data_of_upstream_are_read() {
    let kind = kind("Metal3MachineTemplate");
    let body = json!({ "spec": { "template": { "metadata": { "labels": { "a": "b" } }, "spec": {} } } });
    let mut older =
        object("Metal3MachineTemplate", "v1beta1", json!({ "spec": { "template": { "spec": {} } } }));
    older["metadata"]["annotations"] = json!({ ANNOTATION: body.to_string() });
    assert_eq!(kind.convert(&older, "v1beta2"), object("Metal3MachineTemplate", "v1beta2", body));
}

#[test]
fn a_later_change_in_the_stored_version_is_shown() {
    let kind = kind("Metal3DataTemplate");
    let domains =
        |names: &[&str]| -> Value { names.iter().map(|name| json!({ "key": name, "value": "x" })).collect() };
    let older = object(
        "Metal3DataTemplate",
        "v1beta1",
        json!({ "spec": { "clusterName": "c", "templateReference": "t", "metaData": { "strings": domains(&["a"]) } } }),
    );
    let mut stored = kind.convert(&older, "v1beta2");
    stored["spec"]["clusterName"] = json!("d");
    stored["spec"]["metaData"]["strings"] = domains(&["b", "a"]);
    let shown = kind.convert(&stored, "v1beta1");
    assert_eq!(shown["spec"]["templateReference"], "t");
    assert_eq!(shown["spec"]["clusterName"], "d");
    assert_eq!(shown["spec"]["metaData"]["strings"], domains(&["b", "a"]));
}

#[test]
fn what_a_client_should_know() {
    let checked = |name: &str, version: &str, spec: Value| {
        let found = check(METAL3, &object(name, version, json!({ "spec": spec })));
        found.map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let provider = |spec: Value| checked("Metal3Cluster", "v1beta1", spec);
    assert_eq!(provider(json!({ "noCloudProvider": true })), Ok(vec![]));
    assert_eq!(provider(json!({ "noCloudProvider": false, "cloudProviderEnabled": true })), Ok(vec![]));
    assert_eq!(
        provider(json!({ "noCloudProvider": false })),
        Ok(vec![
            "spec.noCloudProvider: false is ignored, as by Metal3; set cloudProviderEnabled: true if you mean it".to_owned()
        ])
    );
    let timeout =
        |text: &str| checked("Metal3Remediation", "v1beta1", json!({ "strategy": { "timeout": text } }));
    assert_eq!(timeout("600s"), Ok(vec![]));
    assert_eq!(
        timeout("600"),
        Err(vec![
            "spec.strategy.timeout: Invalid value: \"600\": must be a duration, such as 600s or 10m"
                .to_owned()
        ])
    );
    assert_eq!(
        checked("Metal3Remediation", "v1beta2", json!({ "strategy": { "timeout": "600" } })),
        Ok(vec![])
    );
}
