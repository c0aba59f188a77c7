//! Tests of `claim`.

use std::sync::Arc;

use metal_machines::claim::{status, waiting};
use schemas::metal3::HostClaim;
use serde_json::{Value, json};

#[test]
fn a_free_host_is_news_only_for_claims_that_wait_and_may_have_it() {
    let claim = |name: &str, change: Value| {
        let mut value =
            json!({"metadata": {"name": name, "namespace": "tenant"}, "spec": {"poweredOn": true}});
        crate::metal_machines::testing::merge(&mut value, &change);
        Arc::new(serde_json::from_value::<HostClaim>(value).unwrap())
    };
    let in_namespace = |place: &str| json!({"spec": {"hostSelector": {"inNamespace": place}}});
    let lost = json!({"type": status::ASSOCIATED, "status": "False", "reason": status::MISSING, "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let claims = vec![
        claim("anywhere", json!({})),
        claim("empty", in_namespace("")),
        claim("here", in_namespace("metal")),
        claim("elsewhere", in_namespace("other")),
        claim("given", json!({"status": {"bareMetalHost": {"name": "rack1", "namespace": "metal"}}})),
        claim("lost", json!({"status": {"conditions": [lost]}})),
        claim("deleted", json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})),
    ];
    let requested = |place: Option<&str>| {
        let requests = waiting(claims.clone(), place);
        requests.into_iter().map(|request| request.name).collect::<Vec<_>>()
    };
    assert_eq!(requested(Some("metal")), ["anywhere", "empty", "here"]);
    assert_eq!(requested(None), ["anywhere", "empty", "here", "elsewhere"]);
}
