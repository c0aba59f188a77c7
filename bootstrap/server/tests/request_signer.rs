//! The signers of approved certificate requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinery::clock::Clock;
use machinery::random::Random;
use pki::CertificateRequest;
use registry::Signed;
use rustls::RootCertStore;
use rustls::pki_types::UnixTime;
use rustls::server::WebPkiClientVerifier;
use serde_json::{Value, json};
use server::certificates::Certificates;
use server::data_directory::DataDirectory;

const ALICE: &str = include_str!("requests/alice.csr");
const GROUPS: &str = include_str!("requests/groups.csr");
/// Keys and signatures of other sizes.
const P256_SHA384: &str = include_str!("requests/p256-sha384.csr");
const P384_SHA256: &str = include_str!("requests/p384-sha256.csr");
/// A hash that this server does not know for signatures of this kind.
const P256_SHA512: &str = include_str!("requests/p256-sha512.csr");
/// An extension that no signer copies.
const KEY_IDENTIFIER: &str = include_str!("requests/key-identifier.csr");
/// `DC=com, DC=example, OU=a, OU=b, CN=alice`.
const COMPONENTS: &str = include_str!("requests/components.csr");
/// A kubelet's request with the second common name `alice`.
const NAMES: &str = include_str!("requests/names.csr");
const KUBELET: &str = include_str!("requests/kubelet.csr");
const KUBELET_SERVER: &str = include_str!("requests/kubelet-server.csr");

const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";

/// Returns the answer of the server's signer to a request.
fn sign(text: &str, signer: &str, usages: &[&str], seconds: Value) -> Result<Signed, String> {
    with_authority(text, signer, usages, seconds).1
}

/// Returns the certificate of the server's authority, and the answer of its signer to a request.
fn with_authority(
    text: &str,
    signer: &str,
    usages: &[&str],
    seconds: Value,
) -> (String, Result<Signed, String>) {
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDirectory::locate(Some(folder.path())).unwrap();
    directory.create().unwrap();
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let listen = SocketAddr::from(([127, 0, 0, 1], 6443));
    let certificates = Certificates::load_or_create(&directory, listen, &clock, &Random::seeded(1)).unwrap();
    let spec = json!({"request": STANDARD.encode(text), "signerName": signer, "usages": usages,
        "expirationSeconds": seconds});
    let manager = certificates.controller_manager();
    let answer = manager.request_signer.sign(&json!({ "spec": spec }));
    (manager.root_certificate, answer)
}

/// Returns the certificate in an answer, in PEM.
fn certificate(answer: Result<Signed, String>) -> String {
    let Ok(Signed::Certificate(encoded)) = answer else { panic!("no certificate") };
    String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap()
}

/// Returns the facts of the certificate in an answer.
fn signed(answer: Result<Signed, String>) -> pki::Facts {
    pki::inspect(&certificate(answer)).unwrap()
}

/// Checks that a server that trusts the authority accepts a client with this certificate.
fn accept(authority: &str, certificate: &str) {
    let mut roots = RootCertStore::empty();
    roots.add(pki::certificates(authority).unwrap().remove(0)).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
    // 2026-11-21T00:00:00Z, as above.
    let now = UnixTime::since_unix_epoch(Duration::from_secs(1_795_219_200));
    verifier.verify_client_cert(&pki::certificates(certificate).unwrap()[0], &[], now).unwrap();
}

fn refused(answer: Result<Signed, String>) -> String {
    match answer {
        Ok(Signed::Refused(why)) => why,
        Ok(Signed::Certificate(_)) => panic!("signed"),
        Ok(Signed::NotConcerned) => panic!("for another signer"),
        Err(why) => panic!("{why}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_user_gets_the_certificate_that_was_approved() {
    let usages = ["digital signature", "client auth"];
    let facts = signed(sign(ALICE, CLIENT, &usages, Value::Null));
    assert_eq!(facts.common_name, "alice");
    assert_eq!((facts.not_after - facts.not_before).num_days(), 365);
    for (seconds, minutes) in [(3600, 65), (1, 15), (100_000_000, 365 * 24 * 60)] {
        let facts = signed(sign(ALICE, CLIENT, &usages, json!(seconds)));
        assert_eq!((facts.not_after - facts.not_before).num_minutes(), minutes, "{seconds}");
    }
    signed(sign(
        KUBELET,
        KUBELET_CLIENT,
        &["digital signature", "key encipherment", "client auth"],
        Value::Null,
    ));
    signed(sign(KUBELET_SERVER, SERVING, &["digital signature", "server auth"], Value::Null));
}

#[tokio::test(start_paused = true)]
async fn each_signer_has_its_rules() {
    let client = ["digital signature", "client auth"];
    let server = ["digital signature", "server auth"];
    for (text, signer, usages, why) in [
        (ALICE, CLIENT, &server[..], "invalid usage for client certificate: server auth"),
        (ALICE, CLIENT, &client[..1], "missing required usage for client certificate: client auth"),
        (ALICE, KUBELET_CLIENT, &client[..], "subject organization is not system:nodes"),
        (KUBELET_SERVER, KUBELET_CLIENT, &client[..], "DNS subjectAltNames are not allowed"),
        (
            KUBELET,
            KUBELET_CLIENT,
            &server[..],
            "usages did not match [client auth digital signature key encipherment]",
        ),
        (KUBELET, SERVING, &server[..], "DNS or IP subjectAltName is required"),
        (
            KUBELET_SERVER,
            SERVING,
            &client[..],
            "usages did not match [digital signature key encipherment server auth]",
        ),
    ] {
        assert_eq!(refused(sign(text, signer, usages, Value::Null)), why);
    }
    let other = sign(ALICE, "example.com/own", &client, Value::Null);
    assert!(matches!(other, Ok(Signed::NotConcerned)));
}

#[tokio::test(start_paused = true)]
async fn a_certificate_has_the_key_and_all_groups_of_its_request() {
    let rows: [(&str, &[&str]); 6] = [
        (ALICE, &["developers"]),
        (P256_SHA384, &[]),
        (P384_SHA256, &[]),
        (KEY_IDENTIFIER, &[]),
        (COMPONENTS, &[]),
        (GROUPS, &["a", "b"]),
    ];
    for (text, organizations) in rows {
        let usages = ["digital signature", "client auth"];
        let (authority, answer) = with_authority(text, CLIENT, &usages, Value::Null);
        let certificate = certificate(answer);
        let facts = pki::inspect(&certificate).unwrap();
        assert_eq!(facts.common_name, "alice");
        assert_eq!(facts.organizations, organizations);
        assert!(!facts.is_authority);
        assert_eq!(facts.public_key, CertificateRequest::from_pem(text).unwrap().public_key);
        accept(&authority, &certificate);
    }
}

/// The length of a key tells its curve.
#[test]
fn a_key_keeps_its_curve() {
    for (text, length) in [(P256_SHA384, 91), (P384_SHA256, 120)] {
        assert_eq!(CertificateRequest::from_pem(text).unwrap().public_key.len(), length);
    }
}

/// Such a request does not fail for good.
#[tokio::test(start_paused = true)]
async fn what_is_not_supported_stays_as_it_is() {
    for (text, signer, why) in [
        (NAMES, KUBELET_CLIENT, "a subject with several common names is not supported"),
        (P256_SHA512, CLIENT, "signature unsupported algorithm"),
        ("", CLIENT, "PEM block type must be CERTIFICATE REQUEST"),
    ] {
        let answer = sign(text, signer, &["digital signature", "client auth"], Value::Null);
        assert_eq!(answer.err(), Some(format!("the certificate request can't be used: {why}")));
    }
}
