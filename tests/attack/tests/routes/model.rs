//! Tests of `attack::routes::model`.

use attack::routes::model::{ACCOUNTS, Meaning, Means, meaning};

fn means(method: &str, target: &str) -> Means {
    match meaning(method, target) {
        Meaning::Resource(means) => means,
        Meaning::Other { path, .. } => panic!("{path} is no resource"),
    }
}

/// The examples of Kubernetes' documentation, and edge cases.
#[test]
fn paths_mean_what_the_documentation_says() {
    let table = [
        ("GET", "/api/v1/namespaces/x/pods", ["list", "", "x", "pods", "", ""]),
        ("GET", "/api/v1/namespaces/x/pods/p/log", ["get", "", "x", "pods", "p", "log"]),
        ("GET", "/api/v1/pods?watch=1", ["watch", "", "", "pods", "", ""]),
        ("GET", "/api/v1/watch/namespaces/x/pods", ["watch", "", "x", "pods", "", ""]),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name%3Dp", ["list", "", "", "pods", "p", ""]),
        (
            "DELETE",
            "/apis/apps/v1/namespaces/x/deployments",
            ["deletecollection", "apps", "x", "deployments", "", ""],
        ),
        ("PUT", "/api/v1/namespaces/x/finalize", ["update", "", "x", "namespaces", "x", "finalize"]),
        ("GET", "/api/v1/namespaces/x", ["get", "", "x", "namespaces", "x", ""]),
        ("GET", "/api/v1/namespaces/x/namespaces/y", ["get", "", "x", "namespaces", "y", ""]),
        ("GET", "/api/v1/namespaces%2Fx%2Fpods", ["list", "", "x", "pods", "", ""]),
    ];
    for (method, target, expected) in table {
        let found = means(method, target);
        let found =
            [&found.verb, &found.group, &found.namespace, &found.resource, &found.name, &found.subresource];
        assert_eq!(found, expected.each_ref(), "{target}");
    }
    for path in ["/api", "/api/v1", "/apis/apps", "/apis/apps/v1/", "/healthz", "/API/v1/pods"] {
        assert!(matches!(meaning("GET", path), Meaning::Other { .. }), "{path}");
    }
}

#[test]
fn accounts_may_do_what_they_were_granted() {
    let table = [
        ("anonymous", "GET", "/livez", true),
        ("anonymous", "HEAD", "/livez", false),
        ("anonymous", "GET", "/api", false),
        ("plain", "GET", "/api/v1/", true),
        ("plain", "GET", "/api/v1/namespaces", false),
        ("plain", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", true),
        ("tenant", "PUT", "/api/v1/namespaces/mine/finalize", true),
        ("tenant", "GET", "/api/v1/namespaces/other", false),
        ("tenant", "DELETE", "/api/v1/namespaces/mine/namespaces/other", true),
        ("reader", "GET", "/api/v1/configmaps?watch=true", true),
        ("reader", "GET", "/api/v1/configmaps/x/status", false),
        ("reader", "DELETE", "/api/v1/configmaps", false),
    ];
    for (account, method, target, expected) in table {
        let known = ACCOUNTS.iter().find(|one| one.name == account).unwrap();
        assert_eq!(known.may(&meaning(method, target)), expected, "{account} {method} {target}");
    }
}
