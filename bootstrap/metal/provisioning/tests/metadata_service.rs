//! Tests of `metadata::service`.

use chrono::Duration;
use machinery::clock::parse_rfc3339;
use metal_provisioning::handover::Handover;
use metal_provisioning::metadata::channel::USER_DATA;
use metal_provisioning::metadata::service::{Permit, Tokens, permit};
use schemas::metal3::BareMetalHost;
use serde_json::json;

#[test]
fn user_data_is_given_once_and_soon() {
    let host = |state: &str, way: &str| -> BareMetalHost {
        serde_json::from_value(json!({
            "metadata": { "name": "a", "annotations": { USER_DATA: way } }, "spec": { "online": true },
            "status": {
                "provisioning": { "state": state },
                "operationHistory": { "provision": { "end": "2026-11-22T09:00:00Z" } },
            },
        }))
        .unwrap()
    };
    let at = |minutes| parse_rfc3339("2026-11-22T09:00:00Z").unwrap() + Duration::minutes(minutes);
    let none = Tokens::default();
    let tokens = |told: Option<&str>, shown: Option<&str>| Tokens {
        told: told.map(str::to_owned),
        shown: shown.map(str::to_owned),
    };
    let cases = [
        ("provisioned", "http", none.clone(), Handover::First, 1, Permit::Given),
        ("provisioned", "http", none.clone(), Handover::First, 15, Permit::Given),
        ("provisioned", "http", none.clone(), Handover::First, 16, Permit::Late),
        ("provisioned", "http", none.clone(), Handover::Same, 16, Permit::Given),
        ("provisioned", "http", none.clone(), Handover::Again, 4, Permit::Again),
        ("provisioning", "http", none.clone(), Handover::First, 1, Permit::Given),
        ("available", "http", none.clone(), Handover::First, 1, Permit::NotProvisioned),
        ("provisioned", "http", tokens(None, Some("a")), Handover::First, 1, Permit::WithoutToken),
        ("provisioned", "drive", none.clone(), Handover::First, 1, Permit::OnDrive),
        ("provisioned", "url", none, Handover::First, 1, Permit::WithoutToken),
        ("provisioned", "url", tokens(Some("a"), None), Handover::First, 1, Permit::WithoutToken),
        ("provisioned", "url", tokens(Some("a"), Some("b")), Handover::First, 1, Permit::WithoutToken),
        ("provisioned", "url", tokens(Some("a"), Some("a")), Handover::First, 1, Permit::Given),
        ("provisioned", "url", tokens(Some("a"), Some("a")), Handover::First, 16, Permit::Late),
        ("provisioned", "url", tokens(Some("a"), Some("a")), Handover::Again, 3, Permit::Again),
    ];
    for (state, way, tokens, handover, minutes, expected) in cases {
        let found = permit(&host(state, way), &tokens, handover, at(minutes));
        assert_eq!(found, expected, "{state} {way} {tokens:?} {handover:?} {minutes}");
    }
}
