//! Expensive requests delay neither other requests nor the server.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use ::access::User;
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use machinery::clock::Clock;
use machinery::random::Random;
use machinery::status::Status;
use registry::limits::ASIDE_FROM_BYTES;
use registry::{Admission, Options, Registry, Review};
use serde_json::{Map, Value, json};
use serving::Server;
use serving::testing::limits;
use store::{Memory, Store};
use tokio::task::JoinHandle;

use crate::serving::http::common::{Harness, WIDGETS};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// Blocks in admission of a large object until the test lets it continue.
struct Slow {
    working: AtomicUsize,
    go_on: Mutex<mpsc::Receiver<()>>,
}

struct Admitting(Arc<Slow>);

impl Admission for Admitting {
    fn mutate(&self, _: &Review<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<(), Status> {
        if object["data"]["large"].is_string() {
            self.0.working.fetch_add(1, Ordering::SeqCst);
            // An error means that the test is over.
            let _ = self.0.go_on.lock().unwrap().recv();
            self.0.working.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(())
    }

    fn validate(&self, _: &Review<'_>, _: &Value, _: &mut Vec<String>) -> Result<(), Status> {
        Ok(())
    }
}

impl Slow {
    /// Waits until so many large objects are in admission.
    async fn works_on(&self, count: usize) {
        let reached = async {
            while self.working.load(Ordering::SeqCst) < count {
                Clock::system().sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(limits::REQUEST, reached).await.expect("as many are worked on");
    }
}

/// Returns a server with the admission of large objects, and what lets it continue when it is dropped.
async fn slow_server() -> (Arc<Server>, Arc<Slow>, mpsc::Sender<()>) {
    let clock = Clock::system();
    let (tell, go_on) = mpsc::channel();
    let slow = Arc::new(Slow { working: AtomicUsize::new(0), go_on: Mutex::new(go_on) });
    let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
    let options = Options { admission: vec![Arc::new(Admitting(slow.clone()))], ..Options::default() };
    let registry = Registry::open(store, clock.clone(), Random::seeded(1), options).await.unwrap();
    (Arc::new(Server::builder(registry, clock).build()), slow, tell)
}

fn create(server: &Arc<Server>, user: &str, path: &str, object: &Value) -> JoinHandle<StatusCode> {
    let request =
        Request::post(path).header("content-type", "application/json").extension(User::master(user));
    let request = request.body(Full::<Bytes>::from(object.to_string())).unwrap();
    let server = server.clone();
    tokio::spawn(async move { server.handle(request).await.status() })
}

fn post(server: &Arc<Server>, user: &str, name: &str, bytes: usize) -> JoinHandle<StatusCode> {
    let object = json!({"metadata": {"name": name}, "data": {"large": "x".repeat(bytes)}});
    create(server, user, MAPS, &object)
}

/// The runtime has one worker thread, which a request would block if it ran in place.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn large_requests_are_worked_on_aside_and_in_turn() {
    let (server, slow, tell) = slow_server().await;
    let mut asked = vec![post(&server, "eve", "e1", ASIDE_FROM_BYTES)];
    slow.works_on(1).await;
    asked.push(post(&server, "eve", "e2", ASIDE_FROM_BYTES));
    asked.push(post(&server, "mallory", "m1", ASIDE_FROM_BYTES));
    slow.works_on(limits::LARGE_REQUESTS).await;
    // All large requests are blocked; every other request is answered.
    for path in ["/livez", MAPS] {
        let request =
            Request::get(path).extension(User::master("admin")).body(Full::<Bytes>::default()).unwrap();
        let answer = tokio::time::timeout(limits::REQUEST, server.handle(request)).await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
    }
    assert_eq!(slow.working.load(Ordering::SeqCst), limits::LARGE_REQUESTS, "no more at a time");
    assert!(asked.iter().all(|one| !one.is_finished()));
    drop(tell);
    for one in asked {
        assert_eq!(one.await.unwrap(), StatusCode::CREATED);
    }
}

fn ask(server: &Arc<Server>, user: &str, path: &str, accept: &str) -> JoinHandle<StatusCode> {
    let request = Request::get(path).header("accept", accept).extension(User::master(user));
    let request = request.body(Full::<Bytes>::default()).unwrap();
    let server = server.clone();
    tokio::spawn(async move { server.handle(request).await.status() })
}

/// The seats of large requests are taken. What has to be parsed for an answer waits for one; what is stored as it is answered does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn large_objects_are_brought_into_another_form_aside_and_in_turn() {
    const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let (server, slow, tell) = slow_server().await;
    let object = json!({"metadata": {"name": "big"}, "data": {"big": "x".repeat(ASIDE_FROM_BYTES)}});
    assert_eq!(create(&server, "admin", MAPS, &object).await.unwrap(), StatusCode::CREATED);
    let writes = ["eve", "mallory"].map(|user| post(&server, user, user, ASIDE_FROM_BYTES));
    slow.works_on(limits::LARGE_REQUESTS).await;
    let one = format!("{MAPS}/big");
    let waiting = [
        ask(&server, "admin", &one, TABLE),
        ask(&server, "operator", &one, "application/yaml"),
        ask(&server, "reader", MAPS, TABLE),
        ask(&server, "helper", MAPS, "application/vnd.kubernetes.protobuf"),
    ];
    for (path, accept) in [(one.as_str(), "application/json"), ("/livez", "*/*")] {
        let answer = tokio::time::timeout(limits::REQUEST, ask(&server, "admin", path, accept)).await;
        assert_eq!(answer.expect("an answer").unwrap(), StatusCode::OK, "{path}");
    }
    assert!(waiting.iter().all(|one| !one.is_finished()), "they wait for their turn");
    drop(tell);
    for one in waiting {
        assert_eq!(one.await.unwrap(), StatusCode::OK);
    }
    for one in writes {
        assert_eq!(one.await.unwrap(), StatusCode::CREATED);
    }
}

/// Three users read objects of tens of thousands of values in all forms, with selectors, and delete them in the end. Somebody else
/// asks for little at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_of_many_values_do_not_hold_up_others() {
    const SECRETS: &str = "/api/v1/namespaces/default/secrets";
    const OBJECTS: usize = 12;
    let clock = Clock::system();
    let server = Arc::new(
        Server::builder(crate::serving::http::common::registry(&clock).await, clock.clone()).build(),
    );
    let data: Map<String, Value> = (0..60_000).map(|at| (format!("k{at:05}"), json!(""))).collect();
    for at in 0..OBJECTS {
        let object = json!({"metadata": {"name": format!("s{at}"), "labels": {"a": "b"}}, "data": data});
        assert_eq!(create(&server, "admin", SECRETS, &object).await.unwrap(), StatusCode::CREATED);
    }
    let selectors = ["?fieldSelector=type%3Dnope", "?labelSelector=nope%3D1", "?fieldSelector=type%3Dother"];
    let forms = [
        ("?labelSelector=a%3Db&limit=2", "application/json;as=Table;g=meta.k8s.io;v=v1"),
        ("?limit=1", "application/vnd.kubernetes.protobuf"),
        ("/s1", "application/yaml"),
    ];
    let selecting = (0..60).map(|at| (at, (selectors[at % selectors.len()], "application/json")));
    let reads: Vec<JoinHandle<StatusCode>> = selecting
        .chain(forms.into_iter().enumerate())
        .map(|(at, (query, accept))| {
            ask(&server, &format!("user{}", at % 3), &format!("{SECRETS}{query}"), accept)
        })
        .collect();
    let mut worst = Duration::ZERO;
    while !reads.iter().all(JoinHandle::is_finished) {
        let asked = clock.monotonic();
        assert_eq!(ask(&server, "operator", "/livez", "*/*").await.unwrap(), StatusCode::OK);
        worst = worst.max(asked.elapsed());
        clock.sleep(Duration::from_millis(5)).await;
    }
    for read in reads {
        let code = read.await.unwrap();
        assert!(matches!(code, StatusCode::OK | StatusCode::TOO_MANY_REQUESTS), "{code}");
    }
    // Work on the threads that serve all requests would take a minute.
    assert!(worst < Duration::from_secs(2), "{worst:?}");
}

/// As many unknown fields as fit into a body.
#[tokio::test(start_paused = true)]
async fn many_warnings_are_cut() {
    let harness = Harness::with_widgets().await;
    let fields: Vec<String> = (0..200_000).map(|at| format!("\"f{at:06}\":1")).collect();
    let body = format!(
        "{{\"apiVersion\":\"golden.test/v1\",\"kind\":\"Widget\",\"metadata\":{{\"name\":\"a\"}},\"spec\":{{{}}}}}",
        fields.join(",")
    );
    assert!(body.len() > 2_000_000 && body.len() < limits::BODY_BYTES);
    let answer =
        harness.call("POST", WIDGETS, &[("content-type", "application/json")], body.as_bytes()).await;
    assert_eq!(answer.code, 201, "{}", answer.text());
    let warnings: Vec<_> = answer.headers.get_all("warning").iter().collect();
    assert!(!warnings.is_empty());
    let characters: usize = warnings.iter().map(|warning| warning.len() - "299 - \"\"".len()).sum();
    assert!(characters < limits::WARNING_CHARACTERS * 2, "{characters}");
}

/// Lists in one object, long enough that quadratic work would take minutes.
#[tokio::test(start_paused = true)]
async fn long_lists_of_one_object_take_no_longer_than_their_bytes() {
    let harness = Harness::with_widgets().await;
    let strategic = [("content-type", "application/strategic-merge-patch+json")];
    let made = harness.post(MAPS, &json!({"metadata": {"name": "a"}})).await;
    assert_eq!(made.code, 201, "{}", made.text());
    let owner =
        |at: usize| json!({"apiVersion": "v1", "kind": "Node", "name": "n", "uid": format!("u{at:05}")});
    let owners: Vec<Value> = (0..20_000).map(owner).collect();
    let finalizers: Vec<String> = (0..60_000).map(|at| format!("a.b/f{at:05}")).collect();
    for metadata in [json!({"finalizers": finalizers}), json!({"ownerReferences": owners})] {
        // Two rounds: first the items are new, then they exist.
        for _ in 0..2 {
            let body = json!({"metadata": metadata}).to_string();
            assert!(body.len() < limits::BODY_BYTES);
            let answer = harness.call("PATCH", &format!("{MAPS}/a"), &strategic, body.as_bytes()).await;
            assert_eq!(answer.code, 200, "{}", answer.text().get(..300).unwrap_or_default());
        }
        let body = json!({"metadata": {"finalizers": null, "ownerReferences": null}}).to_string();
        let answer = harness.call("PATCH", &format!("{MAPS}/a"), &strategic, body.as_bytes()).await;
        assert_eq!(answer.code, 200);
    }
    let twice: Vec<Value> = (0..30_000).map(|at| owner(at / 2)).collect();
    let object = json!({"metadata": {"name": "b", "ownerReferences": twice}});
    let answer = harness.post(MAPS, &object).await;
    assert_eq!(answer.code, 201, "{}", answer.text().get(..300).unwrap_or_default());
    assert!(answer.headers.contains_key("warning"));
    let same: Vec<&str> = (0..100_000).map(|_| "same").collect();
    let object = json!({"metadata": {"name": "c", "finalizers": same}});
    let answer = harness.post(MAPS, &object).await;
    assert_eq!(answer.code, 422);
    let data: Map<String, Value> = (0..60_000).map(|at| (format!("k{at:05}"), json!("v"))).collect();
    let mut patch = data.clone();
    patch.insert("$retainKeys".to_owned(), data.keys().rev().cloned().collect());
    let body = json!({"data": patch}).to_string();
    let answer = harness.call("PATCH", &format!("{MAPS}/a"), &strategic, body.as_bytes()).await;
    assert_eq!(answer.code, 200, "{}", answer.text().get(..300).unwrap_or_default());
    let toleration = |at: usize| json!({"key": format!("k{at:05}"), "operator": "Exists"});
    let tolerations: Vec<Value> = (0..30_000).map(toleration).collect();
    let containers = json!([{"name": "c", "image": "i"}]);
    let mut pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": containers, "tolerations": tolerations}});
    let answer = harness.post(PODS, &pod).await;
    assert_eq!(answer.code, 201, "{}", answer.text().get(..300).unwrap_or_default());
    pod["spec"]["containers"][0]["image"] = json!("other");
    let merge = [("content-type", "application/merge-patch+json")];
    let body = pod.to_string();
    let answer = harness.call("PATCH", &format!("{PODS}/p"), &merge, body.as_bytes()).await;
    assert_eq!(answer.code, 200, "{}", answer.text().get(..300).unwrap_or_default());
}

/// Query and headers of a request are parsed once.
#[tokio::test(start_paused = true)]
async fn long_queries_and_headers() {
    let harness = Harness::new().await;
    let accept = "application/json;q=0.1;a=b;c=d,".repeat(2_000);
    let answer = harness.accept(MAPS, &accept).await;
    assert_eq!(answer.code, 200);
    let labels: Vec<String> = (0..900).map(|at| format!("k{at}!=v{at}")).collect();
    let fields: Vec<String> = (0..800).map(|at| format!("metadata.name!=n{at}")).collect();
    let many = "x=1&".repeat(3_000);
    let path = format!("{MAPS}?{many}labelSelector={}&fieldSelector={}", labels.join(","), fields.join(","));
    let response = harness.send("GET", &path, &[], b"").await;
    assert_eq!(response.status(), StatusCode::OK);
    drop(response.into_body().collect().await);
}
