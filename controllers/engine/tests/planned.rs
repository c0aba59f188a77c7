//! The frame observe → plan → apply, with a client whose server keeps one object.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chrono::{DateTime, Utc};
use engine::{
    Action, Controller, Error, Frame, Manager, Membership, Objects, Outcome, Planned, Result, Settings,
    conditions,
};
use http::{Method, Response};
use kube::client::Body;
use parking_lot::Mutex;
use schemas::HasConditions;
use schemas::cluster::Cluster;
use schemas::infrastructure::DevCluster;
use serde_json::{Value, json};

use crate::engine::support::manager_of;

const FINALIZER: &str = "test/finalizer";

fn merge(into: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else { return *into = patch };
    for (key, value) in patch {
        if into.is_null() {
            *into = json!({});
        }
        match value {
            Value::Null => drop(into.as_object_mut().unwrap().remove(&key)),
            value => merge(&mut into[&key], value),
        }
    }
}

fn refused(code: u16, reason: &str) -> Response<Body> {
    let status =
        json!({"kind": "Status", "status": "Failure", "reason": reason, "code": code, "message": reason});
    Response::builder().status(code).body(Body::from(status.to_string().into_bytes())).unwrap()
}

/// Serves `object`; its watches stay open and silent, and it cannot be read alone. An object with `"gone": true` is listed, but no patch finds it.
fn manager(object: &Arc<Mutex<Value>>) -> Manager {
    let object = object.clone();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let object = object.clone();
        async move {
            if request.uri().query().is_some_and(|query| query.contains("watch=true")) {
                std::future::pending::<()>().await;
            }
            let is_patch = request.method() == Method::PATCH;
            let body = request.into_body().collect_bytes().await.unwrap();
            let mut object = object.lock();
            let answer = if is_patch && object["gone"] == true {
                object["patches"] = (object["patches"].as_u64().unwrap_or(0) + 1).into();
                return Ok(refused(404, "NotFound"));
            } else if is_patch {
                let patch: Value = serde_json::from_slice(&body).unwrap();
                let version = object["metadata"]["resourceVersion"].clone();
                if !patch["metadata"]["resourceVersion"].is_null()
                    && patch["metadata"]["resourceVersion"] != version
                {
                    return Ok(refused(409, "Conflict"));
                }
                let version: u64 = version.as_str().unwrap().parse().unwrap();
                merge(&mut object, patch);
                object["metadata"]["resourceVersion"] = (version + 1).to_string().into();
                object.clone()
            } else {
                json!({"apiVersion": DevCluster::API_VERSION, "kind": "DevClusterList", "metadata": {"resourceVersion": "9"}, "items": [*object]})
            };
            Ok::<_, Infallible>(Response::new(Body::from(answer.to_string().into_bytes())))
        }
    });
    manager_of(service, Settings::default())
}

fn object(annotations: Value) -> Arc<Mutex<Value>> {
    let metadata = json!({
        "name": "one", "namespace": "default", "uid": "1", "resourceVersion": "5", "generation": 2, "annotations": annotations,
    });
    let spec = json!({"backend": {"inMemory": {}}});
    Arc::new(Mutex::new(json!({
        "apiVersion": DevCluster::API_VERSION, "kind": DevCluster::KIND, "metadata": metadata, "spec": spec,
    })))
}

/// A controller whose first apply fails. Records the failure of the previous apply that each observation gets.
struct FailsOnce {
    manager: Manager,
    objects: Objects<DevCluster>,
    said: Arc<Mutex<Vec<Option<String>>>>,
}

impl Planned for FailsOnce {
    type Object = DevCluster;
    type Observed = Arc<DevCluster>;
    type Plan = DevCluster;

    const FINALIZER: Option<&'static str> = Some(FINALIZER);
    const OWNED: &'static [&'static str] = &["Ready", "Paused"];

    fn objects(&self) -> &Objects<DevCluster> {
        &self.objects
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn cluster(&self, _: &Arc<DevCluster>) -> Membership {
        Membership::None
    }

    async fn observe(
        &self,
        object: Arc<DevCluster>,
        _: Option<Arc<Cluster>>,
    ) -> Result<Option<Self::Observed>> {
        let said = object.condition("Ready").map(|found| found.message.clone());
        self.said.lock().push(said.filter(|message| !message.is_empty()));
        Ok(Some(object))
    }

    fn plan(object: &Self::Observed, now: DateTime<Utc>) -> DevCluster {
        let mut wanted = object.as_ref().clone();
        conditions::set(&mut wanted, now, conditions::is_true("Ready", "Ready"));
        wanted
    }

    async fn apply(&self, _: &Self::Observed, wanted: DevCluster) -> Outcome<DevCluster> {
        let is_first = self.said.lock().len() == 1;
        let errors = if is_first { vec![Error::failed("refused")] } else { Vec::new() };
        Outcome { wanted: Some(wanted), errors, action: Action::done() }
    }

    fn report(object: &mut DevCluster, errors: &[&Error], now: DateTime<Utc>) {
        conditions::set(object, now, conditions::is_false("Ready", "NotReady", errors[0].to_string()));
    }
}

/// Runs the controller for a second; returns the message of the condition `Ready` at each observation.
async fn run(object: &Arc<Mutex<Value>>) -> Vec<Option<String>> {
    let manager = manager(object);
    let (objects, said) = (manager.objects::<DevCluster>(), Arc::<Mutex<Vec<_>>>::default());
    let planned = FailsOnce { manager: manager.clone(), objects: objects.clone(), said: said.clone() };
    Controller::new(&manager, "failsonce").reconciles(&objects).start(Frame::new(planned));
    tokio::time::sleep(Duration::from_secs(1)).await;
    manager.stop().await;
    said.lock().clone()
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_in_the_conditions_and_is_tried_again_until_it_is_over() {
    let object = object(json!({}));
    let said = run(&object).await;
    assert_eq!(said[..2], [None, Some("refused".to_owned())], "the plan after the failure sees it");
    assert!(said[2..].iter().all(Option::is_none), "{said:?}");
    let stored: DevCluster = serde_json::from_value(object.lock().clone()).unwrap();
    assert!(stored.condition_is_true("Ready"), "{stored:?}");
    assert_eq!(stored.metadata.finalizers.as_deref(), Some([FINALIZER.to_owned()].as_slice()));
}

#[tokio::test(start_paused = true)]
async fn what_is_paused_is_not_observed_and_says_so() {
    let object = object(json!({"cluster.x-k8s.io/paused": ""}));
    assert_eq!(run(&object).await, []);
    let stored: DevCluster = serde_json::from_value(object.lock().clone()).unwrap();
    assert!(stored.condition_is_true("Paused"), "{stored:?}");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_has_been_deleted_meanwhile_is_not_a_failure() {
    let object = object(json!({"cluster.x-k8s.io/paused": ""}));
    object.lock()["metadata"]["finalizers"] = json!([FINALIZER]);
    object.lock()["gone"] = true.into();
    assert_eq!(run(&object).await, []);
    assert_eq!(object.lock()["patches"], 1, "a failure would be tried again");
}

#[tokio::test(start_paused = true)]
async fn what_another_controller_has_written_since_is_no_conflict() {
    let stored = object(json!({}));
    let manager = manager(&stored);
    let objects = manager.objects::<DevCluster>();
    objects.wait_until_synced().await;
    let read = objects.get(&engine::NamespacedName::new("default", "one")).unwrap();
    for type_ in ["Other", "Ready"] {
        let mut wanted = read.as_ref().clone();
        conditions::set(&mut wanted, manager.clock().now(), conditions::is_true(type_, type_));
        // The server answers no read of the object, so a conflict would be an error.
        objects.patch(&read, &wanted, &[type_]).await.unwrap();
    }
    let stored: DevCluster = serde_json::from_value(stored.lock().clone()).unwrap();
    assert!(stored.condition_is_true("Other") && stored.condition_is_true("Ready"), "{stored:?}");
}

/// A controller that counts its observations in a message, ten times a second. At the eighth, the object is ready.
struct Counts {
    manager: Manager,
    objects: Objects<DevCluster>,
    count: AtomicUsize,
}

impl Planned for Counts {
    type Object = DevCluster;
    type Observed = (Arc<DevCluster>, usize);
    type Plan = DevCluster;

    const FINALIZER: Option<&'static str> = None;
    const OWNED: &'static [&'static str] = &["Ready"];
    const DEBOUNCES_MESSAGES: bool = true;

    fn objects(&self) -> &Objects<DevCluster> {
        &self.objects
    }

    fn manager(&self) -> &Manager {
        &self.manager
    }

    fn cluster(&self, _: &Arc<DevCluster>) -> Membership {
        Membership::None
    }

    async fn observe(
        &self,
        object: Arc<DevCluster>,
        _: Option<Arc<Cluster>>,
    ) -> Result<Option<Self::Observed>> {
        Ok(Some((object, self.count.fetch_add(1, Ordering::Relaxed) + 1)))
    }

    fn plan((object, count): &Self::Observed, now: DateTime<Utc>) -> DevCluster {
        let mut wanted = object.as_ref().clone();
        let ready = match count {
            ..8 => conditions::is_false("Ready", "NotReady", count.to_string()),
            _ => conditions::is_true("Ready", "Ready"),
        };
        conditions::set(&mut wanted, now, ready);
        wanted
    }

    async fn apply(&self, _: &Self::Observed, wanted: DevCluster) -> Outcome<DevCluster> {
        let action = Action::requeue_after(Duration::from_millis(100));
        Outcome { wanted: Some(wanted), errors: Vec::new(), action }
    }
}

#[tokio::test(start_paused = true)]
async fn a_text_is_written_later_than_a_status_and_not_each_time() {
    let stored = object(json!({}));
    let manager = manager(&stored);
    let objects = manager.objects::<DevCluster>();
    let planned = Counts { manager: manager.clone(), objects: objects.clone(), count: AtomicUsize::new(0) };
    Controller::new(&manager, "counts").reconciles(&objects).start(Frame::new(planned));
    // The milliseconds at which the stored object changes, with its new message.
    let mut changes = Vec::new();
    for milliseconds in 0..900 {
        let message = stored.lock()["status"]["conditions"][0]["message"].clone();
        if changes.last().is_none_or(|(_, last)| *last != message) {
            changes.push((milliseconds, message));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    manager.stop().await;
    let [_, (first, one), (second, text), (third, ready)] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!((one.as_str(), ready.as_str()), (Some("1"), Some("")), "{changes:?}");
    assert!((500..540).contains(&(second - first)), "a text waits for others: {changes:?}");
    assert!(text.as_str().is_some_and(|count| count > "1"), "the newest text is written: {changes:?}");
    assert!(third - second < 500, "a status does not wait: {changes:?}");
}
