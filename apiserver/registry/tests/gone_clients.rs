//! Requests that end before their write is visible, because their client has gone or their time is over.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use futures::poll;
use machinery::clock::Clock;
use machinery::random::Random;
use registry::{Context, Input, Options, Propagation, Registry, Served, Subresource};
use serde_json::{Value, json};
use store::Store;
use store::testing::Gate;

use crate::registry::common::{GROUP, definition, serve};
use crate::registry::housekeeping::{create, delete, gone, maps};

async fn open() -> (Registry, Gate) {
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let gate = Gate::default();
    let store = Store::open(gate.engine(), clock.clone()).await.unwrap();
    let registry = Registry::open(store, clock, Random::seeded(1), Options::default()).await.unwrap();
    (registry, gate)
}

/// Begins a request that creates an object, and drops it while the object waits for the disk.
async fn begin(registry: &Registry, served: &Served, namespace: &str, object: Value) {
    let mut context = Context::default();
    let mut creating = Box::pin(registry.create(&mut context, served, namespace, Input::new(object)));
    assert!(poll!(&mut creating).is_pending(), "the gate holds it");
}

async fn within<T>(what: &str, waiting: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect(what)
}

#[tokio::test]
async fn a_configuration_takes_effect_although_its_client_has_gone() {
    let (registry, gate) = open().await;
    let policies =
        registry.served("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies").unwrap();
    let bindings =
        registry.served("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings").unwrap();
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [
                {"apiGroups": [""], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["configmaps"]}]},
            "validations": [{"expression": "false"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "p"}, "spec": {"policyName": "p", "validationActions": ["Deny"]},
    });
    create(&registry, &policies, "", policy).await;
    let map = || json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "x"}});
    create(&registry, &maps(&registry), "default", map()).await;
    gate.hold(|_| true);
    begin(&registry, &bindings, "", binding).await;
    gate.open();
    within("the binding counts", async {
        while registry.get(&bindings, "", "p", Subresource::None, "").await.is_err() {
            tokio::task::yield_now().await;
        }
        let mut context = Context::default();
        while registry.create(&mut context, &maps(&registry), "default", Input::new(map())).await.is_ok() {}
    })
    .await;
}

/// Its home is marked when it begins, and the mark is visible before it is.
#[tokio::test]
async fn an_object_whose_client_has_gone_goes_with_its_home() {
    for is_custom in [true, false] {
        let (registry, gate) = open().await;
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let versions =
            json!([{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": any}}]);
        let gadgets = definition("gadgets", versions);
        let (home, name, served, namespace, late) = if is_custom {
            let served = serve(&registry, &gadgets).await;
            let crds = registry.served("apiextensions.k8s.io", "v1", "customresourcedefinitions").unwrap();
            let late =
                json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Gadget", "metadata": {"name": "late"}});
            (crds, format!("gadgets.{GROUP}"), served, "default", late)
        } else {
            let namespaces = registry.served("", "v1", "namespaces").unwrap();
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}});
            create(&registry, &namespaces, "", object).await;
            let late = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}});
            (namespaces, "a".to_owned(), maps(&registry), "a", late)
        };
        let home_name = name.clone();
        gate.hold(move |change| {
            let is_marked = String::from_utf8_lossy(&change.value).contains("deletionTimestamp");
            change.key.name() == home_name && is_marked
        });
        let deleting = {
            let (registry, home, name) = (registry.clone(), home.clone(), name.clone());
            tokio::spawn(async move { delete(&registry, &home, "", &name, Propagation::Background).await })
        };
        within("the mark waits for the disk", gate.waits()).await;
        begin(&registry, &served, namespace, late).await;
        gate.hold(|change| change.key.name() == "late");
        within("the object waits for the disk", gate.waits()).await;
        // Whoever empties the home has every turn that it wants.
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        gate.open();
        within("the deletion ends", deleting).await.unwrap();
        within("the home is gone", gone(&registry, &home, "", &name)).await;
        if is_custom {
            serve(&registry, &gadgets).await;
        }
        let left = registry.get(&served, namespace, "late", Subresource::None, "").await;
        assert_eq!(left.unwrap_err().code, 404, "{name}");
    }
}
