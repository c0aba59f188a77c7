//! Tests of `addons::resource_set::remote::kinds`.

use addons::resource_set::remote::kinds::Kinds;
use addons::resource_set::remote::problem::Problem;

#[test]
fn paths_come_from_discovery() {
    let answer = r#"{"resources": [
        {"name": "pods", "kind": "Pod", "namespaced": true}, {"name": "pods/status", "kind": "Pod", "namespaced": true},
        {"name": "nodes", "kind": "Node", "namespaced": false}]}"#;
    let mut kinds = Kinds::default();
    kinds.learn("v1", Ok(answer.to_owned())).unwrap();
    kinds
        .learn(
            "apps/v1",
            Ok(r#"{"resources": [{"name": "deployments", "kind": "Deployment", "namespaced": true}]}"#
                .to_owned()),
        )
        .unwrap();
    let path = |version: &str, kind: &str| kinds.get(version, kind).map(|found| found.path(version, "n"));
    assert_eq!(path("v1", "Pod").as_deref(), Some("/api/v1/namespaces/n/pods"));
    assert_eq!(path("v1", "Node").as_deref(), Some("/api/v1/nodes"));
    assert_eq!(path("apps/v1", "Deployment").as_deref(), Some("/apis/apps/v1/namespaces/n/deployments"));
    assert_eq!((path("apps/v1", "Pod"), path("v2", "Pod")), (None, None));
    let gone = Problem::Refused { code: 404, reason: "NotFound".into(), message: String::new() };
    assert!(matches!(kinds.learn("v2", Ok("[".into())), Err(Problem::Unreadable(_))));
    assert!(kinds.knows("v1") && !kinds.knows("v2"));
    kinds.learn("v2", Err(gone)).unwrap();
    assert!(kinds.knows("v2"), "it is not asked for again");
}
