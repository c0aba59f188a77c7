//! Tables over the plan of ExtensionConfigs.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use machinery::clock::parse_rfc3339;
use runtime_extensions::answers::Discovered;
use runtime_extensions::extension_config::{Observed, Plan, plan};
use runtime_extensions::names::{DISCOVERED, DISCOVERED_V1BETA1};
use runtime_extensions::{Hook, limits};
use schemas::HasConditions;
use schemas::runtime::ExtensionConfig;
use serde_json::{Value, json};

use crate::extensions::support::{VERSION, described, registered};

fn existing() -> Arc<ExtensionConfig> {
    let old = registered("old.ext", Hook::GeneratePatches, "Fail", 10);
    let object = json!({
        "metadata": {"name": "ext", "generation": 3},
        "spec": {"clientConfig": {"url": "https://host"}},
        "status": {"handlers": [old]},
    });
    Arc::new(serde_json::from_value(object).unwrap())
}

fn planned(authority: Option<Result<String, String>>, discovered: Option<Result<Value, String>>) -> Plan {
    let parse = |value: Value| -> Discovered { serde_json::from_value(json!({"handlers": value})).unwrap() };
    let discovered = discovered.map(|answer| answer.map(parse));
    let observed = Observed { config: existing(), authority, discovered };
    plan(&observed, parse_rfc3339("2026-11-21T00:00:00Z").unwrap())
}

fn names(plan: &Plan) -> Vec<String> {
    let status = plan.wanted.status.clone().unwrap_or_default();
    status.handlers.into_iter().map(|handler| handler.name).collect()
}

fn refused(handlers: Value) -> String {
    let plan = planned(None, Some(Ok(handlers)));
    let condition = plan.wanted.condition(DISCOVERED).unwrap().clone();
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("False", "NotDiscovered"));
    assert_eq!(condition.observed_generation, Some(3));
    assert_eq!(names(&plan), ["old.ext"], "what is known stays");
    assert_eq!(plan.failure.as_deref(), Some(condition.message.as_str()), "the extension is asked again");
    condition.message.strip_prefix("Error in discovery: ").unwrap().to_owned()
}

#[test]
fn handlers_are_registered_by_name_with_defaults() {
    let hook = json!({"apiVersion": VERSION, "hook": "ValidateTopology"});
    let lax = json!({"name": "a", "requestHook": hook, "timeoutSeconds": 0, "failurePolicy": "Ignore"});
    let slow = json!({"name": "c", "requestHook": hook, "timeoutSeconds": 30, "failurePolicy": "Fail"});
    let plan = planned(None, Some(Ok(json!([described("b", Hook::GeneratePatches), slow, lax]))));
    let status = plan.wanted.status.clone().unwrap();
    let mut zero = registered("a.ext", Hook::ValidateTopology, "Ignore", 0);
    zero.as_object_mut().unwrap().remove("timeoutSeconds");
    let expected = json!([
        zero,
        registered("b.ext", Hook::GeneratePatches, "Fail", 10),
        registered("c.ext", Hook::ValidateTopology, "Fail", 30),
    ]);
    assert_eq!(serde_json::to_value(&status.handlers).unwrap(), expected);
    let condition = plan.wanted.condition(DISCOVERED).unwrap();
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("True", "Discovered"));
    let older = status.deprecated.unwrap().v1beta1.unwrap().conditions;
    assert_eq!((older[0].type_.as_str(), older[0].status.as_str()), (DISCOVERED_V1BETA1, "True"));
    assert_eq!(plan.failure, None);
    assert!(names(&planned(None, Some(Ok(json!(null))))).is_empty(), "an extension may have no handlers");
}

#[test]
fn handlers_with_invalid_names() {
    for name in ["", "A", "a.b", "-a", "a_b", &"a".repeat(64)] {
        let message = refused(json!([described(name, Hook::GeneratePatches)]));
        assert!(message.starts_with(&format!("the handler name {name:?} is not valid: ")), "{message}");
    }
}

#[test]
fn handlers_with_the_same_name() {
    let twice = [described("a", Hook::GeneratePatches), described("a", Hook::ValidateTopology)];
    assert_eq!(refused(json!(twice)), "there are several handlers \"a\"");
}

#[test]
fn handlers_with_wrong_fields() {
    let hook = json!({"apiVersion": VERSION, "hook": "GeneratePatches"});
    for (fields, expected) in [
        (json!({"timeoutSeconds": 31}), "handler \"a\": timeoutSeconds must be between 0 and 30, but is 31"),
        (json!({"timeoutSeconds": -1}), "handler \"a\": timeoutSeconds must be between 0 and 30, but is -1"),
        (
            json!({"failurePolicy": "Retry"}),
            "handler \"a\": failurePolicy must be Fail or Ignore, not \"Retry\"",
        ),
        (
            json!({"requestHook": {"apiVersion": VERSION, "hook": "Discovery"}}),
            "handler \"a\": there is no hook \"Discovery\" in \"hooks.runtime.cluster.x-k8s.io/v1alpha1\"",
        ),
        (
            json!({"requestHook": {"apiVersion": "v2", "hook": "GeneratePatches"}}),
            "handler \"a\": there is no hook \"GeneratePatches\" in \"v2\"",
        ),
    ] {
        let mut handler = json!({"name": "a", "requestHook": hook});
        handler.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        assert_eq!(refused(json!([handler])), expected);
    }
}

#[test]
fn too_many_handlers_and_long_names() {
    let many: Vec<Value> = (0..=limits::HANDLERS)
        .map(|number| described(&format!("h{number}"), Hook::GeneratePatches))
        .collect();
    assert_eq!(names(&planned(None, Some(Ok(json!(many[1..]))))).len(), limits::HANDLERS);
    assert_eq!(refused(json!(many)), "the extension has 513 handlers; there can be 512");
    let long = refused(json!([described(&"A".repeat(100_000), Hook::GeneratePatches)]));
    assert_eq!(long.chars().count(), limits::MESSAGE_CHARACTERS + 1);
}

#[test]
fn no_answer_changes_only_the_condition() {
    let plan = planned(None, Some(Err("Discovery of ext: EOF".to_owned())));
    let condition = plan.wanted.condition(DISCOVERED).unwrap();
    assert_eq!(condition.message, "Error in discovery: Discovery of ext: EOF");
    let status = plan.wanted.status.clone().unwrap();
    let older = &status.deprecated.unwrap().v1beta1.unwrap().conditions[0];
    assert_eq!(older.reason.as_deref(), Some("DiscoveryFailed"));
    assert_eq!(older.severity.as_deref(), Some("Error"));
    assert_eq!(names(&plan), ["old.ext"]);
}

#[test]
fn an_authority_is_injected_before_the_extension_is_asked() {
    let plan = planned(Some(Ok("QQ==".to_owned())), None);
    assert_eq!(plan.wanted.spec.client_config.ca_bundle.as_deref(), Some("QQ=="));
    assert_eq!((plan.wanted.status, plan.failure), (existing().status.clone(), None));
    let plan = planned(Some(Err("there is no Secret a/b".to_owned())), None);
    assert_eq!(plan.failure.as_deref(), Some("Error in discovery: caBundle: there is no Secret a/b"));
    assert_eq!(plan.wanted.spec, existing().spec);
    let plan = planned(Some(Ok("QQ==".to_owned())), Some(Ok(json!([described("n", Hook::GeneratePatches)]))));
    assert_eq!(names(&plan), ["n.ext"]);
}
