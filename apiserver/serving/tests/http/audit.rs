//! Each request has an id, which its response carries.

use crate::serving::http::common::Harness;

/// Requests of all kinds: answered, refused, malformed, of a resource and of other paths.
const REQUESTS: [(&str, &str, u16); 8] = [
    ("GET", "/api/v1/namespaces/default", 200),
    ("GET", "/api/v1/namespaces/none", 404),
    ("GET", "/api/v1/nonsense", 404),
    ("GET", "/nonsense", 404),
    ("GET", "/livez", 200),
    ("GET", "/%zz", 400),
    ("HEAD", "/version", 405),
    ("POST", "/api/v1/namespaces", 400),
];

#[tokio::test]
async fn each_response_has_an_id_of_its_own() {
    let harness = Harness::new().await;
    let mut ids = std::collections::BTreeSet::new();
    for (method, path, code) in REQUESTS {
        let answer = harness.call(method, path, &[], b"{").await;
        assert_eq!(answer.code, code, "{method} {path}: {}", answer.text());
        let id = answer.header("audit-id").to_owned();
        assert_eq!(id.len(), 36, "{method} {path}: {id:?}");
        assert!(ids.insert(id), "{method} {path} has the id of another request");
    }
    let watch = harness.send("GET", "/api/v1/namespaces?watch=1", &[], b"").await;
    assert!(ids.insert(watch.headers()["audit-id"].to_str().unwrap().to_owned()));
}

#[tokio::test]
async fn a_client_chooses_the_id_unless_it_is_too_long_or_no_text() {
    let harness = Harness::new().await;
    let long = "a".repeat(257);
    for (chosen, is_taken) in
        [("a-b_c/1", true), (&long[..256], true), (&long, false), ("", false), ("ä", false)]
    {
        let answer = harness.call("GET", "/livez", &[("audit-id", chosen)], b"").await;
        assert_eq!(answer.header("audit-id") == chosen, is_taken, "{chosen:?}");
        assert!(!answer.header("audit-id").is_empty(), "{chosen:?}");
    }
}
