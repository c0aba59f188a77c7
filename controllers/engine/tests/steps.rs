//! The steps of plans, over a client whose server refuses requests for objects by their names.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use engine::steps::{Event, Named, perform};
use engine::{
    Action, Applied, Error, Manager, NamespacedName, Plan, Result, Settings, Step, Steps, Stepwise, Tools,
};
use http::{Method, Response};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::engine::support::manager_of;

/// What the server got: changes of objects as verb and name, and events as `reason about: message`.
type Requests = Arc<Mutex<Vec<String>>>;

fn answer(verb: &Method, name: &str, body: &Value) -> (u16, Value) {
    let refused = |code: u16, reason: &str| {
        let status =
            json!({"kind": "Status", "status": "Failure", "reason": reason, "code": code, "message": reason});
        (code, status)
    };
    match name {
        "refused" => refused(403, "Forbidden"),
        "changed" => refused(409, "Conflict"),
        "gone" => refused(404, "NotFound"),
        _ if *verb == Method::DELETE => {
            (200, json!({"apiVersion": "v1", "kind": "Status", "status": "Success"}))
        }
        _ if *verb == Method::POST => (201, body.clone()),
        _ => (200, json!({"metadata": {"name": name, "uid": name, "resourceVersion": "2"}})),
    }
}

fn manager(requests: &Requests) -> Manager {
    let requests = requests.clone();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let requests = requests.clone();
        async move {
            if request.method() == Method::GET {
                std::future::pending::<()>().await;
            }
            let (verb, path) = (request.method().clone(), request.uri().path().to_owned());
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            let name = path.rsplit('/').next().unwrap();
            let (code, answer) = answer(&verb, name, &body);
            requests.lock().push(if verb == Method::POST {
                let about = body["involvedObject"]["name"].as_str().unwrap();
                format!("{} {about}: {}", body["reason"].as_str().unwrap(), body["message"].as_str().unwrap())
            } else {
                format!("{verb} {name}")
            });
            let body = Body::from(answer.to_string().into_bytes());
            Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap())
        }
    });
    manager_of(service, Settings::default())
}

fn object(name: &str) -> Arc<ConfigMap> {
    let mut object = ConfigMap::default();
    (object.metadata.name, object.metadata.namespace) = (Some(name.to_owned()), Some("default".to_owned()));
    Arc::new(object)
}

/// Performs steps; returns the outcome, and what the server got.
async fn outcome(steps: Steps) -> (Vec<String>, Vec<String>, Manager) {
    let requests = Requests::default();
    let manager = manager(&requests);
    let (recorder, applied) = (manager.recorder("test"), Applied::default());
    let plan = Plan { steps, ..Plan::of(object("own").as_ref().clone()) };
    let outcome = Tools::new("test", &manager).events(&recorder).applied(&applied).perform(plan).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let got = requests.lock().clone();
    (outcome.errors.iter().map(ToString::to_string).collect(), got, manager)
}

#[tokio::test(start_paused = true)]
async fn a_failed_step_prevents_only_those_that_need_it() {
    let delete = |name: &str| Step::delete(&object(name));
    let mut steps = Steps::default();
    steps.in_order(["a", "refused", "skipped"].map(delete));
    steps.in_order(["b", "c"].map(delete));
    steps.push(delete("changed").named("first"));
    steps.push(delete("skipped").needs("first"));
    steps.push(delete("skipped").named("second").needs("first"));
    steps.push(delete("skipped").needs("second"));
    steps.push(delete("d").needs("unknown"));
    steps.push(delete("e").in_cluster(NamespacedName::new("default", "not-connected")));
    let expected = [
        "delete ConfigMap default/a",
        "delete ConfigMap default/refused",
        "delete ConfigMap default/skipped",
        "delete ConfigMap default/b",
        "delete ConfigMap default/c",
        "delete ConfigMap default/changed",
        "delete ConfigMap default/skipped",
        "delete ConfigMap default/skipped",
        "delete ConfigMap default/skipped",
        "delete ConfigMap default/d",
        "delete ConfigMap default/e",
    ];
    assert_eq!(steps.texts(), expected);
    let (errors, got, manager) = outcome(steps).await;
    let expected = ["DELETE a", "DELETE refused", "DELETE b", "DELETE c", "DELETE changed", "DELETE d"];
    assert_eq!(got, expected);
    assert_eq!(
        errors,
        ["delete ConfigMap default/refused: Forbidden", "delete ConfigMap default/changed: Conflict"]
    );
    let counts = ["changed", "unchanged", "failed", "skipped"]
        .map(|outcome| manager.metrics().steps("test", "delete", outcome));
    assert_eq!(counts, [4, 0, 2, 5]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_gone_can_count_as_done() {
    let patch = |name: &str| Step::merge(&object(name), json!({"data": {"a": "b"}}));
    let mut steps = Steps::default();
    steps.in_order([patch("gone").unless_gone(), patch("a")]);
    steps.in_order([patch("gone"), patch("b")]);
    let (errors, got, manager) = outcome(steps).await;
    assert_eq!(got, ["PATCH gone", "PATCH a", "PATCH gone"]);
    assert_eq!(errors, ["patch ConfigMap default/gone: NotFound"]);
    assert_eq!(manager.metrics().steps("test", "merge", "unchanged"), 1);
}

#[tokio::test(start_paused = true)]
async fn the_outcome_of_a_step_is_an_event() {
    let says =
        |name: &str| Step::delete(&object(name)).says(Event::normal("Deleted", format!("deleted {name}")));
    let warning = || Event::warning("Failed", "not deleted");
    let mut steps = Steps::default();
    steps.push(says("a").warns(warning()));
    steps.push(says("refused").without_suffix("fused").warns(warning()));
    steps.push(says("changed").warns(Event::warning("Conflict", "not deleted")));
    steps.push(says("changed").warns_unless_conflict(warning()));
    steps.push(Step::tell(Event::normal("Told", "this").about(object("other").as_ref())));
    let (_, mut got, _) = outcome(steps).await;
    got.retain(|request| !request.starts_with("DELETE"));
    let expected = [
        "Deleted own: deleted a",
        "Failed own: not deleted: delete ConfigMap default/re*: Forbidden",
        "Conflict own: not deleted: delete ConfigMap default/changed: Conflict",
        "Told other: this",
    ];
    assert_eq!(got, expected);
}

/// A step of a kind: the delay that it asks for, or `None` if it fails.
struct Wait(Option<u64>);

impl Named for Wait {
    fn verb(&self) -> &'static str {
        "wait"
    }

    fn target(&self) -> String {
        format!("for {:?}", self.0)
    }
}

struct Waiting(Manager);

impl Stepwise for Waiting {
    type Observed = &'static str;
    type Step = Wait;

    fn tools(&self) -> Tools<'_> {
        Tools::new("waiting", &self.0)
    }

    async fn perform(&self, observed: &&'static str, Wait(seconds): &Wait) -> Result<Action> {
        let seconds = seconds.ok_or_else(|| Error::failed(format!("{observed}: no time")))?;
        Ok(Action::requeue_after(Duration::from_secs(seconds)))
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_of_a_kind_is_performed_by_its_controller() {
    let manager = manager(&Requests::default());
    let waiting = Waiting(manager.clone());
    let mut plan = Plan::of(object("own").as_ref().clone());
    plan.errors.push("from the rules".to_owned());
    plan.action = Action::requeue_after(Duration::from_secs(5));
    plan.steps.extend([Some(9), None, Some(2)].map(|seconds| Step::own(Wait(seconds))));
    assert_eq!(plan.steps.texts(), ["wait for Some(9)", "wait for None", "wait for Some(2)"]);
    let outcome = perform(&waiting, &"observed", plan).await;
    let errors: Vec<String> = outcome.errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors, ["from the rules", "observed: no time"]);
    assert_eq!(outcome.action, Action::requeue_after(Duration::from_secs(2)));
    let count = |outcome| manager.metrics().steps("waiting", "wait", outcome);
    assert_eq!((count("changed"), count("failed")), (2, 1));
}

/// Otherwise the error would be added to what is stored at each attempt.
#[tokio::test(start_paused = true)]
async fn a_plan_without_a_write_has_nothing_to_write_even_if_a_step_fails() {
    let manager = manager(&Requests::default());
    for name in ["refused", "a"] {
        let mut plan = Plan::without_write(object("own").as_ref().clone());
        plan.steps.push(Step::delete(&object(name)));
        let outcome = Tools::new("test", &manager).perform(plan).await;
        assert_eq!((outcome.wanted, outcome.errors.len()), (None, usize::from(name == "refused")));
    }
}
