//! Tables over the choice of hosts.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::Arc;

use crate::metal_machines::testing::merge;
use engine::NamespacedName;
use metal::names::PAUSED;
use metal_machines::choice::explain::explain;
use metal_machines::choice::{Choice, Wish, choose};
use metal_machines::consumer::ConsumerKind;
use metal_machines::names::{FAILURE_DOMAIN, NODE_REUSE, UNHEALTHY, UNHEALTHY_OLDER};
use schemas::infrastructure::HostSelector;
use schemas::metal3::BareMetalHost;
use serde_json::{Value, json};

fn host(name: &str, change: Value) -> Arc<BareMetalHost> {
    let mut value = json!({
        "metadata": {"name": name, "namespace": "metal", "uid": format!("uid-{name}")},
        "spec": {"online": false},
        "status": {"provisioning": {"state": "available"}},
    });
    merge(&mut value, &change);
    Arc::new(serde_json::from_value(value).unwrap())
}

fn consumer(kind: &str, name: &str) -> Value {
    let version = "infrastructure.cluster.x-k8s.io/v1beta1";
    json!({"spec": {"consumerRef": {"kind": kind, "name": name, "namespace": "metal", "apiVersion": version}}})
}

fn labelled(key: &str, value: &str) -> Value {
    json!({"metadata": {"labels": {key: value}}})
}

/// Returns the names of the hosts that fit, or the reason.
fn chosen(
    hosts: &[Arc<BareMetalHost>],
    selector: Value,
    domain: Option<&str>,
    reuse: Option<&str>,
) -> String {
    let selector: HostSelector = serde_json::from_value(selector).unwrap();
    let machine = NamespacedName::new("metal", "m-0");
    let kind = ConsumerKind::Machine;
    let wish =
        Wish { kind, name: &machine, uid: "u", selector: Some(&selector), failure_domain: domain, reuse };
    let name = |host: &Arc<BareMetalHost>| host.metadata.name.clone().unwrap();
    match choose(hosts, wish) {
        Choice::Own(host) => format!("own {}", name(&host)),
        Choice::Fitting { hosts, reused } => {
            let mut names: Vec<String> = hosts.iter().map(name).collect();
            if domain.is_none() {
                names.sort();
            }
            format!("{}{}", if reused { "kept " } else { "" }, names.join(" "))
        }
        Choice::WaitsForReuse(hosts) => format!("waits: {}", explain(&hosts)),
        Choice::None(misfits) => explain(&misfits),
    }
}

#[test]
fn each_reason_is_told() {
    let state = |state: &str| json!({"status": {"provisioning": {"state": state}}});
    let annotated = |key: &str| json!({"metadata": {"annotations": {key: ""}}});
    let cases = [
        (json!({}), "a"),
        (state("ready"), "a"),
        (state("inspecting"), "a is inspecting"),
        (state("externally provisioned"), "a is externally provisioned"),
        (json!({"status": null}), "a is new"),
        (consumer("Metal3Machine", "m-0"), "own a"),
        (consumer("Metal3Machine", "m-1"), "a is used by another consumer"),
        (consumer("HostClaim", "m-0"), "a is used by another consumer"),
        (labelled(NODE_REUSE, "md-other"), "a is kept for machines of md-other (node reuse)"),
        (json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), "a is being deleted"),
        (json!({"status": {"errorMessage": "no answer"}}), "a has an error: no answer"),
        (annotated(PAUSED), "a is paused"),
        (annotated(UNHEALTHY), "a was given up by a remediation (annotation capm3.metal3.io/unhealthy)"),
        (
            annotated(UNHEALTHY_OLDER),
            "a was given up by a remediation (annotation capm3.metal3.io/unhealthy)",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(chosen(&[host("a", change.clone())], json!({}), None, None), expected, "{change}");
    }
    assert_eq!(chosen(&[], json!({}), None, None), "there is no BareMetalHost in the namespace");
}

#[test]
fn selectors_are_those_of_labels() {
    let big = host(
        "big",
        json!({"metadata": {"labels": {"size": "12", "rack": "r1"}}, "spec": {"architecture": "aarch64"}}),
    );
    let expression = |operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": "size", "operator": operator, "values": values}]});
    let cases = [
        (json!({"matchLabels": {"rack": "r1"}}), "big"),
        (json!({"matchLabels": {"rack": "r2"}}), "big does not match hostSelector rack=r2"),
        (json!({"matchLabels": {"kubernetes.io/arch": "arm64"}}), "big"),
        (
            json!({"matchLabels": {"kubernetes.io/arch": "amd64"}}),
            "big does not match hostSelector kubernetes.io/arch=amd64",
        ),
        (expression("In", &["12", "13"]), "big"),
        (expression("in", &["13"]), "big does not match hostSelector size in (13)"),
        (expression("NotIn", &["13"]), "big"),
        (expression("!=", &["12"]), "big does not match hostSelector size != (12)"),
        (expression("Exists", &[]), "big"),
        (expression("DoesNotExist", &[]), "big does not match hostSelector size DoesNotExist"),
        (expression("Gt", &["11"]), "big"),
        (expression("lt", &["11"]), "big does not match hostSelector size lt (11)"),
        (expression("gt", &["many"]), "big does not match hostSelector size gt (many)"),
        (expression("near", &["12"]), "big does not match hostSelector size near (12)"),
    ];
    for (selector, expected) in cases {
        assert_eq!(chosen(std::slice::from_ref(&big), selector.clone(), None, None), expected, "{selector}");
    }
}

#[test]
fn kept_hosts_come_before_free_ones() {
    let kept = |name: &str, state: &str| {
        let mut value = labelled(NODE_REUSE, "cp-plane");
        merge(&mut value, &json!({"status": {"provisioning": {"state": state}}}));
        host(name, value)
    };
    let reuse = Some("cp-plane");
    let free = host("free", json!({}));
    let all = [free.clone(), kept("kept", "available")];
    assert_eq!(chosen(&all, json!({}), None, reuse), "kept kept");
    let busy = [free.clone(), kept("kept", "deprovisioning")];
    assert_eq!(chosen(&busy, json!({}), None, reuse), "waits: kept is deprovisioning");
    assert_eq!(chosen(&busy, json!({}), None, Some("md-x")), "free");
    let mut reserved = labelled(NODE_REUSE, "cp-plane");
    merge(&mut reserved, &consumer("Cluster", "c"));
    assert_eq!(chosen(&[host("reserved", reserved.clone())], json!({}), None, reuse), "kept reserved");
    assert_eq!(
        chosen(&[host("reserved", reserved)], json!({}), None, None),
        "reserved is used by another consumer"
    );
}

#[test]
fn the_failure_domain_is_a_preference() {
    let hosts = [host("a", json!({})), host("b", labelled(FAILURE_DOMAIN, "r2")), host("c", json!({}))];
    assert!(chosen(&hosts, json!({}), Some("r2"), None).starts_with("b "));
    assert_eq!(chosen(&hosts, json!({}), Some("r3"), None).split(' ').count(), 3);
}

#[test]
fn many_hosts_are_told_in_few_words() {
    let mut hosts: Vec<_> =
        (0..100).map(|n| host(&format!("used-{n}"), consumer("Metal3Machine", "other"))).collect();
    hosts.push(host("last", json!({"status": {"provisioning": {"state": "inspecting"}}})));
    let text = chosen(&hosts, json!({}), None, None);
    assert_eq!(
        text,
        "100 hosts (used-0, used-1, used-2, used-3, used-4, …): is used by another consumer; last is inspecting"
    );
    let errors: Vec<_> = (0..=metal_machines::limits::REASONS_NAMED)
        .map(|n| host(&format!("h{n}"), json!({"status": {"errorMessage": format!("error {n}")}})))
        .collect();
    assert!(chosen(&errors, json!({}), None, None).ends_with("; 1 more reasons"));
}
