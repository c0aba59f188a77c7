//! Secrets that are tokens of ServiceAccounts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use serving::Body;

use crate::serving::http::common::Harness;

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const WHO: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// The events of the Secrets.
struct Events {
    body: Body,
    text: Vec<u8>,
}

impl Events {
    async fn open(harness: &Harness) -> Self {
        let response = harness.send("GET", &format!("{SECRETS}?watch=1&resourceVersion=0"), &[], b"").await;
        Self { body: response.into_body(), text: Vec::new() }
    }

    /// Reads events until one is as wanted, and returns its object.
    async fn until(&mut self, wanted: impl Fn(&str, &Value) -> bool) -> Value {
        loop {
            while let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                let event: Value = serde_json::from_slice(&line).unwrap();
                if wanted(event["type"].as_str().unwrap(), &event["object"]) {
                    return event["object"].clone();
                }
            }
            let frame = self.body.frame().await.expect("the watch goes on").unwrap();
            self.text.extend_from_slice(&frame.into_data().unwrap());
        }
    }
}

fn secret(name: &str, account: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {"name": name, "annotations": {"kubernetes.io/service-account.name": account}}})
}

fn account(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
}

/// Returns the code and the user of a client with this token.
async fn who(harness: &mut Harness, token: &str) -> (u16, Value) {
    let user = harness.user.take();
    let header = format!("Bearer {token}");
    let body = br#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#;
    let answer = harness.call("POST", WHO, &[("authorization", &header)], body).await;
    harness.user = user;
    let user = if answer.code == 201 { answer.json()["status"]["userInfo"].clone() } else { Value::Null };
    (answer.code, user)
}

/// Creates an account and its Secret; returns the Secret once it is filled, and its token.
async fn filled(harness: &mut Harness, events: &mut Events) -> (Value, String) {
    harness.post(ACCOUNTS, &account("robot")).await;
    harness.post(SECRETS, &secret("token", "robot")).await;
    let filled = events.until(|_, secret| !secret["data"]["token"].is_null()).await;
    let token = STANDARD.decode(filled["data"]["token"].as_str().unwrap()).unwrap();
    (filled, String::from_utf8(token).unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_secret_gets_a_token_and_goes_with_its_account() {
    let mut harness = Harness::guarded().await;
    let mut events = Events::open(&harness).await;
    assert_eq!(harness.post(ACCOUNTS, &account("robot")).await.code, 201);
    assert_eq!(harness.post(SECRETS, &secret("token", "robot")).await.code, 201);
    let filled = events.until(|_, secret| !secret["data"]["token"].is_null()).await;
    let text = |field: &str| {
        let bytes = STANDARD.decode(filled["data"][field].as_str().unwrap()).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    assert_eq!((text("namespace"), text("ca.crt")), ("default".into(), "authority".into()));
    let uid = harness.get(&format!("{ACCOUNTS}/robot")).await.json()["metadata"]["uid"].clone();
    assert_eq!(filled["metadata"]["annotations"]["kubernetes.io/service-account.uid"], uid);
    let (code, user) = who(&mut harness, &text("token")).await;
    assert_eq!((code, &user["username"]), (201, &json!("system:serviceaccount:default:robot")));
    harness.call("DELETE", &format!("{ACCOUNTS}/robot"), &[], b"").await;
    events.until(|kind, secret| kind == "DELETED" && secret["metadata"]["name"] == "token").await;
    assert_eq!(who(&mut harness, &text("token")).await.0, 401);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_its_secret_lost_is_not_valid() {
    let mut harness = Harness::guarded().await;
    let mut events = Events::open(&harness).await;
    let (_, token) = filled(&mut harness, &mut events).await;
    assert_eq!(who(&mut harness, &token).await.0, 201);
    let patch = json!({"metadata": {"labels": {"kubernetes.io/legacy-token-invalid-since": "2026-11-21"}}});
    let merge = [("content-type", "application/merge-patch+json")];
    let path = format!("{SECRETS}/token");
    harness.call("PATCH", &path, &merge, patch.to_string().as_bytes()).await;
    assert_eq!(who(&mut harness, &token).await.0, 401);
    // A Secret of an account that does not exist is deleted.
    assert_eq!(harness.post(SECRETS, &secret("nobody's", "nobody")).await.code, 422);
    assert_eq!(harness.post(SECRETS, &secret("nobodys", "nobody")).await.code, 201);
    events.until(|kind, secret| kind == "DELETED" && secret["metadata"]["name"] == "nobodys").await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_says_on_which_day_its_token_was_used() {
    let mut harness = Harness::guarded().await;
    let mut events = Events::open(&harness).await;
    let (filled, token) = filled(&mut harness, &mut events).await;
    let label = "kubernetes.io/legacy-token-last-used";
    assert!(filled["metadata"]["labels"][label].is_null());
    let path = format!("{SECRETS}/token");
    assert_eq!(who(&mut harness, &token).await.0, 201);
    let used = harness.get(&path).await.json();
    let today = machinery::clock::rfc3339(harness.clock.now())[..10].to_owned();
    assert_eq!(used["metadata"]["labels"][label], today);
    // Once a day.
    assert_eq!(who(&mut harness, &token).await.0, 201);
    let again = harness.get(&path).await.json();
    assert_eq!(again["metadata"]["resourceVersion"], used["metadata"]["resourceVersion"]);
    // A review is a use, too, and so is one that is refused.
    let merge = [("content-type", "application/merge-patch+json")];
    let marked = json!({"metadata": {"labels":
        {label: "2020-01-01", "kubernetes.io/legacy-token-invalid-since": "2026-11-21"}}});
    harness.call("PATCH", &path, &merge, marked.to_string().as_bytes()).await;
    let review =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    assert_eq!(harness.post(reviews, &review).await.json()["status"]["authenticated"], Value::Null);
    assert_eq!(harness.get(&path).await.json()["metadata"]["labels"][label], today);
}
