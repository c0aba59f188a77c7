//! Tests of `kubelet::plan::moved_ports`.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Container;
use kubelet::plan::moved_ports::{Move, moved, wanted};

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn known_flags_are_found_and_moved() {
    for (given, port, known, expected) in [
        (&["/m", "--webhook-port=9443"][..], 9443, "", Some(&["/m", "--webhook-port=7000"][..])),
        (&["/m", "-webhook-port", "9443"], 9443, "", Some(&["/m", "-webhook-port", "7000"])),
        (&["/m", "--health-addr=:9440"], 9440, "", Some(&["/m", "--health-addr=:7000"])),
        (
            &["/m", "--metrics-bind-addr=127.0.0.1:8080", "--v=8080"],
            8080,
            "",
            Some(&["/m", "--metrics-bind-addr=127.0.0.1:7000", "--v=8080"]),
        ),
        (
            &["/m", "--diagnostics-address", "[::1]:8443"],
            8443,
            "",
            Some(&["/m", "--diagnostics-address", "[::1]:7000"]),
        ),
        (&["/m"], 9443, "webhook-port", Some(&["/m", "--webhook-port=7000"])),
        (&["/m"], 8081, "health-probe-bind-address", Some(&["/m", "--health-probe-bind-address=:7000"])),
        (&["/m"], 9443, "", None),
        (&["/m", "--other=:9443"], 9443, "", None),
        (&["/m"], 1234, "webhook-port", None),
    ] {
        let moves = BTreeMap::from([(port, Move { to: 7000, other: "the Pod a/b".to_owned() })]);
        let found = moved(texts(given), &moves, &|flag| flag == known);
        match expected {
            Some(expected) => assert_eq!(found.unwrap(), texts(expected)),
            None => {
                let error = found.unwrap_err().to_string();
                assert!(error.contains("the Pod a/b") && error.contains(&port.to_string()), "{error}");
            }
        }
    }
}

#[test]
fn wanted_ports_are_those_named_and_those_of_flags() {
    let container: Container = serde_json::from_value(serde_json::json!({
        "name": "manager",
        "args": ["--metrics-bind-addr=:8080", "--webhook-port", "9443", "--health-addr=0", "--diagnostics-address=:0", "--v=1:5"],
        "ports": [{"containerPort": 9440}, {"containerPort": 53, "protocol": "UDP"}],
    }))
    .unwrap();
    assert_eq!(wanted(&container), BTreeSet::from([8080, 9440, 9443]));
}
