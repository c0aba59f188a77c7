//! A store that cannot write, and a full one: responses to clients and health checks, and how to recover.

use ::access::User;
use machinery::clock::Clock;
use machinery::random::Random;
use registry::{Options, Registry};
use serde_json::{Value, json};
use serving::Server;
use store::testing::{Fault, Faulty};
use store::{Engine, HistoryLimits, Memory, Store};

use crate::serving::http::common::Harness;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn over(engine: impl Engine, limits: HistoryLimits) -> Harness {
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let store = Store::open_with(engine, clock.clone(), limits).await.unwrap();
    let registry = Registry::open(store, clock.clone(), Random::seeded(1), Options::default()).await.unwrap();
    let server = Server::builder(registry, clock.clone()).build();
    Harness { server, user: Some(User::master("admin")), clock }
}

#[tokio::test(start_paused = true)]
async fn servers_that_share_a_registry_of_metrics_show_the_sum_of_their_stores() {
    let (metrics, clock) =
        (metrics::Metrics::default(), Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap()));
    let mut servers = Vec::new();
    for quota in [4 << 20, 8 << 20] {
        let limits = HistoryLimits { quota, ..HistoryLimits::in_memory() };
        let store = Store::open_with(Memory::new(), clock.clone(), limits).await.unwrap();
        let registry =
            Registry::open(store, clock.clone(), Random::seeded(1), Options::default()).await.unwrap();
        // Two servers of one store show its figures once.
        for _ in 0..2 {
            servers.push(Server::builder(registry.clone(), clock.clone()).metrics(metrics.clone()).build());
        }
    }
    let text = metrics.text();
    assert!(text.contains(&format!("\nfirstlight_store_quota_bytes {}\n", 12 << 20)), "{text}");
    assert_eq!(text.matches("# TYPE firstlight_store_quota_bytes gauge").count(), 1, "{text}");
}

fn config_map(name: &str, bytes: usize) -> Value {
    json!({"metadata": {"name": name}, "data": {"value": "x".repeat(bytes)}})
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stopped_is_neither_alive_nor_ready() {
    let engine = Faulty::new(Memory::new());
    let harness = over(engine.clone(), HistoryLimits::in_memory()).await;
    assert_eq!(harness.get("/readyz/etcd").await.code, 200);
    engine.fail(engine.commits() + 1, Fault::Lost);
    assert_eq!(harness.post(CONFIG_MAPS, &config_map("a", 1)).await.code, 500);
    for path in ["/healthz", "/livez", "/readyz"] {
        let answer = harness.get(path).await;
        assert_eq!(answer.code, 500, "{path}");
        assert!(answer.text().contains("[-]etcd failed: reason withheld"), "{}", answer.text());
        assert_eq!(harness.get(&format!("{path}/etcd")).await.code, 500, "{path}");
    }
    assert!(harness.server.registry().store().failed().await.contains("as planned"));
}

#[tokio::test(start_paused = true)]
async fn a_spent_quota_refuses_what_grows_and_lets_deletions_through() {
    let limits = HistoryLimits { quota: 4 << 20, ..HistoryLimits::in_memory() };
    let harness = over(Memory::new(), limits).await;
    let mut made = 0;
    let refused = loop {
        let answer = harness.post(CONFIG_MAPS, &config_map(&format!("n-{made}"), 100_000)).await;
        if answer.code != 201 {
            break answer;
        }
        made += 1;
    };
    assert_eq!(refused.code, 507);
    let message = refused.message();
    assert!(message.starts_with("etcdserver: mvcc: database space exceeded"), "{message}");
    assert!(made > 10, "{made}");
    assert_eq!(harness.get("/readyz").await.code, 200, "what is stored is served, and deletions go on");
    let metrics = harness.get("/metrics").await.text();
    assert!(metrics.contains("firstlight_store_alarm 1"), "{metrics}");
    assert!(metrics.contains("firstlight_store_refusals_total 1"), "{metrics}");
    assert!(metrics.contains(&format!("firstlight_store_quota_bytes {}", 4 << 20)), "{metrics}");
    // An object with finalizers takes two steps, the first of which makes it larger.
    let path = format!("{CONFIG_MAPS}/n-0");
    let merge = [("content-type", "application/merge-patch+json")];
    let held = br#"{"metadata":{"finalizers":["example.com/hold"]},"data":{"value":"short"}}"#;
    assert_eq!(harness.call("PATCH", &path, &merge, held).await.code, 200, "it becomes smaller");
    assert_eq!(harness.call("DELETE", &path, &[], b"").await.code, 200);
    let released = br#"{"metadata":{"finalizers":null}}"#;
    assert_eq!(harness.call("PATCH", &path, &merge, released).await.code, 200);
    assert_eq!(harness.get(&path).await.code, 404);
    for number in 1..made / 2 {
        let path = format!("{CONFIG_MAPS}/n-{number}");
        assert_eq!(harness.call("DELETE", &path, &[], b"").await.code, 200);
    }
    let again = harness.post(CONFIG_MAPS, &config_map("again", 100_000)).await;
    assert_eq!(again.code, 201, "{}", again.text());
    assert!(harness.get("/metrics").await.text().contains("firstlight_store_alarm 0"));
}
