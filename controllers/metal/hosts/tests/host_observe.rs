//! Tests of `host::observe`.

use std::sync::Arc;

use machinery::clock::parse_rfc3339;
use metal::host::observe::{is_full, view};
use metal::{limits, names};
use schemas::metal3::BareMetalHost;
use serde_json::json;

#[test]
fn an_agent_is_gone_when_it_is_silent_or_has_restarted_and_writes_until_it_reports_the_end() {
    let now = parse_rfc3339("2026-11-22T09:01:00Z").unwrap();
    let cases = [
        ("Restart", "a", "Done", "2026-11-22T09:00:59Z", true, false),
        ("Restart", "a", "Running", "2026-11-22T09:00:59Z", false, false),
        // The finished instruction is an earlier one.
        ("Restart", "b", "Done", "2026-11-22T09:00:59Z", false, false),
        ("Clean", "b", "Done", "2026-11-22T09:00:59Z", false, true),
        ("Deploy", "a", "Done", "2026-11-22T09:00:59Z", false, false),
        ("PowerOff", "a", "Done", "2026-11-22T09:00:59Z", false, false),
        ("Deploy", "a", "Running", "2026-11-22T09:00:15Z", true, true),
    ];
    for (action, told, state, seen, gone, is_to_write) in cases {
        let agent = serde_json::from_value(json!({
            "metadata": {"name": "52-54-00-00-00-01"},
            "spec": {"instruction": {"id": told, "action": action}},
            "status": {"lastSeenTime": seen, "instruction": {"id": "a", "state": state}},
        }));
        let agent = view(&agent.unwrap(), now);
        let found = (agent.is_gone, agent.is_to_write);
        assert_eq!(found, (gone, is_to_write), "{action} {told} {state} {seen}");
    }
}

#[test]
fn so_many_hosts_are_busy_at_a_time() {
    let host = |uid: usize, state: &str, is_booting: bool| {
        let annotations =
            if is_booting { json!({ names::BOOTING: "2026-11-22T09:00:00Z" }) } else { json!({}) };
        let host = serde_json::from_value(json!({
            "metadata": {"name": "host", "uid": uid.to_string(), "annotations": annotations},
            "spec": {"online": true},
            "status": {"operationalStatus": "OK", "errorCount": 0, "errorMessage": "", "poweredOn": true,
                "provisioning": {"ID": "", "state": state, "image": {"url": ""}}},
        }));
        Arc::<BareMetalHost>::new(host.unwrap())
    };
    let (own, idle) = (host(0, "provisioning", true), host(0, "available", false));
    for (others, expected) in
        [(limits::BUSY_HOSTS - 1, false), (limits::BUSY_HOSTS, true), (limits::BUSY_HOSTS + 1, true)]
    {
        let mut all: Vec<_> = (1..=others).map(|uid| host(uid, "provisioning", true)).collect();
        // Neither the host itself nor machines that do not boot count.
        all.extend([own.clone(), host(90, "provisioning", false), host(91, "available", true)]);
        assert_eq!(is_full(&own, &all), expected, "{others} others");
        assert!(!is_full(&idle, &all), "an idle host does not wait");
    }
}
