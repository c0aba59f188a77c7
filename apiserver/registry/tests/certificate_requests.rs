//! The signing of approved CertificateSigningRequests.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use registry::{
    Context, Housekeeping, Options, PatchBody, Registry, Served, SignRequests, Signed, Subresource,
};
use serde_json::{Value, json};

use crate::registry::common::open_with;
use crate::registry::housekeeping::create;

/// A request of a user `alice`.
const REQUEST: &str = "\
-----BEGIN CERTIFICATE REQUEST-----\n\
MIHgMIGHAgEAMCUxEzARBgNVBAoMCmRldmVsb3BlcnMxDjAMBgNVBAMMBWFsaWNl\n\
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEReq9M7KNLNGZIPqCnjWGvdMcHSaS\n\
kEShKQJQY6Im1J/+6zJ+26NT9833d7DnrKsQucOi58wjVt7AGopY1WFVvqAAMAoG\n\
CCqGSM49BAMCA0gAMEUCIQCVSgcDXyEg9ObtnCh/3uTze21/M5Lx5nxkqLqwllN5\n\
iQIgSssZ/j3/nhki70PT7ni3e44sW45xiU5FS1zknPG0qFw=\n\
-----END CERTIFICATE REQUEST-----
";
/// Any certificate.
const CERTIFICATE: &str = include_str!("../../kinds/tests/data/certificate.pem");

type Answer = dyn Fn(usize) -> Result<Signed, String> + Send + Sync;

/// A signer that answers with a function of the number of calls before.
struct Signer {
    calls: AtomicUsize,
    answer: Box<Answer>,
}

impl Signer {
    fn new(answer: impl Fn(usize) -> Result<Signed, String> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { calls: AtomicUsize::new(0), answer: Box::new(answer) })
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl SignRequests for Signer {
    fn sign(&self, _request: &Value) -> Result<Signed, String> {
        (self.answer)(self.calls.fetch_add(1, Ordering::Relaxed))
    }
}

fn certificate() -> Result<Signed, String> {
    Ok(Signed::Certificate(STANDARD.encode(CERTIFICATE)))
}

/// Opens a registry with a signer and the request `r`.
async fn with_request(signer: &Arc<Signer>) -> (Registry, Served) {
    let request_signer: Arc<dyn SignRequests> = signer.clone();
    let housekeeping = Housekeeping { request_signer: Some(request_signer), ..Housekeeping::default() };
    let registry = open_with(Options { housekeeping, ..Options::default() }).await;
    let served = registry.served("certificates.k8s.io", "v1", "certificatesigningrequests").unwrap();
    let request = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": "r"}, "spec": {"request": STANDARD.encode(REQUEST), "usages": ["client auth"],
        "signerName": "example.com/signer"}});
    create(&registry, &served, "", request).await;
    (registry, served)
}

/// Approves or denies the request.
async fn decide(registry: &Registry, served: &Served, decision: &str) {
    let condition = json!({"type": decision, "status": "True", "reason": "Test", "message": ""});
    let patch = PatchBody::Merge(json!({"status": {"conditions": [condition]}}).to_string().into());
    registry.patch(&mut Context::default(), served, "", "r", Subresource::Approval, patch).await.unwrap();
}

/// Returns the status of the request after these seconds. The clock is paused, so that takes no real time.
async fn status_after(registry: &Registry, served: &Served, seconds: u64) -> Value {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let read = registry.get(served, "", "r", Subresource::None, "").await.unwrap();
    serde_json::from_slice::<Value>(&read).unwrap()["status"].take()
}

#[tokio::test(start_paused = true)]
async fn an_approved_request_is_signed_once() {
    let signer = Signer::new(|_| certificate());
    let (registry, served) = with_request(&signer).await;
    assert_eq!(status_after(&registry, &served, 60).await["certificate"], Value::Null);
    assert_eq!(signer.calls(), 0, "nobody has approved it");
    decide(&registry, &served, "Approved").await;
    let status = status_after(&registry, &served, 7200).await;
    assert_eq!(status["certificate"], STANDARD.encode(CERTIFICATE));
    assert_eq!(status["conditions"].as_array().unwrap().len(), 1);
    assert_eq!(signer.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_denied_request_is_not_signed() {
    let signer = Signer::new(|_| certificate());
    let (registry, served) = with_request(&signer).await;
    decide(&registry, &served, "Denied").await;
    assert_eq!(status_after(&registry, &served, 7200).await["certificate"], Value::Null);
    assert_eq!(signer.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_breaks_a_rule_fails_for_good() {
    let signer = Signer::new(|_| Ok(Signed::Refused("missing usage".to_owned())));
    let (registry, served) = with_request(&signer).await;
    decide(&registry, &served, "Approved").await;
    let status = status_after(&registry, &served, 7200).await;
    assert_eq!(status["certificate"], Value::Null);
    let failed = &status["conditions"][1];
    assert_eq!([&failed["type"], &failed["status"]], ["Failed", "True"]);
    assert_eq!([&failed["reason"], &failed["message"]], ["SignerValidationFailure", "missing usage"]);
    assert_eq!(signer.calls(), 1);
}

/// No change of the request says when its signer works again.
#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_signed_is_tried_again() {
    let signer = Signer::new(|before| if before < 5 { Err("not now".to_owned()) } else { certificate() });
    let (registry, served) = with_request(&signer).await;
    decide(&registry, &served, "Approved").await;
    // It is tried at once, and after 0.2, 0.6, 1.4, 3 and 6.2 seconds.
    let status = status_after(&registry, &served, 2).await;
    assert_eq!((signer.calls(), &status["certificate"]), (4, &Value::Null));
    assert_eq!(status["conditions"].as_array().unwrap().len(), 1, "it has not failed for good");
    let status = status_after(&registry, &served, 10).await;
    assert_eq!(status["certificate"], STANDARD.encode(CERTIFICATE));
    status_after(&registry, &served, 7200).await;
    assert_eq!(signer.calls(), 6);
}

/// A signer that never works is asked every 1000 seconds at last.
#[tokio::test(start_paused = true)]
async fn the_time_between_tries_is_limited() {
    let signer = Signer::new(|_| Err("never".to_owned()));
    let (registry, served) = with_request(&signer).await;
    decide(&registry, &served, "Approved").await;
    status_after(&registry, &served, 10_000).await;
    let before = signer.calls();
    status_after(&registry, &served, 10_000).await;
    assert_eq!(signer.calls() - before, 10);
}
