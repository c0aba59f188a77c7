//! The signers of approved certificate requests.

use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use machinery::clock::Clock;
use machinery::random::Random;
use registry::Signed;
use serde_json::{Value, json};
use server::certificates::Certificates;
use server::data_directory::DataDirectory;

const ALICE: &str = include_str!("requests/alice.csr");
const GROUPS: &str = include_str!("requests/groups.csr");
const KUBELET: &str = include_str!("requests/kubelet.csr");
const KUBELET_SERVER: &str = include_str!("requests/kubelet-server.csr");

const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";

/// Returns the answer of the server's signer to a request.
fn sign(text: &str, signer: &str, usages: &[&str], seconds: Value) -> Result<Signed, String> {
    let folder = tempfile::tempdir().unwrap();
    let directory = DataDirectory::locate(Some(folder.path())).unwrap();
    directory.create().unwrap();
    let clock = Clock::simulated("2026-11-21T00:00:00Z".parse().unwrap());
    let listen = SocketAddr::from(([127, 0, 0, 1], 6443));
    let certificates = Certificates::load_or_create(&directory, listen, &clock, &Random::seeded(1)).unwrap();
    let spec = json!({"request": STANDARD.encode(text), "signerName": signer, "usages": usages,
        "expirationSeconds": seconds});
    certificates.controller_manager().unwrap().request_signer.sign(&json!({ "spec": spec }))
}

/// Returns the facts of the certificate in an answer.
fn signed(answer: Result<Signed, String>) -> pki::Facts {
    let Ok(Signed::Certificate(encoded)) = answer else { panic!("no certificate") };
    pki::inspect(&String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap()).unwrap()
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
        (
            GROUPS,
            CLIENT,
            &client[..],
            "the certificate request can't be used: a subject with several values of one kind is not supported",
        ),
    ] {
        assert_eq!(refused(sign(text, signer, usages, Value::Null)), why);
    }
    let other = sign(ALICE, "example.com/own", &client, Value::Null);
    assert!(matches!(other, Ok(Signed::NotConcerned)));
}
