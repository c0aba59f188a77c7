//! Tests of the validation and the defaults of single fields.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kinds::Subresource;
use kinds::strategy::Strategy;
use serde_json::{Value, json};
use std::sync::Arc;

fn strategy(plural: &str) -> Arc<dyn Strategy> {
    kinds::strategy(kinds::definitions().iter().find(|one| one.plural == plural).unwrap())
}

/// Returns the problems of the field at `field` of a new object.
fn problems(plural: &str, object: &Value, field: &str) -> Vec<String> {
    let errors = strategy(plural).validate(object);
    errors.into_iter().filter(|error| error.field == field).map(|error| error.detail).collect()
}

#[test]
fn addresses() {
    const ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
    let found = |text: &str| {
        let pod = json!({"spec": {"dnsConfig": {"nameservers": [text]}}});
        problems("pods", &pod, "spec.dnsConfig.nameservers[0]")
    };
    for text in ["10.0.0.1", "2001:db8::1", "::1", "0.0.0.0"] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
    for (text, problem) in [
        ("x", ADDRESS),
        ("", ADDRESS),
        ("1.2.3", ADDRESS),
        ("01.2.3.4", "must not have leading 0s"),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
    ] {
        assert_eq!(found(text), [problem], "{text}");
    }
}

#[test]
fn ranges_of_addresses() {
    const RANGE: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
    let found = |text: &str| problems("nodes", &json!({"spec": {"podCIDRs": [text]}}), "spec.podCIDRs[0]");
    for text in ["10.0.0.0/8", "0.0.0.0/0", "1.2.3.4/32", "fd00::/64", "::/0"] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
    for (text, problem) in [
        ("10.0.0.0", RANGE),
        ("10.0.0.0/33", RANGE),
        ("10.0.0.0/", RANGE),
        ("010.0.0.0/8", "must not have leading 0s in IP or prefix length"),
        ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
        ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
        ("fd00::1/64", "must not have bits set beyond the prefix length"),
        ("::ffff:1.2.3.0/120", "must not have an IPv4-mapped IPv6 address"),
    ] {
        assert_eq!(found(text), [problem], "{text}");
    }
}

#[test]
fn ports_and_percentages() {
    for (name, good) in
        [("http", true), ("h--p", false), ("80", false), ("", false), ("a-very-long-name", false)]
    {
        let service = json!({"spec": {"ports": [{"port": 80, "targetPort": name}]}});
        assert_eq!(problems("services", &service, "spec.ports[0].targetPort").is_empty(), good, "{name}");
    }
    for (value, good) in [("5%", true), ("%", false), ("5", false), ("x%", false)] {
        let budget = json!({"spec": {"maxUnavailable": value}});
        let found = problems("poddisruptionbudgets", &budget, "spec.maxUnavailable");
        assert_eq!(found.is_empty(), good, "{value}: {found:?}");
    }
}

#[test]
fn schedules() {
    let found = |text: &str| problems("cronjobs", &json!({"spec": {"schedule": text}}), "spec.schedule");
    for text in
        ["* * * * *", "*/5 1-3 1,15 JAN mon", "@hourly", "@every 1h30m", "? 0 * * 0-6/2", "5/15 * * * *"]
    {
        assert_eq!(found(text), [""; 0], "{text}");
    }
    for (text, why) in [
        ("x", "expected exactly 5 fields, found 1: [x]"),
        ("61 * * * *", "end of range (61) above maximum (59): 61"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("@odd", "unrecognized descriptor: @odd"),
        ("@every x", "failed to parse duration @every x: time: invalid duration \"x\""),
        ("a * * * *", "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax"),
    ] {
        assert_eq!(found(text), [why], "{text}");
    }
}

#[test]
fn zones() {
    for (name, good) in [("UTC", true), ("Europe/Berlin", true), ("Odd/Zone", false), ("/etc", false)] {
        let found = problems("cronjobs", &json!({"spec": {"timeZone": name}}), "spec.timeZone");
        assert_eq!(found.is_empty(), good, "{name}");
    }
}

/// Returns the problems of a Job with 5 completions that succeeds with `count` of `indexes`.
fn success(indexes: &str, count: i64, field: &str) -> Vec<String> {
    let policy = json!({"rules": [{"succeededIndexes": indexes, "succeededCount": count}]});
    let spec = json!({"completionMode": "Indexed", "completions": 5, "successPolicy": policy});
    problems("jobs", &json!({"spec": spec}), &format!("spec.successPolicy.rules[0].{field}"))
}

#[test]
fn completion_indexes() {
    for (text, number) in [("0-2,4", 4), ("", 0)] {
        assert_eq!(success(text, number, "succeededIndexes"), [""; 0], "{text}");
        assert_eq!(success(text, number, "succeededCount"), [""; 0], "{text}");
        let many = success(text, number + 1, "succeededCount");
        assert!(
            many.iter().any(|why| why.contains(&format!("equal to {number} (the number of indexes"))),
            "{many:?}"
        );
    }
    for text in ["x", "1,0", "2-1", "5", "0-5", "1,", "0-1-2", "-1"] {
        assert_eq!(success(text, 1, "succeededIndexes").len(), 1, "{text}");
    }
}

#[test]
fn an_index_has_one_outcome() {
    let overlap = |done: &str, failed: &str| {
        let spec = json!({"completionMode": "Indexed", "completions": 5, "backoffLimitPerIndex": 1});
        let old = json!({"spec": spec, "status": {}});
        let new = json!({"spec": spec, "status": {"completedIndexes": done, "failedIndexes": failed}});
        let errors = strategy("jobs").validate_status_update(&new, &old);
        let at_failed = errors.into_iter().filter(|error| error.field == "status.failedIndexes");
        at_failed.map(|error| error.detail).collect::<Vec<_>>()
    };
    assert_eq!(overlap("0-2", "2-4"), ["failedIndexes and completedIndexes overlap at index: 2"]);
    assert_eq!(overlap("0-1", "2-4"), [""; 0]);
}

/// Returns the problem of the text of a signed certificate.
fn signed(text: &str) -> Vec<String> {
    let request = json!({"status": {"certificate": STANDARD.encode(text)}});
    let errors = strategy("certificatesigningrequests").validate_part_update(
        Subresource::Status,
        &request,
        &json!({"status": {}}),
    );
    let at_certificate = errors.into_iter().filter(|error| error.field == "status.certificate");
    at_certificate.map(|error| error.detail).collect()
}

#[test]
fn blocks_are_found_between_their_lines() {
    const NONE: &str = "must contain at least one CERTIFICATE PEM block";
    let block = |label: &str| format!("-----BEGIN {label}-----\nYWJj\n-----END {label}-----\n");
    let other = |label: &str| format!("only CERTIFICATE PEM blocks are allowed, found {label:?}");
    let certificate = include_str!("data/certificate.pem");
    assert_eq!(signed(&format!("x\n{certificate}y")), [""; 0]);
    assert_eq!(signed(&format!("-----BEGIN CERTIFICATE-----\nno end\n{certificate}")), [""; 0]);
    assert_eq!(signed(&format!("x\n{}y{}", block("A"), block("B C"))), [other("A")]);
    assert_eq!(signed(&format!("x\n{certificate}y{}", block("B C"))), [other("B C")]);
    // As in Go, a block begins at the last BEGIN line before its END line.
    assert_eq!(signed(&format!("-----BEGIN A-----\n{}", block("B"))), [other("B")]);
    assert_eq!(signed("-----BEGIN A-----\n!\n-----END A-----"), [NONE]);
    assert_eq!(signed("-----BEGIN A-----\nYWJj\n-----END B-----"), [NONE]);
    // BEGIN lines without an END line must not make the parser quadratic.
    assert_eq!(signed(&"-----BEGIN A-----\n".repeat(200_000)), [NONE]);
    assert_eq!(signed(&"-----BEGIN A-----\n-----END B-----\n".repeat(100_000)), [NONE]);
}

#[test]
fn costs_and_profiles() {
    let found = |key: &str, value: &str| {
        let errors = strategy("pods").validate(&json!({"metadata": {"annotations": {key: value}}}));
        errors.iter().filter(|error| error.field.contains(key)).count()
    };
    for (text, good) in [("5", true), ("-5", true), ("+5", false), ("05", false), ("x", false), ("0", true)] {
        assert_eq!(found("controller.kubernetes.io/pod-deletion-cost", text) == 0, good, "{text}");
    }
    for (text, good) in
        [("unconfined", true), ("localhost/a/b", true), ("localhost//a", false), ("odd", false)]
    {
        assert_eq!(found("seccomp.security.alpha.kubernetes.io/pod", text) == 0, good, "{text}");
    }
}

#[test]
fn pull_policies() {
    for (image, policy) in [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.2", "IfNotPresent"),
        ("host:5000/nginx", "Always"),
        ("host:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:ab", "IfNotPresent"),
        ("", "IfNotPresent"),
        (" nginx", "IfNotPresent"),
        ("Nginx", "IfNotPresent"),
    ] {
        let mut pod = json!({"spec": {"containers": [{"name": "a", "image": image}]}});
        strategy("pods").normalize(&mut pod);
        assert_eq!(pod["spec"]["containers"][0]["imagePullPolicy"], policy, "{image}");
    }
}
