//! Many concurrent requests: how many are answered, how many wait, which are refused, and that no user
//! starves.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::access::User;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use machinery::clock::Clock;
use serving::testing::limits;
use serving::{Body, Server};
use tokio::sync::watch;
use tokio::task::JoinHandle;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// An empty body that ends when the channel says so.
struct Held(Pin<Box<dyn Future<Output = ()> + Send>>);

impl http_body::Body for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        self.0.as_mut().poll(context).map(|()| None)
    }
}

/// A server with requests that are answered (with 400, because of the empty body) when they are released.
struct Crowd {
    server: Arc<Server>,
    clock: Clock,
    let_go: watch::Sender<bool>,
}

impl Crowd {
    async fn new() -> Self {
        let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
        let server =
            Server::builder(crate::serving::http::common::registry(&clock).await, clock.clone()).build();
        Self { server: Arc::new(server), clock, let_go: watch::Sender::new(false) }
    }

    fn hold(&self, user: &str) -> JoinHandle<StatusCode> {
        let mut changes = self.let_go.subscribe();
        let held = Held(Box::pin(async move { drop(changes.wait_for(|let_go| *let_go).await) }));
        let request = Request::post(CONFIG_MAPS).header("content-type", "application/json");
        let request = request.extension(User::master(user)).body(held).unwrap();
        let server = self.server.clone();
        tokio::spawn(async move { server.handle(request).await.status() })
    }

    async fn get(&self, user: &str) -> Response<Body> {
        let request = Request::get(CONFIG_MAPS).extension(User::master(user));
        self.server.handle(request.body(Full::<Bytes>::default()).unwrap()).await
    }
}

/// Checks that each of these limits was counted once.
async fn assert_limits(server: &Server, limits: &[&str]) {
    let request = Request::get("/metrics").extension(User::master("admin")).body(Full::<Bytes>::default());
    let body = server.handle(request.unwrap()).await.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8(body.to_vec()).unwrap();
    for limit in limits {
        let counted = format!("firstlight_limit_reached_total{{limit=\"{limit}\"}} 1\n");
        assert!(text.contains(&counted), "{limit}: {text}");
    }
}

/// Lets all spawned tasks run until they wait; the runtime runs a few dozen tasks each time.
async fn settle() {
    for _ in 0..limits::FLOW_WAITING {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_user_who_sends_too_much_waits_and_others_do_not() {
    let crowd = Crowd::new().await;
    let mut held: Vec<_> = (1..limits::FLOW_REQUESTS).map(|_| crowd.hold("greedy")).collect();
    settle().await;
    assert_eq!(crowd.get("greedy").await.status(), StatusCode::OK, "one seat is left");
    held.push(crowd.hold("greedy"));
    settle().await;
    let started = crowd.clock.monotonic();
    let late = crowd.get("greedy").await;
    assert_eq!((late.status(), started.elapsed()), (StatusCode::TOO_MANY_REQUESTS, limits::WAITING));
    assert_eq!(late.headers()["retry-after"], "1");
    assert_eq!(crowd.get("patient").await.status(), StatusCode::OK, "others have seats");

    held.extend((0..limits::FLOW_WAITING).map(|_| crowd.hold("greedy")));
    settle().await;
    let started = crowd.clock.monotonic();
    assert_eq!(
        crowd.get("greedy").await.status(),
        StatusCode::TOO_MANY_REQUESTS,
        "nor is there room to wait"
    );
    assert!(started.elapsed().is_zero());
    assert_limits(&crowd.server, &["waiting", "flow_waiting"]).await;
    let watching = Request::get(format!("{CONFIG_MAPS}?watch=true")).extension(User::master("greedy"));
    let watching = crowd.server.handle(watching.body(Full::<Bytes>::default()).unwrap()).await;
    assert_eq!(watching.status(), StatusCode::OK, "a watch takes no seat");

    crowd.let_go.send(true).unwrap();
    for one in held {
        assert_eq!(one.await.unwrap(), StatusCode::BAD_REQUEST, "who waited was answered");
    }
    assert_eq!(crowd.get("greedy").await.status(), StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn with_all_seats_taken_those_who_wait_have_their_turn() {
    let crowd = Crowd::new().await;
    // Each flow takes half of what is left, the last ones one seat each.
    let flows = limits::REQUESTS.ilog2() as usize + 1;
    let mut held = Vec::new();
    for flow in 0..flows {
        held.extend((0..limits::FLOW_REQUESTS * 2).map(|_| crowd.hold(&format!("greedy-{flow}"))));
    }
    settle().await;
    let server = crowd.server.clone();
    let request = Request::get(CONFIG_MAPS).extension(User::master("patient"));
    let patient =
        tokio::spawn(
            async move { server.handle(request.body(Full::<Bytes>::default()).unwrap()).await.status() },
        );
    settle().await;
    assert!(!patient.is_finished(), "all seats are taken");
    // Some requests are aborted, like those of a disconnected client: requests that queued earlier come
    // first, one from each flow.
    for one in held.drain(..=flows) {
        one.abort();
    }
    settle().await;
    assert_eq!(patient.await.unwrap(), StatusCode::OK);
    crowd.let_go.send(true).unwrap();
}

#[tokio::test(start_paused = true)]
async fn nobody_keeps_masters_waiting() {
    let crowd = Crowd::new().await;
    let server =
        Server::builder(crate::serving::http::common::registry(&crowd.clock).await, crowd.clock.clone());
    let server = Arc::new(server.authorizer(::access::authorize::AllowAll).build());
    let mut waiting = Vec::new();
    for user in 0..limits::REQUESTS {
        let held = Held(Box::pin(std::future::pending()));
        let request = Request::post(CONFIG_MAPS).header("content-type", "application/json");
        let user = User::new(format!("user-{user}"), [] as [&str; 0]);
        let request = request.extension(user).body(held).unwrap();
        let server = server.clone();
        waiting.push(tokio::spawn(async move { server.handle(request).await.status() }));
    }
    settle().await;
    let get = |user: User| {
        let request = Request::get(CONFIG_MAPS).extension(user).body(Full::<Bytes>::default()).unwrap();
        server.handle(request)
    };
    assert_eq!(get(User::master("admin")).await.status(), StatusCode::OK);
    let late = get(User::new("late", [] as [&str; 0])).await.status();
    assert_eq!(late, StatusCode::TOO_MANY_REQUESTS, "all seats but those are taken");
}

#[tokio::test(start_paused = true)]
async fn watches_of_a_user_below_at_and_above_the_limit() {
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let server = Server::builder(crate::serving::http::common::registry(&clock).await, clock.clone());
    let server = server.authorizer(::access::authorize::AllowAll).build();
    let watch = |user: User| {
        let request = Request::get(format!("{CONFIG_MAPS}?watch=true")).extension(user);
        server.handle(request.body(Full::<Bytes>::default()).unwrap())
    };
    let user = |name: &str| User::new(name, [] as [&str; 0]);
    let mut held = Vec::new();
    for _ in 0..limits::FLOW_WATCHES {
        held.push(watch(user("eve")).await);
    }
    assert!(held.iter().all(|answer| answer.status() == StatusCode::OK));
    assert_eq!(watch(user("eve")).await.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_limits(&server, &["watches"]).await;
    assert_eq!(watch(user("bob")).await.status(), StatusCode::OK);
    assert_eq!(watch(User::master("admin")).await.status(), StatusCode::OK);
    held.pop();
    assert_eq!(watch(user("eve")).await.status(), StatusCode::OK, "one has ended");
}
