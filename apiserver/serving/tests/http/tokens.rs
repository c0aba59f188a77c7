//! Bearer tokens: their lifetime and their audiences.

use std::time::Duration;

use serde_json::{Value, json};

use crate::serving::http::common::{Answer, Harness};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const WHO: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

async fn harness() -> Harness {
    let harness = Harness::guarded().await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "builder"}});
    assert_eq!(harness.post(ACCOUNTS, &account).await.code, 201);
    harness
}

async fn request(harness: &Harness, spec: Value) -> Answer {
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
    harness.post(&format!("{ACCOUNTS}/builder/token"), &body).await
}

async fn token(harness: &Harness, spec: Value) -> String {
    let answer = request(harness, spec).await;
    assert_eq!(answer.code, 201, "{}", answer.text());
    answer.json()["status"]["token"].as_str().unwrap().to_owned()
}

/// Returns the server's response to a client with this token.
async fn who(harness: &mut Harness, token: &str) -> Answer {
    let user = harness.user.take();
    let header = format!("Bearer {token}");
    let body = br#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#;
    let answer = harness.call("POST", WHO, &[("authorization", &header)], body).await;
    harness.user = user;
    answer
}

async fn review(harness: &Harness, spec: Value) -> Value {
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec});
    let answer = harness.post(REVIEWS, &body).await;
    assert_eq!(answer.code, 201, "{}", answer.text());
    answer.json()["status"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_token_is_its_account_until_it_expires() {
    let mut harness = harness().await;
    let token = token(&harness, json!({"expirationSeconds": 600})).await;
    let answer = who(&mut harness, &token).await.json();
    let user = &answer["status"]["userInfo"];
    assert_eq!(user["username"], "system:serviceaccount:default:builder");
    let groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"];
    assert_eq!(user["groups"], json!(groups));
    let id = user["extra"]["authentication.kubernetes.io/credential-id"][0].as_str().unwrap();
    assert!(id.starts_with("JTI="), "{id}");
    tokio::time::advance(Duration::from_secs(600)).await;
    assert_eq!(who(&mut harness, &token).await.code, 201, "clocks may differ by a minute");
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(who(&mut harness, &token).await.code, 401);
    let status = review(&harness, json!({"token": token})).await;
    assert_eq!(status["error"], "[invalid bearer token, service account token has expired]");
}

#[tokio::test(start_paused = true)]
async fn a_token_dies_with_what_it_is_bound_to() {
    let mut harness = harness().await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "anchor"}});
    let secrets = "/api/v1/namespaces/default/secrets";
    assert_eq!(harness.post(secrets, &secret).await.code, 201);
    let reference = json!({"apiVersion": "v1", "kind": "Secret", "name": "anchor"});
    let bound = token(&harness, json!({"boundObjectRef": reference})).await;
    let free = token(&harness, json!({})).await;
    assert_eq!(who(&mut harness, &bound).await.code, 201);
    // A new Secret with the same name is a different object.
    let anchor = format!("{secrets}/anchor");
    assert_eq!(harness.call("DELETE", &anchor, &[], b"").await.code, 200);
    assert_eq!(who(&mut harness, &bound).await.code, 401);
    assert_eq!(harness.post(secrets, &secret).await.code, 201);
    assert_eq!(who(&mut harness, &bound).await.code, 401);
    let wrong = json!({"apiVersion": "v1", "kind": "Secret", "name": "anchor", "uid": "another"});
    assert_eq!(request(&harness, json!({"boundObjectRef": wrong})).await.code, 409);

    assert_eq!(who(&mut harness, &free).await.code, 201);
    let account = format!("{ACCOUNTS}/builder");
    assert_eq!(harness.call("DELETE", &account, &[], b"").await.code, 200);
    assert_eq!(who(&mut harness, &free).await.code, 401);
    let again = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "builder"}});
    assert_eq!(harness.post(ACCOUNTS, &again).await.code, 201);
    assert_eq!(who(&mut harness, &free).await.code, 401);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_good_for_its_audiences_only() {
    let mut harness = harness().await;
    let token = token(&harness, json!({"audiences": ["vault", "db"]})).await;
    assert_eq!(who(&mut harness, &token).await.code, 401);
    let status = review(&harness, json!({"token": token, "audiences": ["db", "other"]})).await;
    assert_eq!((&status["authenticated"], &status["audiences"]), (&json!(true), &json!(["db"])));
    let status = review(&harness, json!({"token": token})).await;
    let error = r#"[invalid bearer token, token audiences ["vault" "db"] is invalid for the target audiences ["https://kubernetes.default.svc"]]"#;
    assert_eq!((&status["authenticated"], &status["error"]), (&Value::Null, &json!(error)));
}

#[tokio::test(start_paused = true)]
async fn altered_tokens_are_refused_and_the_key_is_published() {
    let mut harness = harness().await;
    let token = token(&harness, json!({})).await;
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let other = if signature.starts_with('A') { "B" } else { "A" };
    for bad in [format!("{signed}.{other}{}", &signature[1..]), format!("{signed}."), signed.to_owned()] {
        assert_eq!(who(&mut harness, &bad).await.code, 401, "{bad}");
    }
    let keys = harness.get("/openid/v1/jwks").await;
    assert_eq!(keys.header("content-type"), "application/jwk-set+json");
    assert_eq!(keys.json()["keys"][0]["crv"], "P-256");
    let document = harness.get("/.well-known/openid-configuration").await.json();
    assert_eq!(document["issuer"], "https://kubernetes.default.svc");
    harness.user = None;
    assert_eq!(harness.get("/openid/v1/jwks").await.code, 403);
}

#[tokio::test(start_paused = true)]
async fn bootstrap_tokens_are_good_while_their_secret_says_so() {
    let mut harness = harness().await;
    let secrets = "/api/v1/namespaces/kube-system/secrets";
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": "bootstrap-token-abcdef"},
        "stringData": {
            "token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
            "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
            "expiration": "2026-11-21T01:00:00Z",
        },
    });
    assert_eq!(harness.post(secrets, &secret).await.code, 201);
    let good = "abcdef.0123456789abcdef";
    let user = who(&mut harness, good).await.json()["status"]["userInfo"].clone();
    assert_eq!(user["username"], "system:bootstrap:abcdef");
    let groups =
        ["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token", "system:authenticated"];
    assert_eq!(user["groups"], json!(groups));
    for bad in ["abcdef.0123456789abcdee", "abcdeg.0123456789abcdef"] {
        assert_eq!(who(&mut harness, bad).await.code, 401, "{bad}");
    }
    tokio::time::advance(Duration::from_secs(3600)).await;
    assert_eq!(who(&mut harness, good).await.code, 401);
}
