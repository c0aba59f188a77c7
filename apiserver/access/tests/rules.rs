//! Tests of which requests the policy rules of RBAC allow, and of who may grant them.

use access::attributes::{Attributes, Resource};
use access::rbac::{Rule, beyond};
use access::user::User;

fn list(text: &str) -> Vec<String> {
    text.split(' ').filter(|one| !one.is_empty()).map(|one| one.replace("core", "")).collect()
}

fn rule(verbs: &str, groups: &str, resources: &str, names: &str) -> Rule {
    Rule {
        verbs: list(verbs),
        api_groups: list(groups),
        resources: list(resources),
        resource_names: list(names),
        ..Rule::default()
    }
}

fn urls(verbs: &str, urls: &str) -> Rule {
    Rule { verbs: list(verbs), non_resource_urls: list(urls), ..Rule::default() }
}

#[test]
fn rules_allow_what_they_name() {
    let user = User::default();
    // Columns: rule, then verb, group, resource, subresource, name, then whether the rule allows it.
    let table = [
        (rule("get", "core", "pods", ""), ["get", "", "pods", "", "a"], true),
        (rule("get", "core", "pods", ""), ["list", "", "pods", "", ""], false),
        (rule("get", "core", "pods", ""), ["get", "apps", "pods", "", "a"], false),
        (rule("get", "core", "pods", ""), ["get", "", "pods", "status", "a"], false),
        (rule("get", "core", "pods/status", ""), ["get", "", "pods", "status", "a"], true),
        (rule("get", "core", "pods/status", ""), ["get", "", "pods", "", "a"], false),
        (rule("get", "core", "*/status", ""), ["get", "", "pods", "status", "a"], true),
        (rule("get", "core", "*/status", ""), ["get", "", "pods", "", "a"], false),
        (rule("get", "core", "*/status", ""), ["get", "", "pods", "scale", "a"], false),
        (rule("*", "*", "*", ""), ["escalate", "x.io", "things", "part", "a"], true),
        (rule("get", "core", "pods", "a b"), ["get", "", "pods", "", "b"], true),
        (rule("get", "core", "pods", "a b"), ["get", "", "pods", "", "c"], false),
        (rule("create", "core", "pods", "a"), ["create", "", "pods", "", ""], false),
        (urls("get", "*"), ["get", "", "pods", "", ""], false),
    ];
    for (rule, [verb, group, resource, subresource, name], allowed) in table {
        let resource = Resource { group, resource, subresource, name, ..Resource::default() };
        let attributes = Attributes { user: &user, verb, path: "", resource: Some(resource) };
        assert_eq!(rule.allows(&attributes), allowed, "{rule:?} {attributes:?}");
    }
    let table = [
        ("/healthz", "/healthz", true),
        ("/healthz", "/healthz/x", false),
        ("/api/*", "/api/v1", true),
        ("/api/*", "/api", false),
        ("/ap*", "/apis", true),
        ("*", "/anything", true),
    ];
    for (pattern, path, allowed) in table {
        let attributes = Attributes { user: &user, verb: "get", path, resource: None };
        assert_eq!(urls("get", pattern).allows(&attributes), allowed, "{pattern} {path}");
    }
}

#[test]
fn nobody_grants_more_than_they_have() {
    // Columns: owned rules, wanted rule, missing permissions.
    let table = [
        (vec![rule("get list", "core", "pods", "")], rule("get", "core", "pods", "a"), ""),
        (vec![rule("get", "core", "pods", "a")], rule("get", "core", "pods", ""), "*"),
        (vec![rule("get", "core", "pods", "a b")], rule("get", "core", "pods", "b"), ""),
        (vec![rule("get", "core", "*/scale", "")], rule("get", "core", "x/scale y/scale", ""), ""),
        (vec![rule("get", "core", "*/scale", "")], rule("get", "core", "x/status", ""), "*"),
        (
            vec![rule("get", "core", "pods", ""), rule("get", "apps", "pods", "")],
            rule("get", "core apps", "pods", ""),
            "",
        ),
        (vec![urls("get", "/a/*")], urls("get", "/a/b /a/*"), ""),
        (vec![urls("get", "/a/*")], urls("get", "/a"), "*"),
        (vec![rule("*", "*", "*", "")], urls("get", "/a"), "*"),
        (
            vec![rule("get", "core", "pods", "")],
            rule("get list watch", "core", "pods secrets", ""),
            r#"{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]} {APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "watch"]}"#,
        ),
    ];
    for (owned, wanted, expected) in table {
        let owned: Vec<&Rule> = owned.iter().collect();
        let missing = beyond(&owned, std::slice::from_ref(&wanted)).map(|list| list.join(" "));
        match expected {
            "" => assert_eq!(missing, None, "{owned:?} {wanted:?}"),
            "*" => assert!(missing.is_some(), "{owned:?} {wanted:?}"),
            text => assert_eq!(missing.as_deref(), Some(text)),
        }
    }
}
