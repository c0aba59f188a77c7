//! The objects that kube-apiserver itself creates in every cluster.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::time::Duration;

use registry::{
    Context, DeleteOptions, EventType, Housekeeping, ListOptions, Options, Registry, Served, Subresource,
    WatchOptions,
};
use serde_json::{Value, json};

use crate::registry::common::{self, context, definition, open_with, version};

async fn open() -> Registry {
    let housekeeping = Housekeeping { standard_objects: true, ..Housekeeping::default() };
    open_with(Options { housekeeping, ..Options::default() }).await
}

async fn list(registry: &Registry, served: &Served) -> Vec<Value> {
    let list = registry.list(&mut context(), served, "", &ListOptions::default()).await.unwrap();
    list.items.iter().map(|item| serde_json::from_slice(&item.object).unwrap()).collect()
}

fn names(objects: &[Value]) -> Vec<&str> {
    objects.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn each_group_has_an_api_service_for_each_version() {
    let registry = open().await;
    let served = registry.served("apiregistration.k8s.io", "v1", "apiservices").unwrap();
    let services = list(&registry, &served).await;
    let names = names(&services);
    for name in ["v1.", "v1.apps", "v1.autoscaling", "v2.autoscaling", "v1.apiextensions.k8s.io"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.contains(&"v1.apiregistration.k8s.io"), "{names:?}");
    let apps = services.iter().find(|service| service["metadata"]["name"] == "v1.apps").unwrap();
    let spec =
        json!({"group": "apps", "version": "v1", "groupPriorityMinimum": 17800, "versionPriority": 15});
    assert_eq!(apps["spec"], spec);
    assert_eq!(apps["metadata"]["labels"], json!({"kube-aggregator.kubernetes.io/automanaged": "onstart"}));
    let condition = &apps["status"]["conditions"][0];
    assert_eq!((&condition["type"], &condition["status"]), (&json!("Available"), &json!("True")));
    assert_eq!(condition["message"], "Local APIServices are always available");
}

/// Waits for an event of this type about the APIService.
async fn seen(registry: &Registry, served: &Served, name: &str, kind: EventType) -> Value {
    let options = WatchOptions { field_selector: format!("metadata.name={name}"), ..WatchOptions::default() };
    let mut watch = registry.watch(&mut Context::default(), served, "", &options).await.unwrap();
    let waiting = async {
        loop {
            let event = watch.next().await.expect("the watch goes on");
            if event.kind == kind {
                return serde_json::from_slice(&event.object).unwrap();
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it comes")
}

#[tokio::test(start_paused = true)]
async fn the_api_service_of_a_custom_group_comes_and_goes_with_it() {
    let registry = open().await;
    let served = registry.served("apiregistration.k8s.io", "v1", "apiservices").unwrap();
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    common::serve(&registry, &definition("notes", json!([version("v1", true, any)]))).await;
    let service = seen(&registry, &served, "v1.test.example.com", EventType::Added).await;
    let spec = json!({"group": "test.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 100});
    assert_eq!(service["spec"], spec);
    let crds = registry.served("apiextensions.k8s.io", "v1", "customresourcedefinitions").unwrap();
    let (name, options) = ("notes.test.example.com", DeleteOptions::default());
    let gone = seen(&registry, &served, "v1.test.example.com", EventType::Deleted);
    let mut deleter = context();
    let deleted = registry.delete(&mut deleter, &crds, "", name, &options);
    let (gone, deleted) = tokio::join!(gone, deleted);
    deleted.unwrap();
    assert_eq!(gone["metadata"]["name"], "v1.test.example.com");
    let found = registry.get(&served, "", "v1.test.example.com", Subresource::None, "").await;
    assert_eq!(found.unwrap_err().reason, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn flow_schemas_and_priority_levels_are_there() {
    let registry = open().await;
    let served = |plural| registry.served("flowcontrol.apiserver.k8s.io", "v1", plural).unwrap();
    let levels = list(&registry, &served("prioritylevelconfigurations")).await;
    let expected = [
        "catch-all",
        "exempt",
        "global-default",
        "leader-election",
        "node-high",
        "system",
        "workload-high",
        "workload-low",
    ];
    assert_eq!(names(&levels), expected);
    assert_eq!(levels[1]["spec"]["type"], "Exempt");
    let schemas = list(&registry, &served("flowschemas")).await;
    assert_eq!(schemas.len(), 11);
    for schema in schemas {
        let level = schema["spec"]["priorityLevelConfiguration"]["name"].as_str().unwrap();
        assert!(expected.contains(&level), "{level}");
        let condition = &schema["status"]["conditions"][0];
        assert_eq!((&condition["type"], &condition["status"]), (&json!("Dangling"), &json!("False")));
    }
}
