//! Tests of `bootstrap::report`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use chrono::{DateTime, Duration, Utc};
use machinery::clock::parse_rfc3339;
use metal::names::BOOTSTRAP;
use metal_provisioning::bootstrap::report::{Decision, Report, decide, is_open};
use metal_provisioning::limits;
use schemas::metal3::BareMetalHost;
use serde_json::{Value, json};

const START: &str = "2026-11-22T08:50:00Z";

fn host(state: &str, annotation: Option<Value>) -> BareMetalHost {
    let annotation = annotation.map(|value| json!({ BOOTSTRAP: value.to_string() }));
    serde_json::from_value(json!({
        "metadata": { "name": "a", "annotations": annotation }, "spec": { "online": true },
        "status": {
            "provisioning": { "state": state },
            "operationHistory": { "provision": { "start": START, "end": "2026-11-22T09:00:00Z" } },
        },
    }))
    .unwrap()
}

fn at(seconds: i64) -> DateTime<Utc> {
    parse_rfc3339("2026-11-22T09:00:00Z").unwrap() + Duration::seconds(seconds)
}

#[test]
fn only_a_host_with_an_image_takes_reports_and_only_for_a_time() {
    let most = limits::BOOTSTRAP_TIME.as_secs() as i64;
    for (state, seconds, expected) in [
        ("provisioning", 1, true),
        ("provisioned", most - 1, true),
        ("provisioned", most, true),
        ("provisioned", most + 1, false),
        ("available", 1, false),
        ("deprovisioning", 1, false),
    ] {
        assert_eq!(is_open(&host(state, None), at(seconds)), expected, "{state} {seconds}");
    }
}

#[test]
fn reports_are_bounded_and_end_with_the_last_one() {
    let pause = limits::BOOTSTRAP_PAUSE.as_secs() as i64;
    let known = |state: &str, number: u32| {
        Some(
            json!({ "provisioning": START, "state": state, "time": "2026-11-22T09:00:00Z", "number": number }),
        )
    };
    let earlier =
        json!({ "provisioning": "2026-11-21T08:50:00Z", "state": "Failed", "time": "2026-11-22T09:00:00Z" });
    let most = limits::BOOTSTRAP_REPORTS;
    let (too_soon, too_many) = (
        Err(Decision::TooMany("netboot_bootstrap_pause")),
        Err(Decision::TooMany("netboot_bootstrap_reports")),
    );
    for (annotation, state, seconds, expected) in [
        (None, "Running", 0, Ok(1)),
        (Some(earlier), "Running", 0, Ok(1)),
        (known("Running", 1), "Running", pause - 1, too_soon),
        (known("Running", 1), "Running", pause, Ok(2)),
        (known("Running", 1), "Running", pause + 1, Ok(2)),
        (known("Running", 1), "Failed", 0, Ok(2)),
        (known("Running", most - 1), "Running", 60, Ok(most)),
        (known("Running", most), "Running", 60, too_many.clone()),
        (known("Running", most + 1), "Running", 60, too_many),
        (known("Running", most), "Succeeded", 60, Ok(most + 1)),
        (known("Succeeded", 2), "Succeeded", 60, Err(Decision::Known)),
        (known("Succeeded", 2), "Failed", 60, Err(Decision::Ended)),
        (known("Failed", 2), "Running", 60, Err(Decision::Ended)),
    ] {
        let report: Report =
            serde_json::from_value(json!({ "state": state, "stage": "kubeadm certs", "message": "line" }))
                .unwrap();
        let found = match decide(&host("provisioned", annotation.clone()), &report, at(seconds)) {
            Decision::Record(record) => {
                assert_eq!((record.provisioning.as_str(), record.stage.as_str()), (START, "kubeadm certs"));
                Ok(record.number)
            }
            other => Err(other),
        };
        assert_eq!(found, expected, "{annotation:?} {state} {seconds}");
    }
}
