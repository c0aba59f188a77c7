//! Pools of IP addresses on a whole server: docs/ipam.md and its example.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::time::Duration;

use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::read_all;
use kube::{Api, Client};
use schemas::HasConditions;
use schemas::ipam::{IPAddress, IPAddressClaim, InClusterIPPool};
use serde_json::{Value, json};

use crate::place::Place;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/ip-pool.yaml");
const POOLS: &str = "/apis/ipam.cluster.x-k8s.io/v1alpha2/namespaces/default/inclusterippools";
const CLAIMS: &str = "/apis/ipam.cluster.x-k8s.io/v1beta2/namespaces/default/ipaddressclaims";

/// Sends a request as kubectl does; a refusal is its code and message.
async fn ask(client: &Client, method: &str, path: &str, body: &Value) -> Result<Value, (u16, String)> {
    let form = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let accept = if method == "GET" {
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    } else {
        "application/json"
    };
    let request = http::Request::builder().method(method).uri(path);
    let request = request.header("content-type", form).header("accept", accept);
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    match client.request(request.body(body).unwrap()).await {
        Ok(answer) => Ok(answer),
        Err(kube::Error::Api(status)) => Err((status.code, status.message.clone())),
        Err(error) => panic!("{method} {path}: {error}"),
    }
}

/// Waits until `done` holds for an object.
async fn until<K>(api: &Api<K>, name: &str, what: &str, done: impl Fn(Option<&K>) -> bool)
where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let waiting = async {
        while !done(api.get_opt(name).await.unwrap().as_ref()) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), waiting).await;
    assert!(waited.is_ok(), "not in time: {what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_the_page() {
    let place = Place::start("ipam", &[]).await;
    let client = place.process.plane.client("test");
    let documents = read_all(&[EXAMPLE.into()]).unwrap();
    let applied = apply_all(&place.process.plane.registry, &client, &documents).await.unwrap();
    assert_eq!(applied.iter().map(|applied| applied.outcome).collect::<Vec<_>>(), ["created", "created"]);
    let claims: Api<IPAddressClaim> = Api::namespaced(client.clone(), "default");
    until(&claims, "machine-0", "the claim is ready", |claim| {
        claim.is_some_and(|claim| claim.condition_is_true("Ready"))
    })
    .await;
    let addresses: Api<IPAddress> = Api::namespaced(client.clone(), "default");
    let given = addresses.get("machine-0").await.unwrap();
    assert_eq!((given.spec.address.as_str(), given.spec.prefix), ("192.0.2.10", 24));
    let pools: Api<InClusterIPPool> = Api::namespaced(client.clone(), "default");
    let used =
        |pool: &InClusterIPPool| pool.status.as_ref()?.ip_addresses.as_ref().map(|numbers| numbers.used);
    until(&pools, "machines", "the pool counts it", |pool| pool.and_then(used) == Some(1)).await;

    let table = ask(&client, "GET", &format!("{POOLS}/machines"), &Value::Null).await.unwrap();
    let names: Vec<&Value> =
        table["columnDefinitions"].as_array().unwrap().iter().map(|column| &column["name"]).collect();
    assert_eq!(names, ["Name", "Addresses", "Total", "Free", "Used"]);
    let cells = &table["rows"][0]["cells"];
    assert_eq!(*cells, json!(["machines", r#"["192.0.2.10-192.0.2.99","192.0.2.128/26"]"#, 153, 152, 1]));
    // The page shows the same numbers.
    let page = include_str!("../../../docs/ipam.md");
    let row = page.lines().find(|line| line.starts_with("machines   [")).unwrap();
    assert!(row.ends_with("153     152    1"), "{row}");

    // A pool in use keeps its addresses, and remains until the last one is released.
    let path = format!("{POOLS}/machines");
    let without = json!({"spec": {"addresses": ["192.0.2.11-192.0.2.99"]}});
    let (code, message) = ask(&client, "PATCH", &path, &without).await.unwrap_err();
    assert!(code == 422 && message.contains("spec: Invalid value: \"192.0.2.10\""), "{code} {message}");
    let (code, message) = ask(&client, "DELETE", &path, &Value::Null).await.unwrap_err();
    assert!(
        code == 403 && message.contains("IPAddresses have addresses of it: 192.0.2.10;"),
        "{code} {message}"
    );
    let skip =
        json!({"metadata": {"annotations": {"ipam.cluster.x-k8s.io/skip-validate-delete-webhook": ""}}});
    ask(&client, "PATCH", &path, &skip).await.unwrap();
    ask(&client, "DELETE", &path, &Value::Null).await.unwrap();
    ask(&client, "DELETE", &format!("{CLAIMS}/machine-0"), &Value::Null).await.unwrap();
    until(&pools, "machines", "the pool is gone", |pool| pool.is_none()).await;
    assert!(addresses.get_opt("machine-0").await.unwrap().is_none());
    place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_pool_is_refused() {
    let place = Place::start("none", &[]).await;
    let client = place.process.plane.client("test");
    let pool = |name: &str, spec: Value| json!({"apiVersion": "ipam.cluster.x-k8s.io/v1alpha2", "kind": "InClusterIPPool", "metadata": {"name": name}, "spec": spec});
    let refused = [
        (
            json!({"addresses": ["10.0.0.9-10.0.0.1"], "prefix": 24}),
            "spec.addresses[0]: Invalid value: \"10.0.0.9-10.0.0.1\": is reversed",
        ),
        (
            json!({"addresses": ["10.0.0.1", "fd00::1"], "prefix": 24}),
            "spec.addresses[1]: Invalid value: \"fd00::1\": must be of IPv4",
        ),
        (json!({"addresses": ["10.0.0.1"], "prefix": 129}), "spec.prefix"),
        (json!({"prefix": 24}), "spec.addresses: Required value"),
    ];
    for (spec, expected) in refused {
        let (code, message) = ask(&client, "POST", POOLS, &pool("bad", spec)).await.unwrap_err();
        assert!(code == 422 && message.contains(expected), "{code} {message}");
    }
    // A pool of a hundred thousand ranges is read, and refused in few words if it is nonsense.
    let ranges = |first: &str| -> Vec<String> {
        (0..100_000_u32)
            .map(|number| format!("{first}{}", std::net::Ipv4Addr::from_bits(0x0a00_0000 + 2 * number)))
            .collect()
    };
    let answer =
        ask(&client, "POST", POOLS, &pool("nonsense", json!({"addresses": ranges("x"), "prefix": 8}))).await;
    let (code, message) = answer.unwrap_err();
    assert!(code == 422 && message.len() < 4_000, "{code} {}", message.len());
    let many = pool("many", json!({"addresses": ranges(""), "prefix": 8}));
    match ask(&client, "POST", POOLS, &many).await {
        Ok(_) => {}
        Err((code, message)) => panic!("{code} {message}"),
    }
    place.process.stop().await;
}
