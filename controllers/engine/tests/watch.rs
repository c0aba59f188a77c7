//! Lists of a workload cluster, whose server is a function.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use engine::Scope;
use engine::testing::{
    Budget, CLUSTERS_TOGETHER_BYTES, Contents, Counted, LIST_INTERVAL, OBJECT_PARTS, Quota, REMOTE_PAGES,
    WATCH_TIMEOUT, Watched, Watcher,
};
use http::Response;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use machinery::clock::Clock;
use serde_json::json;

/// Returns a watcher of a server that has this many pages with one object each, and the number of requests.
fn watcher(pages: usize, quota: Arc<Quota>) -> (Watcher, Arc<AtomicUsize>) {
    let requests = Arc::new(AtomicUsize::new(0));
    let count = requests.clone();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        async move {
            let query = request.uri().query().unwrap_or_default();
            assert!(query.contains("limit=500"), "{query}");
            assert_eq!(query.contains(&format!("continue=page{number}")), number > 0, "{query}");
            let next = if number + 1 < pages { format!("page{}", number + 1) } else { String::new() };
            let name = format!("m{number}");
            let object = json!({"metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": "5"}});
            let list = json!({"metadata": {"resourceVersion": "9", "continue": next}, "items": [object]});
            Ok::<_, Infallible>(Response::new(Body::from(list.to_string().into_bytes())))
        }
    });
    let watcher = Watcher {
        client: Client::new(service, "default"),
        resource: Watched::new::<ConfigMap>(&(), &Scope::default()),
        scope: Scope::default(),
        contents: Arc::default(),
        clock: Clock::system(),
        quota: Some(quota),
    };
    (watcher, requests)
}

#[tokio::test]
async fn a_workload_cluster_is_read_in_pages() {
    let (watcher, requests) = watcher(3, Arc::default());
    assert_eq!(watcher.list().await.unwrap(), "9");
    assert_eq!((watcher.contents.all().len(), requests.load(Ordering::Relaxed)), (3, 3));
}

#[tokio::test]
async fn pages_without_end_are_an_error() {
    let (watcher, requests) = watcher(usize::MAX, Arc::default());
    let error = watcher.list().await.unwrap_err().to_string();
    assert!(error.ends_with("more than 100 pages"), "{error}");
    assert_eq!(requests.load(Ordering::Relaxed), REMOTE_PAGES);
    assert!(!watcher.contents.is_synced());
}

#[tokio::test]
async fn an_object_for_which_there_is_no_room_is_not_kept() {
    let quota = Arc::new(Quota::of(&Arc::<Budget>::default()));
    assert_eq!(quota.count("nodes", "large", CLUSTERS_TOGETHER_BYTES / 2), Counted::Yes);
    let (full, _) = watcher(2, quota.clone());
    full.list().await.unwrap();
    assert!(full.contents.is_synced() && full.contents.all().is_empty(), "the cluster works without them");
    quota.forget("nodes", "large");
    let (empty, _) = watcher(2, quota);
    empty.list().await.unwrap();
    assert_eq!(empty.contents.all().len(), 2);
}

/// A server whose watches say nothing, although the object changes after the first list.
#[tokio::test(start_paused = true)]
async fn a_lost_event_is_made_good_by_the_next_list() {
    let lists = Arc::new(AtomicUsize::new(0));
    let count = lists.clone();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let is_watch = request.uri().query().unwrap_or_default().contains("watch=true");
        let version = if is_watch { 0 } else { 5 + count.fetch_add(1, Ordering::Relaxed) };
        async move {
            if is_watch {
                tokio::time::sleep(WATCH_TIMEOUT).await;
                return Ok::<_, Infallible>(Response::new(Body::empty()));
            }
            let metadata = json!({"name": "m", "namespace": "default", "uid": "m", "resourceVersion": version.to_string()});
            let list = json!({"metadata": {"resourceVersion": "9"}, "items": [{"metadata": metadata}]});
            Ok(Response::new(Body::from(list.to_string().into_bytes())))
        }
    });
    let contents = Arc::<Contents>::default();
    let watcher = Watcher {
        client: Client::new(service, "default"),
        resource: Watched::new::<ConfigMap>(&(), &Scope::default()),
        scope: Scope::default(),
        contents: contents.clone(),
        clock: Clock::system(),
        quota: None,
    };
    let version = || contents.all().first().map(|object| engine::object::version_of(object.metadata()));
    let running = tokio::spawn(watcher.run());
    tokio::time::sleep(LIST_INTERVAL - Duration::from_secs(1)).await;
    assert_eq!(version(), Some(5), "the watch is resumed without a list");
    tokio::time::sleep(WATCH_TIMEOUT).await;
    assert_eq!((version(), lists.load(Ordering::Relaxed)), (Some(6), 2));
    running.abort();
}

#[tokio::test]
async fn an_object_of_many_parts_is_not_decoded() {
    let (watcher, _) = watcher(1, Arc::default());
    // Besides those that are counted: the object itself and its metadata.
    let owners = |parts: usize| vec!["{}"; parts - 2].join(",");
    let object = |parts: usize| {
        format!(
            r#"{{"metadata":{{"name":"m","namespace":"n","uid":"u","resourceVersion":"1","ownerReferences":[{}]}}}}"#,
            owners(parts)
        )
    };
    assert!(watcher.decode(&object(OBJECT_PARTS - 1)).is_ok(), "below");
    assert!(watcher.decode(&object(OBJECT_PARTS)).is_ok(), "at the limit");
    assert!(watcher.decode(&object(OBJECT_PARTS + 1)).is_err(), "above");
}
