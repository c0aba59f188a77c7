//! Certificates whose specification changes.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::time::Duration;

use engine::{Manager, NamespacedName};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::{Value, json};
use test_plane::Fixture;

fn start(manager: &Manager) {
    certificates::PROVIDERS.iter().for_each(|provider| provider.start(manager, &()));
}

fn resource(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("cert-manager.io", "v1", kind))
}

/// A fixture with an issuer that signs itself.
async fn fixture() -> Fixture {
    let mut fixture = Fixture::new(&[], start).await;
    for (_, definition) in certificates::MANIFESTS {
        fixture.create(serde_json::from_str(definition).unwrap()).await;
    }
    fixture.restart().await;
    let issuer = json!({"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": {"name": "self"}, "spec": {"selfSigned": {}}});
    fixture.create(issuer).await;
    fixture
}

fn api(fixture: &Fixture) -> Api<DynamicObject> {
    Api::namespaced_with(fixture.user(), "default", &resource("Certificate"))
}

async fn change(fixture: &Fixture, spec: Value) {
    let patch = Patch::Merge(json!({"spec": spec}));
    api(fixture).patch("c", &PatchParams::default(), &patch).await.unwrap();
}

/// Returns the certificate in the Secret; empty if there is none.
async fn issued(fixture: &Fixture) -> String {
    let secrets: Api<Secret> = Api::namespaced(fixture.user(), "default");
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

async fn until_ready(fixture: &Fixture, what: &str, status: &str) {
    fixture.until(what, |manager| ready(manager)["status"] == status).await;
}

/// Waits until another certificate is in the Secret than `before`.
async fn until_reissued(fixture: &Fixture, what: &str, before: &str) -> String {
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = issued(fixture).await;
        if now != before {
            return now;
        }
    }
    panic!("{what}: no other certificate is issued: {}", ready(&fixture.manager));
}

#[tokio::test(start_paused = true)]
async fn each_change_of_the_specification_issues_another_certificate() {
    let fixture = fixture().await;
    let spec = json!({"secretName": "c-tls", "dnsNames": ["a.p.svc"], "issuerRef": {"name": "self", "kind": "Issuer"}});
    let certificate = json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "c"}, "spec": spec});
    fixture.create(certificate).await;
    until_ready(&fixture, "the first one", "True").await;
    let mut present = issued(&fixture).await;
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
        change(&fixture, spec).await;
        present = until_reissued(&fixture, what, &present).await;
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(issued(&fixture).await, present, "{what}: one certificate is enough");
        assert_eq!(ready(&fixture.manager)["status"], "True", "{what}");
    }
    let facts = pki::inspect(&present).unwrap();
    assert!(facts.is_authority && facts.common_name == "c", "{facts:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_supported_is_refused_by_name_and_the_certificate_stays() {
    let fixture = fixture().await;
    let spec = json!({"secretName": "c-tls", "dnsNames": ["a.p.svc"], "issuerRef": {"name": "self"}});
    let certificate = json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "c"}, "spec": spec});
    fixture.create(certificate).await;
    until_ready(&fixture, "the first one", "True").await;
    let present = issued(&fixture).await;
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
        (json!({"dnsNames": ["a.p.svc"], "ipAddresses": ["localhost"]}), "spec.ipAddresses: \"localhost\""),
        (
            json!({"ipAddresses": null, "duration": "1ns"}),
            "spec.duration: \"1ns\" is shorter than 60 minutes",
        ),
        (json!({"duration": "-48h"}), "spec.duration: \"-48h\" is no duration"),
        (json!({"duration": "soon"}), "spec.duration: \"soon\" is no duration"),
        (json!({"duration": "9999999h"}), "or is too long"),
        (json!({"duration": "1h", "renewBefore": "1h"}), "spec.renewBefore must be shorter"),
        (json!({"renewBefore": "1m"}), "spec.renewBefore: \"1m\" is shorter than 5 minutes"),
        (json!({"renewBefore": "30m", "renewBeforePercentage": 50}), "exclude each other"),
        (json!({"renewBefore": null, "renewBeforePercentage": 100}), "spec.renewBeforePercentage: 100"),
        (json!({"renewBeforePercentage": 1}), "spec.renewBeforePercentage: 1 is refused"),
        (
            json!({"renewBeforePercentage": null, "duration": null, "secretName": "../../etc"}),
            "\"../../etc\" is no name of a Secret",
        ),
        (json!({"secretName": "a".repeat(300)}), "is no name of a Secret"),
        (json!({"secretName": ""}), "spec.secretName is empty"),
        (
            json!({"secretName": "other", "secretTemplate": {"labels": {"a": "not a value!"}}}),
            "the Secret is refused",
        ),
    ];
    for (spec, named) in refused {
        change(&fixture, spec).await;
        let is_refused = |manager: &Manager| {
            let ready = ready(manager);
            ready["status"] == "False" && ready["message"].as_str().is_some_and(|text| text.contains(named))
        };
        fixture.until(named, is_refused).await;
        assert_eq!(issued(&fixture).await, present, "{named}");
    }
    change(&fixture, json!({"dnsNames": ["a.p.svc"], "secretName": "c-tls", "secretTemplate": null})).await;
    until_ready(&fixture, "as before", "True").await;
    assert_eq!(issued(&fixture).await, present, "nothing has changed");
}

#[tokio::test(start_paused = true)]
async fn an_authority_is_not_signed_by_another() {
    let fixture = fixture().await;
    let certificate = |name: &str, spec: Value| json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": name}, "spec": spec});
    let root =
        json!({"secretName": "root", "commonName": "root", "isCA": true, "issuerRef": {"name": "self"}});
    fixture.create(certificate("root", root)).await;
    let issuer = json!({"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": {"name": "root"}, "spec": {"ca": {"secretName": "root"}}});
    fixture.create(issuer).await;
    let below =
        json!({"secretName": "c-tls", "commonName": "below", "isCA": true, "issuerRef": {"name": "root"}});
    fixture.create(certificate("c", below)).await;
    until_ready(&fixture, "it is refused", "False").await;
    fixture.until("it says so", |manager| ready(manager)["reason"] == "Unsupported").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(issued(&fixture).await, "");
}

/// What the certificate says in its own form is no change.
#[tokio::test(start_paused = true)]
async fn what_a_certificate_says_in_another_form_is_issued_once() {
    let fixture = fixture().await;
    let spec = json!({
        "secretName": "c-tls", "issuerRef": {"name": "self"}, "commonName": "c", "dnsNames": ["a.p.svc", "a.p.svc", "*.p.svc"],
        "ipAddresses": ["::0001", "2001:DB8::1", "127.0.0.1"], "duration": "100h", "renewBeforePercentage": 25,
    });
    fixture.create(json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "c"}, "spec": spec})).await;
    until_ready(&fixture, "it is issued", "True").await;
    let present = issued(&fixture).await;
    tokio::time::sleep(Duration::from_secs(74 * 3600)).await;
    assert_eq!(issued(&fixture).await, present);
    tokio::time::sleep(Duration::from_secs(2 * 3600)).await;
    assert_ne!(issued(&fixture).await, present, "a quarter before its end");
}

/// Without an owner, both would write the Secret for ever.
#[tokio::test(start_paused = true)]
async fn of_certificates_with_one_secret_one_has_it_until_it_is_gone() {
    let fixture = fixture().await;
    let certificate = |name: &str| {
        let spec = json!({"secretName": "c-tls", "dnsNames": [format!("{name}.p.svc")], "issuerRef": {"name": "self"}});
        json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": name}, "spec": spec})
    };
    fixture.create(certificate("first")).await;
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if !issued(&fixture).await.is_empty() {
            break;
        }
    }
    let present = issued(&fixture).await;
    assert_eq!(pki::inspect(&present).unwrap().names, ["first.p.svc"]);
    fixture.create(certificate("c")).await;
    until_ready(&fixture, "it is refused", "False").await;
    let said = ready(&fixture.manager);
    assert_eq!(said["reason"], "IncorrectCertificate");
    assert_eq!(said["message"], "spec.secretName: the Secret \"c-tls\" is that of the Certificate \"first\"");
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(issued(&fixture).await, present);
    api(&fixture).delete("first", &Default::default()).await.unwrap();
    until_ready(&fixture, "the other one has it", "True").await;
    assert_eq!(pki::inspect(&issued(&fixture).await).unwrap().names, ["c.p.svc"]);
}

/// A certificate that becomes the authority of its own issuer would be replaced each time.
#[tokio::test(start_paused = true)]
async fn only_an_authority_signs_and_none_signs_itself() {
    let fixture = fixture().await;
    let issuer = |name: &str, secret: &str| json!({"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": {"name": name}, "spec": {"ca": {"secretName": secret}}});
    let spec = json!({"secretName": "c-tls", "dnsNames": ["a.p.svc"], "issuerRef": {"name": "self"}});
    fixture.create(json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "c"}, "spec": spec})).await;
    until_ready(&fixture, "it is issued", "True").await;
    let present = issued(&fixture).await;
    fixture.create(issuer("own", "c-tls")).await;
    change(&fixture, json!({"issuerRef": {"name": "own"}})).await;
    fixture
        .until("it does not sign itself", |manager| {
            ready(manager).to_string().contains("of this certificate itself")
        })
        .await;
    let leaf = json!({"secretName": "leaf", "dnsNames": ["b.p.svc"], "issuerRef": {"name": "self"}});
    fixture.create(json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "leaf"}, "spec": leaf})).await;
    fixture.create(issuer("leaf", "leaf")).await;
    change(&fixture, json!({"issuerRef": {"name": "leaf"}})).await;
    fixture
        .until("a leaf signs nothing", |manager| ready(manager).to_string().contains("may not sign others"))
        .await;
    assert_eq!(issued(&fixture).await, present);
}
