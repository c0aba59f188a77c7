//! Two processes in one election, on a paused clock, over an API server in the process of the test.

mod options;
mod plan;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use access::User;
use anyhow::Result;
use engine::Manager;
use http::{Method, Request, Response};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::api::PostParams;
use kube::client::Body as ClientBody;
use kube::{Api, Client};
use machinery::clock::Clock;
use machinery::random::Random;
use net::SimulatedNetwork;
use parking_lot::Mutex;
use registry::Registry;
use server::leader_election::options::Timings;
use server::leader_election::{LEASE, LeaderElection, Lost, lead};
use serving::{Body, ClientService, Server};
use store::{Memory, Store};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tower_service::Service;

const TIMINGS: Timings = Timings {
    lease_seconds: 15,
    renew_deadline: Duration::from_secs(10),
    retry_period: Duration::from_secs(2),
};
/// The longest pause between two attempts of a process that waits.
const LONGEST_RETRY: Duration = Duration::from_millis(2400);
/// How often a leading process acts.
const BEAT: Duration = Duration::from_millis(50);

/// What becomes of the requests of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// The server never gets them.
    NotSent,
    /// The server executes writes, and nobody gets the answers.
    Unanswered,
}

#[derive(Clone)]
struct Faulty {
    inner: ClientService,
    fault: Arc<Mutex<Fault>>,
}

impl Service<Request<ClientBody>> for Faulty {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<ClientBody>) -> Self::Future {
        let fault = *self.fault.lock();
        if fault == Fault::NotSent {
            return Box::pin(std::future::pending());
        }
        let loses_answer = fault == Fault::Unanswered && request.method() != Method::GET;
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            if loses_answer { std::future::pending().await } else { answer }
        })
    }
}

struct Fixture {
    server: Server,
    clock: Clock,
    began: Instant,
    acts: Arc<Mutex<Vec<(&'static str, Duration)>>>,
}

struct Running {
    manager: Manager,
    fault: Arc<Mutex<Fault>>,
    end: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), Lost>>,
}

impl Running {
    async fn end(mut self) -> Result<(), Lost> {
        drop(self.end.take());
        self.task.await.unwrap()
    }

    /// Ends the process without a chance to release the lease.
    async fn kill(self) {
        self.task.abort();
        self.manager.stop().await;
    }
}

impl Fixture {
    async fn new() -> Self {
        let clock = Clock::simulated(machinery::clock::parse_rfc3339("2026-11-21T00:00:00Z").unwrap());
        let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
        let options = registry::Options::default();
        let registry = Registry::open(store, clock.clone(), Random::seeded(1), options).await.unwrap();
        let server = Server::builder(registry, clock.clone()).build();
        Self { server, began: clock.monotonic(), clock, acts: Arc::default() }
    }

    /// Starts a process that acts with every [`BEAT`] while it leads.
    fn start(&self, name: &'static str, seed: u64) -> Running {
        let fault = Arc::new(Mutex::new(Fault::None));
        let inner = self.server.client_service(User::master(name));
        let client = Client::new(Faulty { inner, fault: fault.clone() }, "default");
        let manager = Manager::new(engine::ManagerOptions {
            client,
            clock: self.clock.clone(),
            random: Random::seeded(seed),
            network: Arc::new(SimulatedNetwork::default()),
            metrics: metrics::Metrics::default(),
            settings: Default::default(),
        });
        let election = LeaderElection::in_namespace("default", name, TIMINGS, &manager);
        let (end, ended) = oneshot::channel::<()>();
        let (acts, clock, began) = (self.acts.clone(), self.clock.clone(), self.began);
        let lives = manager.clone();
        let task = tokio::spawn(async move {
            let manager = lives.clone();
            let start = || {
                manager.spawn(async move {
                    loop {
                        acts.lock().push((name, clock.monotonic() - began));
                        clock.sleep(BEAT).await;
                    }
                });
            };
            let end = async { drop(ended.await) };
            lead(Some(election), &lives, end, start).await
        });
        Running { manager, fault, end: Some(end), task }
    }

    fn now(&self) -> Duration {
        self.clock.monotonic() - self.began
    }

    /// First and last act of a process.
    fn acts_of(&self, name: &str) -> Option<(Duration, Duration)> {
        let acts = self.acts.lock();
        let mut of = acts.iter().filter(|(who, _)| *who == name).map(|(_, at)| *at);
        let first = of.next()?;
        Some((first, of.next_back().unwrap_or(first)))
    }

    async fn acts(&self, name: &str) {
        let deadline = self.now() + Duration::from_secs(120);
        while self.acts_of(name).is_none() {
            assert!(self.now() < deadline, "{name} never acts");
            self.clock.sleep(BEAT).await;
        }
    }

    async fn lease(&self) -> LeaseSpec {
        let client = Client::new(self.server.client_service(User::master("test")), "default");
        Api::<Lease>::namespaced(client, "default").get(LEASE).await.unwrap().spec.unwrap()
    }
}

fn status(running: &Running) -> String {
    let text = running.manager.all_metrics().text();
    text.lines().find(|line| line.starts_with("leader_election_master_status{")).unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn the_second_acts_only_after_the_first_and_at_once_after_its_clean_end() {
    let fixture = Fixture::new().await;
    let first = fixture.start("first", 1);
    fixture.acts("first").await;
    let second = fixture.start("second", 2);
    fixture.clock.sleep(Duration::from_secs(300)).await;
    assert_eq!(fixture.acts_of("second"), None);
    let held = fixture.lease().await;
    assert!(held.holder_identity.as_ref().unwrap().starts_with("first_"), "{held:?}");
    assert_eq!((held.lease_duration_seconds, held.lease_transitions), (Some(15), Some(0)));
    assert_eq!(status(&first), "leader_election_master_status{name=\"firstlight-controllers\"} 1");
    assert_eq!(status(&second), "leader_election_master_status{name=\"firstlight-controllers\"} 0");
    assert!(second.manager.is_synced(), "a process that waits is ready");
    let ended = fixture.now();
    assert_eq!(first.end().await, Ok(()));
    assert_eq!(fixture.lease().await.holder_identity, None);
    fixture.acts("second").await;
    let ((_, last), (begin, _)) = (fixture.acts_of("first").unwrap(), fixture.acts_of("second").unwrap());
    assert!(last <= ended && ended <= begin && begin <= ended + LONGEST_RETRY + BEAT, "{last:?} {begin:?}");
    let taken = fixture.lease().await;
    assert_eq!(taken.lease_transitions, Some(1));
    assert!(taken.acquire_time > held.acquire_time);
    assert_eq!(second.end().await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_killed_process_is_taken_when_it_is_over() {
    let fixture = Fixture::new().await;
    let first = fixture.start("first", 1);
    fixture.acts("first").await;
    let second = fixture.start("second", 2);
    fixture.clock.sleep(Duration::from_secs(60)).await;
    let killed = fixture.now();
    first.kill().await;
    fixture.acts("second").await;
    let (begin, _) = fixture.acts_of("second").unwrap();
    let lease = Duration::from_secs(15);
    assert!(begin + TIMINGS.retry_period >= killed + lease, "{killed:?} {begin:?}");
    assert!(begin <= killed + lease + 2 * LONGEST_RETRY, "{killed:?} {begin:?}");
    assert_eq!(second.end().await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_before_another_begins() {
    for fault in [Fault::NotSent, Fault::Unanswered] {
        let fixture = Fixture::new().await;
        let first = fixture.start("first", 1);
        fixture.acts("first").await;
        let second = fixture.start("second", 2);
        fixture.clock.sleep(Duration::from_secs(60)).await;
        let began = fixture.now();
        *first.fault.lock() = fault;
        let lost = first.task.await.unwrap().unwrap_err();
        let expected =
            "leader election lost: Lease default/firstlight-controllers could not be renewed for 10s";
        assert!(lost.to_string().starts_with(expected), "{lost}");
        fixture.acts("second").await;
        let ((_, last), (begin, _)) = (fixture.acts_of("first").unwrap(), fixture.acts_of("second").unwrap());
        assert!(last <= began + TIMINGS.renew_deadline, "{fault:?}: {began:?} {last:?}");
        assert!(last < begin, "{fault:?}: {last:?} {begin:?}");
        assert_eq!(second.end().await, Ok(()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_is_taken_stops() {
    let fixture = Fixture::new().await;
    let first = fixture.start("first", 1);
    fixture.acts("first").await;
    let client = Client::new(fixture.server.client_service(User::master("test")), "default");
    let leases = Api::<Lease>::namespaced(client, "default");
    let mut lease = leases.get(LEASE).await.unwrap();
    lease.spec.as_mut().unwrap().holder_identity = Some("administrator".into());
    leases.replace(LEASE, &PostParams::default(), &lease).await.unwrap();
    let lost = first.task.await.unwrap().unwrap_err();
    let expected =
        Lost::Taken { lease: "default/firstlight-controllers".into(), holder: "administrator".into() };
    assert_eq!(lost, expected);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_waits_ends_at_once() {
    let fixture = Fixture::new().await;
    let first = fixture.start("first", 1);
    fixture.acts("first").await;
    let second = fixture.start("second", 2);
    fixture.clock.sleep(Duration::from_secs(20)).await;
    assert_eq!(second.end().await, Ok(()));
    assert_eq!(fixture.acts_of("second"), None);
    assert!(fixture.lease().await.holder_identity.unwrap().starts_with("first_"));
    assert_eq!(first.end().await, Ok(()));
}
