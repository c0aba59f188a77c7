//! Calls of hooks over TCP.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use net::{Network, RealNetwork};
use runtime_extensions::{Client, Hook};
use serde_json::{Value, json};
use test_plane::Fixture;

use crate::extensions::support::server::Extension;
use crate::extensions::support::{
    VERSION, client_over, config, create_discovered, delete, fixture_without_controllers, registered,
};

/// Starts an extension with these handlers, registered as `ext`.
async fn extension(spec: Value, handlers: Value) -> (Fixture, Client, Extension) {
    let network: Arc<dyn Network> = Arc::new(RealNetwork);
    let fixture = fixture_without_controllers().await;
    let extension = Extension::start(&network, fixture.manager.clock(), 0).await;
    let client = client_over(&fixture.manager, network);
    let mut whole = extension.spec();
    for (name, value) in spec.as_object().unwrap() {
        whole[name] = value.clone();
    }
    create_discovered(&fixture, "ext", whole, handlers).await;
    (fixture, client, extension)
}

fn no_settings() -> BTreeMap<String, String> {
    BTreeMap::new()
}

/// What each hook answers besides status and message.
fn contents() -> [(Hook, Value); 16] {
    let patch = json!({"patchType": "JSONPatch", "patch": "W10="});
    let step = json!([{"version": "v1.36.1"}]);
    let variables =
        json!([{"name": "v", "required": true, "schema": {"openAPIV3Schema": {"type": "string"}}}]);
    [
        (Hook::BeforeClusterCreate, json!({"retryAfterSeconds": 5})),
        (Hook::AfterControlPlaneInitialized, json!({})),
        (Hook::BeforeClusterUpgrade, json!({"retryAfterSeconds": 0})),
        (Hook::BeforeControlPlaneUpgrade, json!({"retryAfterSeconds": 1})),
        (Hook::AfterControlPlaneUpgrade, json!({"retryAfterSeconds": 0})),
        (Hook::BeforeWorkersUpgrade, json!({"retryAfterSeconds": 0})),
        (Hook::AfterWorkersUpgrade, json!({"retryAfterSeconds": 0})),
        (Hook::AfterClusterUpgrade, json!({"retryAfterSeconds": 0})),
        (Hook::BeforeClusterDelete, json!({"retryAfterSeconds": 60})),
        (Hook::GeneratePatches, json!({"items": [{"uid": "1", "patchType": "JSONPatch", "patch": "W10="}]})),
        (Hook::ValidateTopology, json!({})),
        (Hook::DiscoverVariables, json!({"variables": variables})),
        (Hook::GenerateUpgradePlan, json!({"controlPlaneUpgrades": step, "workersUpgrades": step})),
        (Hook::CanUpdateMachine, json!({"machinePatch": patch})),
        (Hook::CanUpdateMachineSet, json!({"infrastructureMachineTemplatePatch": patch})),
        (Hook::UpdateMachine, json!({"retryAfterSeconds": 3})),
    ]
}

#[tokio::test]
async fn every_hook_is_asked_at_its_url_and_answers() {
    let handlers: Vec<Value> = contents()
        .iter()
        .map(|(hook, _)| registered(&format!("h-{}.ext", hook.name().to_lowercase()), *hook, "Fail", 20))
        .collect();
    let (_fixture, client, extension) = extension(json!({}), json!(handlers)).await;
    assert_eq!(contents().map(|(hook, _)| hook).as_slice(), Hook::handled());
    for (hook, content) in contents() {
        let lower = hook.name().to_lowercase();
        let own = format!("h-{lower}");
        let mut answer = content.clone();
        answer["message"] = "hello".into();
        answer["surplus"] = 1.into();
        extension.answers(hook, &own, answer);
        let request = json!({"cluster": {"metadata": {"name": "c"}}});
        let name = format!("{own}.ext");
        let answer = client.call(hook, &name, "default", &no_settings(), &request).await.unwrap();
        let mut expected = content;
        expected["status"] = "Success".into();
        expected["message"] = "hello".into();
        assert_eq!(answer, expected, "{}", hook.name());
        let received = extension.received().pop().unwrap();
        assert_eq!(received.path, format!("/{VERSION}/{lower}/{own}"));
        assert_eq!(received.query, "timeout=20s");
        let kind = format!("{}Request", hook.name());
        let cluster = json!({"metadata": {"name": "c"}});
        assert_eq!(received.body, json!({"apiVersion": VERSION, "kind": kind, "cluster": cluster}));
    }
}

#[tokio::test]
async fn settings_of_the_request_win() {
    let handlers = json!([registered("plan.ext", Hook::GenerateUpgradePlan, "Fail", 10)]);
    let settings = json!({"settings": {"a": "config", "b": "config", "c": "config"}});
    let (_fixture, client, extension) = extension(settings, handlers).await;
    extension.answers(Hook::GenerateUpgradePlan, "plan", json!({}));
    let of_patch =
        BTreeMap::from([("b".to_owned(), "patch".to_owned()), ("c".to_owned(), "patch".to_owned())]);
    let request = json!({"settings": {"c": "request"}});
    client.call(Hook::GenerateUpgradePlan, "plan.ext", "default", &of_patch, &request).await.unwrap();
    let received = extension.received().pop().unwrap();
    assert_eq!(received.body["settings"], json!({"a": "config", "b": "patch", "c": "request"}));
}

#[tokio::test]
async fn answers_of_all_handlers_are_joined_in_the_order_of_names() {
    const HOOK: Hook = Hook::BeforeClusterCreate;
    let handler = |name: &str| registered(&format!("{name}.ext"), HOOK, "Fail", 10);
    let handlers = json!([handler("c"), handler("a"), handler("d"), handler("b")]);
    let (fixture, client, extension) = extension(json!({}), handlers).await;
    for (name, seconds, message) in [("a", 30, "first"), ("b", 0, ""), ("c", 7, "third"), ("d", 9, "last")] {
        extension.answers(HOOK, name, json!({"message": message, "retryAfterSeconds": seconds}));
    }
    let answer = client.call_all(HOOK, "default", &json!({})).await.unwrap();
    assert_eq!(answer.message, "first, third, last");
    assert_eq!(answer.retry_after, Some(Duration::from_secs(7)), "the lowest that is not zero");
    let asked: Vec<String> = extension.received().into_iter().map(|received| received.path).collect();
    assert!(asked.is_sorted() && asked.len() == 4, "{asked:?}");

    extension.answers(HOOK, "b", json!({"status": "Failure", "message": "not today"}));
    let error = client.call_all(HOOK, "default", &json!({})).await.unwrap_err().to_string();
    assert_eq!(error, "BeforeClusterCreate of b.ext answered \"Failure\": not today");
    assert_eq!(extension.received().len(), 6, "the first failure ends the call");
    let metrics = fixture.manager.all_metrics().text();
    let labels = |code: &str, status: &str| {
        let (host, group) = (format!("127.0.0.1:{}", extension.port), "hooks.runtime.cluster.x-k8s.io");
        format!(
            "capi_runtime_sdk_requests_total{{code=\"{code}\",host=\"{host}\",group=\"{group}\",version=\"v1alpha1\",hook=\"BeforeClusterCreate\",status=\"{status}\"}}"
        )
    };
    for (line, count) in [(labels("200", "Success"), 5), (labels("200", "Failure"), 1)] {
        assert!(metrics.contains(&format!("{line} {count}\n")), "{metrics}");
    }
    let nothing = client.call_all(Hook::BeforeClusterDelete, "default", &json!({})).await.unwrap();
    assert_eq!((nothing.message.as_str(), nothing.retry_after), ("", None));
}

#[tokio::test]
async fn only_extensions_that_select_the_namespace_are_asked() {
    const HOOK: Hook = Hook::BeforeClusterDelete;
    let selector = json!({"namespaceSelector": {"matchLabels": {"tier": "gold"}}});
    let handlers = json!([registered("h.ext", HOOK, "Fail", 10)]);
    let (fixture, client, extension) = extension(selector, handlers).await;
    extension.answers(HOOK, "h", json!({}));
    let namespace = |name: &str, labels| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
    fixture.create(namespace("gold", json!({"tier": "gold"}))).await;
    fixture.create(namespace("lead", json!({}))).await;
    assert_eq!(client.handlers(HOOK, "gold").await.unwrap(), ["h.ext"]);
    assert!(client.handlers(HOOK, "lead").await.unwrap().is_empty());
    client.call(HOOK, "h.ext", "gold", &no_settings(), &json!({})).await.unwrap();
    let refused =
        client.call(HOOK, "h.ext", "lead", &no_settings(), &json!({})).await.unwrap_err().to_string();
    assert!(refused.ends_with("does not select the namespace lead"), "{refused}");
    let missing = client.handlers(HOOK, "iron").await.unwrap_err().to_string();
    assert!(missing.contains("the namespace iron") && missing.ends_with("does not exist"), "{missing}");
    assert_eq!(extension.received().len(), 1);
}

#[tokio::test]
async fn a_handler_is_called_for_its_own_hook_only_and_not_after_its_extension_is_gone() {
    let handlers = json!([registered("h.ext", Hook::ValidateTopology, "Fail", 10)]);
    let (fixture, client, extension) = extension(json!({}), handlers).await;
    extension.answers(Hook::ValidateTopology, "h", json!({}));
    let call = async |hook, name| client.call(hook, name, "default", &no_settings(), &json!({})).await;
    call(Hook::ValidateTopology, "h.ext").await.unwrap();
    let other = call(Hook::GeneratePatches, "h.ext").await.unwrap_err().to_string();
    assert_eq!(other, "the handler h.ext is for the hook ValidateTopology, not for GeneratePatches");
    for name in ["h", "h.other", "other.ext", "", "."] {
        let missing = call(Hook::ValidateTopology, name).await.unwrap_err().to_string();
        assert_eq!(missing, format!("no runtime extension has registered the handler {name}"));
    }
    delete(&fixture, "ext").await;
    assert!(call(Hook::ValidateTopology, "h.ext").await.is_err());
    assert_eq!(extension.received().len(), 1);
}

#[tokio::test]
async fn nobody_registers_a_handler_of_another_extension() {
    let handlers = json!([registered("h.ext", Hook::BeforeClusterCreate, "Fail", 10)]);
    let (fixture, client, extension) = extension(json!({}), handlers.clone()).await;
    extension.answers(Hook::BeforeClusterCreate, "h", json!({}));
    create_discovered(&fixture, "another", json!({"clientConfig": {"url": "https://127.0.0.1:1"}}), handlers)
        .await;
    assert_eq!(client.handlers(Hook::BeforeClusterCreate, "default").await.unwrap(), ["h.ext"]);
    client.call_all(Hook::BeforeClusterCreate, "default", &json!({})).await.unwrap();
    assert_eq!(extension.received().len(), 1);
}

#[tokio::test]
async fn variables_are_asked_for_once_in_a_while() {
    const HOOK: Hook = Hook::DiscoverVariables;
    let handlers = json!([registered("v.ext", HOOK, "Fail", 10)]);
    let (fixture, client, extension) = extension(json!({}), handlers).await;
    extension.answers(HOOK, "v", json!({"variables": []}));
    let ask = async |setting: &str| {
        let settings = BTreeMap::from([("of".to_owned(), setting.to_owned())]);
        client.call(HOOK, "v.ext", "default", &settings, &json!({})).await.unwrap()
    };
    assert_eq!(ask("one").await, ask("one").await);
    assert_eq!(extension.received().len(), 1);
    ask("another").await;
    assert_eq!(extension.received().len(), 2, "other settings, other variables");
    let before = config(&fixture.manager, "ext").unwrap().metadata.resource_version.clone();
    crate::extensions::support::change(&fixture, "ext", json!({"spec": {"settings": {"new": "yes"}}})).await;
    let is_new = |found: &schemas::runtime::ExtensionConfig| found.metadata.resource_version != before;
    fixture.until("the change", |manager| is_new(&config(manager, "ext").unwrap())).await;
    ask("one").await;
    assert_eq!(extension.received().len(), 3, "the extension has changed");
}
