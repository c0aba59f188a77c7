//! Quotas refuse what exceeds them, and know what is used.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

use std::time::Duration;

use machinery::status::Status;
use registry::{
    Context, DeleteOptions, Housekeeping, Input, Options, PatchBody, Registry, Served, Subresource,
    WatchOptions,
};
use serde_json::{Value, json};

use crate::registry::common::{self, context};

struct Plane(Registry);

impl Plane {
    /// A registry whose housekeeping counts quotas.
    async fn counting() -> Self {
        let housekeeping = Housekeeping { quotas: true, ..Housekeeping::default() };
        Self(common::open_with(Options { housekeeping, ..Options::default() }).await)
    }

    fn served(&self, plural: &str) -> Served {
        self.0.served("", "v1", plural).unwrap()
    }

    async fn create(&self, plural: &str, object: Value) -> Result<Value, Status> {
        self.create_as(&mut context(), plural, object).await
    }

    async fn create_as(&self, context: &mut Context, plural: &str, object: Value) -> Result<Value, Status> {
        let written = self.0.create(context, &self.served(plural), "default", Input::new(object)).await?;
        Ok(serde_json::from_slice(&written.object).unwrap())
    }

    async fn refusal(&self, plural: &str, object: Value) -> String {
        let status = self.create(plural, object).await.unwrap_err();
        assert_eq!((status.code, status.reason), (403, "Forbidden"));
        status.message.split_once("is forbidden: ").unwrap().1.to_owned()
    }

    /// Creates a quota, and waits until it is counted.
    async fn quota(&self, name: &str, spec: Value) {
        let quota =
            json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": spec});
        self.create("resourcequotas", quota).await.unwrap();
        self.until(name, |status| status["used"].is_object()).await;
    }

    async fn status(&self, name: &str) -> Value {
        let quotas = self.served("resourcequotas");
        let found = self.0.get(&quotas, "default", name, Subresource::None, "").await.unwrap();
        serde_json::from_slice::<Value>(&found).unwrap()["status"].clone()
    }

    /// Waits until the status of a quota is as wanted. The clock is paused, so the deadline takes no real time.
    async fn until(&self, name: &str, wanted: impl Fn(&Value) -> bool) {
        let (served, options) = (self.served("resourcequotas"), WatchOptions::default());
        let mut watch = self.0.watch(&mut Context::default(), &served, "default", &options).await.unwrap();
        let waiting = async {
            while !wanted(&self.status(name).await) {
                watch.next().await.expect("the watch goes on");
            }
        };
        tokio::time::timeout(Duration::from_secs(7200), waiting).await.expect("it comes");
    }
}

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

fn pod(name: &str, resources: Value) -> Value {
    let container = json!({"name": "c", "image": "x", "resources": resources});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}})
}

#[tokio::test(start_paused = true)]
async fn objects_are_counted_and_given_back() {
    let plane = Plane::counting().await;
    plane.create("configmaps", map("before")).await.unwrap();
    let hard = json!({"count/configmaps": "2", "configmaps": "5"});
    plane.quota("q", json!({"hard": hard})).await;
    let mut dry = Context { dry_run: true, ..context() };
    plane.create_as(&mut dry, "configmaps", map("dry")).await.unwrap();
    assert_eq!(plane.status("q").await["used"], json!({"configmaps": "1", "count/configmaps": "1"}));
    plane.create("configmaps", map("a")).await.unwrap();
    assert_eq!(
        plane.status("q").await,
        json!({"hard": hard, "used": {"configmaps": "2", "count/configmaps": "2"}})
    );
    assert_eq!(
        plane.refusal("configmaps", map("b")).await,
        "exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=2, limited: count/configmaps=2"
    );
    plane
        .create("secrets", json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}))
        .await
        .unwrap();
    let maps = plane.served("configmaps");
    plane.0.delete(&mut context(), &maps, "default", "a", &DeleteOptions::default()).await.unwrap();
    plane.until("q", |status| status["used"]["count/configmaps"] == "1").await;
    plane.create("configmaps", map("b")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_failed_after_its_charge_is_given_back() {
    let plane = Plane::counting().await;
    plane.create("configmaps", map("a")).await.unwrap();
    plane.quota("q", json!({"hard": {"configmaps": "5"}})).await;
    assert_eq!(plane.create("configmaps", map("a")).await.unwrap_err().reason, "AlreadyExists");
    assert_eq!(plane.status("q").await["used"]["configmaps"], "2");
    plane.until("q", |status| status["used"]["configmaps"] == "1").await;
}

#[tokio::test(start_paused = true)]
async fn a_quota_that_limits_nothing_any_more_refuses_nothing() {
    let plane = Plane::counting().await;
    plane.quota("q", json!({"hard": {"configmaps": "0"}})).await;
    assert!(plane.create("configmaps", map("a")).await.is_err());
    let quotas = plane.served("resourcequotas");
    let patch = PatchBody::Merge(json!({"spec": {"hard": null}}).to_string().into());
    plane.0.patch(&mut context(), &quotas, "default", "q", Subresource::None, patch).await.unwrap();
    plane.until("q", |status| status["hard"]["configmaps"].is_null()).await;
    plane.create("configmaps", map("a")).await.unwrap();
    // At rest, nothing is written.
    let revision = plane.0.store().revision();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(plane.0.store().revision(), revision);
}

#[tokio::test(start_paused = true)]
async fn many_at_once_never_exceed_a_quota() {
    let plane = Plane::counting().await;
    plane.quota("q", json!({"hard": {"configmaps": "7"}})).await;
    let names: Vec<String> = (0..20).map(|index| format!("m{index}")).collect();
    let all = names.iter().map(|name| plane.create("configmaps", map(name)));
    let created = futures::future::join_all(all).await;
    assert_eq!(created.iter().filter(|created| created.is_ok()).count(), 7);
    assert_eq!(plane.status("q").await["used"]["configmaps"], "7");
}

/// A quota is counted a second after a deletion, while other objects are created.
#[tokio::test(start_paused = true)]
async fn a_count_takes_no_charge_back() {
    let plane = Plane::counting().await;
    plane.quota("q", json!({"hard": {"configmaps": "5"}})).await;
    let maps = plane.served("configmaps");
    for _ in 0..20 {
        let names: Vec<String> = (0..12).map(|index| format!("m{index}")).collect();
        let created = names.iter().map(|name| plane.create("configmaps", map(name)));
        let created = futures::future::join_all(created).await;
        let there: Vec<&String> =
            names.iter().zip(&created).filter(|(_, created)| created.is_ok()).map(|(name, _)| name).collect();
        assert!(there.len() <= 5, "{there:?}");
        for name in there {
            plane.0.delete(&mut context(), &maps, "default", name, &DeleteOptions::default()).await.unwrap();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn pods_say_what_they_need_and_stay_below() {
    let plane = Plane::counting().await;
    let hard = json!({"requests.cpu": "1", "limits.memory": "1Gi", "pods": "5"});
    plane.quota("compute", json!({"hard": hard})).await;
    assert_eq!(
        plane.refusal("pods", pod("p", json!({}))).await,
        "failed quota: compute: must specify limits.memory for: c; requests.cpu for: c"
    );
    let large = json!({"requests": {"cpu": "600m"}, "limits": {"memory": "512Mi"}});
    plane.create("pods", pod("p", large.clone())).await.unwrap();
    let used = json!({"limits.memory": "512Mi", "pods": "1", "requests.cpu": "600m"});
    assert_eq!(plane.status("compute").await["used"], used);
    assert_eq!(
        plane.refusal("pods", pod("q", large)).await,
        "exceeded quota: compute, requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1"
    );
    let pods = plane.served("pods");
    let patch = PatchBody::Merge(json!({"status": {"phase": "Succeeded"}}).to_string().into());
    let status = Subresource::Status;
    plane.0.patch(&mut context(), &pods, "default", "p", status, patch).await.unwrap();
    plane.until("compute", |status| status["used"]["pods"] == "0").await;
    let none = json!({"limits.memory": "0", "pods": "0", "requests.cpu": "0"});
    assert_eq!(plane.status("compute").await["used"], none);
}

#[tokio::test(start_paused = true)]
async fn a_quota_with_scopes_is_about_some_pods() {
    let plane = Plane::counting().await;
    plane.quota("best", json!({"hard": {"pods": "1"}, "scopes": ["BestEffort"]})).await;
    plane.create("pods", pod("a", json!({"limits": {"cpu": "1"}}))).await.unwrap();
    plane.create("pods", pod("b", json!({}))).await.unwrap();
    assert_eq!(
        plane.refusal("pods", pod("c", json!({}))).await,
        "exceeded quota: best, requested: pods=1, used: pods=1, limited: pods=1"
    );
}

#[tokio::test(start_paused = true)]
async fn services_and_claims_are_counted_by_what_they_are() {
    let plane = Plane::counting().await;
    let hard = json!({
        "services": "5", "services.nodeports": "1", "requests.storage": "3Gi",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "0",
    });
    plane.quota("q", json!({"hard": hard})).await;
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"type": "NodePort", "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81}]}});
    assert_eq!(
        plane.refusal("services", service).await,
        "exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=0, \
         limited: services.nodeports=1"
    );
    let claim = |class: &str, storage: &str| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": {"requests": {"storage": storage}}}})
    };
    assert_eq!(
        plane.refusal("persistentvolumeclaims", claim("", "4Gi")).await,
        "exceeded quota: q, requested: requests.storage=4Gi, used: requests.storage=0, limited: requests.storage=3Gi"
    );
    let class = "gold.storageclass.storage.k8s.io/persistentvolumeclaims";
    assert_eq!(
        plane.refusal("persistentvolumeclaims", claim("gold", "1Gi")).await,
        format!("exceeded quota: q, requested: {class}=1, used: {class}=0, limited: {class}=0")
    );
}

#[tokio::test]
async fn nobody_is_refused_by_a_quota_that_nobody_has_counted() {
    let plane = Plane(common::open_with(Options::default()).await);
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
        "spec": {"hard": {"configmaps": "0"}}});
    plane.create("resourcequotas", quota).await.unwrap();
    plane.create("configmaps", map("a")).await.unwrap();
    assert_eq!(plane.status("q").await, json!({}));
    let quotas = plane.served("resourcequotas");
    let patch = json!({"status": {"hard": {"configmaps": "3"}}});
    let patch = PatchBody::Merge(patch.to_string().into());
    plane.0.patch(&mut context(), &quotas, "default", "q", Subresource::Status, patch).await.unwrap();
    assert_eq!(
        plane.refusal("configmaps", map("b")).await,
        "status unknown for quota: q, resources: configmaps"
    );
}
