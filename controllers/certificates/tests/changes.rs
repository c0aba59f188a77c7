//! Certificates whose specification changes.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::time::Duration;

use engine::{Manager, NamespacedName};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::{Value, json};
use test_plane::World;

fn start(manager: &Manager) {
    certificates::PROVIDERS.iter().for_each(|provider| provider.start(manager, &()));
}

fn resource(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("cert-manager.io", "v1", kind))
}

/// A world with an issuer that signs itself.
async fn world() -> World {
    let mut world = World::new(&[], start).await;
    for (_, definition) in certificates::MANIFESTS {
        world.create(serde_json::from_str(definition).unwrap()).await;
    }
    world.restart().await;
    let issuer = json!({"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": {"name": "self"}, "spec": {"selfSigned": {}}});
    world.create(issuer).await;
    world
}

fn api(world: &World) -> Api<DynamicObject> {
    Api::namespaced_with(world.user(), "default", &resource("Certificate"))
}

async fn change(world: &World, spec: Value) {
    let patch = Patch::Merge(json!({"spec": spec}));
    api(world).patch("c", &PatchParams::default(), &patch).await.unwrap();
}

/// Returns the certificate in the Secret; empty if there is none.
async fn issued(world: &World) -> String {
    let secrets: Api<Secret> = Api::namespaced(world.user(), "default");
    let found = secrets.get_opt("c-tls").await.unwrap().and_then(|secret| secret.data);
    found.map_or_else(String::new, |data| String::from_utf8(data["tls.crt"].0.clone()).unwrap())
}

/// Returns the condition `Ready` as it is known to the controllers.
fn ready(manager: &Manager) -> Value {
    let found = manager.dynamic(&resource("Certificate")).get(&NamespacedName::new("default", "c"));
    let conditions = found.map(|found| found.data["status"]["conditions"].clone()).unwrap_or_default();
    let mut ready = conditions.as_array().into_iter().flatten().filter(|one| one["type"] == "Ready");
    ready.next().cloned().unwrap_or_default()
}

async fn until_ready(world: &World, what: &str, status: &str) {
    world.until(what, |manager| ready(manager)["status"] == status).await;
}

/// Waits until another certificate is in the Secret than `before`.
async fn until_reissued(world: &World, what: &str, before: &str) -> String {
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = issued(world).await;
        if now != before {
            return now;
        }
    }
    panic!("{what}: no other certificate is issued: {}", ready(&world.manager));
}

#[tokio::test(start_paused = true)]
async fn each_change_of_the_specification_issues_another_certificate() {
    let world = world().await;
    let spec = json!({"secretName": "c-tls", "dnsNames": ["a.p.svc"], "issuerRef": {"name": "self", "kind": "Issuer"}});
    let certificate = json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "c"}, "spec": spec});
    world.create(certificate).await;
    until_ready(&world, "the first one", "True").await;
    let mut present = issued(&world).await;
    let changes = [
        ("algorithm and size", json!({"privateKey": {"algorithm": "ECDSA", "size": 384}})),
        ("subject", json!({"subject": {"organizations": ["a"]}})),
        ("usages", json!({"usages": ["digital signature", "client auth", "server auth"]})),
        ("duration", json!({"duration": "48h"})),
        ("names", json!({"dnsNames": ["a.p.svc", "b.p.svc"]})),
        ("common name", json!({"commonName": "c.p.svc"})),
        (
            "all as before",
            json!({"privateKey": null, "subject": null, "usages": null, "duration": null, "commonName": null}),
        ),
        ("authority", json!({"isCA": true, "dnsNames": null, "commonName": "c"})),
    ];
    for (what, spec) in changes {
        change(&world, spec).await;
        present = until_reissued(&world, what, &present).await;
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(issued(&world).await, present, "{what}: one certificate is enough");
        assert_eq!(ready(&world.manager)["status"], "True", "{what}");
    }
    let facts = pki::inspect(&present).unwrap();
    assert!(facts.is_authority && facts.common_name == "c", "{facts:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_supported_is_refused_by_name_and_the_certificate_stays() {
    let world = world().await;
    let spec = json!({"secretName": "c-tls", "dnsNames": ["a.p.svc"], "issuerRef": {"name": "self"}});
    let certificate = json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "c"}, "spec": spec});
    world.create(certificate).await;
    until_ready(&world, "the first one", "True").await;
    let present = issued(&world).await;
    let refused = [
        (json!({"privateKey": {"algorithm": "Ed25519"}}), "spec.privateKey.algorithm"),
        (json!({"privateKey": {"algorithm": "RSA", "size": 1024}}), "spec.privateKey.size"),
        (json!({"privateKey": null, "subject": {"countries": ["DE"]}}), "spec.subject.countries"),
        (json!({"subject": {"countries": null, "organizations": ["a", "b"]}}), "more than one"),
        (json!({"subject": null, "usages": ["code signing"]}), "spec.usages"),
        (json!({"usages": null, "uris": ["spiffe://a"]}), "spec.uris"),
        (
            json!({"uris": null, "isCA": true, "subject": {"organizations": ["a"]}}),
            "spec.subject.organizations",
        ),
        (json!({"isCA": null, "subject": null, "dnsNames": ["not a name"]}), "no certificate can be issued"),
    ];
    for (spec, named) in refused {
        change(&world, spec).await;
        let is_refused = |manager: &Manager| {
            let ready = ready(manager);
            ready["status"] == "False" && ready["message"].as_str().is_some_and(|text| text.contains(named))
        };
        world.until(named, is_refused).await;
        assert_eq!(issued(&world).await, present, "{named}");
    }
    change(&world, json!({"dnsNames": ["a.p.svc"]})).await;
    until_ready(&world, "as before", "True").await;
    assert_eq!(issued(&world).await, present, "nothing has changed");
}

#[tokio::test(start_paused = true)]
async fn an_authority_is_not_signed_by_another() {
    let world = world().await;
    let certificate = |name: &str, spec: Value| json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": name}, "spec": spec});
    let root =
        json!({"secretName": "root", "commonName": "root", "isCA": true, "issuerRef": {"name": "self"}});
    world.create(certificate("root", root)).await;
    let issuer = json!({"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": {"name": "root"}, "spec": {"ca": {"secretName": "root"}}});
    world.create(issuer).await;
    let below =
        json!({"secretName": "c-tls", "commonName": "below", "isCA": true, "issuerRef": {"name": "root"}});
    world.create(certificate("c", below)).await;
    until_ready(&world, "it is refused", "False").await;
    world.until("it says so", |manager| ready(manager)["reason"] == "Unsupported").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(issued(&world).await, "");
}
