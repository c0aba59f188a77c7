//! Metrics and health, as they are asked for: of the server at its own address, of `firstlight controllers` at theirs.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use kube::{Client, Config};
use serde_json::{Value, json};
use server::controllers::{self, Context};
use server::diagnostics::{Diagnostics, DiagnosticsOptions};
use server::process::Process;

use crate::place::options;

/// The body of the answer, or the code of a refusal.
async fn get(
    scheme: &str,
    address: Option<SocketAddr>,
    path: &str,
    token: Option<&Path>,
) -> Result<String, u16> {
    let mut config = Config::new(format!("{scheme}://{}", address.unwrap()).parse().unwrap());
    config.accept_invalid_certs = true;
    config.auth_info.token_file = token.map(|path| path.display().to_string());
    let client = Client::try_from(config).unwrap();
    let request = http::Request::get(path).body(kube::client::Body::empty()).unwrap();
    let answer = client.send(request).await.unwrap();
    let code = answer.status().as_u16();
    let body = answer.into_body().collect_bytes().await.unwrap();
    if code == 200 { Ok(String::from_utf8(body.to_vec()).unwrap()) } else { Err(code) }
}

async fn create(client: &Client, path: &str, object: Value) -> Value {
    let request = http::Request::post(path).header("content-type", "application/json");
    client.request(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap()
}

/// The token of a new service account `name`.
async fn token(client: &Client, name: &str, place: &Path) -> std::path::PathBuf {
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    create(client, accounts, json!({"metadata": {"name": name}})).await;
    let request = create(client, &format!("{accounts}/{name}/token"), json!({"spec": {}})).await;
    let path = place.join(name);
    std::fs::write(&path, request["status"]["token"].as_str().unwrap()).unwrap();
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_shows_what_its_controllers_count() {
    let place = tempfile::tempdir().unwrap();
    let process = Process::start(&options(place.path(), "core", &[])).await.unwrap();
    let client = process.plane.client("test");
    let get = |path: &str| client.request_text(http::Request::get(path).body(Vec::new()).unwrap());
    // No controller may have sent a request yet.
    get("/api/v1/namespaces").await.unwrap();
    let text = get("/metrics").await.unwrap();
    for expected in [
        "\napiserver_request_total{",
        "\nfirstlight_store_quota_bytes 2147483648\n",
        "\ncontroller_runtime_max_concurrent_reconciles{controller=\"machine\"} 100\n",
        "\nworkqueue_depth{name=\"cluster\",controller=\"cluster\"} ",
    ] {
        assert!(text.contains(expected), "{expected}{text}");
    }
    process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_alone_show_metrics_and_health() {
    let place = tempfile::tempdir().unwrap();
    let process = Process::start(&options(place.path(), "none", &[])).await.unwrap();
    let client = process.plane.client("test");
    let manager = server::connection::manager(client.clone());
    let options = DiagnosticsOptions {
        diagnostics_address: "127.0.0.1:0".parse().ok(),
        insecure_diagnostics: true,
        health_addr: "localhost:0".parse().ok(),
    };
    let open = Diagnostics::start(&options, &manager).await.unwrap();
    controllers::start(&Context::new(&manager), &"core".parse().unwrap());
    for path in ["/healthz", "/healthz/", "/healthz/ping"] {
        assert_eq!(get("http", open.health, path, None).await.as_deref(), Ok("ok"), "{path}");
    }
    assert_eq!(get("http", open.health, "/metrics", None).await, Err(404));
    assert_eq!(get("http", open.metrics, "/healthz", None).await, Err(404));
    let ready = async {
        while get("http", open.health, "/readyz", None).await != Ok("ok".to_owned()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ready).await.unwrap();
    let text = get("http", open.metrics, "/metrics", None).await.unwrap();
    assert!(text.contains("controller_runtime_active_workers{controller=\"cluster\"}"), "{text}");
    assert!(!text.contains("apiserver_"), "{text}");
    manager.stop().await;
    process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_for_those_whom_the_cluster_lets_read_them() {
    let place = tempfile::tempdir().unwrap();
    let process = Process::start(&options(place.path(), "none", &[])).await.unwrap();
    let client = process.plane.client("test");
    let manager = server::connection::manager(client.clone());
    let options = DiagnosticsOptions { diagnostics_address: ":0".parse().ok(), ..Default::default() };
    let open = Diagnostics::start(&options, &manager).await.unwrap();
    assert_eq!(open.health, None);
    let port = open.metrics.unwrap().port();
    let metrics = Some(SocketAddr::from(([127, 0, 0, 1], port)));
    let reader = token(&client, "reader", place.path()).await;
    let stranger = token(&client, "stranger", place.path()).await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let rules = json!([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]);
    create(&client, roles, json!({"metadata": {"name": "metrics"}, "rules": rules})).await;
    let binding = json!({
        "metadata": {"name": "metrics"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "metrics"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "reader"}],
    });
    create(&client, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding).await;
    let forged = place.path().join("forged");
    std::fs::write(&forged, "forged").unwrap();
    assert_eq!(get("https", metrics, "/metrics", None).await, Err(401));
    assert_eq!(get("https", metrics, "/metrics", Some(&forged)).await, Err(401));
    assert_eq!(get("https", metrics, "/metrics", Some(&stranger)).await, Err(403));
    let text = get("https", metrics, "/metrics", Some(&reader)).await.unwrap();
    // Without a word about OpenMetrics, it is the text format of Prometheus.
    assert!(text.contains("# TYPE workqueue_depth gauge\n") && !text.contains("# EOF"), "{text}");
    manager.stop().await;
    process.stop().await;
}
