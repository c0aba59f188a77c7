//! kube-rs over TLS against a fresh server: the operations of Rust controllers, typed and dynamic.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test, which says why it skips"
)]

use std::time::Duration;

use clients::session::Tools;
use futures::TryStreamExt;
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use kube::core::{ApiResource, GroupVersionKind};
use kube::discovery::{Discovery, Scope, pinned_kind};
use kube::{Api, Client, Config, ResourceExt};
use serde_json::{Value, json};
use test_server::Server;

const DEADLINE: Duration = Duration::from_secs(60);

/// Calls `test` with a client of a fresh server.
async fn with_server(test: impl AsyncFnOnce(Config, Client)) {
    let tools = match Tools::find() {
        Ok(tools) => tools,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return;
        }
    };
    let directory = tempfile::tempdir().unwrap();
    let server =
        Server::start(&tools.firstlight, directory.path(), &["--controllers", "none"]).await.unwrap();
    let config = server.config().await.unwrap();
    let client = Client::try_from(config.clone()).unwrap();
    tokio::time::timeout(DEADLINE, test(config, client)).await.expect("done in time");
    drop(server);
}

/// Returns code and reason of a refusal.
fn refusal<T: std::fmt::Debug>(outcome: kube::Result<T>) -> (u16, String) {
    match outcome {
        Err(kube::Error::Api(status)) => (status.code, status.reason),
        other => panic!("no refusal: {other:?}"),
    }
}

fn config_map(name: &str, data: Value) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name, "labels": {"of": "test"}}, "data": data}))
        .unwrap()
}

fn definition() -> CustomResourceDefinition {
    let number = json!({"type": "integer", "minimum": 0});
    let part = json!({"type": "object", "properties": {"replicas": number, "phase": {"type": "string"}}});
    let scale = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    serde_json::from_value(json!({
        "metadata": {"name": "lamps.test.firstlight.dev"},
        "spec": {
            "group": "test.firstlight.dev",
            "scope": "Namespaced",
            "names": {"plural": "lamps", "singular": "lamp", "kind": "Lamp"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": scale},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": part, "status": part}}},
            }],
        },
    }))
    .unwrap()
}

fn lamp(name: &str, replicas: i64) -> Value {
    json!({"apiVersion": "test.firstlight.dev/v1", "kind": "Lamp", "metadata": {"name": name}, "spec": {"replicas": replicas}})
}

/// Creates the Lamp definition and waits until it is served.
async fn lamps(client: &Client) -> (ApiResource, Api<DynamicObject>) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let created = definitions.create(&PostParams::default(), &definition()).await.unwrap();
    let changes = WatchParams::default().fields(&format!("metadata.name={}", created.name_any()));
    let mut changes = Box::pin(definitions.watch(&changes, "0").await.unwrap());
    loop {
        let event = changes.try_next().await.unwrap().expect("the watch goes on");
        let (WatchEvent::Added(definition) | WatchEvent::Modified(definition)) = event else { continue };
        let conditions = definition.status.and_then(|status| status.conditions).unwrap_or_default();
        if conditions.iter().any(|one| one.type_ == "Established" && one.status == "True") {
            break;
        }
    }
    let kind = GroupVersionKind::gvk("test.firstlight.dev", "v1", "Lamp");
    let (resource, capabilities) = pinned_kind(client, &kind).await.unwrap();
    assert_eq!((resource.plural.as_str(), &capabilities.scope), ("lamps", &Scope::Namespaced));
    let api = Api::default_namespaced_with(client.clone(), &resource);
    (resource, api)
}

#[tokio::test]
async fn typed_objects() {
    with_server(async |_, client| {
        let api: Api<ConfigMap> = Api::default_namespaced(client);
        for name in ["one", "two", "three"] {
            let created =
                api.create(&PostParams::default(), &config_map(name, json!({"a": "1"}))).await.unwrap();
            assert!(created.uid().is_some() && created.resource_version().is_some());
        }
        let again = api.create(&PostParams::default(), &config_map("one", json!({}))).await;
        assert_eq!(refusal(again), (409, "AlreadyExists".to_owned()));

        let page = api.list(&ListParams::default().labels("of=test").limit(2)).await.unwrap();
        assert_eq!(page.items.len(), 2);
        let token = page.metadata.continue_.expect("there is more");
        let rest =
            api.list(&ListParams::default().labels("of=test").limit(2).continue_token(&token)).await.unwrap();
        assert_eq!(rest.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>(), ["two"]);

        let stale = api.get("one").await.unwrap();
        let patch = Patch::Merge(json!({"data": {"b": "2"}}));
        let patched = api.patch("one", &PatchParams::default(), &patch).await.unwrap();
        assert_eq!(
            patched.data.unwrap().into_iter().collect::<Vec<_>>(),
            [("a".into(), "1".into()), ("b".into(), "2".into())]
        );
        let replaced = api.replace("one", &PostParams::default(), &stale).await;
        assert_eq!(refusal(replaced), (409, "Conflict".to_owned()));
        let metadata = api.get_metadata("one").await.unwrap();
        assert_eq!(metadata.labels().get("of").map(String::as_str), Some("test"));

        api.delete("one", &DeleteParams::default()).await.unwrap();
        assert_eq!(refusal(api.get("one").await), (404, "NotFound".to_owned()));
        assert!(api.get_opt("one").await.unwrap().is_none());
        api.delete_collection(&DeleteParams::default(), &ListParams::default().labels("of=test"))
            .await
            .unwrap();
        assert!(api.list(&ListParams::default().labels("of=test")).await.unwrap().items.is_empty());
    })
    .await;
}

#[tokio::test]
async fn dynamic_objects_their_status_and_scale() {
    with_server(async |_, client| {
        let (resource, api) = lamps(&client).await;
        let object: DynamicObject = serde_json::from_value(lamp("a", 1)).unwrap();
        let created = api.create(&PostParams::default(), &object).await.unwrap();
        assert_eq!(created.metadata.generation, Some(1));

        let status =
            Patch::Merge(json!({"status": {"phase": "Lit", "replicas": 1}, "spec": {"replicas": 9}}));
        let patched = api.patch_status("a", &PatchParams::default(), &status).await.unwrap();
        assert_eq!(patched.data, json!({"spec": {"replicas": 1}, "status": {"phase": "Lit", "replicas": 1}}));
        assert_eq!(patched.metadata.generation, Some(1));

        let scale = Patch::Merge(json!({"spec": {"replicas": 3}}));
        let scaled = api.patch_scale("a", &PatchParams::default(), &scale).await.unwrap();
        assert_eq!(scaled.spec.and_then(|spec| spec.replicas), Some(3));
        assert_eq!(scaled.status.map(|status| status.replicas), Some(1));
        assert_eq!(api.get("a").await.unwrap().metadata.generation, Some(2));

        let wrong: DynamicObject = serde_json::from_value(lamp("b", -1)).unwrap();
        assert_eq!(refusal(api.create(&PostParams::default(), &wrong).await), (422, "Invalid".to_owned()));

        for discovery in [
            Discovery::new(client.clone()).run().await.unwrap(),
            Discovery::new(client.clone()).run_aggregated().await.unwrap(),
        ] {
            let kind = GroupVersionKind::gvk(&resource.group, &resource.version, &resource.kind);
            let (found, capabilities) = discovery.resolve_gvk(&kind).expect("Lamp is discovered");
            assert_eq!(found.plural, "lamps");
            assert!(capabilities.subresources.iter().any(|(sub, _)| sub.plural.ends_with("status")));
            assert!(discovery.has_group("cluster.x-k8s.io") && discovery.has_group("coordination.k8s.io"));
        }
    })
    .await;
}

#[tokio::test]
async fn server_side_apply() {
    with_server(async |_, client| {
        let (_, api) = lamps(&client).await;
        let ours = PatchParams::apply("ours");
        let created = api.patch("a", &ours, &Patch::Apply(lamp("a", 1))).await.unwrap();
        assert_eq!(created.managed_fields()[0].manager.as_deref(), Some("ours"));
        let same = api.patch("a", &ours, &Patch::Apply(lamp("a", 1))).await.unwrap();
        assert_eq!(same.resource_version(), created.resource_version());

        let conflict = api.patch("a", &PatchParams::apply("theirs"), &Patch::Apply(lamp("a", 2))).await;
        assert_eq!(refusal(conflict), (409, "Conflict".to_owned()));
        let dry = PatchParams::apply("theirs").force().dry_run();
        let shown = api.patch("a", &dry, &Patch::Apply(lamp("a", 2))).await.unwrap();
        assert_eq!(shown.data["spec"]["replicas"], 2);
        assert_eq!(api.get("a").await.unwrap().data["spec"]["replicas"], 1);
        let forced =
            api.patch("a", &PatchParams::apply("theirs").force(), &Patch::Apply(lamp("a", 2))).await.unwrap();
        assert_eq!(forced.data["spec"]["replicas"], 2);
        let managers: Vec<_> = forced.managed_fields().iter().filter_map(|one| one.manager.clone()).collect();
        assert_eq!(managers, ["theirs"], "who set nothing else manages nothing");

        let strict = PatchParams::apply("ours").validation_strict();
        let mut unknown = lamp("b", 1);
        unknown["spec"]["colour"] = "red".into();
        assert_eq!(refusal(api.patch("b", &strict, &Patch::Apply(unknown)).await).0, 500);
    })
    .await;
}

#[tokio::test]
async fn watches() {
    with_server(async |_, client| {
        let api: Api<ConfigMap> = Api::default_namespaced(client);
        api.create(&PostParams::default(), &config_map("before", json!({}))).await.unwrap();
        let since = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
        let labelled = WatchParams::default().labels("of=test");
        let mut changes = Box::pin(api.watch(&labelled, &since).await.unwrap());
        api.create(&PostParams::default(), &config_map("a", json!({"a": "1"}))).await.unwrap();
        let patch = Patch::Merge(json!({"data": {"a": "2"}}));
        api.patch("a", &PatchParams::default(), &patch).await.unwrap();
        // The object is not selected any more, so this watcher gets a deletion.
        let patch = Patch::Merge(json!({"metadata": {"labels": {"of": null}}}));
        api.patch("a", &PatchParams::default(), &patch).await.unwrap();
        let mut seen = Vec::new();
        while seen.len() < 3 {
            let event = changes.try_next().await.unwrap().expect("the watch goes on");
            seen.push(match event {
                WatchEvent::Added(object) => format!("+{}", object.name_any()),
                WatchEvent::Modified(object) => format!("~{}", object.name_any()),
                WatchEvent::Deleted(object) => format!("-{}", object.name_any()),
                other => panic!("{other:?}"),
            });
        }
        assert_eq!(seen, ["+a", "~a", "-a"]);

        // A list as a watch: the objects, then a bookmark that marks the end of the initial events.
        let mut list =
            Box::pin(api.watch(&WatchParams::streaming_lists().labels("of=test"), "").await.unwrap());
        let first = list.try_next().await.unwrap();
        assert!(matches!(first, Some(WatchEvent::Added(object)) if object.name_any() == "before"));
        let Some(WatchEvent::Bookmark(bookmark)) = list.try_next().await.unwrap() else {
            panic!("no bookmark")
        };
        assert_eq!(bookmark.metadata.annotations["k8s.io/initial-events-end"], "true");
    })
    .await;
}

#[tokio::test]
async fn leases_and_tokens() {
    with_server(async |config, client| {
        let leases: Api<Lease> = Api::default_namespaced(client.clone());
        let lease = json!({"metadata": {"name": "leader"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 0}});
        let held = leases.create(&PostParams::default(), &serde_json::from_value(lease).unwrap()).await.unwrap();
        let mut renewed = held.clone();
        renewed.spec.as_mut().unwrap().lease_transitions = Some(1);
        let renewed = leases.replace("leader", &PostParams::default(), &renewed).await.unwrap();
        assert_ne!(renewed.resource_version(), held.resource_version());
        let taken = leases.replace("leader", &PostParams::default(), &held).await;
        assert_eq!(refusal(taken), (409, "Conflict".to_owned()), "two do not lead");

        let accounts: Api<ServiceAccount> = Api::default_namespaced(client);
        let account = serde_json::from_value(json!({"metadata": {"name": "robot"}})).unwrap();
        accounts.create(&PostParams::default(), &account).await.unwrap();
        let request: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": []}})).unwrap();
        let issued = accounts.create_token_request("robot", &PostParams::default(), &request).await.unwrap();
        let mut robot = config;
        robot.auth_info = kube::config::AuthInfo {
            token: Some(issued.status.unwrap().token.unwrap().into()),
            ..kube::config::AuthInfo::default()
        };
        let robot = Client::try_from(robot).unwrap();
        let reviews: Api<SelfSubjectReview> = Api::all(robot.clone());
        let who = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await.unwrap();
        let user = who.status.and_then(|status| status.user_info).and_then(|user| user.username);
        assert_eq!(user.as_deref(), Some("system:serviceaccount:default:robot"));
        let configs: Api<ConfigMap> = Api::default_namespaced(robot);
        assert_eq!(refusal(configs.list(&ListParams::default()).await), (403, "Forbidden".to_owned()));
    })
    .await;
}
