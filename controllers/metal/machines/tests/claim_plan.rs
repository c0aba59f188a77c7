//! Tables over the plan of a HostClaim.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::Arc;

use crate::metal_machines::testing::merge;
use chrono::DateTime;
use engine::object::annotation;
use engine::{Action, NamespacedName, finalizer};
use k8s_openapi::api::core::v1::Secret;
use metal::names::{PAUSED, REBOOT};
use metal_machines::claim::observed::Observed;
use metal_machines::claim::plan::{Plan, plan};
use metal_machines::claim::secrets::{Role, Source};
use metal_machines::claim::status::{ASSOCIATED, MISSING, NOT_SYNCHRONIZED, PROVISIONED, SYNCHRONIZED};
use metal_machines::limits::LOOK_AGAIN;
use metal_machines::names::{CLAIM_FINALIZER, COPIED_FOR, PAUSED_BY_CLAIM};
use schemas::metal3::{BareMetalHost, HostClaim};
use schemas::names::ENVIRONMENT;
use schemas::{FromJson, HasConditions};
use serde_json::{Value, json};

fn parse<T: FromJson>(value: Value) -> Arc<T> {
    Arc::new(T::from_json(value.to_string().as_bytes()).unwrap())
}

fn claim(change: Value) -> Arc<HostClaim> {
    let mut value = json!({
        "metadata": {"name": "c", "namespace": "tenant", "uid": "u", "finalizers": [CLAIM_FINALIZER]},
        "spec": {"poweredOn": true, "image": {"url": "http://images/os.raw", "checksum": "abc"}},
    });
    merge(&mut value, &change);
    parse(value)
}

fn host(change: Value) -> Arc<BareMetalHost> {
    let mut value = json!({
        "metadata": {"name": "rack1", "namespace": "metal", "uid": "h"},
        "spec": {"online": false},
        "status": {"provisioning": {"state": "available"}, "poweredOn": true},
    });
    merge(&mut value, &change);
    parse(value)
}

fn observed(change: Value) -> Observed {
    Observed {
        name: NamespacedName::new("tenant", "c"),
        object: claim(change),
        host: None,
        namespaces: vec!["metal".to_owned()],
        hosts: vec![host(json!({}))],
        sources: Vec::new(),
        copies: Vec::new(),
    }
}

/// Returns the state after the claim has its host, and the host was changed.
fn with_host(claim: Value, change: Value) -> Observed {
    let mut claimed = host(json!({})).as_ref().clone();
    metal_machines::claim::host::claim(&mut claimed, &NamespacedName::new("tenant", "c"));
    let mut value = serde_json::to_value(&claimed).unwrap();
    merge(&mut value, &change);
    Observed { host: Some(parse(value)), hosts: Vec::new(), namespaces: Vec::new(), ..observed(claim) }
}

fn secret(namespace: &str, name: &str, change: Value) -> Arc<Secret> {
    let mut value = json!({"metadata": {"name": name, "namespace": namespace}, "data": {"userData": "I2Nsb3VkLWNvbmZpZw=="}});
    merge(&mut value, &change);
    Arc::new(serde_json::from_value(value).unwrap())
}

fn source(role: Role, secret: Option<Arc<Secret>>, present: Option<Arc<Secret>>) -> Source {
    Source { role, name: NamespacedName::new("tenant", "u"), secret, present }
}

fn planned(observed: &Observed) -> Plan {
    plan(observed, DateTime::UNIX_EPOCH)
}

/// Returns reason and message of a condition.
fn said<'a>(plan: &'a Plan, type_: &str) -> (&'a str, &'a str) {
    let condition = plan.wanted.condition(type_);
    condition.map_or(("", ""), |condition| (condition.reason.as_str(), condition.message.as_str()))
}

#[test]
fn a_claim_takes_a_host_that_fits_and_says_nothing_of_the_others() {
    let used = |kind: &str| {
        let reference = json!({"kind": kind, "name": "c", "namespace": "tenant", "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2"});
        host(json!({"spec": {"consumerRef": reference}}))
    };
    let broken = || host(json!({"status": {"errorMessage": "redfish://10.0.0.2 refuses the password"}}));
    let kept = host(json!({"metadata": {"labels": {metal_machines::names::NODE_REUSE: "md-secret"}}}));
    let two = vec![broken(), broken()];
    let in_metal = json!({"spec": {"hostSelector": {"inNamespace": "metal"}}});
    let big = json!({"spec": {"hostSelector": {"matchLabels": {"size": "big"}}}});
    let cases = [
        (
            json!({}),
            vec![],
            vec![],
            "no HostDeployPolicy in any namespace allows the HostClaims of namespace tenant",
        ),
        (
            in_metal,
            vec![],
            vec![],
            "no HostDeployPolicy in namespace metal allows the HostClaims of namespace tenant",
        ),
        (json!({}), vec!["metal"], vec![], "no host fits: there is no BareMetalHost in these namespaces"),
        (
            json!({}),
            vec!["metal"],
            vec![used("Metal3Machine")],
            "no host fits: 1 host is used by another consumer",
        ),
        (json!({}), vec!["metal"], two, "no host fits: 2 hosts: has an error"),
        (
            json!({}),
            vec!["metal"],
            vec![kept],
            "no host fits: 1 host is kept for other machines (node reuse)",
        ),
        (
            big,
            vec!["metal"],
            vec![host(json!({}))],
            "no host fits: 1 host does not match hostSelector size=big",
        ),
    ];
    for (change, namespaces, hosts, expected) in cases {
        let namespaces = namespaces.into_iter().map(str::to_owned).collect();
        let plan = planned(&Observed { namespaces, hosts, ..observed(change) });
        assert_eq!((said(&plan, ASSOCIATED), plan.candidates.len()), (("NoBareMetalHost", expected), 0));
        assert_eq!(plan.action, Action::requeue_after(LOOK_AGAIN));
    }
    let plan = planned(&observed(json!({})));
    assert!(plan.candidates.len() == 1 && plan.host.is_none() && plan.copies.is_empty());
}

#[test]
fn the_host_gets_what_the_claim_says() {
    let plan = planned(&with_host(
        json!({"spec": {"metaData": null}}),
        json!({"spec": {"metaData": {"name": "older"}}}),
    ));
    let spec = plan.host.as_ref().unwrap().spec.clone();
    assert_eq!(spec.image.unwrap().url, "http://images/os.raw");
    assert!(spec.online && spec.meta_data.is_none());
    assert_eq!(spec.automated_cleaning_mode.as_deref(), Some("metadata"));
    assert_eq!(said(&plan, SYNCHRONIZED), ("ConfigurationSynced", ""));
    let status = plan.wanted.status.unwrap();
    assert_eq!((status.powered_on, status.last_updated.is_some()), (Some(true), true));
    let reference = status.bare_metal_host.unwrap();
    assert_eq!((reference.namespace.as_str(), reference.name.as_str()), ("metal", "rack1"));

    let off = planned(&with_host(json!({"spec": {"poweredOn": false}}), json!({"spec": {"online": true}})));
    assert!(!off.host.unwrap().spec.online);
    let kept_on = json!({"spec": {"online": true, "disablePowerOff": true}});
    let kept_on = planned(&with_host(json!({"spec": {"poweredOn": false}}), kept_on));
    assert!(kept_on.host.as_ref().unwrap().spec.online);
    assert_eq!(said(&kept_on, SYNCHRONIZED).0, NOT_SYNCHRONIZED);
}

#[test]
fn a_host_keeps_its_image_until_the_claim_has_none() {
    let running =
        json!({"spec": {"online": true, "image": {"url": "http://images/older.raw", "checksum": "abc"}}});
    let changed = planned(&with_host(json!({}), running.clone()));
    assert!(changed.host.is_none(), "nothing is wiped by a change");
    let (reason, message) = said(&changed, SYNCHRONIZED);
    assert!(reason == NOT_SYNCHRONIZED && message.contains("remove spec.image"), "{message}");
    let removed = planned(&with_host(json!({"spec": {"image": null}}), running));
    assert!(removed.host.unwrap().spec.image.is_none());
    assert_eq!(removed.wanted.condition(SYNCHRONIZED).unwrap().status, "True");
}

#[test]
fn secrets_of_the_same_namespace_are_not_copied() {
    let sources = vec![source(Role::User, None, None)];
    let beside = Observed { sources, ..with_host(json!({}), json!({"metadata": {"namespace": "tenant"}})) };
    let plan = planned(&beside);
    assert!(plan.copies.is_empty());
    let reference = plan.host.unwrap().spec.user_data.unwrap();
    assert_eq!((reference.name.as_deref(), reference.namespace.as_deref()), (Some("u"), Some("tenant")));
}

#[test]
fn secrets_are_copied_to_the_namespace_of_the_host() {
    let sources = vec![source(Role::User, Some(secret("tenant", "u", json!({}))), None)];
    let first = Observed { sources, ..with_host(json!({}), json!({})) };
    let plan = planned(&first);
    let copy = &plan.copies[0].wanted;
    assert_eq!(NamespacedName::of(copy), NamespacedName::new("metal", "rack1-userdata"));
    assert_eq!(annotation(copy, COPIED_FOR), Some("tenant/c"));
    assert_eq!(copy.metadata.labels.as_ref().unwrap()[ENVIRONMENT.0], ENVIRONMENT.1);
    assert_eq!(copy.metadata.owner_references.as_ref().unwrap()[0].uid, "h");
    assert!(copy.data.as_ref().unwrap().contains_key("userData"));
    let reference = plan.host.as_ref().unwrap().spec.user_data.clone().unwrap();
    assert_eq!(
        (reference.name.as_deref(), reference.namespace.as_deref()),
        (Some("rack1-userdata"), Some("metal"))
    );

    let present = Arc::new(copy.clone());
    let source = source(Role::User, Some(secret("tenant", "u", json!({}))), Some(present.clone()));
    let host = Some(Arc::new(plan.host.unwrap()));
    let again = Observed { sources: vec![source], copies: vec![present.clone()], host, ..first };
    let plan = planned(&again);
    assert!(plan.host.is_none() && plan.discarded.is_empty());
    assert_eq!(plan.copies[0].wanted, *present);
    let plan = planned(&Observed { sources: Vec::new(), ..again });
    assert!(plan.host.unwrap().spec.user_data.is_none());
    assert_eq!(plan.discarded, [present]);
}

#[test]
fn a_secret_that_cannot_be_copied_stops_the_rest() {
    let password = secret("metal", "rack1-userdata", json!({}));
    let there = || Some(secret("tenant", "u", json!({})));
    let deleting = secret("tenant", "u", json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
    let cases = [
        (source(Role::User, None, None), "UserDataSecretSyncFailure", "Secret tenant/u does not exist"),
        (source(Role::Meta, None, None), "MetaDataSecretSyncFailure", "spec.metaData"),
        (source(Role::Network, Some(deleting), None), "NetworkDataSecretSyncFailure", "does not exist"),
        (source(Role::User, there(), Some(password)), "UserDataSecretSyncFailure", "somebody else has made"),
    ];
    for (source, reason, message) in cases {
        let plan = planned(&Observed { sources: vec![source], ..with_host(json!({}), json!({})) });
        let (found, text) = said(&plan, SYNCHRONIZED);
        assert!(found == reason && text.contains(message), "{text}");
        assert!(plan.host.is_none() && plan.copies.is_empty() && plan.discarded.is_empty());
    }
}

#[test]
fn credentials_of_the_host_s_owner_are_not_used() {
    let image = json!({"spec": {"image": {"url": "oci://registry/os", "ociAuthSecretName": "pull"}}});
    let plan = planned(&with_host(image.clone(), json!({})));
    assert!(plan.host.unwrap().spec.image.is_none());
    assert!(plan.wanted.condition(SYNCHRONIZED).unwrap().message.contains("ociAuthSecretName"));
    let plan = planned(&with_host(image, json!({"metadata": {"namespace": "tenant"}})));
    assert!(plan.host.unwrap().spec.image.is_some());
}

#[test]
fn reboots_are_passed_on_and_those_of_others_stay() {
    let suffix = |suffix: &str| format!("{REBOOT}/{suffix}");
    let asked = json!({"metadata": {"annotations": {REBOOT: "{\"mode\":\"hard\"}", suffix("night"): ""}}});
    let others = json!({"metadata": {"annotations": {suffix("owner"): "", suffix("hostclaim-gone"): ""}}});
    let plan = planned(&with_host(asked, others));
    let annotations = plan.host.unwrap().metadata.annotations.unwrap();
    let keys: Vec<&str> = annotations.keys().map(String::as_str).collect();
    assert_eq!(keys, [REBOOT, &suffix("hostclaim-night"), &suffix("owner")]);
    assert_eq!(annotation(&plan.wanted, REBOOT), None, "one reboot");
    assert!(annotation(&plan.wanted, &suffix("night")).is_some());
}

#[test]
fn a_reboot_that_the_host_cannot_have_holds_nothing_else_up() {
    let long = format!("{REBOOT}/{}", "x".repeat(54));
    let plan = planned(&with_host(
        json!({"metadata": {"annotations": {long.as_str(): "", format!("{REBOOT}/night"): ""}}}),
        json!({}),
    ));
    let (reason, message) = said(&plan, SYNCHRONIZED);
    assert!(reason == NOT_SYNCHRONIZED && message.contains(&long), "{message}");
    let host = plan.host.unwrap();
    assert!(host.spec.image.is_some());
    let keys: Vec<String> = host.metadata.annotations.unwrap().into_keys().collect();
    assert_eq!(keys, [format!("{REBOOT}/hostclaim-night")]);
}

#[test]
fn a_provisioned_claim_takes_no_second_host() {
    let was = |conditions: Value| {
        observed(
            json!({"status": {"conditions": conditions, "bareMetalHost": {"name": "rack9", "namespace": "metal"}}}),
        )
    };
    let condition = |type_: &str, status: &str, reason: &str| json!({"type": type_, "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let first = planned(&was(json!([condition(PROVISIONED, "True", "Provisioned")])));
    assert!(first.candidates.is_empty() && first.wanted.condition(PROVISIONED).is_none());
    assert_eq!(said(&first, ASSOCIATED).0, MISSING);
    assert!(first.wanted.status.as_ref().unwrap().bare_metal_host.is_none());
    let again = planned(&Observed { object: Arc::new(first.wanted), ..observed(json!({})) });
    assert_eq!((again.candidates.len(), said(&again, ASSOCIATED).0), (0, MISSING));
    let never = planned(&was(json!([condition(PROVISIONED, "False", "NotProvisioned")])));
    assert_eq!(never.candidates.len(), 1);
}

#[test]
fn a_host_is_released_after_it_is_deprovisioned_and_cleaned() {
    let deleting = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let copy =
        secret("metal", "rack1-userdata", json!({"metadata": {"annotations": {COPIED_FOR: "tenant/c"}}}));
    let with = |change: Value| Observed { copies: vec![copy.clone()], ..with_host(deleting.clone(), change) };
    let running = json!({
        "metadata": {"annotations": {PAUSED: PAUSED_BY_CLAIM, format!("{REBOOT}/hostclaim-night"): ""}},
        "spec": {"image": {"url": "http://images/os.raw"}, "userData": {"name": "rack1-userdata"}, "online": true,
            "automatedCleaningMode": "disabled"},
        "status": {"provisioning": {"state": "provisioned"}},
    });
    let emptied = planned(&with(running));
    let host = emptied.host.clone().unwrap();
    assert!(host.spec.image.is_none() && host.spec.user_data.is_none() && !host.spec.online);
    assert!(host.spec.consumer_ref.is_some() && finalizer::has(&emptied.wanted, CLAIM_FINALIZER));
    assert_eq!(host.spec.automated_cleaning_mode.as_deref(), Some("metadata"));
    assert!(host.metadata.annotations.unwrap_or_default().is_empty(), "the host is not paused or kept off");
    assert_eq!((said(&emptied, ASSOCIATED).0, emptied.discarded.len()), ("HostClaimDeleting", 1));

    let waiting = planned(&with(json!({"status": {"provisioning": {"state": "deprovisioning"}}})));
    assert!(waiting.host.is_none() && finalizer::has(&waiting.wanted, CLAIM_FINALIZER));
    let released = planned(&with(json!({})));
    assert!(released.host.unwrap().spec.consumer_ref.is_none());
    assert!(!finalizer::has(&released.wanted, CLAIM_FINALIZER));
    let gone = planned(&Observed { copies: vec![copy.clone()], ..observed(deleting) });
    assert!(!finalizer::has(&gone.wanted, CLAIM_FINALIZER));
    assert_eq!(gone.discarded, [copy]);
}
