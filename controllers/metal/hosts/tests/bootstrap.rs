//! Tests of `bootstrap`.

use metal::bootstrap::{BootstrapReport, BootstrapState};
use metal::names::BOOTSTRAP;
use schemas::metal3::BareMetalHost;
use serde_json::json;

#[test]
fn a_report_belongs_to_one_provisioning() {
    let now = "2026-11-22T08:50:00Z";
    let report = BootstrapReport {
        provisioning: now.into(),
        state: BootstrapState::Running,
        stage: "kubeadm".into(),
        message: String::new(),
        time: "2026-11-22T09:00:00Z".into(),
        number: 1,
    };
    let text = serde_json::to_string(&report).unwrap();
    let host = |annotation: &str, start: Option<&str>| -> BareMetalHost {
        serde_json::from_value(json!({
            "metadata": { "name": "a", "annotations": { BOOTSTRAP: annotation } }, "spec": { "online": true },
            "status": { "operationHistory": { "provision": { "start": start } } },
        }))
        .unwrap()
    };
    for (annotation, start, expected) in [
        (text.as_str(), Some(now), Some(&report)),
        (text.as_str(), Some("2026-11-22T09:30:00Z"), None),
        (text.as_str(), None, None),
        ("{}", Some(now), None),
        ("\u{1b}[", Some(now), None),
    ] {
        assert_eq!(
            BootstrapReport::of(&host(annotation, start)).as_ref(),
            expected,
            "{annotation} {start:?}"
        );
    }
}
