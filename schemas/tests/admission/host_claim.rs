//! Tests of HostClaim and HostDeployPolicy.

use serde_json::{Value, json};

use super::{creations, updates};

const GROUP: &str = "metal3.io";

fn spec(spec: Value) -> Value {
    json!({ "spec": spec })
}

#[test]
fn claims_of_hosts() {
    let good = json!({
        "metadata": { "name": "c", "namespace": "tenant" },
        "spec": {
            "poweredOn": true,
            "image": { "url": "http://images/debian.raw", "checksum": "abc" },
            "userData": { "name": "u", "namespace": "tenant" },
            "hostSelector": { "matchLabels": { "rack": "r1" } },
        },
    });
    let secret = |field: &str| spec(json!({ field: { "name": "u", "namespace": "other" } }));
    let expression = |operator: &str, values: &[&str]| {
        spec(
            json!({ "hostSelector": { "matchExpressions": [{ "key": "size", "operator": operator, "values": values }] } }),
        )
    };
    let labels = |labels: Value| spec(json!({ "hostSelector": { "matchLabels": labels } }));
    let reboot = |value: &str| json!({ "metadata": { "annotations": { "reboot.metal3.io/x": value } } });
    let values: &[&str] = &["spec.hostSelector.matchExpressions[0].values: Invalid"];
    creations(
        GROUP,
        "HostClaim",
        &good,
        &[
            ("good", json!({}), &[]),
            ("user data of others", secret("userData"), &["spec.userData.namespace: Invalid"]),
            ("metadata of others", secret("metaData"), &["spec.metaData.namespace: Invalid"]),
            ("network data of others", secret("networkData"), &["spec.networkData.namespace: Invalid"]),
            ("in", expression("In", &["1", "2"]), &[]),
            (
                "in nothing",
                expression("in", &[]),
                &["spec.hostSelector.matchExpressions[0].values: Required"],
            ),
            ("equals two", expression("=", &["1", "2"]), values),
            ("exists", expression("Exists", &[]), &[]),
            ("exists with a value", expression("exists", &["1"]), values),
            ("absent with a value", expression("!", &["1"]), values),
            (
                "no operator",
                expression("near", &[]),
                &["spec.hostSelector.matchExpressions[0].operator: NotSupported"],
            ),
            (
                "no label value",
                expression("in", &["a b"]),
                &["spec.hostSelector.matchExpressions[0].values[0]: Invalid"],
            ),
            ("no key", labels(json!({ "a b": "c" })), &["spec.hostSelector.matchLabels[a b]: Invalid"]),
            ("no value", labels(json!({ "a": "b c" })), &["spec.hostSelector.matchLabels[a]: Invalid"]),
            (
                "no checksum",
                spec(json!({ "image": { "checksum": null } })),
                &["spec.image.checksum: Required"],
            ),
            ("reboot", reboot(r#"{"mode":"hard"}"#), &[]),
            ("no reboot", reboot("now"), &["metadata.annotations[reboot.metal3.io/x]: Invalid"]),
        ],
    );
}

#[test]
fn a_reboot_that_no_host_can_have_is_not_asked_for() {
    let asked = |length: usize| {
        let key = format!("reboot.metal3.io/{}", "x".repeat(length));
        (
            json!({ "metadata": { "annotations": { key.as_str(): "" } } }),
            format!("metadata.annotations[{key}]: Forbidden"),
        )
    };
    let claim = |annotations: Value| json!({ "metadata": { "name": "c", "namespace": "tenant", "annotations": annotations }, "spec": {} });
    let ((fits, _), (long, refused), (longer, longer_refused)) = (asked(53), asked(54), asked(55));
    let none: &[&str] = &[];
    creations(
        GROUP,
        "HostClaim",
        &claim(json!({})),
        &[("fits", fits, none), ("too long", long.clone(), &[&refused])],
    );
    // A claim that was stored with it can still be changed, and deleted.
    let stored = claim(long["metadata"]["annotations"].clone());
    updates(
        GROUP,
        "HostClaim",
        &stored,
        &[("changed", spec(json!({ "poweredOn": true })), none), ("one more", longer, &[&longer_refused])],
    );
}

#[test]
fn policies_have_patterns_that_compile() {
    let matches = |pattern: &str| spec(json!({ "hostClaimNamespaces": { "nameMatches": pattern } }));
    creations(
        GROUP,
        "HostDeployPolicy",
        &json!({ "metadata": { "name": "p", "namespace": "site" }, "spec": {} }),
        &[
            ("empty", json!({}), &[]),
            ("any", matches(""), &[]),
            ("pattern", matches("^tenant-[0-9]+$"), &[]),
            ("no pattern", matches("("), &["spec.hostClaimNamespaces.nameMatches: Invalid"]),
            ("look-ahead", matches("(?=a)"), &["spec.hostClaimNamespaces.nameMatches: Invalid"]),
        ],
    );
}
