//! Cluster IPs and node ports of Services.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use machinery::clock::Clock;
use machinery::random::Random;
use machinery::status::Status;
use registry::{Context, DeleteOptions, Input, Options, PatchBody, Registry, Served, Subresource};
use serde_json::{Value, json};
use store::{Memory, Store};

use crate::registry::common::{self, context};

struct Plane(Registry, Served);

impl Plane {
    async fn new() -> Self {
        Self::with("10.0.0.0/24").await
    }

    async fn with(range: &str) -> Self {
        let options = Options { service_range: range.parse().unwrap(), ..Options::default() };
        Self::of(common::open_with(options).await)
    }

    fn of(registry: Registry) -> Self {
        let services = registry.served("", "v1", "services").unwrap();
        Self(registry, services)
    }

    async fn create_as(&self, context: &mut Context, name: &str, spec: Value) -> Result<Value, Status> {
        let service =
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec});
        let written = self.0.create(context, &self.1, "default", Input::new(service)).await?;
        Ok(serde_json::from_slice::<Value>(&written.object).unwrap()["spec"].clone())
    }

    async fn create(&self, name: &str, spec: Value) -> Result<Value, Status> {
        self.create_as(&mut context(), name, spec).await
    }

    async fn patch(&self, name: &str, spec: Value) -> Result<Value, Status> {
        let patch = PatchBody::Merge(json!({"spec": spec}).to_string().into());
        let none = Subresource::None;
        let written = self.0.patch(&mut context(), &self.1, "default", name, none, patch).await?;
        Ok(serde_json::from_slice::<Value>(&written.object).unwrap()["spec"].clone())
    }

    async fn delete(&self, name: &str) {
        let options = DeleteOptions::default();
        self.0.delete(&mut context(), &self.1, "default", name, &options).await.unwrap();
    }
}

fn ports() -> Value {
    json!([{"port": 80}])
}

fn address(spec: &Value) -> Ipv4Addr {
    assert_eq!(spec["clusterIPs"], json!([spec["clusterIP"]]));
    spec["clusterIP"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_service_has_an_address_of_its_own() {
    let plane = Plane::with("10.0.0.0/27").await;
    let mut seen = BTreeSet::new();
    // Of the 30 addresses one is for the Service of the API server.
    for at in 0..29 {
        let spec = plane.create(&format!("s{at}"), json!({"ports": ports()})).await.unwrap();
        let bits = address(&spec).to_bits() - Ipv4Addr::new(10, 0, 0, 0).to_bits();
        assert!((2..=30).contains(&bits), "{bits}");
        assert!(at >= 14 || bits >= 17, "the lowest ones are last: {bits}");
        assert!(seen.insert(bits), "{bits} twice");
    }
    let refused = plane.create("more", json!({"ports": ports()})).await.unwrap_err();
    assert_eq!((refused.code, refused.reason), (500, "InternalError"));
    plane.delete("s3").await;
    plane.create("more", json!({"ports": ports()})).await.unwrap();
}

#[tokio::test]
async fn an_address_may_be_chosen_once() {
    let plane = Plane::new().await;
    let chosen = |ip: &str| json!({"ports": ports(), "clusterIP": ip});
    assert_eq!(plane.create("a", chosen("10.0.0.7")).await.unwrap()["clusterIPs"], json!(["10.0.0.7"]));
    for (ip, why) in [
        ("10.0.0.7", "provided IP is already allocated"),
        (
            "10.0.0.255",
            "the provided IP (10.0.0.255) is not in the valid range. The range of valid IPs is 10.0.0.0/24",
        ),
        ("10.1.0.7", "the provided network does not match the current range"),
    ] {
        let refused = plane.create("b", chosen(ip)).await.unwrap_err();
        let why = format!(
            "Service \"b\" is invalid: spec.clusterIPs: Invalid value: [\"{ip}\"]: failed to allocate IP {ip}: {why}"
        );
        assert_eq!((refused.code, refused.message), (422, why));
    }
    plane.delete("a").await;
    plane.create("b", chosen("10.0.0.7")).await.unwrap();
}

#[tokio::test]
async fn what_needs_no_address_gets_none() {
    let plane = Plane::new().await;
    let headless = plane.create("h", json!({"ports": ports(), "clusterIP": "None"})).await.unwrap();
    assert_eq!(headless["clusterIPs"], json!(["None"]));
    let external = json!({"type": "ExternalName", "externalName": "example.com"});
    let external = plane.create("e", external).await.unwrap();
    assert_eq!((&external["clusterIP"], &external["clusterIPs"]), (&Value::Null, &Value::Null));
    let family = json!({"ports": ports(), "ipFamilyPolicy": "RequireDualStack"});
    let refused = plane.create("d", family).await.unwrap_err();
    assert!(refused.message.contains("this cluster is not configured for dual-stack services"), "{refused}");
    let either = json!({"ports": ports(), "ipFamilyPolicy": "PreferDualStack"});
    let either = plane.create("p", either).await.unwrap();
    assert_eq!(
        (&either["ipFamilies"], &either["ipFamilyPolicy"]),
        (&json!(["IPv4"]), &json!("PreferDualStack"))
    );
    address(&either);
}

#[tokio::test]
async fn node_ports_come_from_their_range() {
    let plane = Plane::new().await;
    let two =
        json!([{"name": "t", "port": 53, "protocol": "TCP"}, {"name": "u", "port": 53, "protocol": "UDP"}]);
    let spec = plane.create("dns", json!({"type": "NodePort", "ports": two})).await.unwrap();
    let port = spec["ports"][0]["nodePort"].as_u64().unwrap();
    assert!((30_086..=32_767).contains(&port), "the lowest ones are for those who ask for them: {port}");
    assert_eq!(spec["ports"][1]["nodePort"], port, "shared by the protocols");
    let chosen = |port: u64| json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]});
    for (port, why) in [
        (port, "provided port is already allocated"),
        (80, "provided port is not in the valid range. The range of valid ports is 30000-32767"),
    ] {
        let refused = plane.create("b", chosen(port)).await.unwrap_err();
        let why = format!("Service \"b\" is invalid: spec.ports[0].nodePort: Invalid value: {port}: {why}");
        assert_eq!((refused.code, refused.message), (422, why));
    }
    // Ports with different numbers share nothing, and nothing of the refused Service stays taken.
    let twice = json!([
        {"name": "a", "port": 80, "protocol": "TCP", "nodePort": 30_001},
        {"name": "b", "port": 81, "protocol": "UDP", "nodePort": 30_001},
    ]);
    let refused = plane.create("b", json!({"type": "NodePort", "ports": twice})).await.unwrap_err();
    assert!(
        refused
            .message
            .ends_with("spec.ports[1].nodePort: Invalid value: 30001: provided port is already allocated"),
        "{}",
        refused.message
    );
    plane.create("b", chosen(30_001)).await.unwrap();
    let local = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": ports()});
    let local = plane.create("lb", local).await.unwrap();
    let health = local["healthCheckNodePort"].as_u64().unwrap();
    assert!((30_000..=32_767).contains(&health) && local["ports"][0]["nodePort"] != health);
    let without = json!({"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false, "ports": ports()});
    let without = plane.create("none", without).await.unwrap();
    assert_eq!(without["ports"][0].get("nodePort"), None);
}

#[tokio::test]
async fn an_update_keeps_changes_and_releases() {
    let plane = Plane::new().await;
    let before = plane.create("s", json!({"type": "NodePort", "ports": ports()})).await.unwrap();
    let port = before["ports"][0]["nodePort"].clone();
    // A client that does not know the allocated values gets them back.
    let after =
        plane.patch("s", json!({"ports": ports(), "clusterIP": null, "clusterIPs": null})).await.unwrap();
    assert_eq!((&after["clusterIP"], &after["ports"][0]["nodePort"]), (&before["clusterIP"], &port));
    let after = plane.patch("s", json!({"type": "ClusterIP"})).await.unwrap();
    assert_eq!(after["ports"][0].get("nodePort"), None);
    let again = json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]});
    plane.create("other", again).await.unwrap();
    let external = json!({"type": "ExternalName", "externalName": "example.com"});
    let external = plane.patch("s", external).await.unwrap();
    assert_eq!((&external["clusterIP"], &external["clusterIPs"]), (&Value::Null, &Value::Null));
    let chosen = json!({"ports": ports(), "clusterIP": before["clusterIP"]});
    plane.create("third", chosen).await.unwrap();
    let back = plane.patch("s", json!({"type": "ClusterIP", "externalName": null})).await.unwrap();
    assert_ne!(address(&back).to_string(), before["clusterIP"]);
}

#[tokio::test]
async fn nothing_is_taken_by_what_is_not_stored() {
    let plane = Plane::new().await;
    let chosen = json!({"ports": ports(), "clusterIP": "10.0.0.7"});
    let mut dry = Context { dry_run: true, ..context() };
    plane.create_as(&mut dry, "dry", chosen.clone()).await.unwrap();
    let mut refused = chosen.clone();
    refused["sessionAffinity"] = "nonsense".into();
    assert_eq!(plane.create("refused", refused).await.unwrap_err().code, 422);
    plane.create("s", chosen.clone()).await.unwrap();
    assert_eq!(plane.create("s", json!({"ports": ports()})).await.unwrap_err().reason, "AlreadyExists");
    let refused = plane.create_as(&mut dry, "dry", chosen).await.unwrap_err();
    assert!(refused.message.contains("provided IP is already allocated"), "{refused}");
}

#[tokio::test]
async fn many_at_once_and_a_server_that_starts_again_give_nothing_twice() {
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
    let open =
        |seed: u64| Registry::open(store.clone(), clock.clone(), Random::seeded(seed), Options::default());
    let first = Plane::of(open(1).await.unwrap());
    let spec = json!({"type": "NodePort", "ports": ports()});
    let names: Vec<String> = (0..100).map(|at| format!("s{at}")).collect();
    let created = futures::future::join_all(names.iter().map(|name| first.create(name, spec.clone()))).await;
    let mut created: Vec<Value> = created.into_iter().map(Result::unwrap).collect();
    let second = Plane::of(open(1).await.unwrap());
    for at in 0..100 {
        created.push(second.create(&format!("t{at}"), spec.clone()).await.unwrap());
    }
    let addresses: BTreeSet<String> = created.iter().map(|spec| spec["clusterIP"].to_string()).collect();
    let ports: BTreeSet<String> =
        created.iter().map(|spec| spec["ports"][0]["nodePort"].to_string()).collect();
    assert_eq!((addresses.len(), ports.len()), (200, 200));
}
