//! Tests of authentication and authorization.

use crate::serving::http::common::Harness;
use ::access::User;

#[tokio::test(start_paused = true)]
async fn only_masters_get_in() {
    let mut harness = Harness::new().await;
    harness.user = None;
    type Case = (&'static str, &'static str, &'static [(&'static str, &'static str)], u16, &'static str);
    let cases: &[Case] = &[
        ("GET", "/api", &[], 403, r#"forbidden: User "system:anonymous" cannot get path "/api""#),
        ("POST", "/healthz", &[], 403, r#"forbidden: User "system:anonymous" cannot post path "/healthz""#),
        (
            "GET",
            "/api/v1/namespaces",
            &[],
            403,
            r#"namespaces is forbidden: User "system:anonymous" cannot list resource "namespaces" in API group "" at the cluster scope"#,
        ),
        (
            "GET",
            "/apis/golden.test/v1/namespaces/x/widgets/a/status",
            &[],
            403,
            r#"widgets.golden.test "a" is forbidden: User "system:anonymous" cannot get resource "widgets/status" in API group "golden.test" in the namespace "x""#,
        ),
        ("GET", "/api/v1/namespaces", &[("authorization", "bearer not-a-token")], 401, "Unauthorized"),
        (
            "GET",
            "/api/v1/namespaces",
            &[("impersonate-user", "alice")],
            403,
            r#"namespaces is forbidden: User "system:anonymous" cannot impersonate-on:user-info:list resource "namespaces" in API group "" at the cluster scope"#,
        ),
    ];
    for (method, path, headers, code, message) in cases {
        let answer = harness.call(method, path, headers, b"").await;
        assert_eq!((answer.code, answer.message().as_str()), (*code, *message), "{method} {path}");
    }
    harness.user = Some(User::new("bob", ["dev"]));
    assert_eq!(harness.get("/api/v1/namespaces").await.code, 403);
    harness.user = Some(User::master("admin"));
    assert_eq!(harness.get("/api/v1/namespaces").await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn masters_may_impersonate() {
    let harness = Harness::new().await;
    let path = "/api/v1/namespaces";
    let alice = harness.call("GET", path, &[("impersonate-user", "alice")], b"").await;
    assert_eq!(alice.code, 403);
    assert!(alice.message().contains("User \"alice\" cannot list"), "{}", alice.text());
    let master = [("impersonate-user", "alice"), ("impersonate-group", "system:masters")];
    assert_eq!(harness.call("GET", path, &master, b"").await.code, 200);
    let nobody = harness.call("GET", path, &[("impersonate-group", "dev")], b"").await;
    let message = r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"dev"}, Extra:map[string][]string(nil)} without impersonating a user name"#;
    assert_eq!((nobody.code, nobody.message().as_str()), (400, message));
}
