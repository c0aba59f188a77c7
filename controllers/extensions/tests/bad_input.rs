//! Extensions that answer what they must not. Each is asked with both failure policies.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use net::{Network, RealNetwork};
use runtime_extensions::limits::{ANSWER_BYTES, MESSAGE_CHARACTERS, PLAIN_ANSWER_BYTES};
use runtime_extensions::{Client, Hook, Result};
use serde_json::{Value, json};
use test_plane::Fixture;

use crate::extensions::support::server::{Behaviour, Extension, success};
use crate::extensions::support::{
    VERSION, client_over, create_discovered, fixture_without_controllers, registered,
};

struct Case {
    hook: Hook,
    client: Client,
    extension: Extension,
    _fixture: Fixture,
}

impl Case {
    /// Starts an extension with a handler for each failure policy.
    async fn of(hook: Hook) -> Self {
        Self::with(hook, |spec| spec).await
    }

    async fn with(hook: Hook, change: impl FnOnce(Value) -> Value) -> Self {
        let network: Arc<dyn Network> = Arc::new(RealNetwork);
        let fixture = fixture_without_controllers().await;
        let extension = Extension::start(&network, fixture.manager.clock(), 0).await;
        let client = client_over(&fixture.manager, network);
        let handlers =
            json!([registered("strict.ext", hook, "Fail", 1), registered("lax.ext", hook, "Ignore", 1)]);
        create_discovered(&fixture, "ext", change(extension.spec()), handlers).await;
        Self { hook, client, extension, _fixture: fixture }
    }

    async fn call(&self, name: &str) -> Result<Value> {
        let name = format!("{name}.ext");
        self.client.call(self.hook, &name, "default", &BTreeMap::new(), &json!({})).await
    }

    fn does(&self, behaviour: &Behaviour) {
        for name in ["strict", "lax"] {
            self.extension.on(&format!("{}/{name}", self.hook.name().to_lowercase()), behaviour.clone());
        }
    }

    /// Checks that `behaviour` is an error with this text, and that it is ignored where the failure policy says so.
    async fn has_no_answer(&self, behaviour: Behaviour, why: &str) {
        self.does(&behaviour);
        self.is_no_answer(why).await;
    }

    async fn is_no_answer(&self, why: &str) {
        let error = self.call("strict").await.unwrap_err().to_string();
        assert_eq!(error, format!("{} of strict.ext: {why}", self.hook.name()));
        let ignored = self.call("lax").await.unwrap();
        assert_eq!((&ignored["status"], &ignored["message"]), (&json!("Success"), &json!("")));
    }

    /// Checks that `answer` is an error with this text, whatever the failure policy.
    async fn is_refused(&self, answer: Value, why: &str) {
        self.does(&Behaviour::Says(answer));
        for name in ["strict", "lax"] {
            let error = self.call(name).await.unwrap_err().to_string();
            assert_eq!(error, format!("{} of {name}.ext answered {why}", self.hook.name()));
        }
    }
}

#[tokio::test]
async fn nonsense() {
    let case = Case::of(Hook::BeforeClusterCreate).await;
    for (body, why) in [
        (&b"<html>"[..], "cannot be read: expected value at line 1 column 1"),
        (b"", "cannot be read: EOF while parsing a value at line 1 column 0"),
        (b" [\"\", \"\", \"Success\"]", "is a list, not an object"),
        (
            b"{\"status\": 1}",
            "cannot be read: invalid type: integer `1`, expected a string at line 1 column 12",
        ),
    ] {
        let answer = Behaviour::Answers(200, Bytes::copy_from_slice(body));
        case.has_no_answer(answer, &format!("the answer {why}")).await;
    }
    let deep = format!("{{\"x\": {}", "[".repeat(1_000_000));
    case.does(&Behaviour::Answers(200, deep.into()));
    let error = case.call("strict").await.unwrap_err().to_string();
    assert!(error.contains("the answer cannot be read: EOF while parsing a list"), "{error}");
    let late = success(case.hook, json!({"retryAfterSeconds": -1}));
    let why = "retryAfterSeconds in the answer must not be negative, but is -1";
    case.has_no_answer(Behaviour::Says(late), why).await;
}

#[tokio::test]
async fn twenty_megabytes() {
    let case = Case::of(Hook::GeneratePatches).await;
    let long = |bytes: usize| {
        let mut text = success(Hook::GeneratePatches, json!({})).to_string();
        text.extend(std::iter::repeat_n(' ', bytes - text.len()));
        Behaviour::Answers(200, text.into())
    };
    case.does(&long(ANSWER_BYTES));
    assert!(case.call("strict").await.is_ok());
    let why = "reading the answer: length limit exceeded";
    case.has_no_answer(long(ANSWER_BYTES + 1), why).await;
    case.has_no_answer(long(20_000_000), why).await;
    let Behaviour::Answers(_, text) = long(20_000_000) else { unreachable!() };
    case.has_no_answer(Behaviour::Answers(500, text), why).await;

    let case = Case::of(Hook::ValidateTopology).await;
    let long = |bytes: usize| {
        let mut text = success(Hook::ValidateTopology, json!({})).to_string();
        text.extend(std::iter::repeat_n(' ', bytes - text.len()));
        Behaviour::Answers(200, text.into())
    };
    case.does(&long(PLAIN_ANSWER_BYTES));
    assert!(case.call("strict").await.is_ok());
    case.has_no_answer(long(PLAIN_ANSWER_BYTES + 1), "the answer is longer than 3 MiB").await;
}

/// Nothing is decompressed, so that a short answer cannot be a long one.
#[tokio::test]
async fn a_compressed_answer() {
    const GZIP: &[u8] =
        &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xab, 0xae, 5, 0, 0x43, 0xbf, 0xa6, 0xa3, 2, 0, 0, 0];
    let case = Case::of(Hook::GeneratePatches).await;
    let why = "the answer cannot be read: expected value at line 1 column 1";
    case.has_no_answer(Behaviour::Answers(200, Bytes::from_static(GZIP)), why).await;
}

#[tokio::test]
async fn no_answer_in_time() {
    let case = Case::of(Hook::BeforeClusterDelete).await;
    case.has_no_answer(Behaviour::IsSilent, "context deadline exceeded").await;
    case.has_no_answer(Behaviour::Drips, "context deadline exceeded").await;
    let waits: Vec<String> = case.extension.received().into_iter().map(|received| received.query).collect();
    assert_eq!(waits, ["timeout=1s"; 4]);
}

#[tokio::test]
async fn a_redirect() {
    let case = Case::of(Hook::BeforeClusterUpgrade).await;
    let network: Arc<dyn Network> = Arc::new(RealNetwork);
    let other = Extension::start(&network, case._fixture.manager.clock(), 0).await;
    other.answers(Hook::BeforeClusterUpgrade, "strict", json!({}));
    let url = format!("https://127.0.0.1:{}/{VERSION}/beforeclusterupgrade/strict", other.port);
    case.has_no_answer(Behaviour::Redirects(url), "the answer has the status code 302, not 200: \"\"").await;
    assert!(other.received().is_empty(), "redirects are not followed");
}

#[tokio::test]
async fn a_certificate_of_somebody_else() {
    let network: Arc<dyn Network> = Arc::new(RealNetwork);
    let case = Case::of(Hook::ValidateTopology).await;
    let other = Extension::start(&network, &machinery::clock::Clock::system(), 0).await;
    let case = Case::with(case.hook, |mut spec| {
        spec["clientConfig"]["caBundle"] = other.bundle().into();
        spec
    })
    .await;
    case.extension.answers(case.hook, "strict", json!({}));
    let error = case.call("strict").await.unwrap_err().to_string();
    assert!(error.contains("tls: failed to verify certificate"), "{error}");
    assert!(case.call("lax").await.is_ok());
    assert!(case.extension.received().is_empty(), "nothing is sent to a stranger");
}

#[tokio::test]
async fn a_certificate_for_another_host() {
    let case = Case::with(Hook::ValidateTopology, |mut spec| {
        let url = spec["clientConfig"]["url"].as_str().unwrap().replace("127.0.0.1", "localhost");
        spec["clientConfig"]["url"] = url.into();
        spec
    })
    .await;
    case.is_no_answer(
        "tls: failed to verify certificate: x509: certificate is valid for extension.default.svc, not localhost",
    )
    .await;
    assert!(case.extension.received().is_empty());
}

#[tokio::test]
async fn a_ca_bundle_without_certificates() {
    let case = Case::with(Hook::ValidateTopology, |mut spec| {
        spec["clientConfig"]["caBundle"] = "bm90aGluZw==".into();
        spec
    })
    .await;
    case.is_no_answer("unable to load root certificates: unable to parse bytes as PEM block").await;
}

#[tokio::test]
async fn an_answer_to_another_hook() {
    let case = Case::of(Hook::BeforeClusterCreate).await;
    let other = success(Hook::BeforeClusterDelete, json!({}));
    let why = "kind of the answer is \"BeforeClusterDeleteResponse\", not \"BeforeClusterCreateResponse\"";
    case.has_no_answer(Behaviour::Says(other), why).await;
}

#[tokio::test]
async fn an_answer_of_another_version() {
    let case = Case::of(Hook::BeforeClusterCreate).await;
    let mut other = success(case.hook, json!({}));
    other["apiVersion"] = "hooks.runtime.cluster.x-k8s.io/v9".into();
    let why = format!("apiVersion of the answer is \"hooks.runtime.cluster.x-k8s.io/v9\", not {VERSION:?}");
    case.has_no_answer(Behaviour::Says(other), &why).await;
    case.does(&Behaviour::Says(json!({"status": "Success"})));
    assert!(case.call("strict").await.is_ok(), "an answer need not name its kind");
}

#[tokio::test]
async fn a_failure_is_an_error_whatever_the_failure_policy() {
    let case = Case::of(Hook::GeneratePatches).await;
    let failure = |fields| success(case.hook, fields);
    case.is_refused(failure(json!({"status": "Failure", "message": "no"})), "\"Failure\": no").await;
    case.is_refused(failure(json!({"status": "Failure", "items": 7})), "\"Failure\": ").await;
    case.is_refused(failure(json!({"status": "Maybe"})), "\"Maybe\": ").await;
    case.is_refused(json!({}), "\"\": ").await;
    let cut = format!("\"Failure\": {}…", "é".repeat(MESSAGE_CHARACTERS));
    case.is_refused(failure(json!({"status": "Failure", "message": "é".repeat(100_000)})), &cut).await;
}

#[tokio::test]
async fn patches_that_cannot_be_read() {
    let case = Case::of(Hook::GeneratePatches).await;
    let patches = |items| Behaviour::Says(success(case.hook, json!({"items": items})));
    let item = json!({"uid": "1", "patchType": "JSONPatch", "patch": "no base64!"});
    case.has_no_answer(
        patches(json!([item])),
        "a patch in the answer is not base64: Invalid symbol 32, offset 2.",
    )
    .await;
    for (items, why) in [
        (json!([{"uid": "1", "patch": "W10="}]), "missing field `patchType`"),
        (json!("x"), "invalid type: string \"x\", expected a sequence"),
        (json!([7]), "invalid type: integer `7`, expected struct Item"),
    ] {
        case.does(&patches(items));
        let error = case.call("strict").await.unwrap_err().to_string();
        assert!(error.contains(&format!("the answer cannot be read: {why}")), "{error}");
        assert_eq!(case.call("lax").await.unwrap().get("items"), None);
    }
}

#[tokio::test]
async fn an_error_with_a_long_body() {
    let case = Case::of(Hook::AfterClusterUpgrade).await;
    let why = format!("the answer has the status code 500, not 200: \"{}...\"", "é".repeat(512));
    case.has_no_answer(Behaviour::Answers(500, "é".repeat(100_000).into()), &why).await;
    case.has_no_answer(
        Behaviour::Answers(503, "short \"quote\"".into()),
        "the answer has the status code 503, not 200: \"short \\\"quote\\\"\"",
    )
    .await;
}

#[tokio::test]
async fn a_closed_connection() {
    let case = Case::of(Hook::UpdateMachine).await;
    case.has_no_answer(Behaviour::Closes, "EOF").await;
}

#[tokio::test]
async fn nobody_listens() {
    let case = Case::with(Hook::UpdateMachine, |mut spec| {
        spec["clientConfig"]["url"] = "https://127.0.0.1:1/".into();
        spec
    })
    .await;
    case.is_no_answer("dial tcp 127.0.0.1:1: connect: connection refused").await;
}

#[tokio::test]
async fn addresses_that_are_none() {
    for (client_config, why) in [
        (json!({"caBundle": "YQ=="}), " must have either url or service"),
        (json!({"url": "http://host"}), ".url \"http://host\": it must begin with https://"),
        (json!({"url": "https://"}), ".url \"https://\": it has no host"),
        (json!({"url": "https://a b"}), ".url \"https://a b\": it must begin with https://"),
        (
            json!({"url": "https://me:secret@host"}),
            ".url \"https://me:secret@host\": it must not have a user: a request has no credentials",
        ),
    ] {
        let case = Case::with(Hook::UpdateMachine, |_| json!({"clientConfig": client_config})).await;
        for name in ["strict", "lax"] {
            let error = case.call(name).await.unwrap_err().to_string();
            assert_eq!(error, format!("ExtensionConfig ext: spec.clientConfig{why}"));
        }
    }
}
