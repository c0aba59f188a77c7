//! Roles: which requests they allow, and who may write them.

use ::access::User;
use serde_json::{Value, json};

use crate::serving::http::common::Harness;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn role(kind: &str, name: &str, rules: Value) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "rules": rules,
    })
}

fn binding(kind: &str, name: &str, role_kind: &str, role: &str, user: &str) -> Value {
    let group = "rbac.authorization.k8s.io";
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": role_kind, "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    })
}

fn reads(resource: &str) -> Value {
    json!([{"apiGroups": [""], "resources": [resource], "verbs": ["get", "list"]}])
}

async fn make(harness: &Harness, path: &str, object: Value) {
    let answer = harness.post(&format!("{RBAC}/{path}"), &object).await;
    assert_eq!(answer.code, 201, "{}", answer.text());
}

/// Returns the status code that `user` gets for a request.
async fn code(harness: &Harness, user: &str, method: &str, path: &str) -> u16 {
    harness.call(method, path, &[("impersonate-user", user)], b"").await.code
}

#[tokio::test(start_paused = true)]
async fn a_role_holds_from_the_write_on_until_it_goes() {
    let harness = Harness::guarded().await;
    assert_eq!(code(&harness, "alice", "GET", MAPS).await, 403);
    make(&harness, "namespaces/default/roles", role("Role", "r", reads("configmaps"))).await;
    assert_eq!(code(&harness, "alice", "GET", MAPS).await, 403);
    let object = binding("RoleBinding", "b", "Role", "r", "alice");
    make(&harness, "namespaces/default/rolebindings", object).await;
    assert_eq!(code(&harness, "alice", "GET", MAPS).await, 200);
    assert_eq!(code(&harness, "bob", "GET", MAPS).await, 403);
    assert_eq!(code(&harness, "alice", "GET", "/api/v1/namespaces/kube-system/configmaps").await, 403);
    assert_eq!(code(&harness, "alice", "GET", "/api/v1/configmaps").await, 403);
    let path = format!("{RBAC}/namespaces/default/roles/r");
    assert_eq!(harness.call("DELETE", &path, &[], b"").await.code, 200);
    let answer = harness.call("GET", MAPS, &[("impersonate-user", "alice")], b"").await;
    let reason = r#": RBAC: role.rbac.authorization.k8s.io "r" not found"#;
    assert!(answer.code == 403 && answer.message().ends_with(reason), "{}", answer.text());
    make(&harness, "namespaces/default/roles", role("Role", "r", reads("secrets"))).await;
    assert_eq!(code(&harness, "alice", "GET", MAPS).await, 403);
    assert_eq!(code(&harness, "alice", "GET", "/api/v1/namespaces/default/secrets").await, 200);
}

#[tokio::test(start_paused = true)]
async fn roles_gather_the_rules_of_others() {
    let harness = Harness::guarded().await;
    let mut part = role("ClusterRole", "part", reads("configmaps"));
    part["metadata"]["labels"] = json!({"gather": "yes"});
    let mut whole = role("ClusterRole", "whole", Value::Null);
    whole["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"gather": "yes"}}]});
    make(&harness, "clusterroles", whole).await;
    make(&harness, "clusterroles", part).await;
    make(
        &harness,
        "clusterrolebindings",
        binding("ClusterRoleBinding", "b", "ClusterRole", "whole", "alice"),
    )
    .await;
    wait(&harness, "alice", 200).await;
    assert_eq!(harness.call("DELETE", &format!("{RBAC}/clusterroles/part"), &[], b"").await.code, 200);
    wait(&harness, "alice", 403).await;
}

/// Waits until `user` gets this code for a list of ConfigMaps.
async fn wait(harness: &Harness, user: &str, expected: u16) {
    let wanted = async {
        while code(harness, user, "GET", MAPS).await != expected {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), wanted)
        .await
        .expect("the code that was waited for");
}

#[tokio::test(start_paused = true)]
async fn nobody_grants_what_they_lack() {
    let harness = Harness::guarded().await;
    let writes = json!([
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"], "verbs": ["create", "update", "patch", "get"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
    ]);
    make(&harness, "clusterroles", role("ClusterRole", "writer", writes)).await;
    make(
        &harness,
        "clusterrolebindings",
        binding("ClusterRoleBinding", "b", "ClusterRole", "writer", "alice"),
    )
    .await;
    let send = |method: &'static str, path: &'static str, kind: &'static str, body: Value| {
        let harness = &harness;
        async move {
            let headers = [("impersonate-user", "alice"), ("content-type", kind)];
            harness.call(method, &format!("{RBAC}/{path}"), &headers, body.to_string().as_bytes()).await
        }
    };
    let json = "application/json";
    let mut aggregate = role("ClusterRole", "x", Value::Null);
    aggregate["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]});
    let table = [
        ("POST", "clusterroles", json, role("ClusterRole", "ok", reads("configmaps")), 201),
        ("POST", "clusterroles", json, role("ClusterRole", "no", reads("secrets")), 403),
        ("PUT", "clusterroles/no", json, role("ClusterRole", "no", reads("secrets")), 403),
        ("PUT", "clusterroles/ok", json, role("ClusterRole", "ok", reads("secrets")), 403),
        (
            "PATCH",
            "clusterroles/no",
            "application/apply-patch+yaml",
            role("ClusterRole", "no", reads("secrets")),
            403,
        ),
        ("PATCH", "clusterroles/ok", "application/merge-patch+json", json!({"rules": reads("secrets")}), 403),
        (
            "PATCH",
            "clusterroles/cluster-admin",
            "application/merge-patch+json",
            json!({"metadata": {"finalizers": ["a.io/b"]}}),
            200,
        ),
        ("POST", "clusterroles", json, aggregate, 403),
        (
            "POST",
            "namespaces/default/rolebindings",
            json,
            binding("RoleBinding", "b", "ClusterRole", "cluster-admin", "alice"),
            403,
        ),
        (
            "POST",
            "namespaces/default/rolebindings",
            json,
            binding("RoleBinding", "b", "ClusterRole", "ok", "bob"),
            201,
        ),
    ];
    for (method, path, kind, body, expected) in table {
        let path =
            if method == "PATCH" && kind.contains("apply") { "clusterroles/no?fieldManager=x" } else { path };
        let answer = send(method, path, kind, body).await;
        assert_eq!(answer.code, expected, "{method} {path}: {}", answer.text());
    }
}

#[tokio::test(start_paused = true)]
async fn impersonation_needs_its_permissions() {
    let mut harness = Harness::guarded().await;
    let rules = json!([
        {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["bob"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["userextras/scope"], "verbs": ["impersonate"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["users"], "verbs": ["impersonate:user-info"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["impersonate-on:user-info:create"]},
    ]);
    make(&harness, "clusterroles", role("ClusterRole", "actor", rules)).await;
    make(
        &harness,
        "clusterrolebindings",
        binding("ClusterRoleBinding", "b", "ClusterRole", "actor", "alice"),
    )
    .await;
    harness.user = Some(User::new("alice", Vec::<String>::new()));
    let body = br#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#;
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    type Headers = &'static [(&'static str, &'static str)];
    let table: &[(Headers, u16, &str)] = &[
        // By the verb `impersonate`.
        (&[("impersonate-user", "bob"), ("impersonate-extra-scope", "x")], 201, ""),
        // By constrained impersonation: any user, for this request.
        (&[("impersonate-user", "carol")], 201, ""),
        (
            &[("impersonate-user", "carol"), ("impersonate-group", "dev")],
            403,
            r#"groups.authentication.k8s.io "dev" is forbidden: User "alice" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope"#,
        ),
        (
            &[("impersonate-user", "carol"), ("impersonate-group", "system:masters")],
            403,
            r#"groups.authentication.k8s.io "system:masters" is forbidden: User "alice" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed"#,
        ),
        (
            &[("impersonate-user", "system:node:n1")],
            403,
            r#"selfsubjectreviews.authentication.k8s.io is forbidden: User "alice" cannot impersonate-on:arbitrary-node:create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope"#,
        ),
    ];
    for (headers, expected, message) in table {
        let answer = harness.call("POST", path, headers, body).await;
        assert_eq!(answer.code, *expected, "{headers:?} {}", answer.text());
        if *expected == 403 {
            assert_eq!(answer.message(), *message);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn reviews_can_only_be_created() {
    let harness = Harness::guarded().await;
    let root = "/apis/authorization.k8s.io/v1";
    let table = [
        ("GET", "subjectaccessreviews", 405),
        ("GET", "subjectaccessreviews/x", 404),
        ("DELETE", "selfsubjectaccessreviews", 405),
        ("GET", "localsubjectaccessreviews", 404),
        ("GET", "namespaces/default/localsubjectaccessreviews", 405),
        ("POST", "namespaces/default/subjectaccessreviews", 404),
    ];
    for (method, path, expected) in table {
        let answer = harness.call(method, &format!("{root}/{path}"), &[], b"").await;
        assert_eq!(answer.code, expected, "{method} {path}: {}", answer.text());
    }
    let tokens = "/apis/authentication.k8s.io/v1/tokenrequests";
    assert_eq!(harness.get(tokens).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn the_rules_of_oneself_are_listed() {
    let harness = Harness::guarded().await;
    make(&harness, "namespaces/default/roles", role("Role", "r", reads("configmaps"))).await;
    let object = binding("RoleBinding", "b", "Role", "r", "alice");
    make(&harness, "namespaces/default/rolebindings", object).await;
    let body = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"},
    });
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let headers = [("impersonate-user", "alice"), ("content-type", "application/json")];
    let answer = harness.call("POST", path, &headers, body.to_string().as_bytes()).await;
    let status = answer.json()["status"].clone();
    assert_eq!(status["incomplete"], false);
    let rule = json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]});
    assert!(status["resourceRules"].as_array().unwrap().contains(&rule), "{status}");
    let paths = status["nonResourceRules"].as_array().unwrap();
    assert!(paths.iter().any(|rule| rule["nonResourceURLs"][0] == "/api"), "{status}");
}

/// The check is of the object that is stored.
#[tokio::test(start_paused = true)]
async fn nobody_gains_what_a_policy_writes_into_a_binding() {
    let harness = Harness::guarded().await;
    let binds = json!({"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["rolebindings"], "verbs": ["create"]});
    let all = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    make(&harness, "clusterroles", role("ClusterRole", "all", all)).await;
    make(&harness, "clusterroles", role("ClusterRole", "small", reads("configmaps"))).await;
    let binder = role("ClusterRole", "binder", json!([binds, reads("configmaps")[0]]));
    make(&harness, "clusterroles", binder).await;
    let path = "namespaces/default/rolebindings";
    make(&harness, path, binding("RoleBinding", "a", "ClusterRole", "binder", "alice")).await;
    let bind = async |name| {
        let text = binding("RoleBinding", name, "ClusterRole", "small", "alice").to_string();
        let headers = [("impersonate-user", "alice"), ("content-type", "application/json")];
        harness.call("POST", &format!("{RBAC}/{path}"), &headers, text.as_bytes()).await
    };
    assert_eq!(bind("before").await.code, 201);

    let admission = "admissionregistration.k8s.io/v1";
    let rule = json!({"apiGroups": ["rbac.authorization.k8s.io"], "apiVersions": ["v1"], "operations": ["CREATE"],
        "resources": ["rolebindings"]});
    let patch = "[JSONPatch{op: 'replace', path: '/roleRef/name', value: 'all'}]";
    let policy = json!({"apiVersion": admission, "kind": "MutatingAdmissionPolicy", "metadata": {"name": "p"},
        "spec": {"reinvocationPolicy": "Never", "matchConstraints": {"resourceRules": [rule]},
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}]}});
    let bound = json!({"apiVersion": admission, "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": "p"},
        "spec": {"policyName": "p"}});
    for (plural, object) in
        [("mutatingadmissionpolicies", policy), ("mutatingadmissionpolicybindings", bound)]
    {
        let answer = harness.post(&format!("/apis/{admission}/{plural}"), &object).await;
        assert_eq!(answer.code, 201, "{}", answer.text());
    }
    let answer = bind("after").await;
    assert!(answer.code == 403 && answer.message().contains("is attempting to grant"), "{}", answer.text());
}
